"""Tzikas et al. 2009: Table I with kernels that have a width along each feature."""

from __future__ import annotations

from functools import partial

from papers.experiment import Experiment, generator
from papers.experiments.tzikas2009_regression import PUBLISHED
from papers.tally import ENDINGS, Tally
from papers.validation import (
    FOLDS,
    PROTOCOL,
    numbers_fold,
    numbers_of,
    square,
    table,
    tally_fold,
)

NAMES = ("cpus", "boston", "concrete")


def run(seed: int) -> dict[str, float]:
    """One fold of each data set; the first of a partition that the seed gives."""
    from fewer import AdaptiveRVR

    tally = Tally()
    for name in NAMES:
        X, y = numbers_of(name)
        parts = numbers_fold(y, seed, EXPERIMENT.seed)
        learnt = partial(AdaptiveRVR, anisotropic=True)
        tally_fold(tally, name, (X, y), parts, learnt, None, square, generator(seed))
    return tally.values()


EXPERIMENT = Experiment(
    name="tzikas2009-anisotropic",
    paper="Tzikas, Likas & Galatsanos 2009",
    item="Table I with a width along each feature",
    protocol=(
        f"The folds of tzikas2009-regression, {PROTOCOL} The published numbers are those of that "
        "table; the reference's kernels have one width each."
    ),
    seed=2009_0400,
    repetitions=FOLDS,
    quick_repetitions=2,
    quantities=(
        *table(
            "anisotropic AdaptiveRVR",
            None,
            "MSE",
            {name: PUBLISHED[name] for name in NAMES},
            dict.fromkeys(NAMES, (None, None)),
        ),
        *ENDINGS,
    ),
    run=run,
    data=tuple(f"{name}.csv" for name in NAMES),
)

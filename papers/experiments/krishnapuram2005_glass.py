"""Krishnapuram et al. 2005: forensic glass."""

from __future__ import annotations

from papers import multinomial
from papers.data import Divided, folds, read
from papers.experiment import Experiment, generator
from papers.multinomial import OVERLAPPING, PAPER, PROTOCOL, all_quantities, quantities

FOLDS = 10


def divided(seed: int) -> Divided:
    """One cross-validation."""
    X, y = read("fgl.csv")
    return X, y, list(folds(generator(seed), len(y), FOLDS))


def run(seed: int) -> dict[str, float]:
    """One cross-validation; errors of all 214 rows."""
    return multinomial.run(seed, *divided(seed), OVERLAPPING)


EXPERIMENT = Experiment(
    name="krishnapuram2005-glass",
    paper=PAPER,
    item="table 2, forensic glass",
    protocol=(
        f"214 rows, 9 features, 6 classes; {FOLDS}-fold cross-validation, a random division into "
        "folds in each repetition. Gaussian kernels on standardised inputs, no intercept. "
        + PROTOCOL.format(width="and the width of the kernels, of six, ")
    ),
    seed=2005_0300,
    repetitions=3,
    quick_repetitions=2,
    quantities=all_quantities(
        quantities(
            OVERLAPPING,
            214,
            {"smlr": ("50", "901"), "rmlr": ("59", "965"), "svm": ("62", "")},
            {"smlr": (60.0, 113.0), "rmlr": (60.0, 963.0), "svm": (71.0, None)},
            repetitions=1,
        )
    ),
    run=run,
    needs=("fewer", "sklearn"),
    data=("fgl.csv",),
)

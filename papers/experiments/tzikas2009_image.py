"""Tzikas et al. 2009: Table II, the image data."""

from __future__ import annotations

from papers.data import read
from papers.experiment import Experiment, generator
from papers.tally import ENDINGS, Tally
from papers.validation import FIXED_PROTOCOL, FOLDS, PROTOCOL, fold_of, table, tally_fold, wrong

FILE = "ida_image.csv"


def run(seed: int) -> dict[str, float]:
    """One fold of the partition that the seed of the experiment gives."""
    from fewer import RVC, AdaptiveRVC

    X, y = read(FILE)
    tally = Tally()
    fixed = RVC(sparsity="bic", gamma="cv")
    parts = fold_of(y, seed, EXPERIMENT.seed)
    tally_fold(tally, "image", (X, y), parts, AdaptiveRVC, fixed, wrong, generator(seed))
    return tally.values()


EXPERIMENT = Experiment(
    name="tzikas2009-image",
    paper="Tzikas, Likas & Galatsanos 2009",
    item="Table II: the image data",
    protocol=(
        f"2310 rows, 18 features, 2 classes. Ten folds of one random partition, {PROTOCOL} "
        f"{FIXED_PROTOCOL} The published numbers are not at hand, and the "
        "reference did not run these data."
    ),
    seed=2009_0800,
    repetitions=FOLDS,
    quick_repetitions=2,
    quantities=(
        *table(
            "AdaptiveRVC", "RVC", "error", {"image": (("", ""), ("", ""))}, {"image": (None, None)}
        ),
        *ENDINGS,
    ),
    run=run,
    data=(FILE,),
)

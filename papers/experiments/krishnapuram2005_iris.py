"""Krishnapuram et al. 2005: irises."""

from __future__ import annotations

from papers import multinomial
from papers.data import Divided, folds, read
from papers.experiment import Experiment, generator
from papers.multinomial import PAPER, PROTOCOL, RBF, all_quantities, quantities

FOLDS = 10


def divided(seed: int) -> Divided:
    """One cross-validation."""
    X, y = read("iris.csv")
    return X, y, list(folds(generator(seed), len(y), FOLDS))


def run(seed: int) -> dict[str, float]:
    """One cross-validation; errors of all 150 rows."""
    return multinomial.run(seed, *divided(seed), RBF)


EXPERIMENT = Experiment(
    name="krishnapuram2005-iris",
    paper=PAPER,
    item="table 2, iris",
    protocol=(
        f"150 rows, 4 features, 3 classes; {FOLDS}-fold cross-validation, a random division into "
        "folds in each repetition. Gaussian kernels on standardised inputs, no intercept. "
        + PROTOCOL.format(width="and the width of the kernels, of six, ")
    ),
    seed=2005_0200,
    repetitions=5,
    quick_repetitions=2,
    quantities=all_quantities(
        quantities(
            RBF,
            150,
            {"smlr": ("1", "136"), "rmlr": ("8", "270"), "svm": ("5", "")},
            {"smlr": (8.0, 10.5), "rmlr": (7.5, 270.0), "svm": (7.0, None)},
            repetitions=2,
        )
    ),
    run=run,
    needs=("fewer", "sklearn"),
    data=("iris.csv",),
)

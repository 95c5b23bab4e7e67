"""Krishnapuram et al. 2005: functional classes of yeast genes."""

from __future__ import annotations

from papers import multinomial
from papers.data import Divided, read, stratified_folds
from papers.experiment import Experiment, generator
from papers.multinomial import (
    FEATURES,
    LINEAR_KERNEL,
    PAPER,
    PROTOCOL,
    all_quantities,
    quantities,
)

FOLDS = 10


def divided(seed: int) -> Divided:
    """One cross-validation."""
    X, y = read("yeast_brown3.csv")
    return X, y, list(stratified_folds(generator(seed), y, FOLDS))


def run(seed: int) -> dict[str, float]:
    """One cross-validation; errors of all 186 rows."""
    return multinomial.run(seed, *divided(seed), LINEAR_KERNEL, FEATURES)


EXPERIMENT = Experiment(
    name="krishnapuram2005-yeast",
    paper=PAPER,
    item="table 2, yeast",
    protocol=(
        f"186 rows of the 208, 79 features, 3 classes of the 5 (the others are not to be had); "
        f"{FOLDS}-fold stratified cross-validation, a random division into folds in each "
        "repetition. Linear kernels (no intercept), and the features themselves (with an "
        "intercept), both on standardised inputs. " + PROTOCOL.format(width="")
    ),
    seed=2005_0600,
    repetitions=5,
    quick_repetitions=2,
    quantities=all_quantities(quantities(LINEAR_KERNEL, 186), quantities(FEATURES, 186)),
    run=run,
    needs=("fewer", "sklearn"),
    data=("yeast_brown3.csv",),
)

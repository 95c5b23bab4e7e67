"""Krishnapuram et al. 2005: colon tumours."""

from __future__ import annotations

import numpy as np

from papers import multinomial
from papers.data import Divided, read, stratified_folds
from papers.experiment import Experiment, generator
from papers.multinomial import (
    GENES,
    LINEAR_KERNEL,
    PAPER,
    PROTOCOL,
    all_quantities,
    quantities,
)

FOLDS = 10


def divided(seed: int) -> Divided:
    """One cross-validation, of logarithms."""
    X, y = read("colon.csv.gz")
    return np.log10(X), y, list(stratified_folds(generator(seed), y, FOLDS))


def run(seed: int) -> dict[str, float]:
    """One cross-validation; errors of all 62 rows."""
    return multinomial.run(seed, *divided(seed), LINEAR_KERNEL, GENES)


EXPERIMENT = Experiment(
    name="krishnapuram2005-colon",
    paper=PAPER,
    item="table 2, colon",
    protocol=(
        f"62 rows, 2000 genes, 2 classes; "
        f"{FOLDS}-fold stratified cross-validation, a random division into folds in each "
        "repetition. Logarithms of the values; linear kernels (no intercept), and the genes "
        "themselves (with an "
        "intercept), both on standardised inputs. " + PROTOCOL.format(width="")
    ),
    seed=2005_0500,
    repetitions=5,
    quick_repetitions=2,
    quantities=all_quantities(quantities(LINEAR_KERNEL, 62), quantities(GENES, 62)),
    run=run,
    needs=("fewer", "sklearn"),
    data=("colon.csv.gz",),
)

"""Tipping 2001: relevance vector regression of the Boston housing data."""

from __future__ import annotations

import numpy as np

from papers.data import read
from papers.evidence import UNFINISHED, Fits, rows
from papers.experiment import Experiment, generator
from papers.experiments.figueiredo2003_boston import TRAIN

WIDTHS = (2.0, 3.0, 4.0, 6.0)
_NAMES = {"error": "MSE", "terms": "kernels"}
_PUBLISHED = ("7.46", "39.0")


def run(seed: int) -> dict[str, float]:
    """One split; mean squared errors on the 25 rows left."""
    from fewer import RVR

    X, text = read("boston.csv")
    y = text.astype(np.float64)
    order = generator(seed).permutation(len(y))
    train, test = order[:TRAIN], order[TRAIN:]
    fits = Fits()
    for width in WIDTHS:
        model = RVR(gamma=0.5 / width**2).fit(X[train], y[train])
        squares = (model.predict(X[test]) - y[test]) ** 2
        fits.add(f"{width:g}", model, float(np.mean(squares)))
    return fits.values()


EXPERIMENT = Experiment(
    name="tipping2001-boston",
    paper="Tipping 2001",
    item="table of regression, Boston housing",
    protocol=(
        f"506 rows, 13 features; {TRAIN} random rows for training, 25 for the mean squared error. "
        "Gaussian kernels exp(−|x − x′|²/2h²) on standardised inputs, intercept free; the widths "
        "of figueiredo2003-boston, since the paper's is not known."
    ),
    seed=2001_1200,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *(
            quantity
            for width in WIDTHS
            for quantity in rows(f"{width:g}", f"h = {width:g}", _NAMES, _PUBLISHED, recalled=True)
        ),
        UNFINISHED,
    ),
    run=run,
    reading=(
        "At the best of these widths the error is 10.2 with 42 kernels, near what an independent "
        "RVM had in ten-fold cross-validation (10.2 with 35), and above the published 7.46, which "
        "is recalled: how the paper scaled the inputs is not known, and one width for 13 "
        "standardised inputs is a poor kernel for these data. One split of 25 test rows scatters "
        "by half the error."
    ),
    data=("boston.csv",),
)

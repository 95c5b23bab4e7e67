"""Helgøy & Li 2022: errors on parts of the diabetes data, the column of the Bayesian lasso."""

from __future__ import annotations

import numpy as np

from papers.bayesian_lasso import PAPER, SAMPLER, endings, error, median, sampling
from papers.data import read
from papers.experiment import Experiment, Quantity, generator

TRAIN = 309  # 70 %


def run(seed: int) -> dict[str, float]:
    """One division of the rows, that of helgoy-li2022-diabetes-splits."""
    X, text = read("diabetes.csv")
    y = text.astype(np.float64)
    order = generator(seed).permutation(len(y))
    train, test = order[:TRAIN], order[TRAIN:]
    model = median(X[train], y[train], seed)
    low, high = model.predict_interval(X[test], 0.95).T
    values = {
        "fit_error": float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2))),
        "covered": 100.0 * float(np.mean((low <= y[test]) & (y[test] <= high))),
    }
    return values | sampling("fit", model)


EXPERIMENT = Experiment(
    name="helgoy-li2022-bayesian-lasso-splits",
    paper=PAPER,
    item="table 7, diabetes, prediction, the Bayesian lasso",
    protocol=(
        f"The divisions of helgoy-li2022-diabetes-splits, where BLS and the Lasso are: {TRAIN} "
        "random rows of 442 for training, root mean squared error on the others. Columns "
        "standardised, intercept free, λ² ~ Gamma(1, 1.78) for columns of unit length, posterior "
        f"medians; {SAMPLER}. All 10 coefficients are kept, as published. The reference had 20 "
        "divisions."
    ),
    seed=2022_0700,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        error("fit", "all 10 coefficients", "55.06", 55.81, 20),
        Quantity("rows within their 95 % intervals, %", "covered", 95.0),
        *endings(("fit",)),
    ),
    run=run,
    data=("diabetes.csv",),
)

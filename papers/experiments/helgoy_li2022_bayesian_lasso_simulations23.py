"""Helgøy & Li 2022: the simulations with 40 and 60 columns, the column of the Bayesian lasso."""

from __future__ import annotations

import numpy as np

from papers.bayesian_lasso import PAPER, SAMPLER, deviation, endings, error, sampling, simulated
from papers.experiment import Experiment, generator

N, CORRELATION, NOISE = 50, 0.5, 1.0
DESIGNS = {2: (40, 10, 2.0), 3: (60, 30, 1.0)}  # columns, true ones, their weight
_PUBLISHED = {2: "1.57 (reference 1.24)", 3: "30.84 (reference 1.80)"}


def run(seed: int) -> dict[str, float]:
    """One data set of each kind, those of helgoy-li2022-simulations23."""
    rng = generator(seed)
    values: dict[str, float] = {}
    for name, (columns, true, weight) in DESIGNS.items():
        truth = np.where(np.arange(columns) < true, weight, 0.0)
        covariance = np.full((columns, columns), CORRELATION)
        np.fill_diagonal(covariance, 1.0)
        X = rng.standard_normal((N, columns)) @ np.linalg.cholesky(covariance).T
        y = X @ truth + NOISE * rng.standard_normal(N)
        model = simulated(X, y, seed)
        arm = f"simulation_{name}"
        values[f"{arm}_error"] = deviation(model, truth, covariance)
        values |= sampling(arm, model)
    return values


EXPERIMENT = Experiment(
    name="helgoy-li2022-bayesian-lasso-simulations23",
    paper=PAPER,
    item="table 5, the Bayesian lasso",
    protocol=(
        f"The data sets of helgoy-li2022-simulations23, where BLS and the Lasso are: {N} rows and "
        "40 columns (simulation 2) or 60 (simulation 3), normal with correlation .5 between all of "
        "them, noise 1; ten columns with weight 2, and thirty with weight 1, which is inferred, so "
        "that no verdict is given. Settings as in helgoy-li2022-bayesian-lasso-simulation1; "
        f"{SAMPLER}. All coefficients are kept, as published."
    ),
    seed=2022_0400,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *(error(f"simulation_{k}", f"simulation {k}", _PUBLISHED[k], None, 0) for k in DESIGNS),
        *endings(tuple(f"simulation_{k}" for k in DESIGNS)),
    ),
    run=run,
)

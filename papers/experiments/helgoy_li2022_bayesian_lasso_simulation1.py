"""Helgøy & Li 2022: the first simulation, the column of the Bayesian lasso."""

from __future__ import annotations

import numpy as np

from papers.bayesian_lasso import PAPER, SAMPLER, deviation, endings, error, sampling, simulated
from papers.experiment import Experiment, Quantity, generator

N, CORRELATION = 50, 0.5
WEIGHTS = (3.0, 1.5, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0)
NOISES = (1, 3, 5)
_PUBLISHED = {1: ".412", 3: "1.21", 5: "1.89"}
_MEASURED = {1: 0.367, 3: 1.10, 5: 2.15}


def run(seed: int) -> dict[str, float]:
    """One data set for each level of noise, those of helgoy-li2022-simulation1."""
    from fewer import LassoCV

    rng = generator(seed)
    truth = np.array(WEIGHTS)
    index = np.arange(len(truth))
    covariance = np.asarray(CORRELATION ** np.abs(index[:, None] - index[None, :]))
    root = np.linalg.cholesky(covariance)
    values: dict[str, float] = {}
    for noise in NOISES:
        X = rng.standard_normal((N, len(truth))) @ root.T
        y = X @ truth + noise * rng.standard_normal(N)
        model = simulated(X, y, seed)
        arm = f"sigma_{noise}"
        values[f"{arm}_error"] = deviation(model, truth, covariance)
        values |= sampling(arm, model)
        if noise == 1:
            low, high = model.coef_interval(0.95).T
            apart = (low > 0) | (high < 0)
            values |= {f"chosen_{j + 1}": 100.0 * float(a) for j, a in enumerate(apart)}
            lasso = LassoCV(cv=10).fit(X, y).coef_ != 0
            values |= {f"lasso_chosen_{j + 1}": 100.0 * float(a) for j, a in enumerate(lasso)}
    return values


def _chosen(j: int) -> tuple[Quantity, Quantity]:
    true = WEIGHTS[j] != 0
    column, better = f"x{j + 1} ({'true' if true else 'false'})", "higher" if true else "lower"
    interval = f"σ = 1: the 95 % interval of {column} leaves 0 out, %"
    return (
        Quantity(interval, f"chosen_{j + 1}", better),
        Quantity(f"σ = 1, Lasso: {column} chosen, %", f"lasso_chosen_{j + 1}", better),
    )


EXPERIMENT = Experiment(
    name="helgoy-li2022-bayesian-lasso-simulation1",
    paper=PAPER,
    item="tables 3 and 4, the Bayesian lasso",
    protocol=(
        f"The data sets of helgoy-li2022-simulation1, where BLS and the Lasso are: {N} rows, 8 "
        "normal columns with correlation 0.5^|i−j|, weights (3, 1.5, 0, 0, 2, 0, 0, 0). RMSE is "
        "the root mean squared deviation from the true mean over new rows. Columns standardised, "
        f"intercept free, λ² ~ Gamma(0.1, 0.1), posterior means; {SAMPLER}. All 8 coefficients are "
        "kept, as published; which ones an interval would choose is shown beside, and which the "
        "Lasso chooses, its λ by 10-fold cross-validation. The reference had 15 repetitions."
    ),
    seed=2022_0300,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *(error(f"sigma_{s}", f"σ = {s}", _PUBLISHED[s], _MEASURED[s], 15) for s in NOISES),
        *(quantity for j in range(len(WEIGHTS)) for quantity in _chosen(j)),
        *endings(tuple(f"sigma_{s}" for s in NOISES)),
    ),
    run=run,
)

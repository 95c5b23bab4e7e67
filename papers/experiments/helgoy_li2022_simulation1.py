"""Helgøy & Li 2022: the first simulation, and how often each variable is chosen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from papers.evidence import BLS_PAPER, UNFINISHED, Fits, rows
from papers.experiment import Array, Experiment, Published, Quantity, Reference, generator

N, CORRELATION = 50, 0.5
WEIGHTS = (3.0, 1.5, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0)
NOISES = (1, 3, 5)
LABELS = {"bls": "BLS", "lasso": "Lasso"}
_NAMES = {"terms": "coefficients", "error": "RMSE"}
_PUBLISHED = {
    1: {"bls": ("4.5", ".298"), "lasso": ("5.5", ".397")},
    3: {"bls": ("4.3", ".984"), "lasso": ("5.2", "1.20")},
    5: {"bls": ("3.5", "1.79"), "lasso": ("4.6", "1.96")},
}
_MEASURED = {
    1: {"bls": (4.2, 0.261), "lasso": (5.1, 0.305)},
    3: {"bls": (3.9, 1.01), "lasso": (5.4, 1.06)},
    5: {"bls": (3.3, 2.34), "lasso": (4.9, 2.28)},
}
_PUBLISHED_CHOSEN = (100, 100, 34, 36, 100, 31, 24, 20)
_MEASURED_CHOSEN = (100, 100, 20, 13, 100, 33, 27, 27)


def linear_models() -> dict[str, Any]:
    """The methods of the tables, by arm."""
    from fewer import BLS, LassoCV

    return {"bls": BLS(), "lasso": LassoCV(cv=10)}


def deviation(model: Any, truth: Array, covariance: Array) -> float:
    """Root mean squared deviation from the true mean, over all new rows."""
    difference = np.asarray(model.coef_) - truth
    return float(np.sqrt(difference @ covariance @ difference + model.intercept_**2))


def fit_all(fits: Fits, suffix: str, X: Array, y: Array, truth: Array, covariance: Array) -> Any:
    """All methods on one data set; the fitted models."""
    models = linear_models()
    for method, model in models.items():
        with warnings.catch_warnings():
            # The folds of the cross-validation may end early; the fit itself is recorded.
            warnings.simplefilter("ignore")
            model.fit(X, y)
        fits.add(f"{method}_{suffix}", model, deviation(model, truth, covariance))
    return models


def run(seed: int) -> dict[str, float]:
    """One data set for each level of noise."""
    rng = generator(seed)
    truth = np.array(WEIGHTS)
    index = np.arange(len(truth))
    covariance = np.asarray(CORRELATION ** np.abs(index[:, None] - index[None, :]))
    root = np.linalg.cholesky(covariance)
    fits = Fits()
    chosen: dict[str, float] = {}
    for noise in NOISES:
        X = rng.standard_normal((N, len(truth))) @ root.T
        y = X @ truth + noise * rng.standard_normal(N)
        models = fit_all(fits, str(noise), X, y, truth, covariance)
        if noise == 1:
            kept = np.asarray(models["bls"].coef_) != 0
            chosen = {f"chosen_{j + 1}": 100.0 * float(k) for j, k in enumerate(kept)}
    return fits.values() | chosen


def _chosen(j: int) -> Quantity:
    true = WEIGHTS[j] != 0
    return Quantity(
        name=f"σ = 1, BLS: x{j + 1} ({'true' if true else 'false'}) chosen, %",
        statistic=f"chosen_{j + 1}",
        better="higher" if true else "lower",
        published=Published(str(_PUBLISHED_CHOSEN[j])),
        reference=Reference(_MEASURED_CHOSEN[j], 15),
    )


EXPERIMENT = Experiment(
    name="helgoy-li2022-simulation1",
    paper=BLS_PAPER,
    item="table 3, and the selection frequencies of table 4",
    protocol=(
        f"{N} rows, 8 normal columns with correlation 0.5^|i−j|, weights (3, 1.5, 0, 0, 2, 0, 0, "
        "0), noise 1, 3 and 5. RMSE is the root mean squared deviation from the true mean over new "
        "rows, √((b−β)ᵀC(b−β)). The number of rows is inferred: with 50 the Lasso has the "
        "published numbers. Columns standardised, intercept free; λ of BLS by the number of "
        "active columns, that of the Lasso by 10-fold cross-validation. The reference had "
        "15 repetitions."
    ),
    seed=2022_0300,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *(
            quantity
            for noise in NOISES
            for method, label in LABELS.items()
            for quantity in rows(
                f"{method}_{noise}",
                f"σ = {noise}, {label}",
                _NAMES,
                _PUBLISHED[noise][method],
                _MEASURED[noise][method],
                repetitions=15,
            )
        ),
        *(_chosen(j) for j in range(len(WEIGHTS))),
        UNFINISHED,
    ),
    run=run,
    reading=(
        "Agreement throughout: BLS keeps the three true columns always at σ = 1 and each false one "
        "in about one data set of four, where the paper has 20 to 36 % and the reference 13 to "
        "33 %. BLS keeps one column less than the Lasso, and its error is lower at σ = 1 (.31 "
        "against .37), the same at σ = 3 and 5. The advantage published for σ = 3 and 5 is within "
        "what the choice of data sets does."
    ),
)

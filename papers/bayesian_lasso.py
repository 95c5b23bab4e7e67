"""What the experiments with the Bayesian lasso share: the column of Helgøy & Li's tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Array, Published, Quantity, Reference

PAPER = "Helgøy & Li 2022"
SAMPLER = "4 chains of 2000 draws after 500"
_CHAINS = {"chains": 4, "draws": 2000, "warmup": 500, "n_jobs": 1}


def simulated(X: Array, y: Array, seed: int) -> Any:
    """Fitted as in the paper's simulations: λ² ~ Gamma(0.1, 0.1), posterior means."""
    from fewer import BayesianLasso

    prior = {"lam_shape": 0.1, "lam_rate": 0.1}
    return BayesianLasso(estimate="mean", random_state=seed, **prior, **_CHAINS).fit(X, y)


def median(X: Array, y: Array, seed: int, **settings: Any) -> Any:
    """Fitted as Park & Casella did to diabetes: λ² ~ Gamma(1, 1.78) for columns of length one."""
    from fewer import BayesianLasso

    return BayesianLasso(random_state=seed, **_CHAINS, **settings).fit(X, y)


def deviation(model: Any, truth: Array, covariance: Array) -> float:
    """Root mean squared deviation from the true mean, over all new rows."""
    difference = np.asarray(model.coef_) - truth
    return float(np.sqrt(difference @ covariance @ difference + model.intercept_**2))


def sampling(arm: str, model: Any) -> dict[str, float]:
    """How well the chains agree."""
    smallest = min(np.min(model.ess_bulk_["coef"]), model.ess_bulk_["lam"])
    return {f"{arm}_r_hat": 1 + float(model.certificate_), f"{arm}_draws": float(smallest)}


def endings(arms: tuple[str, ...]) -> tuple[Quantity, Quantity]:
    """The worst of all chains."""
    return (
        Quantity("worst R̂", lambda table: max(float(table[f"{a}_r_hat"].max()) for a in arms), 1.0),
        Quantity(
            "fewest effective draws",
            lambda table: min(float(table[f"{a}_draws"].min()) for a in arms),
            "higher",
        ),
    )


def error(arm: str, label: str, published: str, measured: float | None, runs: int) -> Quantity:
    """An RMSE of a table."""
    return Quantity(
        f"{label}: RMSE",
        f"{arm}_error",
        "lower",
        Published(published),
        None if measured is None else Reference(measured, runs),
    )

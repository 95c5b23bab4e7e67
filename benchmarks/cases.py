"""The cases: what is generated, what is asked, how the answer is judged."""

from __future__ import annotations

import numpy as np

from benchmarks.problem import Array, Case, Problem, Sizes, Target


def correlated_rows(rng: np.random.Generator, n: int, p: int, rho: float) -> Array:
    """Rows of a stationary Gaussian process: unit variance, corr(x_i, x_j) = rho^|i-j|."""
    X = rng.standard_normal((n, p))
    innovation = np.sqrt(1.0 - rho**2)
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + innovation * X[:, j]
    return X


def sparse_linear(
    rng: np.random.Generator,
    sizes: Sizes,
    *,
    rho: float,
    weights: tuple[float, float],
    noise_std: float,
) -> Problem:
    """A linear problem with few true terms, random signs, sizes uniform in ``weights``."""
    X = correlated_rows(rng, sizes.n, sizes.p, rho) if rho else _white(rng, sizes.n, sizes.p)
    X_test = (
        correlated_rows(rng, sizes.n_test, sizes.p, rho)
        if rho
        else _white(rng, sizes.n_test, sizes.p)
    )
    coef = np.zeros(sizes.p)
    support = rng.choice(sizes.p, size=sizes.terms, replace=False)
    coef[support] = rng.choice([-1.0, 1.0], sizes.terms) * rng.uniform(*weights, sizes.terms)
    intercept = 1.0
    y = intercept + X @ coef + noise_std * rng.standard_normal(sizes.n)
    y_test = intercept + X_test @ coef + noise_std * rng.standard_normal(sizes.n_test)
    return Problem(X, y, X_test, y_test, coef, intercept, noise_std)


def _white(rng: np.random.Generator, n: int, p: int) -> Array:
    return rng.standard_normal((n, p))


def _tall(rng: np.random.Generator, sizes: Sizes) -> Problem:
    return sparse_linear(rng, sizes, rho=0.0, weights=(0.2, 1.0), noise_std=1.0)


def _sparse(rng: np.random.Generator, sizes: Sizes) -> Problem:
    return sparse_linear(rng, sizes, rho=0.5, weights=(0.2, 1.0), noise_std=2.0)


def _wide(rng: np.random.Generator, sizes: Sizes) -> Problem:
    return sparse_linear(rng, sizes, rho=0.5, weights=(1.0, 2.0), noise_std=1.0)


_SELECTION = ("test_rmse", "terms", "true_terms", "false_terms", "stationarity")

CASES: tuple[Case, ...] = (
    Case(
        name="moments",
        title="A default fit beside the cost of its moments",
        task="moments",
        ask="SparseRegressor() on dense float64 rows; the yardstick is NumPy's "
        "`X.T @ X` plus `X.T @ y` and nothing else (its solve is not timed).",
        generate=_tall,
        sizes=Sizes(n=100_000, p=500, terms=20, n_test=2_000),
        quick_sizes=Sizes(n=2_000, p=50, terms=5, n_test=200),
        seed=20030901,
        measures=_SELECTION,
        yardstick="numpy-moments",
        target=Target("fewer", "numpy-moments", 2.5),
    ),
    Case(
        name="sparse-regression",
        title="Sparse linear regression, more rows than columns",
        task="regression",
        ask="Each library's own way to a sparse (or Bayesian) linear model, at its defaults: "
        "time, error on held-back rows, number of terms. Columns correlate as 0.5^|i-j|.",
        generate=_sparse,
        sizes=Sizes(n=5_000, p=500, terms=20, n_test=5_000),
        quick_sizes=Sizes(n=300, p=30, terms=5, n_test=300),
        seed=20030902,
        measures=_SELECTION,
    ),
    Case(
        name="sparse-regression-wide",
        title="Sparse linear regression, more columns than rows",
        task="regression",
        ask="As sparse-regression, with ten times as many columns as rows.",
        generate=_wide,
        sizes=Sizes(n=200, p=2_000, terms=10, n_test=5_000),
        quick_sizes=Sizes(n=40, p=80, terms=3, n_test=300),
        seed=20030903,
        measures=_SELECTION,
    ),
)

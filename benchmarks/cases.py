"""The cases: what is generated, what is asked, how the answer is judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.problem import Array, Case, Matrix, Problem, Sizes, Target


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


def _lasso_truth(rng: np.random.Generator, X: Matrix, sizes: Sizes, noise_ratio: float) -> Problem:
    """A response without intercept; the noise has ``noise_ratio`` times the signal's size."""
    coef = np.zeros(sizes.p)
    support = rng.choice(sizes.p, size=sizes.terms, replace=False)
    coef[support] = rng.choice([-1.0, 1.0], sizes.terms) * rng.uniform(0.5, 1.5, sizes.terms)
    signal = X @ coef
    noise_std = noise_ratio * float(np.std(signal))
    y = signal + noise_std * rng.standard_normal(sizes.n)
    return Problem(X, y, np.zeros((0, sizes.p)), np.zeros(0), coef, 0.0, noise_std)


def _lasso_dense(rng: np.random.Generator, sizes: Sizes) -> Problem:
    # In Fortran order, which all the libraries ask for; corr(x_i, x_j) = 0.5^|i-j|.
    X = rng.standard_normal((sizes.p, sizes.n)).T
    for j in range(1, sizes.p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    return _lasso_truth(rng, X, sizes, noise_ratio=0.5)


def _lasso_sparse(rng: np.random.Generator, sizes: Sizes) -> Problem:
    density = max(1e-3, 5.0 / sizes.n)  # a quick problem keeps a few values in each column
    X = scipy.sparse.random(sizes.n, sizes.p, density, "csc", rng=rng, data_rvs=rng.standard_normal)
    X = scipy.sparse.csc_matrix(X)
    X.sort_indices()
    # R and the compiled loops of most libraries want 32-bit indices.
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return _lasso_truth(rng, X, sizes, noise_ratio=0.5)


def log_spaced(count: int, smallest: float) -> tuple[float, ...]:
    """Ratios from 1 down to ``smallest``."""
    return tuple(float(ratio) for ratio in np.geomspace(1.0, smallest, count))


_LASSO_ASK = (
    "½‖y − Xw‖² + λ‖w‖₁, no intercept, nothing standardised. Every library at the loosest "
    "tolerance with which (P − P*)/P* ≤ 1e-6"
)
_LASSO: dict[str, Any] = {
    "generate": _lasso_dense,
    "quick_sizes": Sizes(n=200, p=400, terms=10, n_test=0),
    "goal": 1e-6,
    "timeout_s": 300.0,
}
_LASSO_DENSE: dict[str, Any] = {
    **_LASSO,
    "task": "lasso",
    "sizes": Sizes(n=10_000, p=5_000, terms=100, n_test=0),
    "seed": 20030911,
    "measures": ("suboptimality", "terms"),
}
_LASSO_WIDE: dict[str, Any] = {
    **_LASSO,
    "sizes": Sizes(n=1_000, p=5_000, terms=100, n_test=0),
    "seed": 20030912,
    "lam_ratios": log_spaced(100, 0.01),
}
_LASSO_SPARSE: dict[str, Any] = {
    **_LASSO_DENSE,
    "generate": _lasso_sparse,
    "sizes": Sizes(n=20_000, p=50_000, terms=150, n_test=0),
    "quick_sizes": Sizes(n=400, p=800, terms=10, n_test=0),
    "seed": 20030913,
}

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
    Case(
        name="lasso-dense",
        title="The lasso, dense, at 0.05 λ_max",
        ask=f"{_LASSO_ASK}. Columns correlate as 0.5^|i-j|.",
        lam_ratios=(0.05,),
        **_LASSO_DENSE,
    ),
    Case(
        name="lasso-dense-small-lambda",
        title="The lasso, dense, at 0.01 λ_max",
        ask=f"{_LASSO_ASK}. The data of lasso-dense.",
        lam_ratios=(0.01,),
        **_LASSO_DENSE,
    ),
    Case(
        name="lasso-path",
        title="A path of lassos, more columns than rows",
        task="lasso-path",
        ask=f"{_LASSO_ASK} at the worst of 100 λ, log-spaced from λ_max to 0.01 λ_max; terms are "
        "those of the last.",
        measures=("suboptimality", "terms"),
        **_LASSO_WIDE,
    ),
    Case(
        name="lasso-cv",
        title="Five-fold cross-validation of a path of lassos",
        task="lasso-cv",
        ask=f"{_LASSO_ASK} for the fit to all rows at the chosen λ, and the curve of the errors "
        "within 1e-3 of the certified one. Data and λ of lasso-path, the same folds for all; in a "
        "fold λ shrinks with the number of rows.",
        measures=("suboptimality", "curve_error", "lam_ratio", "regret", "terms"),
        folds=5,
        **_LASSO_WIDE,
    ),
    Case(
        name="lasso-sparse",
        title="The lasso, sparse, at 0.1 λ_max",
        ask=f"{_LASSO_ASK}. CSC, one value in a thousand is nonzero.",
        lam_ratios=(0.1,),
        **_LASSO_SPARSE,
    ),
    Case(
        name="lasso-sparse-small-lambda",
        title="The lasso, sparse, at 0.01 λ_max",
        ask=f"{_LASSO_ASK}. The data of lasso-sparse.",
        lam_ratios=(0.01,),
        **_LASSO_SPARSE,
    ),
)

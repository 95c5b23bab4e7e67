"""The cases: what is generated, what is asked, how the answer is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks import data
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


def _correlated_columns(rng: np.random.Generator, sizes: Sizes, rho: float) -> Array:
    # In Fortran order, which all the libraries ask for.
    X = rng.standard_normal((sizes.p, sizes.n)).T
    for j in range(1, sizes.p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


def _lasso_dense(rng: np.random.Generator, sizes: Sizes) -> Problem:
    return _lasso_truth(rng, _correlated_columns(rng, sizes, 0.5), sizes, noise_ratio=0.5)


def _lasso_sparse(rng: np.random.Generator, sizes: Sizes) -> Problem:
    density = max(1e-3, 5.0 / sizes.n)  # a quick problem keeps a few values in each column
    X = scipy.sparse.random(sizes.n, sizes.p, density, "csc", rng=rng, data_rvs=rng.standard_normal)
    return _lasso_truth(rng, data.in_csc(X), sizes, noise_ratio=0.5)


def _classes(
    rng: np.random.Generator,
    X: Matrix,
    sizes: Sizes,
    classes: int,
    share: Array | None = None,
) -> Problem:
    """Labels drawn from the softmax of sparse linear functions of standard deviation 2.

    ``share`` says how probable each column is to be a true term.
    """
    coef = np.zeros((1 if classes == 2 else classes, sizes.p))
    for row in coef:
        support = rng.choice(sizes.p, size=sizes.terms, replace=False, p=share)
        row[support] = rng.choice([-1.0, 1.0], sizes.terms) * rng.uniform(0.5, 1.5, sizes.terms)
    scores = X @ coef.T
    deviation = scores.std(axis=0)
    scores, coef = 2 * scores / deviation, 2 * coef / deviation[:, None]
    if classes == 2:
        scores = np.hstack([np.zeros_like(scores), scores])
    # The largest of scores with Gumbel noise has the probabilities of the softmax.
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1).astype(np.float64)
    return Problem(X, y, np.zeros((0, sizes.p)), np.zeros(0), coef, 0.0, 0.0)


def _dense_classes(
    rng: np.random.Generator, sizes: Sizes, *, classes: int = 2, rho: float = 0.5
) -> Problem:
    return _classes(rng, _correlated_columns(rng, sizes, rho), sizes, classes)


def _sparse_classes(rng: np.random.Generator, sizes: Sizes) -> Problem:
    """One value in a thousand, in columns as unequally full as those of words are."""
    density = max(1e-3, 5.0 / sizes.n)
    share = 1 / (np.arange(sizes.p) + sizes.p / 1000)
    counts = np.clip(density * sizes.n * sizes.p * share / share.sum(), 1, sizes.n).astype(int)
    rows = [rng.choice(sizes.n, size=count, replace=False) for count in counts]
    columns = np.repeat(np.arange(sizes.p), counts)
    values = rng.standard_normal(len(columns))
    X = scipy.sparse.coo_matrix((values, (np.concatenate(rows), columns)), (sizes.n, sizes.p))
    return _classes(rng, data.in_csc(X), sizes, 2, share / share.sum())


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

_LOSS = "−Σ log p(y)"
_REACH = (
    "no intercept, nothing standardised. Every library at the loosest tolerance with which "
    "(P − P*)/P* ≤ 1e-6"
)
_LOGISTIC: dict[str, Any] = {
    "task": "logistic",
    "classes": 2,
    "measures": ("suboptimality", "terms"),
    "goal": 1e-6,
    "timeout_s": 300.0,
    "quick_sizes": Sizes(n=200, p=400, terms=10, n_test=0),
}


def _pair(name: str, title: str, ask: str, **more: Any) -> tuple[Case, Case]:
    """One problem at two penalties."""
    cases = (
        Case(
            name=name + suffix,
            title=f"{title}, at {ratio:g} λ_max",
            ask=f"{ask}, {_REACH}.",
            lam_ratios=(ratio,),
            **{**_LOGISTIC, **more},
        )
        for suffix, ratio in (("", 0.1), ("-small-lambda", 0.01))
    )
    first, second = cases
    return first, second


def _real(
    name: str, title: str, load: Callable[[], data.Set], sizes: tuple[int, int], **more: Any
) -> tuple[Case, Case]:
    """A data set from a file."""
    task = "logistic" if more.get("classes", 2) == 2 else "multinomial"
    ask = f"{_LOSS} + λ‖W‖₁" + (", one row of W for each class" if task == "multinomial" else "")
    settings = {
        "task": task,
        "generate": partial(data.problem_of, load),
        "sizes": Sizes(*sizes, terms=0, n_test=0),
        "quick_sizes": Sizes(n=min(sizes[0], 400), p=min(sizes[1], 300), terms=0, n_test=0),
        "seed": 20050600,
        "data": data.FILES[load],
        **more,
    }
    return _pair(f"{task}-{name}", title, ask, **settings)


_FIVE: dict[str, Any] = {
    "classes": 5,
    "generate": partial(_dense_classes, classes=5, rho=0.5),
    "sizes": Sizes(n=3_000, p=500, terms=30, n_test=0),
    "quick_sizes": Sizes(n=300, p=60, terms=5, n_test=0),
    "seed": 20050603,
}
_TALL: dict[str, Any] = {
    "generate": _dense_classes,
    "sizes": Sizes(n=10_000, p=1_000, terms=50, n_test=0),
    "seed": 20050601,
}

LOGISTIC: tuple[Case, ...] = (
    *_pair("logistic-dense", "Logistic regression, dense", f"{_LOSS} + λ‖w‖₁", **_TALL),
    *_pair(
        "logistic-wide",
        "Logistic regression, many more columns than rows",
        f"{_LOSS} + λ‖w‖₁, columns correlating as 0.9^|i-j|",
        generate=partial(_dense_classes, rho=0.9),
        sizes=Sizes(n=200, p=20_000, terms=20, n_test=0),
        seed=20050602,
    ),
    *_pair(
        "multinomial-dense",
        "Multinomial regression, dense",
        f"{_LOSS} + λ‖W‖₁, one row of W for each class",
        task="multinomial",
        **_FIVE,
    ),
    *_pair(
        "multinomial-reference-dense",
        "Multinomial regression with a reference class, dense",
        f"{_LOSS} + λ‖W‖₁, the last class without weights (no other library has this problem)",
        task="multinomial-reference",
        **_FIVE,
    ),
    *_pair(
        "logistic-sparse",
        "Logistic regression, sparse",
        f"{_LOSS} + λ‖w‖₁, CSC, one value in a thousand is nonzero, columns as unequal as words",
        generate=_sparse_classes,
        sizes=Sizes(n=20_000, p=50_000, terms=150, n_test=0),
        quick_sizes=Sizes(n=400, p=800, terms=10, n_test=0),
        seed=20050604,
    ),
    Case(
        name="logistic-path",
        title="A path of logistic regressions, more columns than rows",
        ask=f"{_LOSS} + λ‖w‖₁, {_REACH} at the worst of 100 λ, log-spaced from λ_max to "
        "0.01 λ_max; terms are those of the last.",
        generate=_dense_classes,
        sizes=Sizes(n=1_000, p=5_000, terms=100, n_test=0),
        seed=20050605,
        lam_ratios=log_spaced(100, 0.01),
        **{**_LOGISTIC, "task": "logistic-path"},
    ),
    *_pair(
        "ridge-logistic-dense",
        "Ridge logistic regression, dense",
        f"{_LOSS} + (λ/2)‖w‖², λ_max that of the L1 penalty",
        task="ridge-logistic",
        **_TALL,
    ),
    *_pair(
        "ridge-multinomial-dense",
        "Ridge multinomial regression, dense",
        f"{_LOSS} + (λ/2)‖W‖², one row of W for each class, λ_max that of the L1 penalty",
        task="ridge-multinomial",
        **_FIVE,
    ),
    *_real("golub", "Leukaemia", data.golub, (72, 7129)),
    *_real("colon", "Colon tumours", data.colon, (62, 2000)),
    *_real("madelon", "Madelon", data.madelon, (2600, 500)),
    *_real("news20", "Twenty newsgroups", data.news20, (11_314, 130_107), classes=20),
    *_real("mnist", "Handwritten digits", data.mnist, (60_000, 784), classes=10),
    *_real("mnist-10000", "10 000 handwritten digits", data.mnist, (10_000, 784), classes=10),
)


def _curve(
    rng: np.random.Generator, sizes: Sizes, draw: Callable[[np.random.Generator, int], Array]
) -> Problem:
    """Rows with a response in their last column, split into training and test rows."""
    rows = draw(rng, sizes.n + sizes.n_test)
    X, y = np.asfortranarray(rows[:, :-1]), rows[:, -1]
    X_test = np.asfortranarray(X[sizes.n :])
    X = np.asfortranarray(X[: sizes.n])
    return Problem(X, y[: sizes.n], X_test, y[sizes.n :], np.zeros(sizes.n), 0.0, 0.0)


def _sinc(rng: np.random.Generator, n: int) -> Array:
    """sin(x)/x in [-10, 10] with noise 0.1."""
    x = rng.uniform(-10, 10, n)
    return np.column_stack([x, np.sinc(x / np.pi) + 0.1 * rng.standard_normal(n)])


def _friedman(rng: np.random.Generator, n: int) -> Array:
    """Friedman's first function of 5 of 10 uniform columns, noise 1, then centred and scaled."""
    X = rng.random((n, 10))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = f + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(n)
    return np.column_stack([X, (y - 14.4) / 5.0])


def _without_intercept(
    generate: Callable[[np.random.Generator, Sizes], Problem],
    rng: np.random.Generator,
    sizes: Sizes,
) -> Problem:
    problem = generate(rng, sizes)
    return replace(
        problem,
        X=np.asfortranarray(problem.X),
        y=problem.y - problem.intercept,
        X_test=np.asfortranarray(problem.X_test),
        y_test=problem.y_test - problem.intercept,
        intercept=0.0,
    )


_KERNEL_MEASURES = ("test_rmse", "nlpd", "terms", "log_evidence")
_CUBE = "not run: its time grows with the cube of the number of rows"


def _kernel_cases(
    name: str, title: str, draw: Callable[[np.random.Generator, int], Array], p: int, gamma: float
) -> tuple[Case, ...]:
    """One curve at four sizes."""

    def case(n: int) -> Case:
        first = ("sklearn-rvm", "kernlab")  # Tipping's first algorithm
        slow = ["sklearn-GaussianProcessRegressor"] if n >= 5000 else []
        slow += first if n > 5000 else ()
        targets = [Target("fewer", "fastrvm", 1 / 3)] if n >= 2000 else []
        targets += [Target("fewer", peer, 1 / 50) for peer in first if peer not in slow]
        return Case(
            name=f"rvm-{name}-{n}",
            title=f"Relevance vector regression, {title}, n = {n}",
            task="rvm",
            ask=f"Gaussian kernels on all rows, exp(−{gamma:g}|x − x′|²), no intercept, noise "
            "estimated, else each library's defaults; errors and densities of 2000 new rows. SVR "
            "and the Gaussian process are other models, shown as what one might take instead.",
            generate=partial(_curve, draw=draw),
            sizes=Sizes(n=n, p=p, terms=0, n_test=2000),
            quick_sizes=Sizes(n=100, p=p, terms=0, n_test=100),
            seed=20010600,
            measures=_KERNEL_MEASURES,
            targets=tuple(targets),
            timeout_s=300.0,
            gamma=gamma,
            left_out=dict.fromkeys(slow, _CUBE),
        )

    return tuple(case(n) for n in (500, 2000, 5000, 10_000))


def _ard(name: str, title: str, **more: Any) -> Case:
    return Case(
        name=f"ard-{name}",
        title=f"A variance for every column, {title}",
        task="ard",
        ask="Linear regression with a prior variance for every column, the noise estimated, no "
        "intercept, nothing standardised, each library's defaults. Columns correlate as 0.5^|i-j|.",
        measures=("test_rmse", "nlpd", "terms", "true_terms", "log_evidence"),
        timeout_s=300.0,
        **more,
    )


EVIDENCE: tuple[Case, ...] = (
    *_kernel_cases("sinc", "sin(x)/x", _sinc, 1, 0.1),
    *_kernel_cases("friedman", "Friedman's function of 5 of 10 columns", _friedman, 10, 0.5),
    _ard(
        "tall",
        "more rows than columns",
        generate=partial(_without_intercept, _sparse),
        sizes=Sizes(n=5_000, p=500, terms=20, n_test=2_000),
        quick_sizes=Sizes(n=300, p=30, terms=5, n_test=300),
        seed=20010601,
        targets=(
            Target("fewer", "fastrvm", 1 / 3),
            Target("fewer", "sklearn-ARDRegression", 1 / 10),
        ),
    ),
    _ard(
        "wide",
        "more columns than rows",
        generate=partial(_without_intercept, _wide),
        sizes=Sizes(n=500, p=2_000, terms=20, n_test=2_000),
        quick_sizes=Sizes(n=60, p=120, terms=5, n_test=300),
        seed=20010602,
        targets=(Target("fewer", "sklearn-ARDRegression", 1 / 10),),
    ),
)

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
        targets=(Target("fewer", "numpy-moments", 2.5),),
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
    *LOGISTIC,
    *EVIDENCE,
)

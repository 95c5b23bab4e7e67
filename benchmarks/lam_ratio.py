"""What the default of `lam_ratio` was chosen by: error over a grid of it, on several data sets.

    python -m benchmarks.lam_ratio [--save]

Five-fold cross-validation, three times with other folds; the figure is the error relative to that
of the best ratio for the same data, averaged over data sets (1 is best). Real data come with
scikit-learn; the simulated ones have few true terms.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import RepeatedKFold, cross_val_score

from benchmarks.cases import sparse_linear
from benchmarks.problem import Sizes
from fewer import RMLR, SMLR, Lasso, ProbitClassifier, SparseRegressor

RATIOS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
RESULTS = Path(__file__).parent / "results"


def regression_data() -> dict[str, tuple[Any, Any]]:
    """Tall and wide, real and simulated."""
    out: dict[str, tuple[Any, Any]] = {"diabetes": load_diabetes(return_X_y=True)}
    X, y = out["diabetes"]
    products = np.column_stack([X[:, i] * X[:, j] for i in range(10) for j in range(i, 10)])
    out["diabetes, degree 2"] = (np.column_stack([X, products]), y)
    rng = np.random.default_rng(0)
    for n, p, terms, noise in ((100, 20, 5, 2.0), (200, 100, 10, 1.0), (80, 200, 5, 1.0)):
        sizes = Sizes(n=n, p=p, terms=terms, n_test=1)
        problem = sparse_linear(rng, sizes, rho=0.5, weights=(0.5, 2.0), noise_std=noise)
        out[f"simulated {n}×{p}"] = (problem.X, problem.y)
    return out


def classification_data() -> dict[str, tuple[Any, Any]]:
    """Two classes and more."""
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    return {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "digits 3 and 8": (X[chosen], y[chosen]),
    }


def errors(make: Any, data: dict[str, tuple[Any, Any]], scoring: str) -> np.ndarray:
    """Errors by data set (rows) and ratio (columns)."""
    folds = RepeatedKFold(n_splits=5, n_repeats=3, random_state=0)
    table = []
    for X, y in data.values():
        scores = [
            -cross_val_score(make(lam_ratio=ratio), X, y, cv=folds, scoring=scoring).mean()
            for ratio in RATIOS
        ]
        table.append(scores)
    return np.array(table)


def jobs() -> Iterator[tuple[str, Any, dict[str, tuple[Any, Any]], str]]:
    """Names, estimators by their settings, data, and what is scored."""
    regression = (regression_data(), "neg_root_mean_squared_error")
    classification = (classification_data(), "neg_log_loss")
    for estimator, task in ((SparseRegressor, regression), (ProbitClassifier, classification)):
        for prior in ("laplace", "gaussian"):
            yield f"{estimator.__name__}, {prior}", partial(estimator, prior=prior), *task
    yield "Lasso", Lasso, *regression
    for plain in (SMLR, RMLR):
        yield plain.__name__, plain, *classification


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    lines = ["| estimator, prior | data | " + " | ".join(map(str, RATIOS)) + " |"]
    lines.append("|---" * (len(RATIOS) + 2) + "|")
    for name, make, data, scoring in jobs():
        table = errors(make, data, scoring)
        relative = table / table.min(axis=1, keepdims=True)
        rows = zip([*data, "**mean**"], [*relative, relative.mean(axis=0)], strict=True)
        for of, row in rows:
            lines.append(f"| {name} | {of} | " + " | ".join(f"{v:.3f}" for v in row) + " |")
    text = "\n".join(lines) + "\n"
    print(text)
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "lam_ratio.md").write_text(f"{__doc__}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()

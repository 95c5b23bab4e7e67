"""One judge for all libraries: every number is computed here from the returned weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problem import Array, Problem, Solution


def jeffreys_objective(X: Array, y: Array, coef: Array, intercept: float) -> float:
    """(n/2) log s2 + |y - Xw|^2 / (2 s2) + sum log|w_i| over the support, at the best s2."""
    residual = y - X @ coef - intercept
    n = len(y)
    variance = float(residual @ residual) / n
    support = coef != 0
    return 0.5 * n * (float(np.log(variance)) + 1.0) + float(np.log(np.abs(coef[support])).sum())


def lasso_objective(X: Array, y: Array, coef: Array, intercept: float, lam: float) -> float:
    """|y - Xw|^2 / 2 + lam |w|_1."""
    residual = y - X @ coef - intercept
    return 0.5 * float(residual @ residual) + lam * float(np.sum(np.abs(coef)))


def jeffreys_stationarity(X: Array, y: Array, coef: Array, intercept: float) -> float:
    """Largest |w_i x_i'r / s2 - 1| over the support: 0 at a stationary point.

    The product w_i x_i does not change when a column is rescaled, so the value holds for
    standardised and for raw columns alike.
    """
    support = np.flatnonzero(coef)
    if not len(support):
        return 0.0
    residual = y - X @ coef - intercept
    variance = float(residual @ residual) / len(y)
    pull = X[:, support].T @ residual / variance
    return float(np.max(np.abs(coef[support] * pull - 1.0)))


def _test_rmse(problem: Problem, solution: Solution) -> float:
    error = problem.y_test - problem.X_test @ solution.coef - solution.intercept
    return float(np.sqrt(np.mean(error**2)))


def _terms(problem: Problem, solution: Solution) -> float:
    return float(np.count_nonzero(solution.coef))


def _true_terms(problem: Problem, solution: Solution) -> float:
    return float(np.count_nonzero(solution.coef[problem.coef != 0]))


def _false_terms(problem: Problem, solution: Solution) -> float:
    return float(np.count_nonzero(solution.coef[problem.coef == 0]))


def _stationarity(problem: Problem, solution: Solution) -> float:
    return jeffreys_stationarity(problem.X, problem.y, solution.coef, solution.intercept)


def _objective(problem: Problem, solution: Solution) -> float:
    return jeffreys_objective(problem.X, problem.y, solution.coef, solution.intercept)


MEASURES: dict[str, Callable[[Problem, Solution], float]] = {
    "test_rmse": _test_rmse,
    "terms": _terms,
    "true_terms": _true_terms,
    "false_terms": _false_terms,
    "stationarity": _stationarity,
    "jeffreys_objective": _objective,
}

# Measures that only make sense for a library that sets out to solve that problem.
ONLY_FOR = {"stationarity": "jeffreys", "jeffreys_objective": "jeffreys"}


def judge(
    problem: Problem, solution: Solution, measures: tuple[str, ...], solves: str | None
) -> dict[str, float | None]:
    """The declared measures of one solution; None where a measure does not apply."""
    if solution.coef.shape != problem.coef.shape:
        raise ValueError(
            f"solution has coefficients of shape {solution.coef.shape}, "
            f"the problem has {problem.coef.shape}"
        )
    if not np.all(np.isfinite(solution.coef)) or not np.isfinite(solution.intercept):
        raise ValueError("solution is not finite")
    applies = {name: ONLY_FOR.get(name) in (None, solves) for name in measures}
    return {name: MEASURES[name](problem, solution) if applies[name] else None for name in measures}

"""The judge of the cases of evidence: errors, densities, and one log evidence for all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from benchmarks.problem import Array, Case, Problem, Solution

TASKS = ("rvm", "ard")
# Of the variance of y: less noise than this is taken for this much, of every library.
LEAST_NOISE = 1e-8
_STEPS = 50


def gaussian_kernel(rows: Array, centres: Array, gamma: float) -> Array:
    """exp(-gamma |x - c|^2)."""
    squares = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * rows @ centres.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))


def columns(case: Case, problem: Problem, kept: npt.NDArray[np.intp]) -> Array:
    """The columns of the model: kernels on the rows ``kept``, or columns of X."""
    X = np.asarray(problem.X)
    if case.gamma is None:
        return np.asarray(X[:, kept])
    return gaussian_kernel(X, X[kept], case.gamma)


def log_evidence(
    F: Array, y: Array, precisions: Array, noise: float, gram: Array | None = None
) -> tuple[float, Array, Array]:
    """log p(y) for weights ~ N(0, 1/precision), with the weights' mean and variances.

    By the Cholesky factor of I + R F'F R / noise, R = precisions^-1/2, whose eigenvalues are at
    least 1 (Tipping 2001, eq. 12 to 15).
    """
    root = precisions**-0.5
    scaled = (F.T @ F if gram is None else gram) * np.outer(root, root) / noise
    factor = np.linalg.cholesky(np.eye(len(root)) + scaled)
    half = scipy.linalg.solve_triangular(factor, np.diag(root), lower=True)
    mean = half.T @ (half @ (F.T @ y)) / noise
    residual = y - F @ mean
    fit = residual @ residual / noise + precisions @ mean**2
    volume = len(y) * np.log(2 * np.pi * noise) + 2 * np.log(np.diag(factor)).sum()
    return -0.5 * float(volume + fit), mean, (half**2).sum(axis=0)


def best_log_evidence(F: Array, y: Array, weights: Array, noise: float) -> float:
    """The log evidence of these columns at this noise, variances of the weights at their best.

    Not every library returns those, so that they are found here: by the fixed point of Tipping
    2001, eq. 16, from the returned weights, until it gains less than 1e-4.
    """
    noise = max(noise, LEAST_NOISE * float(np.var(y)))
    if not F.shape[1]:
        return -0.5 * float(len(y) * np.log(2 * np.pi * noise) + y @ y / noise)
    tiny = 1e-12 * float(np.max(weights**2))
    precisions = 1.0 / np.maximum(weights**2, tiny)
    best, last, gram = -np.inf, -np.inf, F.T @ F
    for _ in range(_STEPS):
        value, mean, variances = log_evidence(F, y, precisions, noise, gram)
        best = max(best, value)
        if abs(value - last) < 1e-4:
            break
        last = value
        determined = np.clip(1 - precisions * variances, 1e-12, 1.0)
        precisions = determined / np.maximum(mean**2, tiny)
    return float(best)


def density(y: Array, mean: Array, std: Array) -> float:
    """Mean negative log density of y under normal predictions."""
    return float(np.mean(np.log(std) + 0.5 * np.log(2 * np.pi) + 0.5 * ((y - mean) / std) ** 2))


def judge_evidence(case: Case, problem: Problem, solution: Solution) -> dict[str, float | None]:
    """The measures of one solution; None where the library has no such thing."""
    prediction = solution.prediction
    if prediction is None or prediction.shape != (2, len(problem.y_test)):
        raise ValueError("solution has no predictions of the test rows")
    mean, std = prediction
    size = problem.X.shape[0 if case.task == "rvm" else 1]
    if solution.coef.shape != (size,):
        raise ValueError(f"solution has weights of shape {solution.coef.shape}, not ({size},)")
    if not np.all(np.isfinite(mean)) or not np.all(np.isfinite(solution.coef)):
        raise ValueError("solution is not finite")
    kept = np.flatnonzero(solution.coef)
    judged: dict[str, float | None] = {
        "test_rmse": float(np.sqrt(np.mean((problem.y_test - mean) ** 2))),
        "nlpd": density(problem.y_test, mean, std) if np.all(std > 0) else None,
        "terms": float(len(kept)),
        "log_evidence": None,
    }
    if case.task == "ard":
        judged["true_terms"] = float(np.count_nonzero(problem.coef[kept]))
    if solution.noise_std is not None:
        F = columns(case, problem, kept)
        noise = solution.noise_std**2
        judged["log_evidence"] = best_log_evidence(F, problem.y, solution.coef[kept], noise)
    return {name: judged.get(name) for name in case.measures}

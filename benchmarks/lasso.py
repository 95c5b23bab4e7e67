"""The judge of the lasso cases: objectives, duality gaps, and the certified optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from benchmarks.problem import Array, Case, Matrix, Problem, Solution

CERTIFIED = 1e-9  # relative duality gap with which a reference is taken for the optimum


@dataclass(frozen=True)
class Reference:
    """The best known weights at every penalty, and how far they can be from the best."""

    lams: Array  # (L,)
    coefs: Array  # (L, p)
    objectives: Array  # (L,)
    gaps: Array  # (L,) relative to the objective
    source: str
    curve: Array | None = None  # (L,) mean squared errors of cross-validation

    @property
    def worst_gap(self) -> float:
        """The largest relative gap, of the folds too where there are any."""
        return float(self.gaps.max())


def largest_lam(X: Matrix, y: Array) -> float:
    """The smallest penalty at which all weights are 0."""
    return float(np.abs(X.T @ y).max())


def objectives(X: Matrix, y: Array, coefs: Array, lams: Array) -> Array:
    """|y - Xw|^2 / 2 + lam |w|_1 for each row of ``coefs``."""
    residuals = y[:, None] - X @ coefs.T
    squares = np.einsum("ij,ij->j", residuals, residuals)
    out: Array = 0.5 * squares + lams * np.abs(coefs).sum(axis=1)
    return out


def gaps(X: Matrix, y: Array, coefs: Array, lams: Array) -> Array:
    """Relative duality gaps, the dual point being the residual scaled into the feasible set.

    The gap is summed from terms that vanish at the optimum: the difference of the two
    objectives would lose the digits that are asked for.
    """
    residuals = y[:, None] - X @ coefs.T
    pulls = X.T @ residuals
    scale = np.minimum(1.0, lams / np.maximum(np.abs(pulls).max(axis=0), 1e-300))
    squares = np.einsum("ij,ij->j", residuals, residuals)
    # P - D = |r|^2 (1 - s)^2 / 2 + sum_i (lam |w_i| - s w_i x_i'r), with y = r + Xw.
    slack = lams * np.abs(coefs).sum(axis=1) - scale * np.einsum("ij,ji->i", coefs, pulls)
    gap = 0.5 * squares * (1.0 - scale) ** 2 + slack
    out: Array = np.maximum(gap, 0.0) / objectives(X, y, coefs, lams)
    return out


def polish(X: Matrix, y: Array, coef: Array, lam: float) -> Array:
    """Solve exactly for the signs of ``coef``; the same weights where the signs do not hold."""
    support = np.flatnonzero(coef)
    if not 0 < len(support) <= X.shape[0]:
        return coef
    columns = X[:, support]
    gram = columns.T @ columns
    gram = gram.toarray() if hasattr(gram, "toarray") else gram
    signs = np.sign(coef[support])
    try:
        values = scipy.linalg.solve(gram, columns.T @ y - lam * signs, assume_a="pos")
    except np.linalg.LinAlgError:
        return coef
    if np.any(np.sign(values) != signs):
        return coef
    out = np.zeros_like(coef)
    out[support] = values
    return out


def certify(X: Matrix, y: Array, coefs: Array, lams: Array, source: str) -> Reference:
    """A reference from the weights of a tight fit, polished where the gap is not closed."""
    coefs = np.array(coefs, dtype=np.float64)
    gap = gaps(X, y, coefs, lams)
    for k in np.flatnonzero(gap > CERTIFIED / 10):
        better = polish(X, y, coefs[k], lams[k])
        new_gap = gaps(X, y, better[None], lams[k : k + 1])[0]
        if new_gap < gap[k]:
            coefs[k], gap[k] = better, new_gap
    return Reference(lams, coefs, objectives(X, y, coefs, lams), gap, source)


def better_of(first: Reference | None, second: Reference) -> Reference:
    """At every penalty, the weights with the smaller gap."""
    if first is None:
        return second
    wins = second.gaps < first.gaps
    return Reference(
        first.lams,
        np.where(wins[:, None], second.coefs, first.coefs),
        np.where(wins, second.objectives, first.objectives),
        np.where(wins, second.gaps, first.gaps),
        f"{first.source}, {second.source}" if wins.any() else first.source,
        first.curve,
    )


def judge_lasso(
    case: Case, problem: Problem, solution: Solution, reference: Reference
) -> dict[str, float | None]:
    """The measures of one solution of a lasso case."""
    p = problem.X.shape[1]
    lams = reference.lams
    shape = (len(lams), p) if case.task == "lasso-path" else (p,)
    if solution.coef.shape != shape:
        raise ValueError(
            f"solution has coefficients of shape {solution.coef.shape}, the problem has {shape}"
        )
    if not np.all(np.isfinite(solution.coef)):
        raise ValueError("solution is not finite")
    coefs = np.atleast_2d(solution.coef)
    judged: dict[str, float | None] = {"terms": float(np.count_nonzero(coefs[-1]))}
    best = reference.objectives
    if case.task == "lasso-cv":
        chosen, measures = _judge_curve(solution, reference)
        judged.update(measures)
        lams, best = lams[chosen : chosen + 1], best[chosen : chosen + 1]
    found = objectives(problem.X, problem.y, coefs, lams)
    judged["suboptimality"] = float(np.max((found - best) / best))
    return judged


def _judge_curve(solution: Solution, reference: Reference) -> tuple[int, dict[str, float | None]]:
    if solution.lam is None or solution.curve is None or reference.curve is None:
        raise ValueError("cross-validation returned no penalty or no curve")
    truth, curve = reference.curve, solution.curve
    if curve.shape != truth.shape:
        raise ValueError(f"the curve has shape {curve.shape}, the grid has {truth.shape}")
    chosen = int(np.argmin(np.abs(np.log(reference.lams / solution.lam))))
    return chosen, {
        "curve_error": float(np.max(np.abs(curve / truth - 1.0))),
        "lam_ratio": float(reference.lams[chosen] / reference.lams[0]),
        # How much worse than the best of the certified curve; neighbours are nearly ties.
        "regret": float(truth[chosen] / truth.min() - 1.0),
    }


def meets(goal: float, judged: dict[str, float | None]) -> bool:
    """Whether a solution is good enough to be timed.

    An objective within ``goal`` leaves the predictions, and so the errors, within its root.
    """
    root = float(np.sqrt(goal))
    limits = {"suboptimality": goal, "curve_error": root, "regret": root}
    values = {name: judged.get(name) for name in limits}
    return all(value is None or value <= limits[name] for name, value in values.items())

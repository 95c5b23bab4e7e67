"""The judge of logistic and multinomial regression: objectives, duality gaps, the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg
from scipy.special import kl_div, log_softmax

from benchmarks.lasso import Reference
from benchmarks.problem import Array, Case, Matrix, Problem, Solution

TASKS = (
    "logistic",
    "logistic-path",
    "multinomial",
    "multinomial-reference",
    "ridge-logistic",
    "ridge-multinomial",
)
CERTIFIED = 1e-10  # relative duality gap that is aimed at
_ROUNDS = 500
_ENTERING = 50
_LARGE = 2e8


@dataclass(frozen=True)
class Logistic:
    """−Σ log p(y) + λ‖W‖₁, or + (λ/2)‖W‖², in which p is the softmax of the scores.

    ``free`` are the classes with weights, one row of W each; the score of the others is 0. Two
    classes have one free class, a symmetric problem has no other.
    """

    X: Matrix
    labels: Array  # (n, m), one 1 in each row
    free: slice
    ridge: bool

    @classmethod
    def of(cls, task: str, classes: int, X: Matrix, y: Array) -> Logistic:
        """The problem of a case."""
        labels = np.asarray(y[:, None] == np.arange(classes), dtype=np.float64)
        free = slice(1, 2) if classes == 2 else slice(0, classes)
        if task == "multinomial-reference":
            free = slice(0, classes - 1)
        return cls(X, labels, free, task.startswith("ridge"))

    @property
    def shape(self) -> tuple[int, int]:
        """That of W."""
        return len(range(self.labels.shape[1])[self.free]), self.X.shape[1]

    def log_probabilities(self, W: Array) -> Array:
        """Of all classes, for each row."""
        scores = np.zeros_like(self.labels)
        scores[:, self.free] = self.X @ W.T
        out: Array = log_softmax(scores, axis=1)
        return out

    def penalty(self, W: Array, lam: float) -> float:
        """What is added to the loss."""
        return lam * float(0.5 * np.sum(W**2) if self.ridge else np.abs(W).sum())

    def objective(self, W: Array, lam: float) -> float:
        """Loss and penalty."""
        return -float(np.sum(self.labels * self.log_probabilities(W))) + self.penalty(W, lam)

    def pulls(self, logs: Array) -> Array:
        """What the loss gains, to first order, by each weight."""
        residuals = (self.labels - np.exp(logs))[:, self.free]
        out: Array = np.asarray(self.X.T @ residuals).T
        return out

    def largest_lam(self) -> float:
        """The smallest λ‖W‖₁ at which all weights are 0."""
        return float(np.abs(self.pulls(self.log_probabilities(np.zeros(self.shape)))).max())

    def gap(self, W: Array, lam: float) -> float:
        """Duality gap over the objective, summed from terms that vanish at the optimum.

        The dual point is the mixture of labels and probabilities that the penalty allows.
        """
        logs = self.log_probabilities(W)
        pulls = self.pulls(logs)
        largest = float(np.abs(pulls).max())
        scale = 1.0 if self.ridge or largest <= lam else lam / largest
        mixture = (1 - scale) * self.labels + scale * np.exp(logs)
        gap = float(np.sum(kl_div(mixture, np.exp(logs))))
        if self.ridge:
            gap += 0.5 * lam * float(np.sum((W - pulls / lam) ** 2))
        else:
            gap += float(np.sum(lam * np.abs(W) - scale * W * pulls))
        return max(gap, 0.0) / self.objective(W, lam)

    def minimise(self, W: Array, lam: float) -> Array:
        """Newton's method on the weights that are not 0 or should not be, signs held.

        It is damped as far as the objective needs, and weights enter a few at a time, so that
        any start will do.
        """
        value, damping = self.objective(W, lam), 1e-6
        for _ in range(_ROUNDS):
            if self.gap(W, lam) <= CERTIFIED or damping > 1e6:
                break
            trial = self._step(W, lam, damping)
            found = self.objective(trial, lam)
            if found < value:
                W, value, damping = trial, found, max(damping / 10, 1e-10)
            else:
                damping *= 10
        return W

    def _step(self, W: Array, lam: float, damping: float) -> Array:
        logs = self.log_probabilities(W)
        pulls = self.pulls(logs)
        if self.ridge:
            return W + self._solve(logs, pulls - lam * W, np.ones_like(W, dtype=bool), lam, 0.0)
        kept = W != 0
        excess = np.where(kept, 0.0, np.maximum(np.abs(pulls) - lam, 0.0))
        room = max(_ENTERING, int(np.count_nonzero(kept)))
        least = np.partition(excess, -room, axis=None)[-room] if room < excess.size else 0.0
        active = kept | ((excess > 0) & (excess >= least))
        signs = np.where(kept, np.sign(W), np.sign(pulls))
        slope = np.where(active, pulls - lam * signs, 0.0)
        trial = W + self._solve(logs, slope, active, 0.0, damping)
        trial[np.sign(trial) != signs] = 0.0
        return trial

    def _solve(
        self, logs: Array, slope: Array, active: Array, ridge: float, damping: float
    ) -> Array:
        """Conjugate gradients for the second derivatives, on the active weights only."""
        columns = np.flatnonzero(active.any(axis=0))
        X, mask = self.X[:, columns], active[:, columns]
        free = np.exp(logs)[:, self.free]
        squares = X.power(2) if scipy.sparse.issparse(X) else X**2
        diagonal = np.asarray(squares.T @ (free * (1 - free))).T[mask] + ridge
        extra = ridge + damping * diagonal

        def product(vector: Array) -> Array:
            V = np.zeros(mask.shape)
            V[mask] = vector
            moved = free * (X @ V.T)
            moved -= free * moved.sum(axis=1, keepdims=True)
            out: Array = np.asarray(X.T @ moved).T[mask] + extra * vector
            return out

        size = int(np.count_nonzero(mask))
        operator = scipy.sparse.linalg.LinearOperator((size, size), matvec=product)
        inverse = scipy.sparse.linalg.LinearOperator((size, size), matvec=lambda v: v / diagonal)
        target = slope[:, columns][mask]
        values = np.zeros(mask.shape)
        values[mask] = scipy.sparse.linalg.cg(operator, target, M=inverse, rtol=1e-4, maxiter=1000)[
            0
        ]
        step = np.zeros(self.shape)
        step[:, columns] = values
        return step


def is_large(case: Case, problem: Problem) -> bool:
    """Whether the judge, left to itself, would take hours."""
    n, p = problem.X.shape
    return not scipy.sparse.issparse(problem.X) and n * p * case.classes > _LARGE


def solve(case: Case, problem: Problem, lams: Array, start: Array | None = None) -> Reference:
    """The optimum at each penalty, from the one before; the first from zero or a start."""
    goal = Logistic.of(case.task, case.classes, problem.X, problem.y)
    W = np.zeros(goal.shape) if start is None else start.reshape(-1, goal.shape[1])
    W = W[: goal.shape[0]]
    kept, values, gaps = [], [], []
    for lam in map(float, lams):
        W = goal.minimise(W, lam)
        kept.append(W.ravel())
        values.append(goal.objective(W, lam))
        gaps.append(goal.gap(W, lam))
    source = "Newton's method of the judge" + ("" if start is None else ", from a tight fit")
    return Reference(lams, np.array(kept), np.array(values), np.array(gaps), source)


def judge_logistic(
    case: Case, problem: Problem, solution: Solution, reference: Reference
) -> dict[str, float | None]:
    """The measures of one solution."""
    goal = Logistic.of(case.task, case.classes, problem.X, problem.y)
    given, p = solution.coef, problem.X.shape[1]
    shape = (p,) if case.classes == 2 else (case.classes, p)
    shape = (len(reference.lams), *shape) if case.task == "logistic-path" else shape
    if given.shape != shape:
        raise ValueError(f"solution has coefficients of shape {given.shape}, expected {shape}")
    if not np.all(np.isfinite(given)):
        raise ValueError("solution is not finite")
    rows = given.reshape(len(reference.lams), -1, p)
    if np.any(rows[:, goal.shape[0] :]):
        raise ValueError("the class of reference has weights")
    rows = rows[:, : goal.shape[0]]
    found = np.array([goal.objective(W, lam) for W, lam in zip(rows, reference.lams, strict=True)])
    best = reference.objectives
    return {
        "terms": float(np.count_nonzero(rows[-1])),
        "suboptimality": float(np.max((found - best) / best)),
    }

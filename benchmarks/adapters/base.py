"""What the runner asks of a library."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.problem import Array, Case, Matrix, Solution, TrainingData


class Adapter(ABC):
    """A library (or one estimator of it). Import the library inside methods only."""

    name: ClassVar[str]  # shown in the tables
    library: ClassVar[str]  # the distribution on PyPI
    module: ClassVar[str]  # what is imported
    solves: ClassVar[str | None] = None  # the problem it sets out to solve, if judged
    missing: ClassVar[str] = "not installed"  # said where it cannot be imported
    # Cases with a goal: tolerances to try, loosest first, and one for a certified optimum (with
    # the right signs the judge closes the rest of the gap, and a tighter one takes minutes).
    ladder: ClassVar[tuple[float, ...]] = tuple(10.0**-k for k in range(15))
    tight: ClassVar[float | None] = None

    def interpreter(self) -> str:
        """The Python that has the library; only a conflict of versions needs another one."""
        return sys.executable

    def command(self, job_file: Path, job: Mapping[str, Any]) -> list[str]:
        """What runs one fit: it reads ``job`` and writes the files that ``job`` names."""
        return [self.interpreter(), "-m", "benchmarks.child", str(job_file)]

    def variants(self, case: Case) -> tuple[str, ...]:
        """Ways to the same answer; the fastest of them is measured."""
        return ("",)

    def available(self) -> bool:
        """Whether the library can be imported here."""
        return importlib.util.find_spec(self.module) is not None

    def version(self) -> str:
        """The installed version."""
        try:
            return importlib.metadata.version(self.library)
        except importlib.metadata.PackageNotFoundError:
            return "unknown"

    @abstractmethod
    def supports(self, case: Case) -> bool | str:
        """True, or why this library cannot do the case; False leaves it out of the table."""

    def prepare(self) -> None:
        """Everything that is not fitting; not timed."""
        importlib.import_module(self.module)

    def arrange(self, data: TrainingData) -> TrainingData:
        """Put the data into the form that the library likes best; not timed."""
        return data

    @abstractmethod
    def fit(self, data: TrainingData, case: Case) -> Any:
        """Fit; this call and nothing else is timed."""

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        """Turn what ``fit`` returned into weights; not timed."""
        claims = {
            key: _plain(getattr(fitted, f"{key}_"))
            for key in ("n_iter", "converged", "objective", "certificate", "noise_std")
            if hasattr(fitted, f"{key}_")
        }
        coef = np.asarray(fitted.coef_, dtype=np.float64)
        return Solution(coef, float(fitted.intercept_), claims)


class GoalAdapter(Adapter):
    """A library that minimises the objective of a case with a goal.

    It has a method for each task that it can do, by the name of the task: ``lasso_path`` takes
    the data and returns weights, or a Solution.
    """

    cannot: ClassVar[Mapping[str, str]] = {}  # why not, of tasks that one would expect

    def supports(self, case: Case) -> bool | str:
        return hasattr(self, _method(case)) or self.cannot.get(case.task, False)

    def fit(self, data: TrainingData, case: Case) -> Any:
        return getattr(self, _method(case))(data)

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        if isinstance(fitted, Solution):
            return fitted
        dense = fitted.toarray() if hasattr(fitted, "toarray") else fitted
        return Solution(np.array(dense, dtype=np.float64))


def spread(weights: Any, kept: Any, size: int) -> Array:
    """Weights of all kernels, 0 but for those ``kept``."""
    out = np.zeros(size)
    out[np.ravel(kept)] = np.ravel(weights)
    return out


def _method(case: Case) -> str:
    return case.task.replace("-", "_")


def looped_cv(
    data: TrainingData,
    path: Callable[[Matrix, Array, Array], Any],
    one: Callable[[Matrix, Array, float], Any],
) -> Solution:
    """Cross-validation for a library without one that takes folds and penalties.

    ``path`` and ``one`` take alphas (per row). ``path`` returns one row of weights for each.
    """
    X, y, alphas = data.X, data.y, data.alphas
    curve = np.zeros(len(alphas))
    for train, test in data.folds:
        coefs = path(np.asfortranarray(X[train]), y[train], alphas)
        errors = y[test][:, None] - X[test] @ coefs.T
        curve += np.mean(errors**2, axis=0)
    curve /= len(data.folds)
    best = int(np.argmin(curve))
    coef = np.asarray(one(X, y, float(alphas[best])))
    return Solution(coef, lam=float(data.lams[best]), curve=curve)


def _plain(value: Any) -> Any:
    """A JSON value: booleans and numbers as they are, all else as text."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)

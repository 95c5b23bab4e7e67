"""What the runner asks of a library."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from benchmarks.problem import Case, Solution, TrainingData


class Adapter(ABC):
    """A library (or one estimator of it). Import the library inside methods only."""

    name: ClassVar[str]  # shown in the tables
    library: ClassVar[str]  # the distribution on PyPI
    module: ClassVar[str]  # what is imported
    solves: ClassVar[str | None] = None  # the problem it sets out to solve, if judged

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
        """True, or why this library cannot do the case."""

    def prepare(self) -> None:
        """Everything that is not fitting; not timed."""
        importlib.import_module(self.module)

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


def _plain(value: Any) -> Any:
    """A JSON value: booleans and numbers as they are, all else as text."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)

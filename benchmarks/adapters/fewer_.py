"""fewer."""

from __future__ import annotations

from typing import Any

from benchmarks.adapters.base import Adapter
from benchmarks.problem import Case, TrainingData


class Fewer(Adapter):
    name = "fewer"
    library = "fewer"
    module = "fewer"
    solves = "jeffreys"

    def supports(self, case: Case) -> bool | str:
        if case.task in ("moments", "regression"):
            return True
        return f"no adapter for task {case.task} yet"

    def fit(self, data: TrainingData, case: Case) -> Any:
        from fewer import SparseRegressor

        return SparseRegressor(n_jobs=data.threads).fit(data.X, data.y)


ADAPTERS = (Fewer,)

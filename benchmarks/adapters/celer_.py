"""celer: working sets and dual extrapolation."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from benchmarks.adapters.base import GoalAdapter, looped_cv
from benchmarks.problem import Array, Case, Matrix, TrainingData


class Celer(GoalAdapter):
    name = "celer"
    library = "celer"
    module = "celer"
    tight = 1e-10
    cannot: ClassVar[Mapping[str, str]] = {"multinomial": "two classes only"}

    def lasso(self, data: TrainingData) -> Any:
        # celer.Lasso would copy X first.
        return self.lasso_path(data)[0]

    def _path(self, data: TrainingData, X: Matrix, y: Array, alphas: Array) -> Any:
        # As celer.Lasso sets them: the defaults of celer_path stop too early.
        settings = {"tol": data.tol, "max_iter": 100, "prune": True}
        return import_module("celer").celer_path(X, y, "lasso", alphas=alphas, **settings)[1].T

    def lasso_path(self, data: TrainingData) -> Any:
        return self._path(data, data.X, data.y, data.alphas)

    def lasso_cv(self, data: TrainingData) -> Any:
        # celer 0.7.4's own LassoCV cannot be made beside scikit-learn 1.9.
        def path(X: Matrix, y: Array, alphas: Array) -> Any:
            return self._path(data, X, y, alphas)

        def one(X: Matrix, y: Array, alpha: float) -> Any:
            return self._path(data, X, y, np.array([alpha]))[0]

        return looped_cv(data, path, one)

    def variants(self, case: Case) -> tuple[str, ...]:
        return ("prox-Newton", "descent") if case.task.startswith("logistic") else ("",)

    def logistic(self, data: TrainingData) -> Any:
        return self.logistic_path(data)[0]

    def logistic_path(self, data: TrainingData) -> Any:
        # As celer.LogisticRegression sets them.
        settings = {"tol": data.tol, "max_iter": 50, "max_epochs": 50_000, "p0": 10, "prune": True}
        return (
            import_module("celer")
            .celer_path(
                data.X,
                2 * data.y - 1,
                "logreg",
                alphas=data.lams,
                use_PN=data.variant == "prox-Newton",
                **settings,
            )[1]
            .T
        )


ADAPTERS = (Celer,)

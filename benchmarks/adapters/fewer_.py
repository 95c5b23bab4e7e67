"""fewer."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from benchmarks.adapters.base import Adapter
from benchmarks.problem import Case, Solution, TrainingData


class Fewer(Adapter):
    name = "fewer"
    library = "fewer"
    module = "fewer"
    solves = "jeffreys"
    names: ClassVar[dict[str, str]] = {
        "moments": "SparseRegressor",
        "regression": "SparseRegressor",
        "lasso": "Lasso",
        "lasso-path": "lasso_path",
        "lasso-cv": "LassoCV",
    }

    def supports(self, case: Case) -> bool | str:
        import fewer

        if case.task not in self.names:
            return f"no adapter for task {case.task} yet"
        name = self.names[case.task]
        return True if hasattr(fewer, name) else f"this version has no {name}"

    def fit(self, data: TrainingData, case: Case) -> Any:
        import fewer

        function: Any = getattr(fewer, self.names[case.task])
        if case.goal is None:
            return function(n_jobs=data.threads).fit(data.X, data.y)
        settings = {
            "fit_intercept": False,
            "standardize": False,
            "tol": data.tol,  # relative duality gap
            "n_jobs": data.threads,
        }
        if case.task == "lasso":
            return function(lam=float(data.lams[0]), **settings).fit(data.X, data.y)
        if case.task == "lasso-path":
            return function(data.X, data.y, lams=data.lams, **settings)
        return function(lams=data.lams, cv=data.folds, **settings).fit(data.X, data.y)

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        if hasattr(fitted, "coefs"):
            return Solution(np.asarray(fitted.coefs, dtype=np.float64))
        if not hasattr(fitted, "cv_scores_"):
            return super().solution(fitted, data)
        curve = np.asarray(fitted.cv_scores_, dtype=np.float64).mean(axis=1)
        return Solution(np.asarray(fitted.coef_), lam=float(fitted.lam_), curve=curve)


ADAPTERS = (Fewer,)

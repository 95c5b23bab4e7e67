"""fewer."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np

from benchmarks import evidence
from benchmarks.adapters.base import Adapter, spread
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
        "logistic": "SMLR",
        "logistic-path": "SMLR",
        "multinomial": "SMLR",
        "multinomial-reference": "SMLR",
        "ridge-logistic": "RMLR",
        "ridge-multinomial": "RMLR",
        "rvm": "RVR",
        "ard": "RVR",
    }

    def supports(self, case: Case) -> bool | str:
        import fewer

        if case.task not in self.names:
            return f"no adapter for task {case.task} yet"
        name = self.names[case.task]
        if not hasattr(fewer, name):
            return f"this version has no {name}"
        if case.task == "logistic-path" and not hasattr(fewer.SMLR, "path"):
            return "this version has no SMLR.path"
        if _symmetric(case.task):
            known = inspect.signature(getattr(fewer, name)).parameters
            if "parameterization" not in known:
                return f'this version has no {name}(parameterization="symmetric")'
        return True

    def fit(self, data: TrainingData, case: Case) -> Any:
        import fewer

        function: Any = getattr(fewer, self.names[case.task])
        if case.task in evidence.TASKS:
            basis = {"basis": "rbf", "gamma": data.gamma} if case.gamma else {"basis": "linear"}
            return function(
                standardize=False, fit_intercept=False, n_jobs=data.threads, **basis
            ).fit(data.X, data.y)
        if case.goal is None:
            return function(n_jobs=data.threads).fit(data.X, data.y)
        settings: dict[str, Any] = {
            "fit_intercept": False,
            "standardize": False,
            "tol": data.tol,  # relative duality gap
            "n_jobs": data.threads,
        }
        if case.task == "lasso-path":
            return function(data.X, data.y, lams=data.lams, **settings)
        if case.task == "lasso-cv":
            return function(lams=data.lams, cv=data.folds, **settings).fit(data.X, data.y)
        if case.task == "logistic-path":
            return function(**settings).path(data.X, data.y, lams=data.lams)
        if _symmetric(case.task):
            settings["parameterization"] = "symmetric"
        return function(lam=float(data.lams[0]), **settings).fit(data.X, data.y)

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        if len(data.X_test):
            coef = np.asarray(fitted.coef_, dtype=np.float64)
            if fitted.basis == "rbf":
                coef = spread(coef, fitted.relevance_, len(data.y))
            prediction = np.array(fitted.predict(data.X_test, return_std=True))
            return Solution(coef, prediction=prediction, noise_std=float(fitted.noise_std_))
        if hasattr(fitted, "coefs"):
            coefs = np.asarray(fitted.coefs, dtype=np.float64)
            return Solution(coefs[:, 0] if coefs.ndim == 3 else coefs)
        if data.classes:
            coef = np.asarray(fitted.coef_)
            return Solution(coef[0] if data.classes == 2 else coef)
        if not hasattr(fitted, "cv_scores_"):
            return super().solution(fitted, data)
        curve = np.asarray(fitted.cv_scores_, dtype=np.float64).mean(axis=1)
        return Solution(np.asarray(fitted.coef_), lam=float(fitted.lam_), curve=curve)


def _symmetric(task: str) -> bool:
    return task in ("multinomial", "ridge-multinomial")


ADAPTERS = (Fewer,)

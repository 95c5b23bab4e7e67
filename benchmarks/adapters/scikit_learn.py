"""scikit-learn: the estimators a user would take for a sparse linear model."""

from __future__ import annotations

from typing import Any

from benchmarks.adapters.base import Adapter
from benchmarks.problem import Case, TrainingData


class _ScikitLearn(Adapter):
    library = "scikit-learn"
    module = "sklearn.linear_model"

    def available(self) -> bool:
        # find_spec of a submodule raises where the package itself is missing.
        try:
            return super().available()
        except ModuleNotFoundError:
            return False

    def supports(self, case: Case) -> bool | str:
        if case.task == "regression":
            return True
        return "the case compares a default fit of fewer with its moments only"


class ARDRegression(_ScikitLearn):
    name = "sklearn-ARDRegression"

    def fit(self, data: TrainingData, case: Case) -> Any:
        from sklearn.linear_model import ARDRegression

        return ARDRegression().fit(data.X, data.y)


class BayesianRidge(_ScikitLearn):
    name = "sklearn-BayesianRidge"

    def fit(self, data: TrainingData, case: Case) -> Any:
        from sklearn.linear_model import BayesianRidge

        return BayesianRidge().fit(data.X, data.y)


class LassoCV(_ScikitLearn):
    name = "sklearn-LassoCV"

    def fit(self, data: TrainingData, case: Case) -> Any:
        from sklearn.linear_model import LassoCV

        return LassoCV(n_jobs=data.threads).fit(data.X, data.y)


ADAPTERS = (ARDRegression, BayesianRidge, LassoCV)

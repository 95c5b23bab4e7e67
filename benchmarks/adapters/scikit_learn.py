"""scikit-learn: the estimators a user would take for a sparse linear model."""

from __future__ import annotations

from typing import Any

from benchmarks.adapters.base import Adapter, LassoAdapter
from benchmarks.problem import Case, Solution, TrainingData


class _Installed(Adapter):
    library = "scikit-learn"
    module = "sklearn.linear_model"

    def available(self) -> bool:
        # find_spec of a submodule raises where the package itself is missing.
        try:
            return super().available()
        except ModuleNotFoundError:
            return False


class _ScikitLearn(_Installed):
    def supports(self, case: Case) -> bool | str:
        if case.task == "regression":
            return True
        if case.goal is not None:
            return False
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


class Lasso(_Installed, LassoAdapter):
    name = "sklearn"
    tight = 1e-12

    def one(self, data: TrainingData) -> Any:
        from sklearn.linear_model import Lasso

        model = Lasso(
            alpha=data.alphas[0], fit_intercept=False, copy_X=False, tol=data.tol, max_iter=10**6
        )
        return model.fit(data.X, data.y).coef_

    def path(self, data: TrainingData) -> Any:
        from sklearn.linear_model import lasso_path

        _, coefs, _ = lasso_path(
            data.X, data.y, alphas=data.alphas, copy_X=False, tol=data.tol, max_iter=10**6
        )
        return coefs.T

    def cv(self, data: TrainingData) -> Any:
        from sklearn.linear_model import LassoCV

        model = LassoCV(
            alphas=data.alphas,
            cv=data.folds,
            fit_intercept=False,
            copy_X=False,
            tol=data.tol,
            max_iter=10**6,
            n_jobs=data.threads,
        ).fit(data.X, data.y)
        return Solution(
            model.coef_, lam=model.alpha_ * len(data.y), curve=model.mse_path_.mean(axis=1)
        )


ADAPTERS = (ARDRegression, BayesianRidge, LassoCV, Lasso)

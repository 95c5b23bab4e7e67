"""scikit-learn: the estimators a user would take for a sparse linear model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from benchmarks import evidence
from benchmarks.adapters.base import Adapter, GoalAdapter, spread
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
        if case.goal is not None or case.task in evidence.TASKS:
            return False
        return "the case compares a default fit of fewer with its moments only"


class ARDRegression(_ScikitLearn):
    name = "sklearn-ARDRegression"

    def supports(self, case: Case) -> bool | str:
        return True if case.task == "ard" else super().supports(case)

    def fit(self, data: TrainingData, case: Case) -> Any:
        from sklearn.linear_model import ARDRegression

        return ARDRegression(fit_intercept=case.task != "ard").fit(data.X, data.y)

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        if not len(data.X_test):
            return super().solution(fitted, data)
        prediction = np.array(fitted.predict(data.X_test, return_std=True))
        noise_std = float(fitted.alpha_) ** -0.5
        return Solution(fitted.coef_, prediction=prediction, noise_std=noise_std)


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


class SVR(_Installed):
    """What one might take instead of few kernels; it has no predictive density."""

    name = "sklearn-SVR"
    module = "sklearn.svm"

    def supports(self, case: Case) -> bool | str:
        return case.task == "rvm"

    def fit(self, data: TrainingData, case: Case) -> Any:
        from sklearn.svm import SVR

        return SVR(gamma=data.gamma).fit(data.X, data.y)

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        coef = spread(fitted.dual_coef_, fitted.support_, len(data.y))
        mean = fitted.predict(data.X_test)
        return Solution(coef, prediction=np.array([mean, np.full_like(mean, np.nan)]))


class GaussianProcess(SVR):
    """The exact process, with the width and the noise at their most probable; all kernels."""

    name = "sklearn-GaussianProcessRegressor"
    module = "sklearn.gaussian_process"

    def fit(self, data: TrainingData, case: Case) -> Any:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        start = (0.5 / data.gamma) ** 0.5
        kernel = ConstantKernel() * RBF(start) + WhiteKernel()
        return GaussianProcessRegressor(kernel, random_state=0).fit(data.X, data.y)

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        prediction = np.array(fitted.predict(data.X_test, return_std=True))
        return Solution(np.asarray(fitted.alpha_), prediction=prediction)


class Lasso(_Installed, GoalAdapter):
    name = "sklearn"
    tight = 1e-12

    def lasso(self, data: TrainingData) -> Any:
        from sklearn.linear_model import Lasso

        model = Lasso(
            alpha=data.alphas[0], fit_intercept=False, copy_X=False, tol=data.tol, max_iter=10**6
        )
        return model.fit(data.X, data.y).coef_

    def lasso_path(self, data: TrainingData) -> Any:
        from sklearn.linear_model import lasso_path

        _, coefs, _ = lasso_path(
            data.X, data.y, alphas=data.alphas, copy_X=False, tol=data.tol, max_iter=10**6
        )
        return coefs.T

    def lasso_cv(self, data: TrainingData) -> Any:
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


class _LogisticRegression(_Installed, GoalAdapter):
    solver: ClassVar[str]

    def arrange(self, data: TrainingData) -> TrainingData:
        sparse = scipy.sparse.issparse(data.X)
        X = scipy.sparse.csr_matrix(data.X) if sparse else np.ascontiguousarray(data.X)
        if sparse:
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return dataclasses.replace(data, X=X)

    def _model(self, data: TrainingData, l1_ratio: float) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(
            C=1 / data.lams[0],
            l1_ratio=l1_ratio,
            solver=self.solver,
            fit_intercept=False,
            tol=data.tol,
            max_iter=10**6,
            warm_start=True,
            random_state=0,
        )

    def _l1(self, data: TrainingData) -> Any:
        return self._model(data, 1.0).fit(data.X, data.y).coef_

    def _l2(self, data: TrainingData) -> Any:
        return self._model(data, 0.0).fit(data.X, data.y).coef_


class Liblinear(_LogisticRegression):
    name = "sklearn-liblinear"
    solver = "liblinear"
    cannot: ClassVar[Mapping[str, str]] = {
        "multinomial": "one class against the rest only",
        "ridge-multinomial": "one class against the rest only",
    }

    def logistic(self, data: TrainingData) -> Any:
        return self._l1(data)[0]

    def logistic_path(self, data: TrainingData) -> Any:
        model = self._model(data, 1.0)
        fits = (model.set_params(C=1 / lam).fit(data.X, data.y) for lam in data.lams)
        return np.array([np.array(fitted.coef_[0]) for fitted in fits])

    def ridge_logistic(self, data: TrainingData) -> Any:
        return self._l2(data)[0]


class Saga(Liblinear):
    name = "sklearn-saga"
    solver = "saga"
    cannot: ClassVar[Mapping[str, str]] = {}

    def multinomial(self, data: TrainingData) -> Any:
        return self._l1(data)

    def ridge_multinomial(self, data: TrainingData) -> Any:
        return self._l2(data)


class Lbfgs(_LogisticRegression):
    name = "sklearn-lbfgs"
    solver = "lbfgs"

    def ridge_logistic(self, data: TrainingData) -> Any:
        return self._l2(data)[0]

    def ridge_multinomial(self, data: TrainingData) -> Any:
        return self._l2(data)


class NewtonCg(Lbfgs):
    name = "sklearn-newton-cg"
    solver = "newton-cg"


class NewtonCholesky(Lbfgs):
    name = "sklearn-newton-cholesky"
    solver = "newton-cholesky"


ADAPTERS = (
    ARDRegression,
    BayesianRidge,
    LassoCV,
    SVR,
    GaussianProcess,
    Lasso,
    Saga,
    Liblinear,
    Lbfgs,
    NewtonCg,
    NewtonCholesky,
)

"""skglm: working sets and Anderson acceleration, compiled by Numba on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from benchmarks.adapters.base import GoalAdapter, looped_cv
from benchmarks.problem import Array, Matrix, TrainingData


class Skglm(GoalAdapter):
    name = "skglm"
    library = "skglm"
    module = "skglm"
    tight = 1e-9
    cannot: ClassVar[Mapping[str, str]] = {"multinomial": "two classes only"}

    def _model(self, data: TrainingData, alpha: float) -> Any:
        # Its tolerance is absolute, on the gradient: the ladder is in units of the penalty, the
        # largest one of a path.
        tol = data.tol * float(data.alphas[0])
        return import_module("skglm").Lasso(alpha=alpha, fit_intercept=False, tol=tol, max_iter=500)

    def lasso(self, data: TrainingData) -> Any:
        model = self._model(data, data.alphas[0])
        return model.fit(data.X, data.y).coef_

    def lasso_path(self, data: TrainingData) -> Any:
        model = self._model(data, data.alphas[0])
        return model.path(data.X, data.y, data.alphas)[1].T

    def lasso_cv(self, data: TrainingData) -> Any:
        def path(X: Matrix, y: Array, alphas: Array) -> Any:
            return self._model(data, alphas[0]).path(X, y, alphas)[1].T

        def one(X: Matrix, y: Array, alpha: float) -> Any:
            return self._model(data, alpha).fit(X, y).coef_

        return looped_cv(data, path, one)

    def _classifier(self, data: TrainingData) -> Any:
        return import_module("skglm").SparseLogisticRegression(
            alpha=data.alphas[0],
            fit_intercept=False,
            tol=data.tol * float(data.alphas[0]),
            max_iter=500,
            warm_start=True,
        )

    def logistic(self, data: TrainingData) -> Any:
        return self._classifier(data).fit(data.X, data.y).coef_[0]

    def logistic_path(self, data: TrainingData) -> Any:
        model = self._classifier(data)
        fits = (model.set_params(alpha=alpha).fit(data.X, data.y) for alpha in data.alphas)
        return np.array([np.array(fitted.coef_[0]) for fitted in fits])


ADAPTERS = (Skglm,)

"""skglm: working sets and Anderson acceleration, compiled by Numba on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.adapters.base import LassoAdapter, looped_cv
from benchmarks.problem import Array, Matrix, TrainingData


class Skglm(LassoAdapter):
    name = "skglm"
    library = "skglm"
    module = "skglm"
    tight = 1e-9

    def _model(self, data: TrainingData, alpha: float) -> Any:
        # Its tolerance is absolute, on the gradient: the ladder is in units of the penalty, the
        # largest one of a path.
        tol = data.tol * float(data.alphas[0])
        return import_module("skglm").Lasso(alpha=alpha, fit_intercept=False, tol=tol, max_iter=500)

    def one(self, data: TrainingData) -> Any:
        model = self._model(data, data.alphas[0])
        return model.fit(data.X, data.y).coef_

    def path(self, data: TrainingData) -> Any:
        model = self._model(data, data.alphas[0])
        return model.path(data.X, data.y, data.alphas)[1].T

    def cv(self, data: TrainingData) -> Any:
        def path(X: Matrix, y: Array, alphas: Array) -> Any:
            return self._model(data, alphas[0]).path(X, y, alphas)[1].T

        def one(X: Matrix, y: Array, alpha: float) -> Any:
            return self._model(data, alpha).fit(X, y).coef_

        return looped_cv(data, path, one)


ADAPTERS = (Skglm,)

"""celer: working sets and dual extrapolation."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.adapters.base import LassoAdapter, looped_cv
from benchmarks.problem import Array, Matrix, TrainingData


class Celer(LassoAdapter):
    name = "celer"
    library = "celer"
    module = "celer"
    tight = 1e-10

    def one(self, data: TrainingData) -> Any:
        # celer.Lasso would copy X first.
        return self.path(data)[0]

    def _path(self, data: TrainingData, X: Matrix, y: Array, alphas: Array) -> Any:
        # As celer.Lasso sets them: the defaults of celer_path stop too early.
        settings = {"tol": data.tol, "max_iter": 100, "prune": True}
        return import_module("celer").celer_path(X, y, "lasso", alphas=alphas, **settings)[1].T

    def path(self, data: TrainingData) -> Any:
        return self._path(data, data.X, data.y, data.alphas)

    def cv(self, data: TrainingData) -> Any:
        # celer 0.7.4's own LassoCV cannot be made beside scikit-learn 1.9.
        def path(X: Matrix, y: Array, alphas: Array) -> Any:
            return self._path(data, X, y, alphas)

        def one(X: Matrix, y: Array, alpha: float) -> Any:
            return self._path(data, X, y, np.array([alpha]))[0]

        return looped_cv(data, path, one)


ADAPTERS = (Celer,)

"""Snap ML: coordinate descent, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from benchmarks.adapters.base import GoalAdapter
from benchmarks.problem import TrainingData


class SnapML(GoalAdapter):
    name = "snapml"
    library = "snapml"
    module = "snapml"
    cannot: ClassVar[Mapping[str, str]] = {
        "multinomial": "one class against the rest only",
        "ridge-multinomial": "one class against the rest only",
        "logistic-path": "no path and no warm start",
    }

    def _fit(self, data: TrainingData, **more: Any) -> Any:
        model = import_module("snapml").LogisticRegression(
            regularizer=float(data.lams[0]),
            fit_intercept=False,
            tol=data.tol,
            max_iter=10**5,
            n_jobs=data.threads,
            random_state=0,
            **more,
        )
        return np.ravel(model.fit(data.X, data.y).coef_)

    def logistic(self, data: TrainingData) -> Any:
        return self._fit(data, penalty="l1", dual=False)

    def ridge_logistic(self, data: TrainingData) -> Any:
        return self._fit(data, penalty="l2", dual=data.X.shape[0] > data.X.shape[1])


ADAPTERS = (SnapML,)

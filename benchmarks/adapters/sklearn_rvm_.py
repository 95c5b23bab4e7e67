"""sklearn-rvm: Tipping's first algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.adapters.base import Adapter, spread
from benchmarks.problem import Case, Solution, TrainingData


class SklearnRVM(Adapter):
    name = "sklearn-rvm"
    library = "sklearn-rvm"
    module = "sklearn_rvm"

    def supports(self, case: Case) -> bool | str:
        return True if case.task == "rvm" else "kernels only" if case.task == "ard" else False

    def fit(self, data: TrainingData, case: Case) -> Any:
        from sklearn_rvm import EMRVR

        model = EMRVR(kernel="rbf", gamma=data.gamma, bias_used=False)
        model.fit(data.X, data.y)
        return model

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        # Its kernels are divided by a number.
        coef = spread(fitted.mu_ / fitted._scale, fitted.relevance_, len(data.y))
        prediction = np.array(fitted.predict(data.X_test, return_std=True))
        return Solution(coef, prediction=prediction, noise_std=float(fitted.beta_) ** -0.5)


ADAPTERS = (SklearnRVM,)

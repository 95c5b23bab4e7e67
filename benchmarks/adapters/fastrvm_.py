"""fastrvm: the fast algorithm of Tipping and Faul, in C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.adapters.base import Adapter, spread
from benchmarks.problem import Case, Solution, TrainingData


class FastRVM(Adapter):
    name = "fastrvm"
    library = "fastrvm"
    module = "fastrvm"

    def supports(self, case: Case) -> bool | str:
        return case.task in ("rvm", "ard")

    def fit(self, data: TrainingData, case: Case) -> Any:
        if case.task == "ard":
            return self._core(data)
        from fastrvm import RVR

        return RVR(gamma=data.gamma, n_jobs=data.threads).fit(data.X, data.y)

    def _core(self, data: TrainingData) -> Any:
        """Its class has kernels on rows only; what it calls takes any columns."""
        from fastrvm import _sparsebayes_bindings as core

        solver = core.SparseBayes(
            core.Likelihood.Gaussian, 10_000, False, False, False, True, False, None
        )
        return solver.inference(data.X, data.y)

    def solution(self, fitted: Any, data: TrainingData) -> Solution:
        if not isinstance(fitted, dict):
            coef = spread(fitted.dual_coef_, fitted.relevance_, len(data.y))
            prediction = np.array(fitted.predict(data.X_test, return_std=True))
            return Solution(coef, prediction=prediction, noise_std=float(fitted.beta_) ** -0.5)
        kept = np.ravel(fitted["relevant_idx"])
        coef = spread(fitted["mean"], kept, data.X.shape[1])
        X, noise = data.X_test[:, kept], 1 / float(fitted["beta"])
        variance = np.einsum("ij,ij->i", X @ np.asarray(fitted["covariance"]), X) + noise
        prediction = np.array([data.X_test @ coef, np.sqrt(variance)])
        return Solution(coef, prediction=prediction, noise_std=noise**0.5)


ADAPTERS = (FastRVM,)

"""adelie: it wants an older NumPy, so its fits run in an environment of their own."""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.adapters.base import GoalAdapter, looped_cv
from benchmarks.problem import Array, Case, Matrix, TrainingData

ROOT = Path(__file__).resolve().parents[2]
_VERSION = "import importlib.metadata as m; print(m.version('adelie'))"


@functools.cache
def _find() -> tuple[str, str]:
    """The interpreter that has adelie, and its version; the version is empty where none has."""
    own = os.environ.get("FEWER_BENCH_ADELIE") or str(ROOT / ".venv-adelie" / "bin" / "python")
    for python in (own, sys.executable):
        try:
            found = subprocess.run(
                [python, "-c", _VERSION], capture_output=True, text=True, check=True, timeout=60
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return python, found.stdout.strip()
    return sys.executable, ""


class _Single(np.ndarray[Any, Any]):
    """Groups of one weight each: for several responses, grpnet widens groups to all classes."""

    def __mul__(self, other: Any) -> Any:
        return np.asarray(self)


class Adelie(GoalAdapter):
    name = "adelie"
    library = "adelie"
    module = "adelie"
    missing = "not installed: see benchmarks/requirements-adelie.txt"

    def interpreter(self) -> str:
        return _find()[0]

    def available(self) -> bool:
        return bool(_find()[1])

    def version(self) -> str:
        return _find()[1]

    def variants(self, case: Case) -> tuple[str, ...]:
        one = case.task in ("lasso", "logistic", "multinomial")
        return ("straight", "by path") if one else ("",)

    def arrange(self, data: TrainingData) -> TrainingData:
        if not scipy.sparse.issparse(data.X):
            return data
        matrix = import_module("adelie").matrix
        X = matrix.sparse(data.X, method="naive", n_threads=data.threads)
        return dataclasses.replace(data, X=X)

    def _grpnet(
        self, data: TrainingData, X: Matrix, glm: Any, alphas: Array | None, **more: Any
    ) -> Any:
        return import_module("adelie").grpnet(
            X,
            glm,
            intercept=False,
            lmda_path=alphas,
            early_exit=False,  # or it stops where enough is explained
            tol=data.tol,
            n_threads=data.threads,
            progress_bar=False,
            **more,
            **({} if alphas is not None else {"lmda_path_size": 0}),
        )

    def _last(self, data: TrainingData, glm: Any, alphas: Array, **more: Any) -> Any:
        if data.variant == "by path":
            # Twenty steps from its own largest penalty, as its default path would come by.
            largest = self._grpnet(data, data.X, glm, None, **more).lmda_max
            alphas = np.geomspace(largest, alphas[0], 20)
        return self._grpnet(data, data.X, glm, alphas, **more).betas[-1].toarray()[0]

    def lasso(self, data: TrainingData) -> Any:
        return self._last(data, import_module("adelie").glm.gaussian(data.y), data.alphas)

    def lasso_path(self, data: TrainingData) -> Any:
        glm = import_module("adelie").glm.gaussian(data.y)
        return self._grpnet(data, data.X, glm, data.alphas).betas

    def logistic(self, data: TrainingData) -> Any:
        glm = import_module("adelie").glm.binomial(data.y)
        return self._last(data, glm, data.alphas, irls_tol=data.tol)

    def logistic_path(self, data: TrainingData) -> Any:
        glm = import_module("adelie").glm.binomial(data.y)
        return self._grpnet(data, data.X, glm, data.alphas, irls_tol=data.tol).betas

    def ridge_logistic(self, data: TrainingData) -> Any:
        glm = import_module("adelie").glm.binomial(data.y)
        return self._last(data, glm, data.alphas, irls_tol=data.tol, alpha=0.0)

    def multinomial(self, data: TrainingData, **more: Any) -> Any:
        labels = np.asarray(data.y[:, None] == np.arange(data.classes), dtype=np.float64)
        glm = import_module("adelie").glm.multinomial(labels)
        size = data.X.shape[1] * data.classes
        found = self._last(
            data,
            glm,
            data.alphas / data.classes,  # its loss is divided by the number of classes
            irls_tol=data.tol,
            groups=np.arange(size).view(_Single),
            penalty=np.ones(size),
            **more,
        )
        return found.reshape(-1, data.classes).T

    def ridge_multinomial(self, data: TrainingData) -> Any:
        return self.multinomial(data, alpha=0.0)

    def lasso_cv(self, data: TrainingData) -> Any:
        # Its cv_grpnet draws its own folds and grid.
        gaussian = import_module("adelie").glm.gaussian

        def path(X: Matrix, y: Array, alphas: Array) -> Any:
            return self._grpnet(data, X, gaussian(y), alphas).betas

        def one(X: Matrix, y: Array, alpha: float) -> Any:
            return self._grpnet(data, X, gaussian(y), np.array([alpha])).betas.toarray()[0]

        return looped_cv(data, path, one)


ADAPTERS = (Adelie,)

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

from benchmarks.adapters.base import LassoAdapter, looped_cv
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


class Adelie(LassoAdapter):
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
        return ("straight", "by path") if case.task == "lasso" else ("",)

    def arrange(self, data: TrainingData) -> TrainingData:
        if not scipy.sparse.issparse(data.X):
            return data
        matrix = import_module("adelie").matrix
        X = matrix.sparse(data.X, method="naive", n_threads=data.threads)
        return dataclasses.replace(data, X=X)

    def _grpnet(self, data: TrainingData, X: Matrix, y: Array, alphas: Array | None) -> Any:
        adelie = import_module("adelie")
        return adelie.grpnet(
            X,
            adelie.glm.gaussian(y),
            intercept=False,
            lmda_path=alphas,
            early_exit=False,  # or it stops where enough is explained
            tol=data.tol,
            n_threads=data.threads,
            progress_bar=False,
            **({} if alphas is not None else {"lmda_path_size": 0}),
        )

    def one(self, data: TrainingData) -> Any:
        alphas = data.alphas
        if data.variant == "by path":
            # Twenty steps from its own largest penalty, as its default path would come by.
            largest = self._grpnet(data, data.X, data.y, None).lmda_max
            alphas = np.geomspace(largest, alphas[0], 20)
        return self._grpnet(data, data.X, data.y, alphas).betas[-1].toarray()[0]

    def path(self, data: TrainingData) -> Any:
        return self._grpnet(data, data.X, data.y, data.alphas).betas

    def cv(self, data: TrainingData) -> Any:
        # Its cv_grpnet draws its own folds and grid.
        def path(X: Matrix, y: Array, alphas: Array) -> Any:
            return self._grpnet(data, X, y, alphas).betas

        def one(X: Matrix, y: Array, alpha: float) -> Any:
            return self._grpnet(data, X, y, np.array([alpha])).betas.toarray()[0]

        return looped_cv(data, path, one)


ADAPTERS = (Adelie,)

"""glmnet, in R: the fit is timed there."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.adapters.base import GoalAdapter
from benchmarks.problem import Case, TrainingData

_VERSION = 'cat(as.character(packageVersion("glmnet")))'
_SCRIPT = Path(__file__).with_name("glmnet.R")


@functools.cache
def _version() -> str:
    try:
        found = subprocess.run(
            ["Rscript", "--vanilla", "-e", _VERSION],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


class Glmnet(GoalAdapter):
    name = "glmnet"
    library = "glmnet"
    module = "glmnet"
    missing = "not installed: needs R and its glmnet (Debian: r-cran-glmnet)"

    def interpreter(self) -> str:
        return shutil.which("Rscript") or "Rscript"

    def command(self, job_file: Path, job: Mapping[str, Any]) -> list[str]:
        pairs = [f"{key}={value}" for key, value in job.items()]
        return [self.interpreter(), "--vanilla", str(_SCRIPT), *pairs]

    def available(self) -> bool:
        return bool(_version())

    def version(self) -> str:
        return _version()

    def variants(self, case: Case) -> tuple[str, ...]:
        one = case.task in ("lasso", "logistic", "multinomial")
        return ("straight", "by path") if one else ("",)

    def lasso(self, data: TrainingData) -> Any:
        raise NotImplementedError("fitted in R")

    lasso_path = lasso_cv = logistic = logistic_path = lasso
    multinomial = ridge_logistic = ridge_multinomial = lasso


ADAPTERS = (Glmnet,)

"""glmnet, in R: the fit is timed there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.adapters.base import GoalAdapter
from benchmarks.adapters.base_r import RScript
from benchmarks.problem import Case, TrainingData


class Glmnet(RScript, GoalAdapter):
    name = "glmnet"
    library = "glmnet"
    module = "glmnet"
    missing = "not installed: needs R and its glmnet (Debian: r-cran-glmnet)"
    script = Path(__file__).with_name("glmnet.R")

    def variants(self, case: Case) -> tuple[str, ...]:
        one = case.task in ("lasso", "logistic", "multinomial")
        return ("straight", "by path") if one else ("",)

    def lasso(self, data: TrainingData) -> Any:
        raise NotImplementedError("fitted in R")

    lasso_path = lasso_cv = logistic = logistic_path = lasso
    multinomial = ridge_logistic = ridge_multinomial = lasso


ADAPTERS = (Glmnet,)

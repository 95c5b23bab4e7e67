"""kernlab's relevance vector machine, in R: the fit is timed there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.adapters.base_r import RScript
from benchmarks.problem import Case, TrainingData


class Kernlab(RScript):
    name = "kernlab"
    library = "kernlab"
    module = "kernlab"
    missing = "not installed: needs R and its kernlab (Debian: r-cran-kernlab)"
    script = Path(__file__).with_name("kernlab.R")

    def supports(self, case: Case) -> bool | str:
        return True if case.task == "rvm" else "kernels only" if case.task == "ard" else False

    def fit(self, data: TrainingData, case: Case) -> Any:
        raise NotImplementedError("fitted in R")


ADAPTERS = (Kernlab,)

"""What an experiment declares."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Columns = Mapping[str, Array]  # one array per number a repetition returns, by repetition


@dataclass(frozen=True)
class Published:
    """What the paper says; ``recalled`` where it was remembered and not read."""

    text: str
    recalled: bool = False

    def __str__(self) -> str:
        return f"{self.text} (recalled)" if self.recalled else self.text


@dataclass(frozen=True)
class Reference:
    """What an independent implementation measured, and from how many repetitions."""

    value: float
    repetitions: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Quantity:
    """One number of a table: how it follows from the repetitions, and what it is held against.

    ``statistic`` is the name of a column (its mean is taken) or a function of all columns.
    ``better`` is "lower", "higher", or a number the quantity should be close to.
    """

    name: str
    statistic: str | Callable[[Columns], float]
    better: str | float = "lower"
    published: Published | None = None
    reference: Reference | None = None
    tolerance: float = 0.0


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper. ``run(seed)`` is one repetition.

    ``reading`` is what a careful reader concludes from the stored numbers.
    """

    name: str
    paper: str
    item: str
    protocol: str
    seed: int
    repetitions: int
    quick_repetitions: int
    quantities: tuple[Quantity, ...]
    run: Callable[[int], dict[str, float]]
    needs: tuple[str, ...] = ("fewer",)
    data: tuple[str, ...] = ()
    reading: str = ""

    def seeds(self, quick: bool = False) -> list[int]:
        """One seed per repetition; splits and noise are derived from it and nothing else."""
        count = self.quick_repetitions if quick else self.repetitions
        return list(range(self.seed, self.seed + count))

    def missing(self) -> str | None:
        """Why the experiment cannot run here, or None."""
        for module in self.needs:
            if importlib.util.find_spec(module) is None:
                return f"{module} is not installed"
        for name in self.data:
            if not (data_folder() / name).is_file():
                return f"data file {name} is not here (set FEWER_DATA to its folder)"
        return None


def data_folder() -> Path:
    """Where the data sets are: FEWER_DATA, or ../shared/data beside the repository."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("FEWER_DATA") or default)


def generator(seed: int) -> np.random.Generator:
    """The one random generator all experiments use."""
    return np.random.Generator(np.random.PCG64(seed))


def discover() -> dict[str, Experiment]:
    """All experiments of ``papers/experiments``, one per file, by name."""
    package = importlib.import_module("papers.experiments")
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    found = (importlib.import_module(f"papers.experiments.{name}").EXPERIMENT for name in modules)
    return {experiment.name: experiment for experiment in found}

"""What a case hands to a library, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """How large a problem is: rows, columns, true terms, rows held back for the judge."""

    n: int
    p: int
    terms: int
    n_test: int


@dataclass(frozen=True)
class Problem:
    """A generated problem; the parent keeps it, the library sees ``X`` and ``y`` only."""

    X: Array  # (n, p)
    y: Array  # (n,)
    X_test: Array  # (n_test, p)
    y_test: Array  # (n_test,)
    coef: Array  # (p,) the truth
    intercept: float
    noise_std: float


@dataclass(frozen=True)
class TrainingData:
    """What a library is given: the training rows and the number of threads it may use."""

    X: Array
    y: Array
    threads: int


@dataclass(frozen=True)
class Solution:
    """What a library returns; ``claims`` (its own words) are stored but never judged."""

    coef: Array
    intercept: float = 0.0
    claims: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """``library`` takes at most ``at_most`` times as long as ``relative_to``."""

    library: str
    relative_to: str
    at_most: float


@dataclass(frozen=True)
class Case:
    """One benchmark, declared as data."""

    name: str
    title: str
    task: str
    ask: str
    generate: Callable[[np.random.Generator, Sizes], Problem]
    sizes: Sizes
    quick_sizes: Sizes
    seed: int
    measures: tuple[str, ...]
    yardstick: str | None = None
    target: Target | None = None
    timeout_s: float = 600.0

    def problem(self, quick: bool = False) -> Problem:
        """Generate the problem from the seed of the case."""
        rng = np.random.Generator(np.random.PCG64(self.seed))
        return self.generate(rng, self.quick_sizes if quick else self.sizes)

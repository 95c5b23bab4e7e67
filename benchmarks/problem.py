"""What a case hands to a library, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.experiment import data_folder

Array = npt.NDArray[np.float64]
Matrix = Any  # an Array, or a scipy.sparse matrix in CSC form


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

    X: Matrix  # (n, p)
    y: Array  # (n,)
    X_test: Matrix  # (n_test, p)
    y_test: Array  # (n_test,)
    coef: Array  # (p,) the truth
    intercept: float
    noise_std: float


@dataclass(frozen=True)
class TrainingData:
    """What a library is given: the training rows and the number of threads it may use.

    The lasso cases add the penalties (of half the sum of squares, so n times scikit-learn's
    alpha), the fold of every row, and how the library is to be set.
    """

    X: Matrix
    y: Array
    threads: int
    lams: Array = field(default_factory=lambda: np.zeros(0))  # decreasing
    fold_ids: npt.NDArray[np.int32] | None = None
    tol: float = float("nan")
    variant: str = ""
    classes: int = 0  # y then holds their numbers, from 0
    gamma: float = float("nan")  # of Gaussian kernels
    X_test: Array = field(default_factory=lambda: np.zeros((0, 0)))  # to predict; not timed

    @property
    def alphas(self) -> Array:
        """The penalties of the mean of half the squares, which most libraries take."""
        return self.lams / len(self.y)

    @property
    def folds(self) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Rows to fit and rows to score, for each fold."""
        ids = self.fold_ids
        if ids is None:
            return []
        return [(np.flatnonzero(ids != k), np.flatnonzero(ids == k)) for k in range(ids.max() + 1)]


@dataclass(frozen=True)
class Solution:
    """What a library returns; ``claims`` (its own words) are stored but never judged.

    A path has one row of ``coef`` for each penalty; more than two classes have one for each.
    Cross-validation returns the penalty it chose, the weights there, and the mean squared error
    of every penalty, averaged over folds. The cases of evidence also want the predictions of the
    test rows, means and deviations (NaN where there are none), and the noise.
    """

    coef: Array
    intercept: float = 0.0
    claims: Mapping[str, Any] = field(default_factory=dict)
    lam: float | None = None
    curve: Array | None = None
    prediction: Array | None = None  # (2, n_test)
    noise_std: float | None = None


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
    targets: tuple[Target, ...] = ()
    timeout_s: float = 600.0
    lam_ratios: tuple[float, ...] = ()  # penalties over the largest useful one, decreasing
    folds: int = 0
    goal: float | None = None  # relative suboptimality that every library is tuned to reach
    classes: int = 0
    data: tuple[str, ...] = ()  # files it is made of
    gamma: float | None = None  # of Gaussian kernels on all rows
    left_out: Mapping[str, str] = field(default_factory=dict)  # libraries, and why

    def ratios(self, quick: bool = False) -> Array:
        """The penalties over the largest useful one; a quick path is a tenth as long."""
        ratios = np.array(self.lam_ratios)
        return ratios[::11] if quick and len(ratios) > 11 else ratios

    def missing(self) -> str | None:
        """Which file it lacks here, if any."""
        for name in self.data:
            if not (data_folder() / name).is_file():
                return f"data file {name} is not here (set FEWER_DATA to its folder)"
        return None

    def problem(self, quick: bool = False) -> Problem:
        """Generate the problem from the seed of the case."""
        rng = np.random.Generator(np.random.PCG64(self.seed))
        return self.generate(rng, self.quick_sizes if quick else self.sizes)

"""Two Gaussian classes at distance 2, told apart by two of d coordinates (F. & J. 2001, 4.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.experiment import Array, Columns, Published, Quantity, Reference
from papers.tally import ENDINGS, loss_and_terms, terms_of

BAYES = 0.5 * math.erfc(1 / math.sqrt(2))  # Φ(−1); the paper prints Φ(2)

# The intercept has the prior too, as in the paper.
ARMS: dict[str, dict[str, Any]] = {
    "plus_minus": {"fit_intercept": "penalised"},
    "paper": {"fit_intercept": "penalised", "variant": "paper"},
}
LABELS = {"plus_minus": "±1 start", "paper": "paper's variant (0/1 start)"}
NOTE = (
    "The start is from labels ±1, run to convergence, or from 0/1 and stopped at a change of 1e-3 "
    "as in the paper (weights below 1e-4 of the largest are then not counted); which of them the "
    "reference had is not known."
)

Sample = tuple[Array, npt.NDArray[np.intp]]


def mean(dimension: int) -> Array:
    """Of class 1; class 0 is at its negative."""
    return np.where(np.arange(dimension) < 2, math.sqrt(0.5), 0.0)


def sample(rng: np.random.Generator, dimension: int, per_class: int) -> Sample:
    """So many rows of each class."""
    y = np.repeat(np.array([0, 1], dtype=np.intp), per_class)
    X = rng.standard_normal((2 * per_class, dimension)) + np.outer(2 * y - 1, mean(dimension))
    return X, y


def error_of_linear_rule(weights: Array, intercept: float) -> float:
    """Exact probability of a wrong class when w·x + b > 0 stands for class 1."""
    size = float(np.linalg.norm(weights))
    if size == 0:
        return 0.5
    along = float(weights @ mean(len(weights)))
    misses = ((along + intercept) / size, (along - intercept) / size)
    return sum(0.25 * math.erfc(margin / math.sqrt(2)) for margin in misses)


def weights_of(model: Any) -> tuple[Array, float]:
    """Of a two-class model: weights and intercept."""
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])


def worst(columns: Sequence[str]) -> Callable[[Columns], float]:
    """The largest of the means of several columns."""
    return lambda table: max(float(table[name].mean()) for name in columns)


def most_terms(arms: Sequence[str]) -> Callable[[Columns], float]:
    """The largest mean number of terms of several arms."""
    return lambda table: max(terms_of(arm)(table) for arm in arms)


def quantities(
    dimensions: Sequence[int],
    worst_error: float,
    plug_in: tuple[float, float],
    most: float | None,
) -> tuple[Quantity, ...]:
    """The largest over the dimensions, of which the reference is known, and each by itself."""
    found: list[Quantity] = []
    for start, label in LABELS.items():
        arms = [f"{start}_{d}" for d in dimensions]
        found += [
            Quantity(
                f"{label}: largest mean error over d",
                worst([f"{arm}_loss" for arm in arms]),
                published=Published("little above the Bayes error, .1587 (figure)"),
                reference=Reference(worst_error, 30),
            ),
            Quantity(
                f"{label}: largest mean number of weights over d",
                most_terms(arms),
                reference=None if most is None else Reference(most, 30),
            ),
        ]
    # Nothing of ours: they check that the data are the reference's.
    known = dict(zip((dimensions[0], dimensions[-1]), plug_in, strict=True))
    found += [
        Quantity(
            f"plug-in rule, d = {d}: error",
            f"plug_in_{d}",
            better=known.get(d, "lower"),
            reference=Reference(known[d], 30) if d in known else None,
        )
        for d in dimensions
    ]
    for start, label in LABELS.items():
        for d in dimensions:
            found += loss_and_terms(f"{start}_{d}", f"{label}, d = {d}", "error", "weights")
    return tuple(found) + ENDINGS

"""Two Gaussian classes at distance 2, told apart by two of d coordinates (F. & J. 2001, 4.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.experiment import Array, Columns, Published, Quantity, Reference
from papers.tally import terms_of

BAYES = 0.5 * math.erfc(1 / math.sqrt(2))  # Φ(−1); the paper prints Φ(2)

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
    """The largest over the dimensions, which the reference gives, and the means of each."""
    arms = {d: f"d{d}" for d in dimensions}
    first, last = dimensions[0], dimensions[-1]
    held = [
        Quantity(
            "largest mean error over d",
            worst([f"{arm}_loss" for arm in arms.values()]),
            published=Published("little above the Bayes error, .1587 (figure)"),
            reference=Reference(worst_error, 30),
        ),
        Quantity(
            "largest mean number of weights over d",
            most_terms(list(arms.values())),
            reference=None if most is None else Reference(most, 30),
        ),
    ]
    held += [
        Quantity(
            f"plug-in rule, d = {d}: error",
            f"d{d}_plug_in",
            better=value,  # nothing of ours: it checks that the data are the reference's
            reference=Reference(value, 30),
        )
        for d, value in ((first, plug_in[0]), (last, plug_in[1]))
    ]
    for d, arm in arms.items():
        held += [
            Quantity(f"d = {d}: error", f"{arm}_loss"),
            Quantity(f"d = {d}: weights", terms_of(arm)),
        ]
        if d not in (first, last):
            held.append(Quantity(f"plug-in rule, d = {d}: error", f"d{d}_plug_in"))
    return tuple(held)

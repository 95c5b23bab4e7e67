"""From repetitions to a mean, its standard error and a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.experiment import Columns, Quantity, generator

_RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A statistic over repetitions; ``sd`` is that of one repetition, where it has one."""

    value: float
    standard_error: float
    sd: float | None
    repetitions: int


def columns(records: Iterable[Mapping[str, Any]]) -> Columns:
    """The numbers of the repetitions that succeeded, one array per name."""
    values = [record["values"] for record in records if "values" in record]
    names = values[0].keys() if values else ()
    return {name: np.array([row[name] for row in values], dtype=np.float64) for name in names}


def estimate(quantity: Quantity, table: Columns) -> Estimate:
    """The statistic of a quantity with its standard error: s/√r for means, else bootstrap."""
    count = len(next(iter(table.values()))) if table else 0
    if not count:
        return Estimate(math.nan, math.nan, None, 0)
    if isinstance(quantity.statistic, str):
        values = table[quantity.statistic]
        sd = float(np.std(values, ddof=1)) if count > 1 else math.nan
        return Estimate(float(np.mean(values)), sd / math.sqrt(count), sd, count)
    value = float(quantity.statistic(table))
    return Estimate(value, _bootstrap_error(quantity, table, count), None, count)


def _bootstrap_error(quantity: Quantity, table: Columns, count: int) -> float:
    if count < 2 or isinstance(quantity.statistic, str):
        return math.nan
    rng = generator(0)
    draws = (rng.integers(count, size=count) for _ in range(_RESAMPLES))
    values = [
        quantity.statistic({name: column[rows] for name, column in table.items()}) for rows in draws
    ]
    return float(np.std(values, ddof=1))


def verdict(quantity: Quantity, ours: Estimate) -> str:
    """Held against the reference by the rule in papers/README.md."""
    if quantity.reference is None:
        return "no reference"
    if not math.isfinite(ours.standard_error):
        return "too few repetitions"
    excess = _loss(quantity, ours.value) - _loss(quantity, quantity.reference.value)
    margin = 2 * _error_of_difference(quantity, ours) + quantity.tolerance
    if excess > margin:
        return "worse"
    return "better" if excess < -margin else "agrees"


def _loss(quantity: Quantity, value: float) -> float:
    """What should be small."""
    if isinstance(quantity.better, str):
        return {"lower": value, "higher": -value}[quantity.better]
    return abs(value - quantity.better)


def _error_of_difference(quantity: Quantity, ours: Estimate) -> float:
    """Ours, and the reference's own where it says how many repetitions it had."""
    reference = quantity.reference
    if reference is None or reference.repetitions is None:
        return ours.standard_error
    # The reference's spread is not known; ours, for as many repetitions, stands in for it.
    return ours.standard_error * math.sqrt(1 + ours.repetitions / reference.repetitions)

"""Fits by evidence: what a repetition keeps of them, and the rows that papers give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.experiment import Array, Published, Quantity, Reference

BLS_PAPER = "Helgøy & Li 2022"


class Fits:
    """The numbers of one repetition, by arm: terms, an error, the noise where it has one."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {"not_converged": 0.0}

    def add(self, arm: str, model: Any, error: float) -> None:
        """One fit, with its error."""
        self._values[f"{arm}_terms"] = float(np.count_nonzero(model.coef_))
        self._values[f"{arm}_error"] = error
        if hasattr(model, "noise_std_"):
            self._values[f"{arm}_noise"] = float(model.noise_std_)
        self._values["not_converged"] += float(not model.converged_)

    def values(self) -> dict[str, float]:
        """All of them."""
        return dict(self._values)


def root_mean_square(deviation: Array) -> float:
    """Of a vector."""
    return float(np.sqrt(np.mean(deviation**2)))


def rows(
    arm: str,
    label: str,
    names: Mapping[str, str],
    published: Sequence[str] = (),
    measured: Sequence[float] = (),
    repetitions: int | None = None,
    noise: float | None = None,
    recalled: bool = False,
) -> tuple[Quantity, ...]:
    """The numbers of one arm, ``names`` by key in the order of the paper.

    The noise is better the closer it is to ``noise``, all else the lower.
    """
    out = []
    for index, (key, name) in enumerate(names.items()):
        better: str | float = "lower"
        if key == "noise" and noise is not None:
            better = noise
        out.append(
            Quantity(
                name=f"{label}: {name}",
                statistic=f"{arm}_{key}",
                better=better,
                published=(
                    Published(published[index], recalled) if index < len(published) else None
                ),
                reference=(
                    Reference(measured[index], repetitions) if index < len(measured) else None
                ),
            )
        )
    return tuple(out)


UNFINISHED = Quantity(
    "fits that did not converge", lambda table: float(table["not_converged"].sum())
)

"""What the fits of a repetition left behind: losses, counts of terms, and how they ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from papers.experiment import Columns, Published, Quantity, Reference

# The paper's stop comes while weights are still on their way to zero; they are not counted.
_LARGE = 1e-4


def weights_kept(model: Any) -> int:
    """Functions of the basis with a weight, or weights of all classes; the intercept aside."""
    if _variant(model) is None:
        return int(np.count_nonzero(model.coef_))
    if _variant(model) == "exact":
        return int(model.n_terms_)
    sizes = np.max(np.abs(np.atleast_2d(model.coef_)), axis=0)
    return int(np.count_nonzero(sizes > _LARGE * np.max(sizes)))


def _variant(model: Any) -> str | None:
    """Which form of the algorithm, where a method has several."""
    variant: str | None = getattr(model, "variant", None)
    return variant


class Tally:
    """Sums up the fits of one repetition, by arm: a name for a setting."""

    def __init__(self) -> None:
        self._losses: defaultdict[str, list[float]] = defaultdict(list)
        self._terms: defaultdict[str, list[float]] = defaultdict(list)
        self._certificate = 0.0
        self._unfinished = 0

    def add(self, arm: str, model: Any, loss: float, terms: int | None = None) -> None:
        """One fit, with what it costs on the test rows; its terms are the weights it keeps."""
        self._losses[arm].append(loss)
        if not model.converged_:
            self._unfinished += 1
            return
        self._terms[arm].append(weights_kept(model) if terms is None else terms)
        if _variant(model) != "paper":
            self._certificate = max(self._certificate, float(model.certificate_))

    def values(self) -> dict[str, float]:
        """The numbers of the repetition; counts are those of the fits that converged."""
        values = {"not_converged": float(self._unfinished), "certificate": self._certificate}
        for arm, losses in self._losses.items():
            terms = self._terms[arm]
            values[f"{arm}_loss"] = float(np.mean(losses))
            values[f"{arm}_terms"] = float(np.mean(terms)) if terms else 0.0
            values[f"{arm}_converged"] = float(len(terms))
        return values


def terms_of(arm: str) -> Callable[[Columns], float]:
    """Mean number of terms of the fits that converged."""

    def statistic(table: Columns) -> float:
        weight = table[f"{arm}_converged"]
        total = float(weight.sum())
        return float((table[f"{arm}_terms"] * weight).sum()) / total if total else float("nan")

    return statistic


def loss_and_terms(
    arm: str,
    label: str,
    loss: str,
    terms: str,
    published: tuple[Published | None, Published | None] = (None, None),
    measured: tuple[float | None, float | None] | None = None,
    repetitions: int | None = None,
) -> tuple[Quantity, Quantity]:
    """The two numbers that the papers give of an arm."""
    reference = [
        None if value is None else Reference(value, repetitions)
        for value in measured or (None, None)
    ]
    return (
        Quantity(f"{label}: {loss}", f"{arm}_loss", "lower", published[0], reference[0]),
        Quantity(f"{label}: {terms}", terms_of(arm), "lower", published[1], reference[1]),
    )


ENDINGS = (
    Quantity("fits that did not converge", lambda table: float(table["not_converged"].sum())),
    Quantity(
        "worst certificate of the converged fits",
        lambda table: float(table["certificate"].max()),
    ),
)

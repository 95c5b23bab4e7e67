"""Bounds on the error of new rows."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Literal

Gibbs = Literal["exact", "gaussian", "monte-carlo"]


@dataclasses.dataclass(frozen=True)
class Bound:
    """A bound on the part of new rows that will be told wrongly; ``float(bound)`` is its value.

    Attributes
    ----------
    value : float
        The bound, which may be above 1.
    vacuous : bool
        Whether it says nothing: it is at least 1.
    """

    value: float
    vacuous: bool

    def __float__(self) -> float:
        return self.value


@dataclasses.dataclass(frozen=True)
class RiskBound:
    """What a classifier's errors on its data say about those to come. It prints as a table.

    Each bound holds with probability ``1 - delta`` over data sets of this size, for new rows of
    the same source; for several of them to hold at once `delta` is to be divided among them.

    Attributes
    ----------
    pac_bayes_point : Bound
        PAC-Bayes bound of the classifier: twice that of the Gibbs classifier.
    rademacher_point : Bound
        Rademacher bound of the classifier. Its last part was derived again, not checked against
        its source.
    pac_bayes_gibbs : Bound
        PAC-Bayes bound of the Gibbs classifier, which draws its weights anew for each row.
    point_error, gibbs_error : float
        Parts of the rows given that they tell wrongly.
    gibbs : str
        How `gibbs_error` was computed.
    kl : float
        Kullback-Leibler divergence of the weights' posterior from their prior.
    lam : float
        λ of the prior.
    delta : float
        How often a bound may fail.
    rows : int
        Number of rows.
    rademacher : dict
        The parts that the Rademacher bound is the sum of.
    notes : list of str
        What to keep in mind.
    """

    pac_bayes_point: Bound
    rademacher_point: Bound
    pac_bayes_gibbs: Bound
    point_error: float
    gibbs_error: float
    gibbs: str
    kl: float
    lam: float
    delta: float
    rows: int
    rademacher: dict[str, float]
    notes: list[str]
    _text: str = dataclasses.field(repr=False)

    @classmethod
    def _of(cls, found: str, text: str) -> RiskBound:
        """Make it of what the core says, as JSON and in words."""
        parts = json.loads(found)
        for name in ("pac_bayes_point", "rademacher_point", "pac_bayes_gibbs"):
            parts[name] = Bound(**parts[name])
        return cls(**parts, _text=text)

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a data frame."""
        values = dataclasses.asdict(self)
        del values["_text"]
        return values

"""Bounds on the error of new rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Literal

Gibbs = Literal["exact", "gaussian", "monte-carlo"]
Multiclass = Literal["ovr"]


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
    def _of(cls, parts: dict[str, Any], text: str) -> RiskBound:
        """Make it of what the core says, in parts and in words."""
        bounds = ("pac_bayes_point", "rademacher_point", "pac_bayes_gibbs")
        return cls(**parts | {name: Bound(**parts[name]) for name in bounds}, _text=text)

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a data frame."""
        values = dataclasses.asdict(self)
        del values["_text"]
        return values


@dataclasses.dataclass(frozen=True)
class OneVsRestBound:
    """What errors of each class against the rest say about those of all. It prints as a table.

    It is about as many classifiers of two classes as there are classes, each of one class against
    the rest, the largest output of which wins; and not about the one classifier of all classes.
    Such an ensemble is wrong about a row only where one of its members is, so that its error is at
    most the sum of theirs. The members' bounds hold with probability ``1 - delta / n_classes``
    each, hence their sum with ``1 - delta``. Two classes have one classifier, and its bounds for
    ``delta``.

    Attributes
    ----------
    pac_bayes_point : Bound
        PAC-Bayes bound of the ensemble: the sum of those of its members.
    rademacher_point : Bound
        Rademacher bound of the ensemble, likewise.
    point_error : float
        Part of the rows given that the ensemble tells wrongly.
    each : dict of label to RiskBound
        The bounds of each class against the rest, for ``delta / n_classes``.
    delta : float
        How often a bound may fail.
    rows : int
        Number of rows.
    notes : list of str
        What to keep in mind.
    """

    pac_bayes_point: Bound
    rademacher_point: Bound
    point_error: float
    each: dict[Any, RiskBound]
    delta: float
    rows: int
    notes: list[str]
    _text: str = dataclasses.field(repr=False)

    @classmethod
    def _of(cls, parts: dict[str, Any], texts: list[str], classes: Iterable[Any]) -> OneVsRestBound:
        """Make it of what the core says, in parts and in words."""
        bounds = {n: Bound(**parts[n]) for n in ("pac_bayes_point", "rademacher_point")}
        members = zip(classes, parts["each"], texts[1:], strict=True)
        each = {label: RiskBound._of(part["bound"], text) for label, part, text in members}
        return cls(**parts | bounds | {"each": each}, _text=texts[0])

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a data frame."""
        values = dataclasses.asdict(self)
        del values["_text"]
        values["each"] = {label: bound.to_dict() for label, bound in self.each.items()}
        return values

"""Choosing settings: folds for the core, and what a search found."""

from __future__ import annotations

import dataclasses
import json
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Lam = float | Literal["cv", "bic", "ebic", "aic"]
# A number of folds, "loo", a splitter of scikit-learn, or (train, test) pairs of rows.
CV: TypeAlias = Any
Rule = Literal["best", "one_se"]
Pairs: TypeAlias = list[tuple[NDArray[np.uintp], NDArray[np.uintp]]]

# Parameters of a search; their defaults are the core's.
DEFAULTS: dict[str, Any] = {"cv": 5, "scoring": None, "rule": "best", "lams": 100, "gammas": 9}

NO_GROUPS = (
    "groups are of use to a splitter only: set cv to one that keeps them together, such as "
    "sklearn.model_selection.GroupKFold()"
)


def settings(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a search as the core reads them, those that are not usual.

    Without a search they are of no use, as `degree` is without a polynomial; neither is `cv` for
    a criterion.
    """
    chosen: dict[str, Any] = {}
    words = words_of(params)
    for name, usual in DEFAULTS.items() if words else ():
        value = params.get(name)
        if name == "cv" and "cv" not in words:
            continue
        if value is None or (isinstance(value, type(usual)) and value == usual):
            continue
        if name in ("lams", "gammas") and not isinstance(value, numbers.Integral):
            value = numbers_of(name, value)
        if name == "cv" and not is_setting(value):
            continue  # pairs of rows are handed over beside the settings
        if isinstance(value, np.generic):
            value = value.item()
        chosen[name] = value
    return chosen


def words_of(params: Mapping[str, Any]) -> list[str]:
    """Return the words that stand for λ, γ and c, where these are to be chosen."""
    words = [params[name] for name in ("lam", "gamma") if isinstance(params.get(name), str)]
    if isinstance(params.get("sparsity"), str) and params["sparsity"] == "cv":
        words.append("cv")
    return [word for word in words if word not in ("scale", "median")]


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.6g}"


def numbers_of(name: str, values: ArrayLike) -> list[float]:
    """Return a list of finite numbers."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise ValueError(f"{name}: a list of finite numbers is expected")
    return [float(v) for v in array]


def is_setting(cv: CV) -> bool:
    """Tell a number of folds or a word, of which the core makes folds, from folds."""
    return cv is None or isinstance(cv, numbers.Integral | str)


def pairs(cv: CV, X: Any, y: Any, groups: Any) -> Pairs:
    """Return the (train, test) pairs of a splitter, or those given."""
    if hasattr(cv, "split"):
        given = cv.split(X, y, groups)
    elif isinstance(cv, Iterable):
        given = cv
    else:
        raise ValueError(
            f"cv = {cv!r}: a number of folds, 'loo', a splitter of scikit-learn or a list of "
            "(train, test) pairs of rows is expected"
        )
    found: Pairs = []
    for pair in given:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError("cv: a list of (train, test) pairs of rows is expected")
        found.append((_rows(pair[0], len(y)), _rows(pair[1], len(y))))
    return found


def _rows(rows: Any, count: int) -> NDArray[np.uintp]:
    array = np.asarray(rows)
    if array.dtype == np.bool_ and array.shape == (count,):
        array = np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError("cv: the rows of a fold are expected as a list of whole numbers")
    if array.size and array.min() < 0:
        raise ValueError(f"cv: row {array.min()} in a fold; rows are counted from 0")
    return np.ascontiguousarray(array, dtype=np.uintp)


@dataclasses.dataclass(frozen=True)
class Selection:
    """What a search among settings found.

    ``pandas.DataFrame(selection.points)`` is a table of everything that was tried.

    Attributes
    ----------
    score : str
        Name of the score or criterion that judged.
    larger_is_better : bool
        Whether larger values of it are better.
    rule : {"best", "one_se"}
        Which point was chosen.
    folds : int
        Number of folds; 0 for a criterion.
    settings : list of str
        Names of the settings that were chosen.
    points : list of dict
        What was tried, in order: the settings, the ``mean`` of the score over the folds (or the
        criterion), its ``standard_error``, the ``scores`` of the folds, and the mean number of
        ``terms``.
    best : int
        Position of the point with the best mean.
    chosen : int
        Position of the point chosen.
    notes : list of str
        What else should be known.
    """

    score: str
    larger_is_better: bool
    rule: str
    folds: int
    settings: list[str]
    points: list[dict[str, Any]]
    best: int
    chosen: int
    notes: list[str]

    @classmethod
    def _of(cls, text: str | None) -> Selection | None:
        """Read what the core found."""
        if text is None:
            return None
        found = json.loads(text)
        points = [
            {
                **point["settings"],
                "mean": point["mean"],
                "standard_error": point.get("standard_error"),
                "terms": point["terms"],
                "scores": point.get("scores", []),
            }
            for point in found["points"]
        ]
        names = [f.name for f in dataclasses.fields(cls) if f.name not in ("points", "settings")]
        kept = {name: found.get(name, []) for name in names}
        return cls(points=points, settings=list(found["points"][0]["settings"]), **kept)

    def values(self, name: str) -> NDArray[Any]:
        """Return one entry of all points as an array.

        Parameters
        ----------
        name : str
            ``"lam"``, ``"gamma"``, ``"sparsity"`` (words), ``"mean"``, ``"standard_error"``,
            ``"terms"`` or ``"scores"``.

        Returns
        -------
        ndarray of shape (n_points,), or (n_points, n_folds) for the scores
            The values.
        """
        dtype = None if name == "sparsity" else np.float64
        return np.array([point[name] for point in self.points], dtype=dtype)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a data frame."""
        return dataclasses.asdict(self)

    def __repr__(self) -> str:
        what = " and ".join(self.settings)
        where = f" in {self.folds} folds" if self.folds else ""
        lines = [f"{what} chosen among {len(self.points)} by {self.score}{where} ({self.rule})"]
        names = [*self.settings, "mean", "standard_error", "terms"]
        table = [["", *self.settings, self.score, "s.e.", "terms"]]
        marks = {"best": self.best} if self.best != self.chosen else {}
        marks["chosen"] = self.chosen
        for mark, position in marks.items():
            cells = [self.points[position][name] for name in names]
            table.append([mark, *(_cell(c) for c in cells)])
        return "\n".join([*lines, *aligned(table)])


class Tried(list[dict[str, Any]]):
    """The methods that :func:`fewer.auto` tried, a dict for each; it prints as a table.

    Entries are the ``name``, the ``method`` and its ``settings``, the ``score`` with its ``mean``
    and ``standard_error`` over the folds, the ``error_of_difference`` between its mean and the
    best's, ``repeats``, the mean number of ``terms``, ``seconds``, whether it was ``chosen``, and a
    ``note`` where it was not finished. ``pandas.DataFrame(tried)`` is a table.
    """

    @classmethod
    def _of(cls, text: str) -> Tried:
        usual = {"note": None, "error_of_difference": None}
        return cls({**usual, **entry} for entry in json.loads(text))

    def __repr__(self) -> str:
        def shown(value: float | None) -> str:
            return "" if value is None else f"{value:.4g}"

        score = self[0]["score"] if self else ""
        head = ["", "method", score, "s.e.", "s.e. of difference", "repeats", "terms", "seconds"]
        table = [[*head, ""]]
        names = ("mean", "standard_error", "error_of_difference", "repeats", "terms", "seconds")
        for entry in self:
            numbers = [entry[name] for name in names]
            mark = "chosen" if entry["chosen"] else entry["note"] or ""
            table.append([entry["name"], entry["method"], *map(shown, numbers), mark])
        return "\n".join(aligned(table))


def aligned(table: list[list[str]]) -> list[str]:
    """Return the lines of a table; its first column is on the left, the others on the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for first, *others in table:
        cells = [c.rjust(w) for c, w in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return lines

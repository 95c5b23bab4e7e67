"""How good an estimator is on data it has not seen."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fewer import _core, _select
from fewer._base import Estimator


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """How good an estimator was in each fold of a cross-validation.

    Dicts are by the name of the score.

    Attributes
    ----------
    mean : dict of str to float
        Mean of each score over the folds; the pooled value where single folds do not define it,
        as R² of one row.
    standard_error : dict of str to float or None
        Standard errors of these means: the larger of that between folds, deviation / √folds, and
        that between rows, by the jackknife, for folds in which classes are in proportion are more
        alike than chance would have it.
    scores : dict of str to ndarray of shape (n_folds,)
        The scores in each fold; empty where single folds do not define them.
    pooled : dict of str to float
        The scores of all predictions together.
    n_terms : ndarray of int of shape (n_folds,)
        Number of terms in each fold.
    chosen : list of dict
        Settings chosen in each fold; empty where none was to be chosen.
    rows : ndarray of int
        Rows that were in a test set.
    predictions : ndarray of shape (n_rows,)
        Predictions for these rows, numbers or classes, by models that have not seen them; means
        or most probable classes where a row was in several test sets.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Those of the classes, as sorted.
    notes : list of str
        What else should be known.
    """

    mean: dict[str, float]
    standard_error: dict[str, float | None]
    scores: dict[str, NDArray[np.float64]]
    pooled: dict[str, float]
    n_terms: NDArray[np.intp]
    chosen: list[dict[str, float]]
    rows: NDArray[np.intp]
    predictions: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    notes: list[str]

    def __repr__(self) -> str:
        table = [["score", "mean", "s.e.", "range of folds", "pooled"]]
        for name, mean in self.mean.items():
            error, folds = self.standard_error[name], self.scores[name]
            table.append(
                [
                    name,
                    f"{mean:.4g}",
                    "" if error is None else f"{error:.2g}",
                    _range(folds) if len(folds) else "",
                    f"{self.pooled[name]:.4g}",
                ]
            )
        head = f"{len(self.n_terms)} folds, {_range(self.n_terms)} terms"
        for name in self.chosen[0] if self.chosen else []:
            head += f", {name} {_range(np.array([c[name] for c in self.chosen]))}"
        return "\n".join([head, *_select.aligned(table)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a data frame."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        fields["scores"] = {name: values.tolist() for name, values in self.scores.items()}
        arrays = {k: v.tolist() for k, v in fields.items() if isinstance(v, np.ndarray)}
        return fields | arrays


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: _select.CV = 5,
    scoring: str | list[str] | None = None,
    groups: Any = None,
    sample_weight: Any = None,
) -> Evaluation:
    """Judge an estimator by cross-validation.

    Everything happens in each fold anew. Where the estimator chooses λ or γ by ``"cv"``, it does
    so within the training rows: nested cross-validation, in which no choice has seen the rows
    that judge it.

    Parameters
    ----------
    estimator : estimator of fewer
        What to judge; it is not changed.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The inputs.
    y : array-like of shape (n_samples,)
        What is to be predicted.
    cv : int, "loo", splitter or list of (train, test) pairs, default=5
        Folds, as the parameter of the estimators.
    scoring : str or list of str, optional
        Names of scores: ``"rmse"``, ``"mse"``, ``"r2"``, ``"mae"``, ``"coverage"`` (share of
        rows within the central 95 % interval) for numbers, ``"error"``, ``"balanced_error"``,
        ``"auc"`` for classes, ``"deviance"`` and ``"nlpd"`` for both. All that apply by default.
    groups : array-like of shape (n_samples,), optional
        Groups of the rows, for splitters that keep them together.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows, in fits and in scores.

    Returns
    -------
    Evaluation
        Scores, predictions and chosen settings; prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> import fewer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 20))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + rng.normal(size=100)
    >>> found = fewer.cross_validate(fewer.LassoCV(rule="one_se"), X, y, scoring=["rmse", "r2"])
    >>> found.mean["r2"] > 0.9
    True
    >>> len(found.chosen)
    5
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"estimators of fewer are expected, not {type(estimator).__name__}; "
            "sklearn.model_selection.cross_validate takes any"
        )
    estimator = clone(estimator)
    chooses = "cv" in _select.words_of(estimator.get_params(deep=False))
    if chooses and not _select.is_setting(estimator.cv):
        raise ValueError(
            f"the estimator has folds of its own, cv = {estimator.cv!r}, which are not those of a "
            "part of the rows: give it a number of folds, or use "
            "sklearn.model_selection.cross_validate"
        )
    names = [scoring] if isinstance(scoring, str) else list(scoring or [])
    settings, problem = estimator._problem(X, y, sample_weight)
    target = problem["y"]
    codes = target[0] if isinstance(target, tuple) else target
    folds: int | str | _select.Pairs
    if _select.is_setting(cv):
        if groups is not None:
            raise ValueError(_select.NO_GROUPS)
        folds = 5 if cv is None else cv
    else:
        folds = _select.pairs(cv, X, codes, groups)
    text, predictions, probabilities, predicted = _core.evaluate(
        estimator._method, json.dumps(settings), problem, folds, names
    )
    found = json.loads(text)
    scores = {score["score"]: score for score in found["scores"]}
    return Evaluation(
        mean={name: score["mean"] for name, score in scores.items()},
        standard_error={name: score["standard_error"] for name, score in scores.items()},
        scores={name: np.array(score["folds"]) for name, score in scores.items()},
        pooled={name: score["pooled"] for name, score in scores.items()},
        n_terms=np.array(found["terms"], dtype=np.intp),
        chosen=found["chosen"],
        rows=np.array(found["rows"], dtype=np.intp),
        predictions=estimator.classes_[predicted] if predictions is None else predictions,
        probabilities=probabilities,
        notes=found["notes"],
    )


def _range(values: NDArray[Any]) -> str:
    low, high = values.min(), values.max()
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"

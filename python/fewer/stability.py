"""Which terms a method keeps whatever half of the rows it sees."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from fewer import _core, _select
from fewer._base import Estimator, RandomState, _seed


@dataclasses.dataclass(frozen=True, eq=False)
class Stability:
    """How often each term was kept in fits to halves of the rows.

    Attributes
    ----------
    stable : list of str
        Names of the stable terms, the most frequent first.
    frequencies : dict of str to float
        Part of the fits that each term was in, the most frequent first; those that never were are
        left out. Of several λ, for the one where it is largest.
    paths : dict of str to ndarray of shape (n_lams,)
        The same for each of `lams`; empty where none were given.
    positions : dict of str to int
        Positions of these terms among the functions of the basis.
    threshold : float
        Part of the fits that a stable term is in.
    expected_false : float
        At most so many stable terms are expected to be there by chance.
    mean_terms : float
        Mean number of terms of a fit.
    candidates : int
        Number of functions of the basis.
    subsamples : int
        Number of fits.
    lams : ndarray
        Values of λ.
    notes : list of str
        What else should be known.
    """

    stable: list[str]
    frequencies: dict[str, float]
    paths: dict[str, NDArray[np.float64]]
    positions: dict[str, int]
    threshold: float
    expected_false: float
    mean_terms: float
    candidates: int
    subsamples: int
    lams: NDArray[np.float64]
    notes: list[str]

    def __repr__(self) -> str:
        head = (
            f"{len(self.stable)} of {self.candidates} terms are in at least {self.threshold:.3g} "
            f"of {self.subsamples} fits; at most {self.expected_false:.2g} expected by chance"
        )
        rows = [[name, f"{part:.3f}"] for name, part in list(self.frequencies.items())[:30]]
        return "\n".join([head, *_select.aligned([["term", "frequency"], *rows])])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a data frame."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        fields["lams"] = self.lams.tolist()
        fields["paths"] = {name: path.tolist() for name, path in self.paths.items()}
        return fields


def stability_selection(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    subsamples: int = 100,
    threshold: float = 0.75,
    max_false: float | None = None,
    lams: ArrayLike | None = None,
    sample_weight: Any = None,
    random_state: RandomState | None = 0,
) -> Stability:
    """Count how often an estimator keeps each term in fits to halves of the rows.

    Halves come in pairs that complement each other [2]_; those of classes are stratified. If the
    terms that mean nothing are as likely as each other to be kept, and no likelier than the
    others, then at most ::

        q² / ((2π − 1) p)

    stable ones are expected among them, π being the threshold, q the mean number of terms of a
    fit, and p the number of functions [1]_. The estimator's `max_terms` holds q down.

    Parameters
    ----------
    estimator : estimator of fewer
        What is fitted; it is not changed. Kernels need `centres`, for else every half would have
        functions of its own.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The inputs.
    y : array-like of shape (n_samples,)
        What is to be predicted.
    subsamples : int, default=100
        Number of fits.
    threshold : float, default=0.75
        Part of the fits that a stable term is in, above 0.5.
    max_false : float, optional
        Sets the threshold instead: so that at most so many terms are expected to be stable by
        chance.
    lams : array-like, optional
        Values of λ for all rows, each multiplied by the part of them in a half. A term is in a fit
        if it is in that for any of them, and its frequency is that of the best of them.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    random_state : int, RandomState instance or None, default=0
        Seed of the halves.

    Returns
    -------
    Stability
        Frequencies, stable terms and the bound; prints as a table.

    See Also
    --------
    fewer.plots.stability : A picture of it.

    References
    ----------
    .. [1] N. Meinshausen, P. Bühlmann, "Stability selection", Journal of the Royal Statistical
       Society B 72(4), 417-473, 2010.
    .. [2] R. D. Shah, R. J. Samworth, "Variable selection with error control: another look at
       stability selection", Journal of the Royal Statistical Society B 75(1), 55-80, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> import fewer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 50))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + rng.normal(size=100)
    >>> found = fewer.stability_selection(fewer.Lasso(lam_ratio=0.3, max_terms=5), X, y)
    >>> found.stable
    ['x1', 'x4']
    >>> found.expected_false < 1
    True
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"estimators of fewer are expected, not {type(estimator).__name__}")
    estimator = clone(estimator)
    chooses = "cv" in _select.words_of(estimator.get_params(deep=False))
    if chooses and not _select.is_setting(estimator.cv):
        raise ValueError(
            f"the estimator has folds of its own, cv = {estimator.cv!r}, which are not those of a "
            "part of the rows: give it a number of folds"
        )
    if not isinstance(subsamples, int | np.integer) or subsamples < 2:
        raise ValueError(
            f"subsamples = {subsamples!r}: a whole number of at least 2 is expected; 100 are usual"
        )
    values = [] if lams is None else _select.numbers_of("lams", lams)
    settings, problem = estimator._problem(X, y, sample_weight)
    text = _core.stability(
        estimator._method,
        json.dumps(settings),
        problem,
        int(subsamples),
        threshold,
        max_false,
        values,
        _seed(random_state),
    )
    found = json.loads(text)
    terms = found["terms"]
    return Stability(
        stable=[term["name"] for term in terms if term["stable"]],
        frequencies={term["name"]: term["frequency"] for term in terms},
        paths={t["name"]: np.array(t["by_lam"]) for t in terms if t.get("by_lam")},
        positions={term["name"]: term["index"] for term in terms},
        threshold=found["threshold"],
        expected_false=found["expected_false"],
        mean_terms=found["mean_terms"],
        candidates=found["candidates"],
        subsamples=found["subsamples"],
        lams=np.array(found["lams"], dtype=np.float64),
        notes=found["notes"],
    )

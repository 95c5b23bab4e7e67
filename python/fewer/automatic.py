"""One front door: a method for data that nothing is known of."""

from __future__ import annotations

import json
import math
import numbers
from typing import Any, Literal

import numpy as np

from fewer import _core, _data
from fewer._base import ClassWeight, Estimator, RandomState
from fewer.probit_classifier import ProbitClassifier
from fewer.sparse_regressor import SparseRegressor


def auto(
    X: Any,
    y: Any,
    *,
    task: Literal["regression", "classification"] | None = None,
    max_terms: int | None = None,
    max_time: float | None = None,
    cv: int = 5,
    cv_repeats: int | None = None,
    scoring: str | None = None,
    class_weight: ClassWeight | None = None,
    standardize: bool = True,
    sample_weight: Any = None,
    memory_limit: float = 4e9,
    random_state: RandomState | None = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    """Try the methods that suit the data, and fit the smallest of the good ones.

    All are judged in the same folds, in which each chooses its λ or γ anew: no choice has seen the
    rows that judge it. The method that keeps the fewest terms within one standard error of the
    best is fitted to all rows. It is within it if the difference between the two in the same folds,
    together with the standard error of that difference, is at most the standard error of the
    best's mean. Few rows are split repeatedly, so that the chance of one split does not decide; a
    method behind by more than three errors of the difference is not judged again.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The inputs.
    y : array-like of shape (n_samples,)
        What is to be predicted: numbers, or classes.
    task : {"regression", "classification"}, optional
        What to predict. Classes by default where y holds text, booleans or categories (of a data
        frame), else numbers.
    max_terms : int, optional
        Keep at most so many terms.
    max_time : float, optional
        Seconds for trying and fitting. What is not finished after three quarters of it is left;
        the fit to all rows gets the rest, and at least a twentieth, for each λ or γ that it tries.
    cv : int, default=5
        Number of folds; rows are shuffled, and classes stratified.
    cv_repeats : int, optional
        How many times rows are split: 5 times for up to 200 rows by default, less often for more,
        and once above 500.
    scoring : str, optional
        What judges: ``"mse"`` for numbers and ``"deviance"`` for classes by default, or another
        score of :func:`fewer.cross_validate`.
    class_weight : dict or "balanced", optional
        Weights of the classes.
    standardize : bool, default=True
        Whether priors apply to columns of unit variance.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    memory_limit : float, default=4e9
        Bytes that matrices may take.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.
    n_jobs : int, optional
        Threads; all by default. The answer is the same for any number, unless time runs out.
    verbose : int, default=0
        1 reports to stderr.

    Returns
    -------
    estimator
        A fitted estimator of the class that was chosen. Its `tried_` is the table of what was
        tried, at what cost; `notes_` say why it was chosen.

    See Also
    --------
    fewer.cross_validate : Judge one method.

    Examples
    --------
    >>> import numpy as np
    >>> import fewer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 6))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + rng.normal(size=100)
    >>> model = fewer.auto(X, y, cv_repeats=1)
    >>> {"x1", "x4"} <= set(model.terms_)
    True
    >>> len(model.tried_) > 4
    True
    """
    if task not in (None, "regression", "classification"):
        raise ValueError(f"task = {task!r}: 'regression' or 'classification' is expected")
    if task is None:
        task = "regression" if _data.holds_numbers(y) else "classification"
    shared = {
        "max_terms": max_terms,
        "standardize": standardize,
        "memory_limit": memory_limit,
        "random_state": random_state,
        "n_jobs": n_jobs,
        "verbose": verbose,
    }
    reader: Estimator
    if task == "classification":
        reader = ProbitClassifier(class_weight=class_weight, **shared)  # type: ignore[arg-type]
    elif class_weight is not None:
        raise ValueError("class_weight is for classes, and y holds numbers: leave it out")
    else:
        reader = SparseRegressor(**shared)  # type: ignore[arg-type]
    for name, count in (("cv", cv), ("cv_repeats", cv_repeats)):
        if count is not None and not isinstance(count, numbers.Integral):
            raise ValueError(
                f"{name}: auto makes its own folds, of which a whole number is expected, not a "
                f"{type(count).__name__}; the methods themselves take splitters and (train, test) "
                "pairs"
            )
    if max_time is not None and not (isinstance(max_time, numbers.Real) and max_time < math.inf):
        raise ValueError(f"max_time = {max_time!r}: a finite number of seconds or None is expected")
    given, problem = reader._problem(X, y, sample_weight)
    names = ("max_terms", "standardize", "memory_limit", "random_state", "n_jobs", "class_weight")
    settings = {name: given[name] for name in names if given.get(name) is not None}
    chosen = {"cv": cv, "cv_repeats": cv_repeats, "scoring": scoring, "max_time": max_time}
    for name, value in chosen.items():
        if value is not None:
            settings[name] = value.item() if isinstance(value, np.generic) else value
    model = _core.fit("auto", json.dumps(settings), problem)
    estimator = Estimator._classes[model.method]._of(model)
    estimator.verbose = verbose
    estimator._report()
    return estimator

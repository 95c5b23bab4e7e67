"""What every estimator shares: from data to the core, and from the core to attributes."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import numbers
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from fewer import _core, _data, _sklearn

if TYPE_CHECKING:
    from typing_extensions import Self

Path = str | os.PathLike[str]
Functions = Mapping[str, Callable[[NDArray[np.float64]], ArrayLike]]

_FLOATS = (np.float64, np.float32)


class EmptyModelWarning(UserWarning):
    """The model has no term: it predicts a constant. The message says why."""


@dataclasses.dataclass(frozen=True)
class Certificate:
    """Evidence that a fit is what it claims to be.

    ``float(certificate)`` is its value: the smaller the better, and at most `tol` for a fit that
    converged.

    Attributes
    ----------
    kind : str
        What is measured. ``"duality_gap"``: no model has an objective lower by more than this
        part of the empty model's. ``"stationarity"``: largest relative violation of the
        conditions of a stationary point; no global optimality is claimed.
    value : float
        The measure.
    scope : str
        What it covers: ``"all"`` columns, or the ``"support"`` only.
    """

    kind: str
    value: float
    scope: str

    def __float__(self) -> float:
        return self.value


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The terms of a model as a table, the strongest first.

    Attributes
    ----------
    target : str
        Name of the target.
    intercept : float
        The intercept.
    terms : list of (str, float, float)
        Name, weight in the units of the data, and change of the prediction when the term moves
        by one standard deviation.
    """

    target: str
    intercept: float
    terms: list[tuple[str, float, float]]
    _text: str = dataclasses.field(repr=False)

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        rows = [("(intercept)", f"{self.intercept:.6g}", "")]
        rows += [(html.escape(n), f"{w:.6g}", f"{e:.6g}") for n, w, e in self.terms]
        body = "".join(
            f"<tr><td>{name}</td><td>{weight}</td><td>{effect}</td></tr>"
            for name, weight, effect in rows
        )
        return (
            f"<table><caption>{html.escape(self.target)}</caption><thead><tr><th>term</th>"
            "<th>weight</th><th>effect of one s.d.</th></tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a data frame."""
        return {
            "target": self.target,
            "intercept": self.intercept,
            "terms": [{"term": n, "weight": w, "effect": e} for n, w, e in self.terms],
        }


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators. A subclass has parameters, `_method`, and its public methods."""

    _method: ClassVar[str]
    _classes: ClassVar[dict[str, type[Estimator]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_method" in cls.__dict__:
            Estimator._classes[cls._method] = cls

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- fitting ----

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        settings = self._settings()
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        target_name = _data.name_of(y)
        x, array = self._inputs(X, reset=True)
        y = _sklearn.checked_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        y = np.ascontiguousarray(column_or_1d(y, warn=True))
        check_consistent_length(X, y)
        progress = _Progress(self.verbose) if self.verbose else None
        names = getattr(self, "feature_names_in_", None)
        model = _core.fit(
            self._method,
            settings,
            x,
            y,
            sample_weight=_weights(sample_weight, len(y)),
            feature_names=None if names is None else list(names),
            target_name=target_name,
            function=self._function(array),
            progress=progress,
        )
        self._read(model)
        self._report()
        return self

    def _settings(self) -> str:
        """Return the parameters as the core reads them."""
        settings = self.get_params(deep=False)
        del settings["verbose"]
        settings["n_jobs"] = _threads(settings["n_jobs"])
        if callable(settings["basis"]):
            settings["basis"] = "functions"
        for name, value in settings.items():
            value = value.item() if isinstance(value, np.generic) else value
            settings[name] = value
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name} = {value}: a finite number is expected")
            if not isinstance(value, str | float | int | None):
                raise ValueError(f"{name} = {value!r}: a {type(value).__name__} is not understood")
        return json.dumps(settings)

    def _inputs(self, X: Any, *, reset: bool) -> tuple[_data.Input, Any]:
        """Return inputs for the core, and as an array where they are one."""
        frame = _data.as_frame(X)
        if frame is not None:
            known = None if reset else self.model_.table_names
            if known is not None:
                return _data.table(frame, known), None
            _sklearn.check_frame(self, frame, reset=reset)
            array = _data.of_frame(frame)
            if array is None and reset:
                return _data.table(frame), None
            if array is None:
                text = ", ".join(f"'{name}'" for name in _data.text_columns(frame))
                raise ValueError(f"text in {text}: the model was fitted on columns of numbers")
            return _data.of_array(_sklearn.checked_array(array, dtype=_FLOATS)), array
        if not reset and self.model_.table_names is not None:
            names = ", ".join(f"'{name}'" for name in self.model_.table_names)
            raise ValueError(
                f"the model was fitted on a data frame with text; give one with the columns {names}"
            )
        try:
            array = _sklearn.checked_features(
                self, X, reset=reset, accept_sparse=("csc", "csr"), dtype=_FLOATS
            )
        except ValueError as error:
            if "could not convert string to float" not in str(error):
                raise
            raise ValueError(
                f"X has text in it ({error}); give a data frame, whose text columns become "
                "categories, or numbers only"
            ) from error
        return _data.of_array(array), array

    def _function(self, array: Any) -> tuple[Callable[..., Any], str, list[str]] | None:
        """Learn the number and names of the values of the user's function from a few rows."""
        function = self.basis
        if not callable(function):
            return None
        if array is None:
            raise ValueError("a basis function takes numbers: encode the columns of text first")
        name = getattr(function, "__name__", type(function).__name__)
        name = "basis" if name == "<lambda>" else name
        rows = _data.first_rows(array, 8)
        if not np.isfinite(rows).all():
            return function, name, [name]  # the core will say where
        values = function(rows)
        frame = _data.as_frame(values)
        shape = np.shape(values)
        if len(shape) not in (1, 2) or shape[0] != len(rows):
            raise ValueError(
                f"basis function '{name}': expected an array of {len(rows)} rows for {len(rows)} "
                f"rows, found the shape {shape}"
            )
        if frame is not None:
            return function, name, [str(column) for column in _data.frame_names(frame)]
        count = 1 if len(shape) == 1 else shape[1]
        return function, name, [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]

    def _read(self, model: _core.Model) -> None:
        """Set the attributes that every fitted estimator has."""
        self.model_ = model
        self.coef_ = model.coefficients
        self.intercept_ = model.intercept
        self.terms_ = model.terms
        self.n_terms_ = len(self.terms_)
        self.noise_std_ = model.noise_std
        self.lam_ = model.lam
        self.objective_ = model.objective
        self.certificate_ = Certificate(*model.certificate)
        self.trace_ = model.trace
        self.n_iter_ = model.iterations
        self.converged_ = model.converged
        self.termination_ = model.termination
        self.dropped_columns_ = dict(model.dropped)
        self.notes_ = model.notes

    def _report(self) -> None:
        """Say how the fit ended: in a warning where it matters, on stderr where it is wished."""
        name = type(self).__name__
        notes = "; ".join(self.notes_)
        if self.verbose:
            _say(
                f"{name}: {self.termination_} after {self.n_iter_} iterations, {self.n_terms_} of "
                f"{self.model_.basis_size} terms, {self.certificate_.kind} "
                f"{self.certificate_.value:.1e}"
            )
            for column, reason in self.dropped_columns_.items():
                _say(f"{name}: column '{column}' was left out: {reason}")
            for note in self.notes_:
                _say(f"{name}: {note}")
        if not self.converged_:
            warnings.warn(f"{name} has not converged: {notes}", ConvergenceWarning, stacklevel=4)
        elif not self.terms_:
            warnings.warn(notes, EmptyModelWarning, stacklevel=4)

    # ---- a fitted model ----

    def _predict(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        x, _ = self._inputs(X, reset=False)
        return self.model_.predict(x)

    def explain(self) -> Explanation:
        """Explain the model as a table of its terms.

        Returns
        -------
        Explanation
            Prints as a table; ``to_dict()`` gives plain values.
        """
        check_is_fitted(self)
        text, terms = self.model_.explain()
        return Explanation(self.model_.target_name, self.intercept_, terms, text)

    def formula(self) -> str:
        """Write the model as one line.

        Returns
        -------
        str
            For instance ``'2 - 0.5 x2'``.
        """
        check_is_fitted(self)
        return self.model_.formula()

    def save(self, path: Path) -> None:
        """Save the fitted model as a readable JSON file.

        Parameters
        ----------
        path : path-like
            The file. An earlier file of that name stays whole until the new one is.

        See Also
        --------
        fewer.load : Read the file again.
        """
        check_is_fitted(self)
        self.model_.save(path)

    @classmethod
    def _of(cls, model: _core.Model) -> Self:
        """Make a fitted estimator of a model that was read."""
        names = cls._get_param_names()
        params = {k: v for k, v in json.loads(model.settings).items() if k in names}
        if model.function is not None:
            params["basis"] = model.function
        estimator = cls(**params)
        features = model.table_names or model.feature_names
        estimator.n_features_in_ = len(features)
        if features != [f"x{j}" for j in range(1, len(features) + 1)]:
            estimator.feature_names_in_ = np.asarray(features, dtype=object)
        estimator._read(model)
        return estimator


def load(path: Path, functions: Functions | None = None) -> Any:
    """Load a model that was saved, by Python or on the command line.

    Loading reads data only: nothing in a file is ever run.

    Parameters
    ----------
    path : path-like
        The file.
    functions : mapping of str to callable, optional
        The functions that the model was fitted with, where its basis is your own: a file holds
        only their names.

    Returns
    -------
    estimator
        A fitted estimator of the class that was saved. It predicts the same numbers to the bit.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    ValueError
        The file is no model, or damaged, or needs a function that is not given.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import fewer
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> regressor = fewer.SparseRegressor().fit(X, 1 + 2 * X[:, 3])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> regressor.save(path)
    >>> fewer.load(path).formula()
    '1 + 2 x4'
    """
    model = _core.Model.load(path, None if functions is None else dict(functions))
    try:
        return Estimator._classes[model.method]._of(model)
    except KeyError:
        raise ValueError(
            f"{os.fspath(path)}: '{model.method}' is not a method of this version of fewer"
        ) from None


def _weights(weights: Any, rows: int) -> NDArray[np.float64] | None:
    """Return the sample weights; their values the core checks."""
    if weights is None:
        return None
    if isinstance(weights, numbers.Real):
        return np.full(rows, float(weights))
    array = _sklearn.checked_array(
        weights, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if array.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, found shape {array.shape}")
    if len(array) != rows:
        raise ValueError(f"sample_weight: expected {rows} weights, found {len(array)}")
    if not array.any():
        raise ValueError("all sample weights are zero: at least one row must count")
    return np.ascontiguousarray(array)


def _threads(n_jobs: Any) -> Any:
    """Count threads as joblib does: -1 is all of them, -2 all but one."""
    if isinstance(n_jobs, int | np.integer) and n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    return n_jobs


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Progress:
    """Prints how far a fit is: two lines a second at most, or every iteration."""

    def __init__(self, verbose: Any) -> None:
        self.interval = 0.5 if verbose < 2 else 0.0
        self.last = time.monotonic()

    def __call__(self, iteration: int, terms: int, objective: float, residual: float) -> None:
        now = time.monotonic()
        if now - self.last >= self.interval:
            self.last = now
            _say(
                f"iteration {iteration}: {terms} terms, objective {objective:.6g}, "
                f"residual {residual:.1e}"
            )

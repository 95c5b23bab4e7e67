"""What every estimator shares: from data to the core, and from the core to attributes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import html
import json
import math
import numbers
import os
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from fewer import _core, _data, _functions, _select, _sklearn

if TYPE_CHECKING:
    from typing_extensions import Self

Path = str | os.PathLike[str]
Function = (
    Callable[[NDArray[np.float64]], ArrayLike]
    | Callable[[NDArray[np.float64], NDArray[np.float64]], ArrayLike]
)
Functions = Mapping[str, Function]

# Types of parameters that estimators share.
Prior = Literal["jeffreys", "laplace", "gaussian"]
Basis = (
    Literal[
        "linear",
        "polynomial",
        "rbf",
        "laplacian",
        "matern32",
        "matern52",
        "polynomial-kernel",
        "linear-kernel",
        "precomputed",
    ]
    | Function
)
Gamma = float | Literal["scale", "median", "cv", "bic", "ebic", "aic", "evidence"]
Landmarks = Literal["kmeans", "random", "redrawn"]
Candidates = int | Literal["all"]
Intercept = bool | Literal["penalised"]
Variant = Literal["exact", "paper"]
ClassWeight = Mapping[Any, float] | Literal["balanced"]
RandomState = int | np.random.RandomState

# A number, or one for each class.
Value = float | dict[str, float]

_FLOATS = (np.float64, np.float32)


class EmptyModelWarning(UserWarning):
    """The model has no term: it predicts a constant. The message says why."""


class SeparableWarning(UserWarning):
    """The classes are told apart without error, and nothing keeps the weights from growing."""


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
        conditions of a stationary point; no global optimality is claimed. ``"evidence"``: the
        largest gain of log evidence that adding one more column would bring; the same.
        ``"sampling"``: the largest split-R̂ of all numbers that were sampled, less 1.
    value : float
        The measure.
    scope : str
        What it covers: ``"all"`` columns, or the ``"support"`` only; for sampling, the smallest
        effective number of draws.
    """

    kind: str
    value: float
    scope: str

    def __float__(self) -> float:
        return self.value


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The terms of a model as a table, the strongest first.

    A value is a number or, for more than two classes, a dict of numbers by class.

    Attributes
    ----------
    target : str
        What the terms add up to: the target, or the class they speak for.
    intercept : float or dict
        The intercept.
    terms : list of (str, float or dict, float or dict)
        Name, weight in the units of the data, and change of the output when the term moves by
        one standard deviation.
    kernels : list of dict
        Where kernels are learnt, the ``family`` of each term with its ``centre`` and ``width``
        along each feature in the units of the data (None along features that were constant), or
        its ``feature`` where it is linear; else empty.
    """

    target: str
    intercept: Value
    terms: list[tuple[str, Value, Value]]
    _text: str = dataclasses.field(repr=False)
    kernels: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        def row(cell: str, name: str, *values: Value | str) -> str:
            plain = [v for x in values for v in (x.values() if isinstance(x, dict) else [x])]
            shown = [v if isinstance(v, str) else f"{v:.6g}" for v in (name, *plain)]
            return "".join(f"<{cell}>{html.escape(v)}</{cell}>" for v in shown)

        if isinstance(self.intercept, dict):
            head = row("th", "term", *self.intercept)
            rows = [row("td", n, w) for n, w, _ in self.terms]
            rows.insert(0, row("td", "(intercept)", self.intercept))
        else:
            head = row("th", "term", "weight", "effect of one s.d.")
            rows = [row("td", *term) for term in self.terms]
            rows.insert(0, row("td", "(intercept)", self.intercept, ""))
        body = "".join(f"<tr>{cells}</tr>" for cells in rows)
        return (
            f"<table><caption>{html.escape(self.target)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON or a data frame."""
        terms = [{"term": n, "weight": w, "effect": e} for n, w, e in self.terms]
        for term, kernel in zip(terms, self.kernels, strict=False):
            term.update(kernel)
        return {"target": self.target, "intercept": self.intercept, "terms": terms}


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators. A subclass has parameters, `_method`, and its public methods."""

    _method: ClassVar[str]
    _classes: ClassVar[dict[str, type[Estimator]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_method" in cls.__dict__:
            Estimator._classes[cls._method] = cls

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters; reading a signature takes as long as a small fit."""
        return list(super()._get_param_names())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        return {"pairwise": self._is_precomputed()}

    def _is_precomputed(self) -> bool:
        return isinstance(self.basis, str) and self.basis == "precomputed"

    # ---- fitting ----

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs. Arrays of float64 and float32 in any order, and the values of CSC
            matrices of float64, are used where they are, without a copy. Data frames may be of
            pandas, polars or Arrow; their columns of text or categories become columns of zeros
            and ones.
        y : array-like of shape (n_samples,)
            What is to be predicted: numbers for a regressor; for a classifier labels of at least
            two classes, which are text, whole numbers or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows: a row of weight 2 counts as two equal rows, one of weight 0 as
            none.
        groups : array-like of shape (n_samples,), optional
            Groups of the rows, for a splitter given as `cv` that keeps them together.

        Returns
        -------
        estimator
            The estimator itself.
        """
        settings, problem = self._problem(X, y, sample_weight)
        return self._fit(X, settings, problem, groups)

    def _fit(self, X: Any, settings: dict[str, Any], problem: _core.Problem, groups: Any) -> Self:
        folds = self._folds(X, problem["y"], groups)
        self._read(_core.fit(self._method, json.dumps(settings), problem, folds))
        self._report()
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[dict[str, Any], _core.Problem]:
        """Return settings and data as the core takes them."""
        settings = self._settings()
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        target_name = _data.name_of(y)
        x, array = self._inputs(X, reset=True)
        target = self._target(y, settings)
        rows = len(target[0] if isinstance(target, tuple) else target)
        if array is None or array.shape[0] != rows:
            check_consistent_length(X, y)
        names = getattr(self, "feature_names_in_", None)
        problem: _core.Problem = {
            "x": x,
            "y": target,
            "sample_weight": _weights(sample_weight, rows),
            "noise_precision": None,
            "offset": None,
            "feature_names": None if names is None else list(names),
            "target_name": target_name,
            "function": self._function(array),
            "progress": _Progress(self.verbose) if self.verbose else None,
        }
        return settings, problem

    def _folds(self, X: Any, target: _data.Target, groups: Any) -> _select.Pairs | None:
        """Return the folds that choose settings, where the core does not make them."""
        if "cv" not in _select.words_of(self.get_params(deep=False)):
            if groups is not None:
                raise ValueError(
                    "groups are given, but there is nothing to choose in folds: set lam or gamma "
                    "to 'cv', or leave them out"
                )
            return None
        codes = target[0] if isinstance(target, tuple) else target
        if len(codes) < 2:
            raise ValueError("n_samples = 1: choosing by 'cv' needs at least 2 rows")
        cv = getattr(self, "cv", None)  # the core refuses what cannot be chosen
        if _select.is_setting(cv):
            if groups is not None:
                raise ValueError(_select.NO_GROUPS)
            return None
        return _select.pairs(cv, X, codes, groups)

    def _target(self, y: Any, settings: dict[str, Any]) -> _data.Target:
        """Return the target as the core takes it, and settle what depends on it."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """Return the parameters as the core reads them."""
        settings: dict[str, Any] = self.get_params(deep=False)
        del settings["verbose"]
        settings.pop("class_weight", None)  # it depends on the classes
        warm_start = settings.pop("warm_start", False)
        if not isinstance(warm_start, bool | np.bool_):
            raise ValueError(f"warm_start = {warm_start!r}: True or False is expected")
        settings["n_jobs"] = _threads(settings["n_jobs"])
        settings["random_state"] = _seed(settings["random_state"])
        if callable(settings.get("basis")):
            del settings["basis"]  # the core knows by what it is handed
        centres = settings.pop("centres", None)
        families = settings.pop("families", None)
        factors = settings.pop("penalty_factors", None)
        search = _select.settings(settings)
        for name in _select.DEFAULTS:
            settings.pop(name, None)
        for name, value in settings.items():
            value = value.item() if isinstance(value, np.generic) else value
            settings[name] = value
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name} = {value}: a finite number is expected")
            if not isinstance(value, str | float | int | None):
                raise ValueError(f"{name} = {value!r}: a number or a word is expected")
        if families is not None:
            listed = isinstance(families, Iterable) and not isinstance(families, str)
            settings["families"] = list(families) if listed else [families]
        if factors is not None:
            settings["penalty_factors"] = _select.numbers_of("penalty_factors", factors)
        if centres is not None:
            centres = _sklearn.checked_array(centres, dtype=np.float64, input_name="centres")
            if not np.isfinite(centres).all():
                raise ValueError("centres: finite numbers are expected")
            settings["centres"] = centres.tolist()
        return settings | search

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
            self._check_square(array, reset=reset)
            return _data.of_array(_sklearn.checked_array(array, dtype=_FLOATS)), array
        if not reset and self.model_.needs_table:
            names = ", ".join(f"'{name}'" for name in self.model_.table_names or ())
            raise ValueError(
                "the model was fitted on a table with text, or with values missing; give a data "
                f"frame with the columns {names}"
            )
        with _refusing_text("X", "give a data frame, whose text columns become categories, or"):
            array = _sklearn.checked_features(
                self, X, reset=reset, accept_sparse=("csc", "csr"), dtype=_FLOATS
            )
        self._check_square(array, reset=reset)
        return _data.of_array(array), array

    def _check_square(self, array: Any, *, reset: bool) -> None:
        rows, columns = array.shape
        # What is not finite the core will point at.
        if reset and rows != columns and self._is_precomputed() and np.isfinite(array.sum()):
            raise ValueError(
                f"X has {rows} rows and {columns} columns: a precomputed kernel has a column for "
                "each row it is fitted on"
            )

    def _function(self, array: Any) -> tuple[Callable[..., Any], str, list[str] | None] | None:
        """Return the user's kernel or functions, the latter with names learnt from a few rows."""
        function = self.basis
        if not callable(function):
            return None
        if _functions.is_kernel(function):
            return function, _functions.name_of(function, "kernel"), None
        if array is None:
            raise ValueError("a basis function takes numbers: encode the columns of text first")
        name = _functions.name_of(function)
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
        self.gamma_ = self.relevance_ = self.relevance_vectors_ = None
        if model.kernel is not None:
            self.gamma_, rows, self.relevance_vectors_ = model.kernel
            self.relevance_ = rows.astype(np.intp)
        elif self._is_precomputed():
            self.relevance_ = model.positions.astype(np.intp)
        self.coef_, self.intercept_ = self._shaped(
            self._of_basis(model.weights, 0.0), model.intercepts
        )
        if not isinstance(getattr(type(self), "covariance_", None), property):
            self.covariance_ = model.covariance
        self.coef_std_ = self.intercept_std_ = None
        if model.standard_errors is not None:
            weights, intercepts = model.standard_errors
            self.coef_std_, self.intercept_std_ = self._shaped(
                self._of_basis(weights, math.nan), intercepts
            )
        self.terms_ = model.terms
        self.n_terms_ = len(self.terms_)
        self.lam_ = model.lam
        self.objective_ = model.objective
        self.certificate_ = Certificate(*model.certificate)
        self.trace_ = model.trace
        self.n_iter_ = model.iterations
        self.converged_ = model.converged
        self.termination_ = model.termination
        self.dropped_columns_ = dict(model.dropped)
        self.notes_ = model.notes
        self.selection_ = _select.Selection._of(model.selection)
        self.__dict__.pop("tried_", None)  # of an earlier fit
        if model.tried is not None:
            self.tried_ = _select.Tried._of(model.tried)

    def _of_basis(self, kept: NDArray[np.float64], other: float) -> NDArray[np.float64]:
        """Return what is known of the terms kept for all functions of the basis, save kernels."""
        if self.relevance_ is not None:
            return kept
        values = np.full((len(kept), self.model_.basis_size), other)
        values[:, self.model_.positions] = kept
        return values

    def _shaped(self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> Any:
        """Return weights and intercepts in the shapes of scikit-learn."""
        return weights, intercepts

    def _report(self) -> None:
        """Say how the fit ended: in a warning where it matters, on stderr where it is wished."""
        name = type(self).__name__
        notes = "; ".join(self.notes_)
        if self.verbose:
            if self.selection_ is not None:
                _say("\n".join(f"{name}: {line}" for line in repr(self.selection_).split("\n")))
            _say(
                f"{name}: {self.termination_} after {self.n_iter_} iterations, {self.n_terms_} of "
                f"{self.model_.basis_size} terms, {self.certificate_.kind} "
                f"{self.certificate_.value:.1e}"
            )
            for column, reason in self.dropped_columns_.items():
                _say(f"{name}: column '{column}' was left out: {reason}")
            for note in self.notes_:
                _say(f"{name}: {note}")
        endless = self.model_.is_separable
        if endless and (self.converged_ or self.lam_ == 0):
            warnings.warn(notes, SeparableWarning, stacklevel=4)
        elif not self.converged_:
            warnings.warn(f"{name} has not converged: {notes}", ConvergenceWarning, stacklevel=4)
        elif not self.terms_:
            warnings.warn(notes, EmptyModelWarning, stacklevel=4)

    # ---- a fitted model ----

    def _new(self, X: Any) -> _data.Input:
        """Return new inputs for the fitted model."""
        check_is_fitted(self, "model_")
        return self._inputs(X, reset=False)[0]

    def explain(self) -> Explanation:
        """Explain the model as a table of its terms.

        Returns
        -------
        Explanation
            Prints as a table; ``to_dict()`` gives plain values.
        """
        check_is_fitted(self, "model_")
        text, outputs, terms, learnt = self.model_.explain()

        def value(values: Any) -> Value:
            if len(outputs) == 1:
                return float(values[0])
            return dict(zip(outputs, map(float, values), strict=True))

        def kernel(
            family: str,
            centre: list[float] | None,
            width: list[float] | None,
            feature: str | None,
        ) -> dict[str, Any]:
            if centre is None or width is None:
                return {"family": family, "feature": feature}
            widths = [w if np.isfinite(w) else None for w in width]
            return {"family": family, "centre": centre, "width": widths}

        return Explanation(
            outputs[0] if len(outputs) == 1 else self.model_.target_name,
            value(self.model_.intercepts),
            [(name, value(weights), value(effects)) for name, weights, effects in terms],
            text,
            [kernel(*parts) for parts in learnt],
        )

    def formula(self) -> str:
        """Write the model as one line, or as one for each class where they are more than two.

        Returns
        -------
        str
            For instance ``'2 - 0.5 x2'``, or ``'Φ(2 - 0.5 x2)'`` for the probability of the
            second of two classes. Probabilities of more classes are proportional to their lines.
        """
        check_is_fitted(self, "model_")
        outputs = self.model_.explain()[1]
        if len(outputs) == 1:
            return self.model_.formula(0)
        return "\n".join(f"{name}: {self.model_.formula(k)}" for k, name in enumerate(outputs))

    def coef_interval(self, coverage: float = 0.95) -> NDArray[np.float64]:
        """Compute the intervals that hold the weights with so much posterior probability.

        Parameters
        ----------
        coverage : float, default=0.95
            The probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (..., 2)
            Lower and upper ends for each of `coef_`; NaN for weights that are zero.
        """
        check_is_fitted(self, "model_")
        low, high = (
            self._shaped(self._of_basis(side, math.nan), self.model_.intercepts)[0]
            for side in self.model_.credible_intervals(coverage)
        )
        return np.stack([low, high], axis=-1)

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
        check_is_fitted(self, "model_")
        self.model_.save(path)

    @classmethod
    def _of(cls, model: _core.Model) -> Self:
        """Make a fitted estimator of a model that was read."""
        names = cls._get_param_names()
        params = {k: v for k, v in json.loads(model.settings).items() if k in names}
        if model.function is not None:
            params["basis"] = model.function
        if params.get("centres") is not None:
            params["centres"] = np.array(params["centres"])
        estimator = cls(**params)
        features = model.table_names or model.feature_names
        estimator.n_features_in_ = len(features)
        if model.is_named:
            estimator.feature_names_in_ = np.asarray(features, dtype=object)
        estimator._read(model)
        return estimator


@contextlib.contextmanager
def _refusing_text(name: str, otherwise: str) -> Iterator[None]:
    """Say what to do about text where numbers are needed."""
    try:
        yield
    except ValueError as error:
        if "could not convert string to float" not in str(error):
            raise
        raise ValueError(f"{name} has text in it ({error}); {otherwise} numbers only") from error


class ChosenInFolds:
    """Mixin of estimators that choose λ by cross-validation unless told otherwise."""

    def _folds(self, X: Any, target: _data.Target, groups: Any) -> _select.Pairs | None:
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        if params["lam"] is None and not _select.words_of(params):
            raise ValueError(
                f"lam = None: {type(self).__name__} has nothing to choose; give 'cv', a criterion "
                "such as 'bic', or a number"
            )
        folds: _select.Pairs | None = super()._folds(X, target, groups)  # type: ignore[misc]
        return folds

    def _read(self, model: _core.Model) -> None:
        super()._read(model)  # type: ignore[misc]
        selection: _select.Selection | None = self.selection_  # type: ignore[attr-defined]
        for name in ("lams_", "cv_scores_", "cv_mean_", "cv_std_error_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if selection is None:
            return
        if "lam" in selection.settings:
            self.lams_ = selection.values("lam")
        self.cv_mean_ = selection.values("mean")
        if selection.folds:
            self.cv_scores_ = selection.values("scores")
            self.cv_std_error_ = selection.values("standard_error")


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """Base of estimators that predict numbers."""

    def _target(self, y: Any, settings: dict[str, Any]) -> _data.Target:
        with _refusing_text("y", "take a classifier, or give"):
            y = _sklearn.checked_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        return np.ascontiguousarray(column_or_1d(y, warn=True))

    def _read(self, model: _core.Model) -> None:
        super()._read(model)
        self.noise_std_ = model.noise_std
        if model.log_evidence is not None:
            self.log_evidence_ = model.log_evidence

    def _shaped(self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]) -> Any:
        return weights[0], float(intercepts[0])

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> NDArray[np.float64]: ...
    @overload
    def predict(
        self, X: Any, return_std: Literal[True]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the mean of the target.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        return_std : bool, default=False
            Whether to return the standard deviation of a new observation too, where the model
            has a posterior.

        Returns
        -------
        ndarray of shape (n_samples,), or a tuple of two of them
            The predictions; then the standard deviations, where they are asked for.
        """
        x = self._new(X)
        if return_std:
            std = self.model_.predict_std(x)
            return self.model_.predict(x), std
        return self.model_.predict(x)

    def predict_interval(self, X: Any, coverage: float = 0.95) -> NDArray[np.float64]:
        """Predict an interval that holds a new observation with so much probability.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        coverage : float, default=0.95
            The probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        x = self._new(X)
        return self.model_.predict_interval(x, coverage)


class Classifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Base of estimators that predict classes."""

    def _target(self, y: Any, settings: dict[str, Any]) -> _data.Target:
        self.classes_, codes = _data.classes_of(y)
        if isinstance(self.class_weight, Mapping):
            y = self.classes_[codes]
            weights = compute_class_weight(dict(self.class_weight), classes=self.classes_, y=y)
            settings["class_weight"] = weights.tolist()
        elif self.class_weight is None or (
            isinstance(self.class_weight, str) and self.class_weight == "balanced"
        ):
            settings["class_weight"] = self.class_weight
        else:
            raise ValueError(
                f"class_weight = {self.class_weight!r}: a dict or 'balanced' is expected"
            )
        return codes, _data.labels(self.classes_)

    @classmethod
    def _of(cls, model: _core.Model) -> Self:
        estimator = super()._of(model)
        estimator.classes_ = np.asarray(model.classes)
        if isinstance(estimator.class_weight, list):
            weights = zip(estimator.classes_.tolist(), estimator.class_weight, strict=True)
            estimator.class_weight = dict(weights)
        return estimator

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of `classes_`.
        """
        x = self._new(X)
        labels: NDArray[Any] = self.classes_[self.model_.predict_codes(x)]
        return labels

    def predict_proba(self, X: Any, moderated: bool = False) -> NDArray[np.float64]:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        moderated : bool, default=False
            Whether to average over the posterior of the weights, where the model has one, which
            makes probabilities far from the data less extreme.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`; rows sum to 1.
        """
        x = self._new(X)
        if moderated:
            return self.model_.moderated_probabilities(x)
        return self.model_.predict_probabilities(x)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities, finite however small these are.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`.
        """
        x = self._new(X)
        return self._log_probabilities(self.model_.decision(x))

    def _log_probabilities(self, eta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn outputs into log probabilities: those of a probit, unless a method has others."""
        if eta.shape[1] == 1:
            eta = np.hstack([-eta, eta])
        logs: NDArray[np.float64] = log_ndtr(eta)
        if eta.shape[1] > 2:
            logs -= logsumexp(logs, axis=1, keepdims=True)
        return logs

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the outputs whose signs and sizes decide.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one output, above 0 for the second of `classes_`; for more one for
            each class, of which the largest wins.
        """
        x = self._new(X)
        eta = self.model_.decision(x)
        return eta[:, 0] if eta.shape[1] == 1 else eta


F = TypeVar("F", bound=Callable[..., Any])


def with_defaults(function: F, **defaults: Any) -> F:
    """Return a function with other defaults of its keywords, which its signature shows.

    scikit-learn reads parameters off the signature: a subclass need not write it down again.
    """
    if not isinstance(function, types.FunctionType):
        raise TypeError("a function is expected")
    changed = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    changed.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **defaults}
    changed.__annotations__ = function.__annotations__
    changed.__qualname__ = function.__qualname__
    return changed  # type: ignore[return-value]


def load(path: Path, functions: Functions | None = None) -> Any:
    """Load a model that was saved, by Python or on the command line.

    Loading reads data only: nothing in a file is ever run.

    Parameters
    ----------
    path : path-like
        The file.
    functions : mapping of str to callable, optional
        The functions or the kernel that the model was fitted with, where its basis is your own: a
        file holds only their names.

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


def _seed(random_state: Any) -> Any:
    """Return a number as it is, and draw one from what scikit-learn takes for a generator."""
    if isinstance(random_state, int | np.integer):
        return random_state
    return int(check_random_state(random_state).randint(2**31 - 1))


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

    def selection(self, done: int, all: int, best: float | None, seconds: float | None) -> None:
        """Print how many of many fits are done; the last line always."""
        now = time.monotonic()
        if now - self.last >= self.interval or done == all:
            self.last = now
            text = f"fit {done} of {all}"
            if best is not None:
                text += f", best {best:.6g}"
            if seconds is not None and done < all:
                text += (
                    f", {seconds:.0f} s left" if seconds < 120 else f", {seconds / 60:.0f} min left"
                )
            _say(text)

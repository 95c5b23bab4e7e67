"""Sums over rows that come in chunks, and fits from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from fewer import _core, _data, _sklearn
from fewer._base import Regressor, _weights

if TYPE_CHECKING:
    from typing_extensions import Self

_FLOATS = (np.float64, np.float32)


class Moments:
    """All that a Gaussian method with a linear basis needs to know of the data.

    Counts, sums and products of columns are built chunk by chunk, so that the rows need not be in
    memory together. :class:`SparseRegressor`, :class:`Lasso`, :class:`RVR`, :class:`BLS`,
    :class:`FastLaplace` and :class:`BayesianLasso` fit from them by ``fit_moments``, and give what
    they give for all rows at once.

    Attributes
    ----------
    n_rows_ : int
        Rows so far.
    feature_names_ : list of str
        Names of the columns: those of the first chunk, where it was a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import BLS, Moments
    >>> rng = np.random.default_rng(0)
    >>> moments = Moments()
    >>> for _ in range(10):
    ...     X = rng.normal(size=(100, 20))
    ...     y = 4 + 2 * X[:, 0] - X[:, 5] + 0.1 * rng.normal(size=100)
    ...     moments = moments.push(X, y)
    >>> model = BLS().fit_moments(moments)
    >>> [int(j) for j in np.argsort(-np.abs(model.coef_))[:2]]
    [0, 5]
    """

    def __init__(self) -> None:
        self.n_rows_ = 0
        self.feature_names_: list[str] = []
        self._named = False
        self._sums: _core.Moments | None = None

    def push(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add a chunk of rows.

        Parameters
        ----------
        X : array or data frame of numbers of shape (n_samples, n_features)
            The inputs, with the same columns in every chunk.
        y : array-like of shape (n_samples,)
            The numbers to be predicted.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        Moments
            The moments themselves.
        """
        frame = _data.as_frame(X)
        array = X if frame is None else _data.of_frame(frame)
        if array is None:
            text = ", ".join(f"'{name}'" for name in _data.text_columns(frame))
            raise ValueError(f"text in {text}: moments are of numbers")
        array = _sklearn.checked_array(array, dtype=_FLOATS)
        target = _sklearn.checked_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        if target.shape != (len(array),):
            raise ValueError(f"y: expected {len(array)} numbers, found the shape {target.shape}")
        columns = array.shape[1]
        names = [f"x{j + 1}" for j in range(columns)]
        if frame is not None:
            names = [str(name) for name in _data.frame_names(frame)]
        if self._sums is None:
            self.feature_names_, self._named = names, frame is not None
            self._sums = _core.Moments(names)
        expected = self.feature_names_ if self._named and frame is not None else None
        if columns != len(self.feature_names_) or expected not in (None, names):
            raise ValueError(
                f"X has the columns {', '.join(names[:10])}: those of the first chunk, "
                f"{', '.join(self.feature_names_[:10])}, are expected"
            )
        weights = _weights(sample_weight, len(array))
        self._sums.push(_data.of_array(array), np.ascontiguousarray(target), weights)
        self.n_rows_ += len(array)
        return self


class FitsMoments(Regressor):
    """Base of regressors that with a linear basis need nothing but moments."""

    def fit_moments(self, moments: Moments) -> Self:
        """Fit the model with a linear basis from moments alone.

        Parameters
        ----------
        moments : Moments
            The sums over all rows.

        Returns
        -------
        estimator
            The estimator itself.
        """
        if moments._sums is None:
            raise ValueError("the moments are of no rows: push some first")
        settings = json.dumps(self._settings())
        self.n_features_in_ = len(moments.feature_names_)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if moments._named:
            self.feature_names_in_ = np.array(moments.feature_names_, dtype=object)
        self._read(moments._sums.fit(self._method, settings))
        self._report()
        return self

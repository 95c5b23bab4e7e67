"""What the estimators that maximise the evidence share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from fewer import _sklearn
from fewer._base import RandomState, Regressor, _seed
from fewer.moments import FitsMoments

if TYPE_CHECKING:
    from typing_extensions import Self

Variance = Literal["posterior", "augmented"]


class PosteriorRegressor(Regressor):
    """Base of regressors with a posterior to draw from."""

    def sample_posterior(
        self, n_samples: int = 1, random_state: RandomState | None = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw weights from their posterior.

        Parameters
        ----------
        n_samples : int, default=1
            How many draws.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws: the same gives the same.

        Returns
        -------
        coef : ndarray of shape (n_samples, n_basis) or (n_samples, n_terms)
            A row of weights like `coef_` for each draw.
        intercept : ndarray of shape (n_samples,)
            The intercept of each draw.
        """
        check_is_fitted(self, "model_")
        weights, intercepts = self.model_.sample_posterior(_count(n_samples), _seed(random_state))
        return self._of_basis(weights, 0.0), intercepts[:, 0]

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: RandomState | None = 0,
        *,
        noise: bool = True,
    ) -> NDArray[np.float64]:
        """Draw new observations, or functions, from the posterior.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples_X, n_features)
            The inputs.
        n_samples : int, default=1
            How many draws.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws: the same gives the same, for one seed the same weights with noise
            and without.
        noise : bool, default=True
            Whether to draw new observations; otherwise values of the function that they scatter
            about.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples)
            A column for each draw.
        """
        x = self._new(X)
        return self.model_.sample_y(x, _count(n_samples), _seed(random_state), noise)


class HasEvidence(PosteriorRegressor):
    """Base of regressors that maximise the evidence."""

    def __getattr__(self, name: str) -> Any:
        """Say why a fit has no evidence, where it has none."""
        if name == "log_evidence_" and "model_" in vars(self):
            raise AttributeError(
                "log_evidence_: the evidence of this fit has no value. That of a constant target "
                "grows without bound as its noise falls (give noise), and rows whose weights add "
                "up to less than one have none"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class EvidenceRegressor(FitsMoments, HasEvidence):
    """Base of regressors with a Gaussian posterior and noise of known relative precisions."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        noise_precision: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs. Arrays of float64 and float32 in any order, and the values of CSC
            matrices of float64, are used where they are, without a copy. Data frames may be of
            pandas, polars or Arrow; their columns of text or categories become columns of zeros
            and ones.
        y : array-like of shape (n_samples,)
            The numbers to be predicted.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows: a row of weight 2 counts as two equal rows, one of weight 0 as
            none.
        groups : array-like of shape (n_samples,), optional
            Groups of the rows, for a splitter given as `cv` that keeps them together.
        noise_precision : array-like of shape (n_samples,), optional
            How precise each row is relative to the others, above 0: the noise of row n has the
            variance ``noise_std_**2 / noise_precision[n]``. Only their ratios matter to the
            weights. It is no sample weight: a row of precision 2 is one row, measured better.
            Where λ is in units of the noise (`BLS`), that of a row of mean precision is meant.

        Returns
        -------
        estimator
            The estimator itself.
        """
        settings, problem = self._problem(X, y, sample_weight)
        problem["noise_precision"] = _precision(noise_precision, len(problem["y"]))
        return self._fit(X, settings, problem, groups)

    def predict(
        self, X: Any, return_std: bool = False, *, noise_precision: ArrayLike | None = None
    ) -> Any:
        """Predict the mean of the target.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        return_std : bool, default=False
            Whether to return the standard deviation of a new observation too.
        noise_precision : array-like of shape (n_samples,), optional
            How precise each new row is beside those of the fit, for the standard deviations: the
            noise of row n has the variance ``noise_std_**2 / noise_precision[n]``; 1 if not given.

        Returns
        -------
        ndarray of shape (n_samples,), or a tuple of two of them
            The predictions; then the standard deviations, where they are asked for.
        """
        x = self._new(X)
        mean = self.model_.predict(x)
        if not return_std:
            return mean
        return mean, self.model_.predict_std(x, _precision(noise_precision, len(mean)))

    def predict_interval(
        self, X: Any, coverage: float = 0.95, *, noise_precision: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predict an interval that holds a new observation with so much probability.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        coverage : float, default=0.95
            The probability, between 0 and 1.
        noise_precision : array-like of shape (n_samples,), optional
            How precise each new row is beside those of the fit, as in `predict`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        x = self._new(X)
        precision = None
        if noise_precision is not None:
            precision = _precision(noise_precision, np.size(noise_precision))
        return self.model_.predict_interval(x, coverage, precision)


def _precision(precision: ArrayLike | None, rows: int) -> NDArray[np.float64] | None:
    """Return the precisions; their values the core checks."""
    if precision is None:
        return None
    array = _sklearn.checked_array(
        precision,
        ensure_2d=False,
        dtype=np.float64,
        input_name="noise_precision",
    )
    if array.shape != (rows,):
        raise ValueError(f"noise_precision: expected {rows} numbers, found the shape {array.shape}")
    return np.ascontiguousarray(array)


def _count(n_samples: Any) -> int:
    if not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"n_samples = {n_samples!r}: a whole number of at least 1 is expected")
    return int(n_samples)

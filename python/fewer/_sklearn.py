"""What differs between the supported versions of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

try:  # scikit-learn 1.6 or newer
    from sklearn.utils.validation import validate_data

    _ALLOW_NON_FINITE: dict[str, Any] = {"ensure_all_finite": False}
except ImportError:
    validate_data = None
    _ALLOW_NON_FINITE = {"force_all_finite": False}


def checked_array(array: Any, **params: Any) -> Any:
    """Return an array or a sparse matrix of numbers; whether they are finite the core checks."""
    return check_array(array, **_ALLOW_NON_FINITE, **params)


def checked_features(estimator: Any, X: Any, *, reset: bool, **params: Any) -> Any:
    """Do the same for inputs, and remember or compare the number of features."""
    if _is_plain(estimator, X, reset=reset, dtypes=params["dtype"]):
        estimator.n_features_in_ = X.shape[1]
        return X
    if validate_data is None:
        return estimator._validate_data(
            X, reset=reset, y="no_validation", **_ALLOW_NON_FINITE, **params
        )
    return validate_data(estimator, X, reset=reset, **_ALLOW_NON_FINITE, **params)


def _is_plain(estimator: Any, X: Any, *, reset: bool, dtypes: Any) -> bool:
    """Whether an array needs no look of scikit-learn's, which takes as long as a small fit."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.size > 0
        and X.dtype in dtypes
        and not hasattr(estimator, "feature_names_in_")
        and (reset or X.shape[1] == estimator.n_features_in_)
    )


def check_frame(estimator: Any, X: Any, *, reset: bool) -> None:
    """Remember or compare the names and the number of the columns of a data frame."""
    if validate_data is None:
        estimator._validate_data(X, y="no_validation", reset=reset, cast_to_ndarray=False)
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)

"""Kernel matrices, as the kernel bases compute them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from fewer import _core, _data

__all__ = ["kernel_matrix"]


def kernel_matrix(
    X: Any,
    centres: Any = None,
    *,
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: int = 2,
    coef0: float = 1.0,
) -> NDArray[np.float64]:
    """Compute k(x, c) for every row x of X and every centre c.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The rows.
    centres : array of shape (m, d), default=None
        The centres; the rows of X themselves by default.
    kernel : str, default="rbf"
        ``rbf``, ``laplacian``, ``matern32``, ``matern52``, ``polynomial-kernel`` or
        ``linear-kernel``.
    gamma, degree, coef0 : float, int, float
        As the settings of a kernel basis.

    Returns
    -------
    array of shape (n, m)

    Examples
    --------
    >>> from fewer.kernels import kernel_matrix
    >>> kernel_matrix([[0.0], [1.0]], gamma=0.5).round(3).tolist()
    [[1.0, 0.607], [0.607, 1.0]]
    """
    X = check_array(X, accept_sparse=("csc", "csr"), dtype=(np.float64, np.float32))
    given = X if centres is None else centres
    points = check_array(given.toarray() if hasattr(given, "toarray") else given, dtype=np.float64)
    return _core.kernel_matrix(_data.of_array(X), points, kernel, gamma, degree, coef0)

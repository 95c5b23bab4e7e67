"""Relevance vector regression with orthonormal wavelets."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fewer._base import Intercept, RandomState
from fewer._docs import documented
from fewer._evidence import HasEvidence
from fewer.rvr import Sparsity

Padding = Literal["none", "periodic", "symmetric"]


@documented
class WaveletRVR(HasEvidence):
    """Relevance vector regression with orthonormal wavelets, for equally spaced points.

    Wavelets are orthonormal, so that each weight has its best variance in closed form given the
    noise, and the noise is found by a search that starts from the median of the finest details
    [1]_ [2]_. A fit takes time proportional to the number of rows. What is maximised is that of
    :class:`fewer.RVR`::

        log p(y | γ, σ²) − c · (effective number of parameters)

    X must have one column of equally spaced values, in any order, and as many rows as a power of
    two unless `padding` is given. Wavelets are periodic: a function whose ends do not meet has a
    jump there. Between the points of the grid predictions are interpolated; beyond its ends they
    stay as they are there.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coef_ : ndarray of shape (n_basis,)
        Weights of all wavelets, zeros included: the constant first, then from wide to narrow, and
        from left to right.
    intercept_ : float
        The intercept.
    noise_std_ : float
        Standard deviation of the noise.
    log_evidence_ : float
        log p(y) with the weights integrated out.
    {attributes}

    See Also
    --------
    fewer.AdaptiveRVR : Kernels with widths of their own, at any points.
    fewer.RVR : Kernels of one width, at any points.

    References
    ----------
    .. [1] A. Schmolck, R. Everson, "Smooth relevance vector machine: a smoothness prior extension
       of the RVM", Machine Learning 68, 107-135, 2007.
    .. [2] D. G. Tzikas, A. C. Likas, N. P. Galatsanos, "Sparse Bayesian modeling with adaptive
       kernel learning", IEEE Transactions on Neural Networks 20(6), 926-937, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import WaveletRVR
    >>> rng = np.random.default_rng(0)
    >>> X = np.arange(256)[:, np.newaxis] / 256
    >>> y = (X[:, 0] >= 0.5) + 0.1 * rng.normal(size=256)
    >>> WaveletRVR(wavelet="haar", sparsity="ric").fit(X, y).n_terms_
    1
    """

    _method = "WaveletRVR"
    basis: ClassVar[str] = "wavelet"

    def __init__(
        self,
        *,
        wavelet: str = "sym8",
        padding: Padding = "none",
        sparsity: Sparsity = "bic",
        noise: float | None = None,
        fit_intercept: Intercept = True,
        max_terms: int | None = None,
        random_state: RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.wavelet = wavelet
        self.padding = padding
        self.sparsity = sparsity
        self.noise = noise
        self.fit_intercept = fit_intercept
        self.max_terms = max_terms
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def covariance_(self) -> NDArray[np.float64] | None:  # type: ignore[override]
        """The covariance of intercept and weights, made when it is asked for: it is diagonal."""
        check_is_fitted(self, "model_")
        return self.model_.covariance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

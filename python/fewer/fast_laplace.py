"""Fast Laplace."""

from __future__ import annotations

from fewer._base import with_defaults
from fewer._docs import documented
from fewer._evidence import EvidenceRegressor
from fewer.bls import BLS


@documented
class FastLaplace(EvidenceRegressor):
    """Sparse regression with a Laplace prior, by maximising the evidence.

    Every weight has a variance of its own, w_i ~ N(0, γ_i), and γ_i ~ Exp(λ/2), so that weights
    are Laplacian; the weights are integrated out, and it maximises [1]_ ::

        log p(y | γ, σ²) − (λ/2) Σγ

    Most γ_i become zero. A fixed λ carries the units of 1/y².

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coef_ : ndarray of shape (n_basis,) or (n_terms,)
        Weights of all functions of the basis, zeros included (for a data frame with text, of the
        encoded columns); for kernels those of the terms kept, as in `relevance_`.
    intercept_ : float
        The intercept.
    noise_std_ : float
        Standard deviation of the noise.
    log_evidence_ : float
        log p(y) with the weights integrated out.
    {attributes}

    See Also
    --------
    fewer.BLS : The same with variances in units of the noise.
    fewer.RVR : The same with a flat prior on the variances.

    References
    ----------
    .. [1] S. D. Babacan, R. Molina, A. K. Katsaggelos, "Bayesian compressive sensing using Laplace
       priors", IEEE Transactions on Image Processing 19(1), 53-63, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import FastLaplace
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 20))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=100)
    >>> model = FastLaplace().fit(X, y)
    >>> {"x1", "x4"} <= set(model.terms_)
    True
    >>> mean, std = model.predict(X, return_std=True)
    """

    _method = "FastLaplace"

    __init__ = with_defaults(BLS.__init__)

"""Relevance vector regression."""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from fewer._base import (
    Basis,
    Gamma,
    Intercept,
    Landmarks,
    RandomState,
    Variant,
)
from fewer._docs import documented
from fewer._evidence import EvidenceRegressor, Variance
from fewer._select import CV, Rule

Sparsity = float | Literal["none", "aic", "bic", "ric", "cv"]
Solver = Literal["fast", "block"]


@documented
class RVR(EvidenceRegressor):
    """Relevance vector regression: few kernels, and nothing to tune but their width.

    Every weight has a prior variance of its own, w_i ~ N(0, γ_i), and the noise is Gaussian; the
    weights are integrated out, and it maximises [1]_ [2]_ ::

        log p(y | γ, σ²) − c · (effective number of parameters)

    in which c is `sparsity` [3]_. Most γ_i become zero. The objective has many maxima: what is
    returned is one from which no added, re-estimated or deleted column brings more than `tol`.
    Rescaling y rescales the answer and nothing else.

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
    fewer.BLS : Weights with a Laplace prior, found in the same way.
    fewer.SparseRegressor : Sparse regression by expectation-maximisation.
    sklearn.linear_model.ARDRegression : The same model with ``basis="linear"``.

    References
    ----------
    .. [1] M. E. Tipping, "Sparse Bayesian learning and the relevance vector machine", Journal of
       Machine Learning Research 1, 211-244, 2001.
    .. [2] M. E. Tipping, A. C. Faul, "Fast marginal likelihood maximisation for sparse Bayesian
       models", AISTATS, 2003.
    .. [3] D. G. Tzikas, A. C. Likas, N. P. Galatsanos, "Sparse Bayesian modeling with adaptive
       kernel learning", IEEE Transactions on Neural Networks 20(6), 926-937, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import RVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-10, 10, size=(200, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=200)
    >>> model = RVR().fit(X, y)
    >>> model.n_terms_ < 20
    True
    >>> mean, std = model.predict(X, return_std=True)
    """

    _method = "RVR"

    def __init__(
        self,
        *,
        sparsity: Sparsity = "none",
        noise: float | None = None,
        variance: Variance = "posterior",
        solver: Solver = "fast",
        basis: Basis = "rbf",
        degree: int = 2,
        gamma: Gamma = "scale",
        coef0: float = 1.0,
        candidates: int | None = None,
        landmarks: Landmarks = "kmeans",
        centres: ArrayLike | None = None,
        standardize: bool = True,
        fit_intercept: Intercept = True,
        variant: Variant = "exact",
        max_terms: int | None = None,
        cv: CV = 5,
        scoring: str | None = None,
        rule: Rule = "best",
        gammas: ArrayLike = 9,
        tol: float = 1e-8,
        max_iter: int = 10000,
        max_time: float | None = None,
        memory_limit: float = 4e9,
        random_state: RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sparsity = sparsity
        self.noise = noise
        self.variance = variance
        self.solver = solver
        self.basis = basis
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.candidates = candidates
        self.landmarks = landmarks
        self.centres = centres
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.variant = variant
        self.max_terms = max_terms
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.gammas = gammas
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

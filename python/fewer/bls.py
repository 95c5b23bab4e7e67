"""The Bayesian lasso of type II."""

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
from fewer._select import CV, Lam, Rule

LamRule = Literal["active", "hyperprior"]


@documented
class BLS(EvidenceRegressor):
    """Sparse regression with a Laplace prior, by maximising the evidence.

    Every weight has a variance of its own in units of the noise, w_i ~ N(0, τ_iσ²), and
    τ_i ~ Exp(λ/2), so that weights are Laplacian given the noise; the weights are integrated out,
    and it maximises [1]_ ::

        log p(y | τ, σ²) − (λ/2) Στ − log σ²

    Most τ_i become zero. Rescaling y rescales the answer and nothing else.

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
    fewer.RVR : The same with a flat prior on the variances.
    fewer.FastLaplace : The same with variances in the units of y.

    References
    ----------
    .. [1] I. M. Helgøy, Y. Li, "A Bayesian lasso based sparse learning model", Communications in
       Statistics - Simulation and Computation, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import BLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 20))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=100)
    >>> model = BLS().fit(X, y)
    >>> {"x1", "x4"} <= set(model.terms_)
    True
    >>> mean, std = model.predict(X, return_std=True)
    """

    _method = "BLS"

    def __init__(
        self,
        *,
        lam: Lam | None = None,
        lam_rule: LamRule = "active",
        noise: float | None = None,
        variant: Variant = "exact",
        variance: Variance = "posterior",
        basis: Basis = "linear",
        degree: int = 2,
        gamma: Gamma = "scale",
        coef0: float = 1.0,
        candidates: int | None = None,
        landmarks: Landmarks = "kmeans",
        centres: ArrayLike | None = None,
        standardize: bool = True,
        fit_intercept: Intercept = True,
        max_terms: int | None = None,
        cv: CV = 5,
        scoring: str | None = None,
        rule: Rule = "best",
        lams: ArrayLike = 100,
        gammas: ArrayLike = 9,
        tol: float = 1e-8,
        max_iter: int = 10000,
        max_time: float | None = None,
        memory_limit: float = 4e9,
        random_state: RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.lam_rule = lam_rule
        self.noise = noise
        self.variant = variant
        self.variance = variance
        self.basis = basis
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.candidates = candidates
        self.landmarks = landmarks
        self.centres = centres
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_terms = max_terms
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.lams = lams
        self.gammas = gammas
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

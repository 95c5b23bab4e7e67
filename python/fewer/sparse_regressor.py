"""Sparse regression by expectation-maximisation."""

from __future__ import annotations

from numpy.typing import ArrayLike

from fewer._base import (
    Basis,
    Gamma,
    Intercept,
    Landmarks,
    Prior,
    RandomState,
    Variant,
)
from fewer._docs import documented
from fewer._select import CV, Lam, Rule
from fewer.moments import FitsMoments


@documented
class SparseRegressor(FitsMoments):
    """Regression that keeps few terms, with nothing to tune.

    Expectation-maximisation under a sparse prior on the weights w [1]_. It minimises ::

        (n/2) log σ² + ‖y − Xw‖²/2σ² + penalty(w)

    in which the penalty is Σ log|w_i| over the terms kept (Jeffreys), λ‖w‖₁ (Laplace) or
    (λ/2)‖w‖² (Gaussian), and sums over rows are weighted sums. With the Jeffreys prior, rescaling
    y or any column of X rescales the answer and nothing else. That objective has no global
    minimum (it falls without bound as a weight goes to zero): what is returned, and certified,
    is the stationary point that EM reaches from a good start.

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
    {attributes}

    See Also
    --------
    fewer.load : Load a saved model.
    sklearn.linear_model.ARDRegression : Another sparse Bayesian regression.

    References
    ----------
    .. [1] M. A. T. Figueiredo, "Adaptive sparseness for supervised learning", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 25(9), 1150-1159, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import SparseRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 20))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=100)
    >>> regressor = SparseRegressor().fit(X, y)
    >>> regressor.terms_
    ['x1', 'x4']
    >>> regressor.explain()
    2 of 20 terms kept
    term         weight in y  effect of one s.d.
    (intercept)      1.00196
    x1               2.99597              2.9309
    x4              -1.98434            -1.98256
    >>> regressor.formula()
    '1.00196 + 2.99597 x1 - 1.98434 x4'
    """

    _method = "SparseRegressor"

    def __init__(
        self,
        *,
        prior: Prior = "jeffreys",
        lam: Lam | None = None,
        lam_ratio: float | None = None,
        noise: float | None = None,
        basis: Basis = "linear",
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
        self.prior = prior
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.noise = noise
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
        self.lams = lams
        self.gammas = gammas
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

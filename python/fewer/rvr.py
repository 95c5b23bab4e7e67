"""Relevance vector regression."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fewer import _core
from fewer._base import (
    Basis,
    Candidates,
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
Noise = float | Literal["student_t"]
Nu = float | Literal["estimate"]


@documented
class RVR(EvidenceRegressor):
    """Relevance vector regression: few kernels, and nothing to tune but their width.

    Every weight has a prior variance of its own, w_i ~ N(0, γ_i), and the noise is Gaussian; the
    weights are integrated out, and it maximises [1]_ [2]_ ::

        log p(y | γ, σ²) − c · (effective number of parameters)

    in which c is `sparsity` [3]_. Most γ_i become zero. The objective has many maxima: what is
    returned is one from which no added, re-estimated or deleted column brings more than `tol`.
    Rescaling y rescales the answer and nothing else.

    With ``noise="student_t"`` the noise is Student's t of ν degrees of freedom: row n has the
    precision λ_n/σ², λ_n ~ Gamma(ν/2, ν/2). What is then maximised is a variational lower bound of
    the evidence, which no step lowers (with ``sparsity="none"``). Predictions are taken for
    Student's t too, of squared scale σ² and the variance of the mean; intervals are its quantiles,
    and ``return_std`` gives half the width of the interval of 68.27 %, as its variance may be
    infinite.

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
        Standard deviation of the noise; of ``noise="student_t"`` its scale σ.
    nu_ : float
        Degrees of freedom of ``noise="student_t"``.
    row_weights_ : ndarray of shape (n_samples,)
        With ``noise="student_t"``: the expected λ of each row, small for rows that are far off.
        A model that was read from a file has none.
    outliers_ : ndarray of int
        With ``noise="student_t"``: rows, from 0, that are more than four deviations off, those of
        the Gaussian with the quartiles of the noise.
    log_evidence_ : float
        log p(y) with the weights integrated out; with ``noise="student_t"`` its bound.
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

    def _read(self, model: _core.Model) -> None:
        super()._read(model)
        for name in ("nu_", "row_weights_", "outliers_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if model.noise_nu is None:
            return
        self.nu_ = model.noise_nu
        self.outliers_ = model.suspected.astype(np.intp)
        if len(model.row_weights):
            self.row_weights_ = model.row_weights

    def __init__(
        self,
        *,
        sparsity: Sparsity = "none",
        noise: Noise | None = None,
        nu: Nu = "estimate",
        variance: Variance = "posterior",
        solver: Solver = "fast",
        basis: Basis = "rbf",
        degree: int = 2,
        gamma: Gamma = "scale",
        coef0: float = 1.0,
        candidates: Candidates | None = None,
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
        self.nu = nu
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

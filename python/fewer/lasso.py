"""The Lasso and its relatives."""

from __future__ import annotations

from numpy.typing import ArrayLike

from fewer._base import Basis, Gamma, Intercept, Landmarks, RandomState, Regressor
from fewer._docs import documented


@documented
class Lasso(Regressor):
    """Linear regression with an L1 penalty, certified.

    It minimises ::

        ½‖y − Xw‖² + λ‖w‖₁

    over weights w and a free intercept; sums over rows are weighted sums, and λ is n times the
    `alpha` of scikit-learn. Every fit ends with a duality gap: a bound on how far it is from the
    optimum [2]_. The solver takes working sets of columns, and solves for the weights of the last
    one exactly.

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
        Standard deviation of the noise, from the residuals.
    {attributes}

    See Also
    --------
    fewer.SparseRegressor : Sparse regression with nothing to tune.
    sklearn.linear_model.Lasso : The same problem with ``alpha = lam / n`` where `standardize` is
        false.

    References
    ----------
    .. [1] R. Tibshirani, "Regression shrinkage and selection via the lasso", Journal of the Royal
       Statistical Society B 58(1), 267-288, 1996.
    .. [2] E. Ndiaye, O. Fercoq, A. Gramfort, J. Salmon, "Gap safe screening rules for sparsity
       enforcing penalties", Journal of Machine Learning Research 18(128), 1-33, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import Lasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 20))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=100)
    >>> lasso = Lasso(lam_ratio=0.2).fit(X, y)
    >>> lasso.terms_
    ['x1', 'x4']
    >>> float(lasso.certificate_) < 1e-8
    True
    """

    _method = "Lasso"

    def __init__(
        self,
        *,
        lam: float | None = None,
        lam_ratio: float | None = None,
        l1_ratio: float = 1.0,
        penalty_factors: ArrayLike | None = None,
        positive: bool = False,
        adaptive: float | None = None,
        relaxed: bool = False,
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
        tol: float = 1e-8,
        max_iter: int = 10000,
        max_time: float | None = None,
        memory_limit: float = 4e9,
        random_state: RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.l1_ratio = l1_ratio
        self.penalty_factors = penalty_factors
        self.positive = positive
        self.adaptive = adaptive
        self.relaxed = relaxed
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
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

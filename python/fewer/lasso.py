"""The Lasso and its relatives."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from fewer import _select
from fewer._base import (
    Basis,
    ChosenInFolds,
    Gamma,
    Intercept,
    Landmarks,
    RandomState,
    with_defaults,
)
from fewer._docs import documented
from fewer._path import Path, fit_path
from fewer._select import CV, Lam, Rule
from fewer.moments import FitsMoments


@documented
class Lasso(FitsMoments):
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
    fewer.LassoCV : The same with λ chosen by cross-validation.
    fewer.lasso_path : Fits for many λ.
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
        lam: Lam | None = None,
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


@documented
class LassoCV(ChosenInFolds, Lasso):
    """The Lasso with λ chosen by cross-validation.

    It minimises ::

        ½‖y − Xw‖² + λ‖w‖₁

    and is :class:`fewer.Lasso` with ``lam="cv"``. The same folds and values of λ give the errors
    and the choice of ``sklearn.linear_model.LassoCV`` (where `standardize` is false), with
    ``lam = n * alpha``, n being the sum of the weights of the rows. A model that was saved is
    loaded as a :class:`fewer.Lasso`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {chosen}
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
    fewer.Lasso : The same for one λ.
    fewer.plots.selection : A picture of the errors.
    sklearn.linear_model.LassoCV : The same problem.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import LassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 20))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + rng.normal(size=100)
    >>> lasso = LassoCV(rule="one_se").fit(X, y)
    >>> lasso.terms_
    ['x1', 'x4']
    >>> lasso.cv_scores_.shape
    (100, 5)
    """

    __init__ = with_defaults(Lasso.__init__, lam="cv")


class LassoPath(Path):
    """Fits of the Lasso for many λ.

    Attributes
    ----------
    lams : ndarray of shape (n_lams,)
        Values of λ.
    coefs : ndarray of shape (n_lams, n_basis)
        Weights of all functions of the basis, in the units of the data.
    intercepts : ndarray of shape (n_lams,)
        The intercepts.
    n_terms : ndarray of int of shape (n_lams,)
        Numbers of terms kept.
    gaps : ndarray of shape (n_lams,)
        Duality gaps, as parts of the objective of the empty model.
    names : dict of int to str
        Names of the functions that are kept somewhere on the path, by their positions.
    """


def lasso_path(
    X: Any,
    y: Any,
    *,
    lams: ArrayLike | None = None,
    n_lams: int = 100,
    sample_weight: Any = None,
    **settings: Any,
) -> LassoPath:
    """Fit the Lasso for many λ, each fit starting from the one before.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The inputs.
    y : array-like of shape (n_samples,)
        Numbers to be predicted.
    lams : array-like of shape (n_lams,), optional
        Values of λ; the fits are in their order.
    n_lams : int, default=100
        How many, where they are not given: from the smallest that leaves the model empty down to
        a thousandth of it (a hundredth where there are more functions than rows).
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    **settings
        Parameters of :class:`fewer.Lasso`.

    Returns
    -------
    LassoPath
        Weights, intercepts and duality gaps.

    See Also
    --------
    fewer.plots.path : A picture of it.

    Examples
    --------
    >>> import numpy as np
    >>> import fewer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 20))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=100)
    >>> path = fewer.lasso_path(X, y, lams=[300, 30, 3], standardize=False)
    >>> path.coefs.shape
    (3, 20)
    >>> path.n_terms
    array([0, 2, 2])
    """
    for name in ("lam", "lam_ratio", *_select.DEFAULTS):
        if name in settings:
            raise TypeError(f"lasso_path has no parameter {name}: lams are the values of λ")
    lasso = Lasso(**settings)
    found = fit_path(lasso, *lasso._problem(X, y, sample_weight), lams, n_lams)
    first = {name: found[name][:, 0] for name in ("coefs", "intercepts")}
    return LassoPath(**{**found, **first})

"""Sparse regression by expectation-maximisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from fewer._base import Estimator

if TYPE_CHECKING:
    from typing_extensions import Self


class SparseRegressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """Linear regression that keeps few terms, with nothing to tune.

    Expectation-maximisation under a sparse prior on the weights w [1]_. It minimises ::

        (n/2) log σ² + ‖y − Xw‖²/2σ² + penalty(w)

    in which the penalty is Σ log|w_i| over the terms kept (Jeffreys), λ‖w‖₁ (Laplace) or
    (λ/2)‖w‖² (Gaussian), and sums over rows are weighted sums. With the Jeffreys prior, rescaling
    y or any column of X rescales the answer and nothing else. That objective has no global
    minimum (it falls without bound as a weight goes to zero): what is returned, and certified,
    is the stationary point that EM reaches from a good start.

    Parameters
    ----------
    prior : {"jeffreys", "laplace", "gaussian"}, default="jeffreys"
        The prior on the weights. Jeffreys is the sparsest and has no parameter; Laplace is the
        Lasso's; Gaussian is ridge regression's, which keeps every term.
    lam : float, optional
        λ of the Laplace or Gaussian prior, in the units of y.
    lam_ratio : float, optional
        λ as a part of the largest useful one, in (0, 1]; 0.1 where neither is given.
    noise : float, optional
        Standard deviation σ of the noise. Estimated where it is not given.
    basis : {"linear", "polynomial"} or callable, default="linear"
        The functions of x to choose terms from: the columns themselves, all their products up
        to `degree`, or your own. A callable takes an array of shape (m, n_features), a block of
        rows, and returns one of shape (m, k), whose rows depend on that row only. Where it
        returns a data frame, its column names become the names of the terms.
    degree : int, default=2
        Degree of the polynomial basis.
    standardize : bool, default=True
        Whether the prior applies to columns of unit variance. It matters for the Laplace and
        Gaussian priors only. `coef_` is always in the units of the data.
    fit_intercept : bool or "penalised", default=True
        Whether there is an intercept; ``"penalised"`` puts the prior on it too, as in the paper.
    variant : {"exact", "paper"}, default="exact"
        ``"paper"`` starts and stops as the paper does.
    max_terms : int, optional
        Keep at most so many terms.
    tol : float, default=1e-8
        Bound on the certificate, at which the fit ends.
    max_iter : int, default=10000
        Iterations after which it ends in any case, with a ``ConvergenceWarning``.
    max_time : float, optional
        Seconds after which it ends in any case.
    memory_limit : float, default=4e9
        Bytes that matrices may take. A fit that needs more is refused at once.
    n_jobs : int, optional
        Threads; all by default. The answer is the same to the bit for any number.
    verbose : int, default=0
        1 reports to stderr how the fit went, 2 every iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_basis,)
        Weights of all functions of the basis, zeros included. For a data frame with text these
        are the encoded columns.
    intercept_ : float
        The intercept.
    n_terms_ : int
        Number of terms kept.
    terms_ : list of str
        Their names.
    noise_std_ : float
        Standard deviation of the noise.
    objective_ : float
        The objective above at the end.
    certificate_ : Certificate
        How near the end is to a stationary point (or, where the problem is convex, to the
        optimum); also ``float(certificate_)``.
    trace_ : ndarray of shape (n_iter_,)
        The objective after each iteration.
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether the certificate is within `tol`.
    termination_ : str
        ``"converged"``, ``"iteration_limit"``, ``"time_limit"``, or ``"degenerate"`` where there
        was nothing to iterate on.
    lam_ : float or None
        λ in force.
    dropped_columns_ : dict of str to str
        Columns that took no part, such as constant ones, and why.
    notes_ : list of str
        What else should be known about the fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where X had names.
    model_ : object
        The model itself, as saved by :meth:`save`.

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
        prior: Literal["jeffreys", "laplace", "gaussian"] = "jeffreys",
        lam: float | None = None,
        lam_ratio: float | None = None,
        noise: float | None = None,
        basis: Literal["linear", "polynomial"]
        | Callable[[NDArray[np.float64]], ArrayLike] = "linear",
        degree: int = 2,
        standardize: bool = True,
        fit_intercept: bool | Literal["penalised"] = True,
        variant: Literal["exact", "paper"] = "exact",
        max_terms: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 10000,
        max_time: float | None = None,
        memory_limit: float = 4e9,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.prior = prior
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.noise = noise
        self.basis = basis
        self.degree = degree
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.variant = variant
        self.max_terms = max_terms
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs. Arrays of float64 and float32 in any order, and the values of CSC
            matrices of float64, are used where they are, without a copy. Data frames may be of
            pandas, polars or Arrow; their columns of text or categories become columns of zeros
            and ones.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows: a row of weight 2 counts as two equal rows, one of weight 0 as
            none.

        Returns
        -------
        SparseRegressor
            The estimator itself.
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> NDArray[np.float64]:
        """Predict the mean of the target.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        return_std : bool, default=False
            Not available: EM finds the weights but no distribution of them.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        if return_std:
            raise ValueError(
                "return_std is not available: SparseRegressor has no posterior. Targets scatter "
                "about its predictions by noise_std_; for the uncertainty of the fit itself refit "
                "on bootstrap samples (sklearn.utils.resample)"
            )
        return self._predict(X)

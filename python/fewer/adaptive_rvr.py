"""Relevance vector regression with kernels that are learnt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fewer import _core
from fewer._base import Intercept, RandomState, Variant
from fewer._docs import documented
from fewer._evidence import HasEvidence
from fewer._select import CV, Rule
from fewer.rvr import Sparsity

Family = Literal["rbf", "laplacian", "linear"]


@documented
class AdaptiveRVR(HasEvidence):
    """Relevance vector regression in which each kernel learns its own centre and width.

    Kernels are added one after the other where they raise [1]_ ::

        log p(y | γ, σ²) − c · (effective number of parameters) − π p · (½ log β + 4/β³) − κ/2 Σγ

    most, in which β = var y / σ², c is `sparsity`, π `parameter_price`, p the number of kernels and
    of their widths, and κ `variance_price`; centres and widths of all of them climb the same
    objective together, and kernels that become worthless go. No kernel parameter is left to choose,
    and a function may be smooth here and rough there. The objective has many maxima: which of them
    a fit ends at depends on `random_state`.

    Widths stay between half the distance of neighbouring rows and twice the span of the data,
    centres within its range, and a kernel that touches no row pays for it.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    coef_ : ndarray of shape (n_terms,)
        Weights of the terms.
    centres_ : ndarray of shape (n_terms, n_features)
        Centres of the kernels, in the units of the data; NaN for linear terms.
    widths_ : ndarray of shape (n_terms, n_features)
        Widths h of the kernels along each feature, in the units of the data; NaN for linear terms.
    families_ : list of str
        The family of each term.
    feature_relevances_ : ndarray of shape (n_features,)
        By how much the fit changes with each feature alone: the root of half the mean square
        difference when a training row takes the feature of another. Of a linear function it is the
        slope times the standard deviation of the feature.
    intercept_ : float
        The intercept.
    noise_std_ : float
        Standard deviation of the noise.
    log_evidence_ : float
        log p(y) with the weights integrated out.
    {attributes}

    See Also
    --------
    fewer.RVR : Kernels of one width, centred on training rows.
    fewer.WaveletRVR : Wavelets, for equally spaced points.
    fewer.plots.kernels : The kernels under the fit.

    References
    ----------
    .. [1] D. G. Tzikas, A. C. Likas, N. P. Galatsanos, "Sparse Bayesian modeling with adaptive
       kernel learning", IEEE Transactions on Neural Networks 20(6), 926-937, 2009.

    Examples
    --------
    A broad hill with a narrow spike on it:

    >>> import numpy as np
    >>> from fewer import AdaptiveRVR
    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(rng.uniform(0, 10, size=200))
    >>> y = np.exp(-((x - 4) ** 2) / 4) + np.exp(-((x - 7) ** 2) / 0.02)
    >>> model = AdaptiveRVR().fit(x[:, np.newaxis], y + 0.05 * rng.normal(size=200))
    >>> largest = np.argsort(-np.abs(model.coef_))[:2]
    >>> np.sort(model.centres_[largest, 0]).round(1)
    array([4., 7.])
    """

    _method = "AdaptiveRVR"
    basis: ClassVar[str] = "learnt"

    def __init__(
        self,
        *,
        sparsity: Sparsity = "bic",
        families: Sequence[Family] = ("rbf",),
        anisotropic: bool = False,
        starts: int = 50,
        parameter_price: float = 0.25,
        place_price: float = 0.0,
        variance_price: float = 1.0,
        noise: float | None = None,
        standardize: bool = True,
        fit_intercept: Intercept = True,
        variant: Variant = "exact",
        max_terms: int | None = None,
        cv: CV = 5,
        scoring: str | None = None,
        rule: Rule = "best",
        tol: float = 1e-8,
        max_iter: int = 10000,
        max_time: float | None = None,
        memory_limit: float = 4e9,
        random_state: RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.sparsity = sparsity
        self.families = families
        self.anisotropic = anisotropic
        self.starts = starts
        self.parameter_price = parameter_price
        self.place_price = place_price
        self.variance_price = variance_price
        self.noise = noise
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.variant = variant
        self.max_terms = max_terms
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _read(self, model: _core.Model) -> None:
        super()._read(model)
        families, centres, widths = model.learnt or ([], None, None)
        self.families_: list[str] = families
        self.centres_: NDArray[np.float64] | None = centres
        self.widths_: NDArray[np.float64] | None = widths
        self.feature_relevances_ = model.relevances

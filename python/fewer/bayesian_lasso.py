"""The Bayesian lasso."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from fewer import _core
from fewer._base import (
    Basis,
    Gamma,
    Intercept,
    Landmarks,
    RandomState,
)
from fewer._docs import documented
from fewer._evidence import PosteriorRegressor
from fewer._select import CV, Lam, Rule
from fewer.moments import FitsMoments

Estimate = Literal["median", "mean"]


@documented
class BayesianLasso(FitsMoments, PosteriorRegressor):
    """Linear regression with a Laplace prior, its posterior sampled.

    Weights are Laplacian given the noise [1]_ ::

        p(w | σ) = Π λ/(2σ) exp(−λ|w_j|/σ),   p(σ²) ∝ 1/σ²,   λ² ~ Gamma(r, δ)

    Several chains of a Gibbs sampler draw from the posterior of weights, noise and λ. The model
    has the medians of the draws for weights (for kernels their means), which are small where the
    Lasso's are zero, and intervals from all draws. A fit whose chains do not agree, or whose draws
    are worth too few independent ones [2]_, ends with a ``ConvergenceWarning``. Rescaling y
    rescales the answer and nothing else; the same seed gives the same draws for any number of
    threads.

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
        Standard deviation of the noise: the root of the mean of σ².
    draws_ : dict of str to ndarray
        Draws of ``"coef"``, for `terms_`, of shape (chains, draws, n_terms), and of
        ``"intercept"``, ``"noise_std"`` and, where it is free, ``"lam"``, of shape (chains, draws);
        empty where there was nothing to sample.
    r_hat_, ess_bulk_, ess_tail_ : dict of str to float or ndarray
        Split-R̂ and effective numbers of draws of ``"coef"``, for `terms_`, ``"noise_std"`` and
        ``"lam"``.
    {attributes}

    See Also
    --------
    fewer.BLS : The same model, its variances maximised instead: fast and sparse.
    fewer.Lasso : Its mode for one λ and σ.

    References
    ----------
    .. [1] T. Park, G. Casella, "The Bayesian lasso", Journal of the American Statistical
       Association 103(482), 681-686, 2008.
    .. [2] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner, "Rank-normalization,
       folding, and localization: an improved R̂ for assessing convergence of MCMC", Bayesian
       Analysis 16(2), 667-718, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import BayesianLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 20))
    >>> y = 1 + 3 * X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=100)
    >>> model = BayesianLasso().fit(X, y)
    >>> model.n_terms_
    20
    >>> low, high = model.coef_interval(0.95)[0]
    >>> bool(low < 3 < high)
    True
    >>> BayesianLasso(inclusion=0.999).fit(X, y).terms_
    ['x1', 'x4']
    >>> model.r_hat_["lam"] < 1.01
    True
    """

    _method = "BayesianLasso"

    def __init__(
        self,
        *,
        lam: Lam | None = None,
        lam_shape: float = 1.0,
        lam_rate: float | None = None,
        noise: float | None = None,
        estimate: Estimate | None = None,
        inclusion: float | None = None,
        chains: int = 4,
        draws: int = 1000,
        warmup: int = 500,
        thin: int = 1,
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
        tol: float = 0.01,
        max_iter: int = 1000000,
        max_time: float | None = None,
        memory_limit: float = 4e9,
        random_state: RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.lam_shape = lam_shape
        self.lam_rate = lam_rate
        self.noise = noise
        self.estimate = estimate
        self.inclusion = inclusion
        self.chains = chains
        self.draws = draws
        self.warmup = warmup
        self.thin = thin
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

    def _read(self, model: _core.Model) -> None:
        super()._read(model)
        self.draws_: dict[str, NDArray[np.float64]] = model.draws or {}
        self.r_hat_, self.ess_bulk_, self.ess_tail_ = self._diagnostics(model)

    def _diagnostics(self, model: _core.Model) -> list[dict[str, Any]]:
        if model.diagnostics is None:
            return [{}, {}, {}]
        terms = len(model.terms)
        found = []
        for values in model.diagnostics:
            entry = {"coef": values[:terms].copy(), "noise_std": float(values[terms])}
            if len(values) > terms + 1:
                entry["lam"] = float(values[terms + 1])
            found.append(entry)
        return found

    def to_arviz(self) -> Any:
        """Give the draws to ArviZ, which has to be installed.

        Returns
        -------
        arviz.InferenceData
            A ``DataTree`` from ArviZ 1.0 on. Its group ``posterior`` has ``coef``, whose dimension
            ``term`` has the names of `terms_`, ``intercept``, ``noise_std`` and, where it is free,
            ``lam``.
        """
        check_is_fitted(self, "model_")
        if not self.draws_:
            raise ValueError("there are no draws: " + "; ".join(self.notes_))
        try:
            import arviz
        except ImportError:
            raise ImportError(
                "ArviZ is not installed: pip install arviz. The draws themselves are in draws_"
            ) from None
        names = {"coords": {"term": list(self.terms_)}, "dims": {"coef": ["term"]}}
        if int(arviz.__version__.split(".")[0]) >= 1:
            return arviz.from_dict({"posterior": dict(self.draws_)}, **names)
        return arviz.from_dict(posterior=dict(self.draws_), **names)

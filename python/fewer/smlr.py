"""Sparse multinomial logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.utils.validation import check_consistent_length

from fewer import _data
from fewer._base import (
    Basis,
    Classifier,
    ClassWeight,
    Gamma,
    Intercept,
    Landmarks,
    RandomState,
)
from fewer._bound import Gibbs, RiskBound
from fewer._docs import documented
from fewer._select import CV, Lam, Rule


@documented
class SMLR(Classifier):
    """Multinomial logistic regression with an L1 penalty, certified.

    It minimises [1]_ ::

        −Σ log p(y) + λ‖W‖₁

    in which p is the softmax of one linear function for each class but the last, the reference,
    and sums over rows are weighted sums. ``l1_ratio=0`` gives ridge multinomial logistic
    regression (RMLR), −Σ log p(y) + (λ/2)‖W‖². Every fit ends with a duality gap: a bound on how
    far it is from the optimum.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_basis) or (n_classes, n_basis)
        Weights of all functions of the basis, zeros included (for a data frame with text, of the
        encoded columns), for ``classes_[1]`` where there are two classes and else for each, those
        of the last being zero; for kernels (…, n_terms): those of the terms kept, as in
        `relevance_`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    {attributes}

    See Also
    --------
    fewer.ProbitClassifier : Sparse classification with nothing to tune.
    sklearn.linear_model.LogisticRegression : For two classes the same problem, with
        ``C = 1 / lam`` where `standardize` is false.

    References
    ----------
    .. [1] B. Krishnapuram, L. Carin, M. A. T. Figueiredo, A. J. Hartemink, "Sparse multinomial
       logistic regression: fast algorithms and generalization bounds", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 27(6), 957-968, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import SMLR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = np.where(X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=200) > 0, "yes", "no")
    >>> classifier = SMLR(lam_ratio=0.3).fit(X, y)
    >>> classifier.terms_
    ['x1', 'x4']
    >>> float(classifier.certificate_) < 1e-8
    True
    """

    _method = "SMLR"

    def __init__(
        self,
        *,
        lam: Lam | None = None,
        lam_ratio: float | None = None,
        l1_ratio: float = 1.0,
        penalty_factors: ArrayLike | None = None,
        basis: Basis = "linear",
        degree: int = 2,
        gamma: Gamma = "scale",
        coef0: float = 1.0,
        candidates: int | None = None,
        landmarks: Landmarks = "kmeans",
        centres: ArrayLike | None = None,
        standardize: bool = True,
        fit_intercept: Intercept = True,
        class_weight: ClassWeight | None = None,
        uncertainty: bool = False,
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
        self.basis = basis
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.candidates = candidates
        self.landmarks = landmarks
        self.centres = centres
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.uncertainty = uncertainty
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

    def _log_probabilities(self, eta: NDArray[np.float64]) -> NDArray[np.float64]:
        if eta.shape[1] == 1:
            eta = np.hstack([np.zeros_like(eta), eta])
        logs: NDArray[np.float64] = log_softmax(eta, axis=1)
        return logs

    def risk_bound(
        self,
        X: Any,
        y: Any,
        delta: float = 0.05,
        *,
        gibbs: Gibbs = "exact",
        lam: float | None = None,
        margin: float = 0.5,
        draws: int = 10000,
        random_state: int = 0,
    ) -> RiskBound:
        """Bound the error of new rows from those that the classifier was fitted on [1]_.

        The theorems need a prior that was fixed before the data was seen. A classifier for which
        they do not hold is refused, with the reason: it takes ``standardize=False``,
        ``fit_intercept=False`` (or ``"penalised"``), a number for `lam`, ``l1_ratio=1``, two
        classes, and a basis that does not depend on the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs that it was fitted on.
        y : array-like of shape (n_samples,)
            Their labels.
        delta : float, default=0.05
            How often a bound may fail.
        gibbs : {"exact", "gaussian", "monte-carlo"}, default="exact"
            How the error of the Gibbs classifier is computed: from its characteristic function,
            as if it were Gaussian (fast), or from draws.
        lam : float, optional
            λ of the prior, fixed beforehand, where it is not that of the fit.
        margin : float, default=0.5
            Margin below which a row counts as an error in the Rademacher bound, in (0, 1].
        draws : int, default=10000
            Draws of ``"monte-carlo"``.
        random_state : int, default=0
            Their seed.

        Returns
        -------
        RiskBound
            The bounds, with the errors and the divergence they are made of; prints as a table.

        Raises
        ------
        ValueError
            The theorems do not hold for this classifier; the message says why and what to do.

        Examples
        --------
        >>> import numpy as np
        >>> from fewer import SMLR
        >>> X = np.random.default_rng(0).normal(size=(2000, 3))
        >>> classifier = SMLR(lam=1.0, standardize=False, fit_intercept=False)
        >>> bound = classifier.fit(X, X[:, 0] > X[:, 1]).risk_bound(X, X[:, 0] > X[:, 1])
        >>> bound.point_error < 0.01, bound.pac_bayes_point.vacuous
        (True, False)
        """
        x = self._new(X)
        check_consistent_length(X, y)
        classes, codes = _data.classes_of(y)
        options = {"gibbs": gibbs, "draws": draws, "seed": random_state, "margin": margin}
        if lam is not None:
            options["lam"] = lam
        target = codes, _data.labels(classes)
        return RiskBound._of(*self.model_.risk_bound(x, target, delta, options))

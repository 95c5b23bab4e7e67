"""Relevance vector classification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewer._base import (
    Basis,
    Classifier,
    ClassWeight,
    Gamma,
    Intercept,
    Landmarks,
    RandomState,
)
from fewer._docs import documented
from fewer._select import CV, Rule
from fewer.rvr import Sparsity

if TYPE_CHECKING:
    from fewer import _core

Multiclass = Literal["ovr", "multinomial"]


class Moderated(Classifier):
    """Base of classifiers that average over the posterior of the weights."""

    def _read(self, model: _core.Model) -> None:
        super()._read(model)
        self.log_evidence_ = model.log_evidence

    def predict_proba(self, X: Any, moderated: bool = True) -> NDArray[np.float64]:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        moderated : bool, default=True
            Whether to average over the posterior of the weights, which makes probabilities far
            from the data less extreme; else they are those of the fitted weights.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`; rows sum to 1.
        """
        x = self._new(X)
        if moderated:
            return self.model_.moderated_probabilities(x)
        return self.model_.plug_in_probabilities(x)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute what decides: the logarithms of the averaged probabilities, or of their odds.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the logarithm of the odds of ``classes_[1]``, else a column for each
            of `classes_`.
        """
        logs = self.predict_log_proba(X)
        if logs.shape[1] == 2:
            odds: NDArray[np.float64] = logs[:, 1] - logs[:, 0]
            return odds
        return logs

    def predict_log_proba(self, X: Any, moderated: bool = True) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities, finite however small these are.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        moderated : bool, default=True
            Whether to average over the posterior of the weights.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`.
        """
        probabilities = self.predict_proba(X, moderated)
        logs: NDArray[np.float64] = np.log(np.maximum(probabilities, np.finfo(float).tiny))
        return logs


@documented
class RVC(Moderated):
    """Relevance vector classification: few kernels, and probabilities that know their doubts.

    Every weight has a prior variance of its own, w_i ~ N(0, γ_i), and the second of two classes
    has the probability 1/(1 + exp(−η)), η = Xw; the weights are integrated out by Laplace's
    approximation, and it maximises [1]_ [2]_ ::

        log p(y | γ) − c · (effective number of parameters)

    in which c is `sparsity` [3]_. Most γ_i become zero. A column that does not raise the objective
    is not added, and the γ_i stand still where those of the linearised problem do [1]_. It has many
    maxima: what is returned is one from which no added column brings more than `tol`.

    More than two classes are fitted one against the rest, probabilities being scaled to sum to
    1, or jointly by a softmax with ``multiclass="multinomial"``, in which each kernel has a
    variance for each class but the last.

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
        of the last being zero where they are fitted jointly; for kernels (…, n_terms): those of
        the terms kept, as in `relevance_`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    log_evidence_ : float
        log p(y) with the weights integrated out; one against the rest, the sum over the classes.
    {attributes}

    See Also
    --------
    fewer.RVR : The same for numbers.
    fewer.ProbitClassifier : Sparse classification by expectation-maximisation.
    fewer.SMLR : Sparse logistic regression, a convex problem.
    sklearn.gaussian_process.GaussianProcessClassifier : Honest probabilities from all rows.

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
    >>> from fewer import RVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> radius = np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=200)
    >>> classifier = RVC().fit(X, radius > 1.2)
    >>> classifier.n_terms_ < 10, classifier.score(X, radius > 1.2) > 0.9
    (True, True)
    >>> np.array_equal(classifier.relevance_vectors_, X[classifier.relevance_])
    True
    """

    _method = "RVC"

    def __init__(
        self,
        *,
        sparsity: Sparsity = "none",
        multiclass: Multiclass = "ovr",
        basis: Basis = "rbf",
        degree: int = 2,
        gamma: Gamma = "scale",
        coef0: float = 1.0,
        candidates: int | None = None,
        landmarks: Landmarks = "kmeans",
        centres: ArrayLike | None = None,
        standardize: bool = True,
        fit_intercept: Intercept = True,
        max_terms: int | None = None,
        class_weight: ClassWeight | None = None,
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
        self.multiclass = multiclass
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
        self.class_weight = class_weight
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

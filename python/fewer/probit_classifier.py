"""Sparse probit classification by expectation-maximisation."""

from __future__ import annotations

from numpy.typing import ArrayLike

from fewer._base import (
    Basis,
    Classifier,
    ClassWeight,
    Gamma,
    Intercept,
    Landmarks,
    Prior,
    RandomState,
    Variant,
)
from fewer._docs import documented
from fewer._select import CV, Lam, Rule


@documented
class ProbitClassifier(Classifier):
    """Classification that keeps few terms, with nothing to tune.

    Expectation-maximisation under a sparse prior on the weights w of a probit model [1]_ [2]_,
    in which the second of two classes has the probability Φ(η), η = Xw. It minimises ::

        −Σ log Φ(±η) + penalty(w)

    in which the sign is + for rows of the second class and − for the others, the penalty is
    Σ log|w_i| over the terms kept (Jeffreys), λ‖w‖₁ (Laplace) or (λ/2)‖w‖² (Gaussian), and sums
    over rows are weighted sums. With the Jeffreys prior, rescaling any column of X rescales the
    answer and nothing else. That objective has no global minimum (it falls without bound as a
    weight goes to zero): what is returned, and certified, is the stationary point that EM
    reaches from least squares on labels ±1.

    More than two classes are fitted one against the rest, on shared columns: the class of the
    largest η wins, and probabilities are Φ(η) scaled to sum to 1.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_basis) or (n_classes, n_basis)
        Weights of all functions of the basis, zeros included (for a data frame with text, of the
        encoded columns), for ``classes_[1]`` where there are two classes and else for each; for
        kernels (…, n_terms): those of the terms kept, as in `relevance_`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    {attributes}

    See Also
    --------
    fewer.SparseRegressor : The same for numbers.
    fewer.load : Load a saved model.
    sklearn.linear_model.LogisticRegression : With an L1 penalty also sparse.

    References
    ----------
    .. [1] M. A. T. Figueiredo and A. K. Jain, "Bayesian learning of sparse classifiers", IEEE
       Conference on Computer Vision and Pattern Recognition, vol. 1, 35-41, 2001.
    .. [2] M. A. T. Figueiredo, "Adaptive sparseness for supervised learning", IEEE Transactions
       on Pattern Analysis and Machine Intelligence 25(9), 1150-1159, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import ProbitClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = np.where(X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=200) > 0, "yes", "no")
    >>> classifier = ProbitClassifier().fit(X, y)
    >>> classifier.terms_
    ['x1', 'x4']
    >>> classifier.formula()
    'Φ(0.205335 + 1.723 x1 - 1.63263 x4)'
    >>> classifier.predict_proba(X[:2]).round(3)
    array([[0.401, 0.599],
           [0.722, 0.278]])

    With kernels it keeps few training rows, as a relevance vector machine does.

    >>> X = X[:, :2]
    >>> radius = np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=200)
    >>> classifier = ProbitClassifier(basis="rbf").fit(X, radius > 1.2)
    >>> classifier.n_terms_, classifier.score(X, radius > 1.2)
    (2, 0.915)
    >>> np.array_equal(classifier.relevance_vectors_, X[classifier.relevance_])
    True
    """

    _method = "ProbitClassifier"

    def __init__(
        self,
        *,
        prior: Prior = "jeffreys",
        lam: Lam | None = None,
        lam_ratio: float | None = None,
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
        class_weight: ClassWeight | None = None,
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
        self.class_weight = class_weight
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

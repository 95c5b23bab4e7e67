"""Relevance vector classification with kernels that are learnt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fewer import _core
from fewer._base import ClassWeight, Intercept, RandomState, Variant
from fewer._docs import documented
from fewer._select import CV, Rule
from fewer.adaptive_rvr import Family
from fewer.rvc import Moderated
from fewer.rvr import Sparsity


@documented
class AdaptiveRVC(Moderated):
    """Relevance vector classification in which each kernel learns its own centre and width.

    The second of two classes has the probability 1/(1 + exp(−η)), η a sum of kernels whose weights
    are integrated out by Laplace's approximation. Kernels are added one after the other where they
    raise [1]_ ::

        log p(y | γ) − c · (effective number of parameters) − κ/2 Σγ

    most, in which c is `sparsity` and κ `variance_price`; centres and widths of all of them climb
    the same objective together, and kernels that become worthless go. Steps that lower the
    objective are undone. It has many maxima: which of them a fit ends at depends on
    `random_state`.

    More than two classes are fitted one against the rest, each with kernels of its own,
    probabilities being scaled to sum to 1.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_terms) or (n_classes, n_terms)
        Weights of the terms, for ``classes_[1]`` where there are two classes and else for each.
    centres_ : ndarray of shape (n_terms, n_features)
        Centres of the kernels, in the units of the data; NaN for linear terms.
    widths_ : ndarray of shape (n_terms, n_features)
        Widths h of the kernels along each feature, in the units of the data; NaN for linear terms.
    families_ : list of str
        The family of each term.
    feature_relevances_ : ndarray of shape (n_features,)
        By how much η changes with each feature alone: the root of half the mean square difference
        when a training row takes the feature of another; the largest of all classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    log_evidence_ : float
        log p(y) with the weights integrated out; one against the rest, the sum over the classes.
    {attributes}

    See Also
    --------
    fewer.AdaptiveRVR : The same for numbers.
    fewer.RVC : Kernels of one width, centred on training rows.

    References
    ----------
    .. [1] D. G. Tzikas, A. C. Likas, N. P. Galatsanos, "Sparse Bayesian modeling with adaptive
       kernel learning", IEEE Transactions on Neural Networks 20(6), 926-937, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import AdaptiveRVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> radius = np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=200)
    >>> classifier = AdaptiveRVC().fit(X, radius > 1.2)
    >>> classifier.n_terms_ < 10, classifier.score(X, radius > 1.2) > 0.9
    (True, True)
    """

    _method = "AdaptiveRVC"
    basis: ClassVar[str] = "learnt"

    def __init__(
        self,
        *,
        sparsity: Sparsity = "bic",
        families: Sequence[Family] = ("rbf",),
        anisotropic: bool = False,
        starts: int = 50,
        variance_price: float = 0.1,
        standardize: bool = True,
        fit_intercept: Intercept = True,
        variant: Variant = "exact",
        max_terms: int | None = None,
        cv: CV = 5,
        scoring: str | None = None,
        rule: Rule = "best",
        class_weight: ClassWeight | None = None,
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
        self.variance_price = variance_price
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.variant = variant
        self.max_terms = max_terms
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.class_weight = class_weight
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

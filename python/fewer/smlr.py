"""Sparse multinomial logistic regression."""

from __future__ import annotations

import dataclasses
import json
import numbers
import warnings
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from fewer import _data, _select
from fewer._base import (
    Basis,
    ChosenInFolds,
    Classifier,
    ClassWeight,
    Gamma,
    Intercept,
    Landmarks,
    RandomState,
    with_defaults,
)
from fewer._bound import Gibbs, Multiclass, OneVsRestBound, RiskBound
from fewer._docs import documented
from fewer._path import Path, fit_path
from fewer._select import CV, Lam, Rule

if TYPE_CHECKING:
    from typing_extensions import Self

Parameterization = Literal["reference", "symmetric"]
Solver = Literal["auto", "bound", "componentwise"]
Schedule = Literal["geometric", "gain"]


@documented
class SMLR(Classifier):
    """Multinomial logistic regression with an L1 penalty, certified.

    It minimises [1]_ ::

        −Σ log p(y) + λ‖W‖₁

    in which p is the softmax of one linear function for each class but the last, the reference,
    and sums over rows are weighted sums. With ``parameterization="symmetric"`` every class has a
    function, as in glmnet. Every fit ends with a duality gap: a bound on how far it is from the
    optimum.

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
        of the last being zero unless `parameterization` is ``"symmetric"``; for kernels
        (…, n_terms): those of the terms kept, as in `relevance_`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    {attributes}

    See Also
    --------
    fewer.SMLRCV : The same with λ chosen by cross-validation.
    fewer.RMLR : The same with an L2 penalty.
    fewer.ProbitClassifier : Sparse classification with nothing to tune.
    sklearn.linear_model.LogisticRegression : The same problem with ``C = 1 / lam`` where
        `standardize` is false and, for more than two classes, `parameterization` is
        ``"symmetric"``.

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
        parameterization: Parameterization = "reference",
        solver: Solver = "auto",
        schedule: Schedule = "geometric",
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
        warm_start: bool = False,
        random_state: RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.l1_ratio = l1_ratio
        self.penalty_factors = penalty_factors
        self.parameterization = parameterization
        self.solver = solver
        self.schedule = schedule
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
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs. Arrays of float64 and float32 in any order, and the values of CSC
            matrices of float64, are used where they are, without a copy. Data frames may be of
            pandas, polars or Arrow; their columns of text or categories become columns of zeros
            and ones.
        y : array-like of shape (n_samples,)
            Labels of at least two classes, which are text, whole numbers or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows: a row of weight 2 counts as two equal rows, one of weight 0 as
            none.
        groups : array-like of shape (n_samples,), optional
            Groups of the rows, for a splitter given as `cv` that keeps them together.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            What is known of the outputs beforehand and added to them, as in glmnet: for two
            classes what speaks for ``classes_[1]``, else a column for each of `classes_`. New
            rows need theirs: see :meth:`predict_proba`.

        Returns
        -------
        estimator
            The estimator itself.
        """
        start = getattr(self, "model_", None) if self.warm_start else None
        settings, problem = self._problem(X, y, sample_weight)
        problem["offset"] = self._offset(offset, len(problem["y"][0]))
        chosen = _select.words_of(self.get_params(deep=False))
        if start is not None and not chosen and start.classes == problem["y"][1]:
            weights = start.weights.T.tolist()
            settings["start"] = {"positions": start.positions.tolist(), "weights": weights}
        return self._fit(X, settings, problem, groups)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        lams: ArrayLike | None = None,
        n_lams: int = 100,
        sample_weight: Any = None,
        offset: ArrayLike | None = None,
    ) -> SMLRPath:
        """Fit for many λ, each fit starting from the one before.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        y : array-like of shape (n_samples,)
            Labels.
        lams : array-like of shape (n_lams,), optional
            Values of λ; the fits are in their order. `lam` and `lam_ratio` have no say here.
        n_lams : int, default=100
            How many, where they are not given: from the smallest that leaves the model empty down
            to a thousandth of it (a hundredth where there are more functions than rows).
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            What is known of the outputs beforehand, as in :meth:`fit`.

        Returns
        -------
        SMLRPath
            Weights, intercepts and duality gaps.

        Examples
        --------
        >>> import numpy as np
        >>> from fewer import SMLR
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(200, 20))
        >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=200), [-0.5, 0.5])
        >>> path = SMLR().path(X, y, lams=[100, 30, 3])
        >>> path.coefs.shape
        (3, 3, 20)
        >>> path.n_terms[:2]
        array([0, 1])
        """
        plain = clone(self).set_params(lam=None, lam_ratio=None)
        settings, problem = plain._problem(X, y, sample_weight)
        problem["offset"] = plain._offset(offset, len(problem["y"][0]))
        fields = fit_path(plain, settings, problem, lams, n_lams)
        return SMLRPath(**fields, classes=plain.classes_)

    def predict(self, X: Any, offset: ArrayLike | None = None) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            The offsets of these rows, where the model was fitted with offsets.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of `classes_`.
        """
        if offset is None:
            self._remind_of_offset()
            return super().predict(X)
        labels: NDArray[Any] = self.classes_[self.predict_log_proba(X, offset).argmax(axis=1)]
        return labels

    def predict_proba(
        self, X: Any, moderated: bool = False, *, offset: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        moderated : bool, default=False
            Whether to average over the posterior of the weights, where the model has one, which
            makes probabilities far from the data less extreme.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            The offsets of these rows, where the model was fitted with offsets.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`; rows sum to 1.
        """
        if offset is None:
            self._remind_of_offset()
            return super().predict_proba(X, moderated)
        if moderated:
            raise ValueError(
                "moderated: probabilities with offsets are not averaged; leave one out"
            )
        probabilities: NDArray[np.float64] = np.exp(self.predict_log_proba(X, offset))
        return probabilities

    def predict_log_proba(self, X: Any, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities, finite however small these are.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            The offsets of these rows, where the model was fitted with offsets.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`.
        """
        logs: NDArray[np.float64] = log_softmax(self._outputs(X, offset), axis=1)
        return logs

    def _outputs(self, X: Any, offset: ArrayLike | None) -> NDArray[np.float64]:
        """Compute an output for each class, with offsets."""
        x = self._new(X)
        if offset is None:
            self._remind_of_offset()
        eta = self.model_.decision(x)
        if eta.shape[1] == 1:
            eta = np.hstack([np.zeros_like(eta), eta])
        known = self._offset(offset, len(eta))
        if known is not None:
            values = known[0].reshape(known[1], -1).T
            eta[:, -values.shape[1] :] += values
        return eta

    def _remind_of_offset(self) -> None:
        """Say that predictions lack a part, if they do."""
        check_is_fitted(self, "model_")
        if self.model_.has_offset:
            warnings.warn(
                "the model was fitted with offsets, which these rows are taken not to have: give "
                "theirs as offset, or zeros",
                UserWarning,
                stacklevel=3,
            )

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: ArrayLike | None = None
    ) -> float:
        """Return the part of the rows whose class is predicted rightly.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            The offsets of these rows, where the model was fitted with offsets.

        Returns
        -------
        float
            The accuracy.
        """
        if offset is None:
            return float(super().score(X, y, sample_weight))
        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))

    def decision_function(self, X: Any, offset: ArrayLike | None = None) -> NDArray[np.float64]:
        """Compute the outputs whose signs and sizes decide.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs.
        offset : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            The offsets of these rows, where the model was fitted with offsets.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one output, above 0 for the second of `classes_`; for more one for
            each class, of which the largest wins.
        """
        eta = self._outputs(X, offset)
        return eta[:, 1] - eta[:, 0] if eta.shape[1] == 2 else eta

    @overload
    def risk_bound(
        self,
        X: Any,
        y: Any,
        delta: float = ...,
        *,
        multiclass: None = None,
        gibbs: Gibbs = ...,
        lam: float | None = ...,
        margin: float = ...,
        level: float = ...,
        ratio: float = ...,
        draws: int = ...,
        random_state: int = ...,
    ) -> RiskBound: ...
    @overload
    def risk_bound(
        self,
        X: Any,
        y: Any,
        delta: float = ...,
        *,
        multiclass: Multiclass,
        gibbs: Gibbs = ...,
        lam: float | None = ...,
        margin: float = ...,
        level: float = ...,
        ratio: float = ...,
        draws: int = ...,
        random_state: int = ...,
    ) -> OneVsRestBound: ...

    def risk_bound(
        self,
        X: Any,
        y: Any,
        delta: float = 0.05,
        *,
        multiclass: Multiclass | None = None,
        gibbs: Gibbs = "exact",
        lam: float | None = None,
        margin: float = 0.5,
        level: float = 1.0,
        ratio: float = 2.0,
        draws: int = 10000,
        random_state: int = 0,
    ) -> RiskBound | OneVsRestBound:
        """Bound the error of new rows from those that the classifier was fitted on [1]_.

        The theorems need a prior that was fixed before the data was seen. A classifier for which
        they do not hold is refused, with the reason: it takes ``standardize=False``,
        ``fit_intercept=False`` (or ``"penalised"``), a number for `lam`, ``l1_ratio=1``, two
        classes, and a basis that does not depend on the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The inputs that it was fitted on, each once. As many other rows of the same source,
            which the classifier has not seen, are as good; a mixture of both is not.
        y : array-like of shape (n_samples,)
            Their labels.
        delta : float, default=0.05
            How often a bound may fail.
        multiclass : "ovr", optional
            For more than two classes: bound an ensemble instead, of classifiers of each class
            against the rest, the largest output of which wins. They are fitted here, on these rows
            and with the parameters and the `lam_` of this classifier, as
            :class:`sklearn.multiclass.OneVsRestClassifier` would. The theorems say nothing of
            this classifier itself. Of two classes either against the rest is this classifier, and
            the bounds are those without `multiclass`.
        gibbs : {"exact", "gaussian", "monte-carlo"}, default="exact"
            How the error of the Gibbs classifier is computed: from its characteristic function,
            as if it were Gaussian (fast), or from draws.
        lam : float, optional
            λ of the prior, fixed beforehand, where it is not that of the fit.
        margin : float, default=0.5
            Margin below which a row counts as an error in the Rademacher bound, in (0, 1].
        level : float, default=1.0
            Smallest divergence that the Rademacher bound tells apart.
        ratio : float, default=2.0
            Ratio, above 1, of the levels above it.
        draws : int, default=10000
            Draws of ``"monte-carlo"``.
        random_state : int, default=0
            Their seed.

        Returns
        -------
        RiskBound or OneVsRestBound
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
        for name, number, least in (("draws", draws, 1), ("random_state", random_state, 0)):
            if not isinstance(number, int | np.integer) or number < least:
                raise ValueError(
                    f"{name} = {number!r}: a whole number of at least {least} is expected"
                )
        given = {"delta": delta, "lam": lam, "margin": margin, "level": level, "ratio": ratio}
        for name, value in given.items():
            if not (isinstance(value, numbers.Real) or (name == "lam" and value is None)):
                raise ValueError(f"{name} = {value!r}: a number is expected")
        if not isinstance(gibbs, str):
            raise ValueError(f"gibbs = {gibbs!r}: a word is expected")
        if multiclass not in (None, "ovr"):
            raise ValueError(f"multiclass = {multiclass!r}: 'ovr' or None is expected")
        x = self._new(X)
        check_consistent_length(X, y)
        classes, codes = _data.classes_of(y)
        options = {"gibbs": gibbs, "draws": int(draws), "seed": int(random_state), "margin": margin}
        options |= {"level": level, "ratio": ratio}
        if lam is not None:
            options["lam"] = lam
        target = codes, _data.labels(classes)
        one_vs_rest = multiclass is not None
        found, texts = self.model_.risk_bound(x, target, delta, options, one_vs_rest)
        if one_vs_rest:
            return OneVsRestBound._of(json.loads(found), texts, self.classes_.tolist())
        return RiskBound._of(json.loads(found), texts[0])

    def _offset(
        self, offset: ArrayLike | None, rows: int
    ) -> tuple[NDArray[np.float64], int] | None:
        """Return offsets column after column, and the number of columns."""
        if offset is None:
            return None
        array = np.asarray(offset, dtype=np.float64)
        shapes: list[tuple[int, ...]] = [(rows, len(self.classes_))]
        if len(self.classes_) == 2:
            shapes = [(rows,), (rows, 1), *shapes]
        if array.shape not in shapes:
            wanted = " or ".join(map(str, shapes))
            raise ValueError(f"offset: the shape {wanted} is expected, found {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError("offset: finite numbers are expected")
        return np.ravel(array, order="F"), array.size // max(rows, 1)


@documented
class RMLR(SMLR):
    """Multinomial logistic regression with an L2 penalty, certified.

    It minimises [1]_ ::

        −Σ log p(y) + (λ/2)‖W‖²

    and is :class:`fewer.SMLR` with ``l1_ratio=0``: every term is kept.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_basis) or (n_classes, n_basis)
        Weights, as those of :class:`fewer.SMLR`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    {attributes}

    See Also
    --------
    fewer.RMLRCV : The same with λ chosen by cross-validation.
    sklearn.linear_model.LogisticRegression : The same problem with ``C = 1 / lam`` where
        `standardize` is false and, for more than two classes, `parameterization` is
        ``"symmetric"``.

    References
    ----------
    .. [1] B. Krishnapuram, L. Carin, M. A. T. Figueiredo, A. J. Hartemink, "Sparse multinomial
       logistic regression: fast algorithms and generalization bounds", IEEE Transactions on
       Pattern Analysis and Machine Intelligence 27(6), 957-968, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import RMLR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = np.where(X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=200) > 0, "yes", "no")
    >>> RMLR().fit(X, y).n_terms_
    20
    """

    _method = "RMLR"

    __init__ = with_defaults(SMLR.__init__, l1_ratio=0.0)


@documented
class SMLRCV(ChosenInFolds, SMLR):
    """Sparse multinomial logistic regression with λ chosen by cross-validation.

    It is :class:`fewer.SMLR` with ``lam="cv"``; the deviance of the folds decides unless `scoring`
    says otherwise. A model that was saved is loaded as a :class:`fewer.SMLR`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {chosen}
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_basis) or (n_classes, n_basis)
        Weights, as those of :class:`fewer.SMLR`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    {attributes}

    See Also
    --------
    fewer.SMLR : The same for one λ.
    fewer.plots.selection : A picture of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import SMLRCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = np.where(X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=200) > 0, "yes", "no")
    >>> classifier = SMLRCV(lams=20, rule="one_se").fit(X, y)
    >>> classifier.terms_[:2]
    ['x1', 'x4']
    >>> classifier.cv_scores_.shape
    (20, 5)
    """

    __init__ = with_defaults(SMLR.__init__, lam="cv")


@documented
class RMLRCV(ChosenInFolds, RMLR):
    """Ridge multinomial logistic regression with λ chosen by cross-validation.

    It is :class:`fewer.RMLR` with ``lam="cv"``; the deviance of the folds decides unless `scoring`
    says otherwise. A model that was saved is loaded as a :class:`fewer.RMLR`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {chosen}
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_basis) or (n_classes, n_basis)
        Weights, as those of :class:`fewer.SMLR`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    {attributes}

    See Also
    --------
    fewer.RMLR : The same for one λ.
    fewer.plots.selection : A picture of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import RMLRCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> y = np.where(X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=200) > 0, "yes", "no")
    >>> RMLRCV(lams=10).fit(X, y).lams_.shape
    (10,)
    """

    __init__ = with_defaults(SMLR.__init__, lam="cv", l1_ratio=0.0)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SMLRPath(Path):
    """Fits of :class:`fewer.SMLR` for many λ.

    Attributes
    ----------
    lams : ndarray of shape (n_lams,)
        Values of λ.
    coefs : ndarray of shape (n_lams, 1, n_basis) or (n_lams, n_classes, n_basis)
        Weights of all functions of the basis, in the units of the data: as `coef_`, for each λ.
    intercepts : ndarray of shape (n_lams, 1) or (n_lams, n_classes)
        The intercepts.
    n_terms : ndarray of int of shape (n_lams,)
        Numbers of terms kept.
    gaps : ndarray of shape (n_lams,)
        Duality gaps, as parts of the objective of the empty model; where λ is 0, and there is
        none, the largest relative violation of the conditions of a stationary point, as in
        `certificate_`.
    names : dict of int to str
        Names of the functions that are kept somewhere on the path, by their positions.
    classes : ndarray of shape (n_classes,)
        The labels, in the order of the weights.
    """

    classes: NDArray[Any]

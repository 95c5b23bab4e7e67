"""Parameters and attributes that several estimators have, described once."""

from __future__ import annotations

import inspect
import textwrap
from typing import TypeVar

T = TypeVar("T", bound=type)

PARAMETERS = """
prior : {"jeffreys", "laplace", "gaussian"}, default="jeffreys"
    The prior on the weights. Jeffreys is the sparsest and has no parameter; Laplace is the
    Lasso's; Gaussian is ridge regression's, which keeps every term.
lam : float or {"cv", "bic", "ebic", "aic"}, optional
    λ of the objective above (of the Laplace and Gaussian priors). ``"cv"`` chooses among `lams`
    by cross-validation; the others by an information criterion of the fit on all rows.
lam_ratio : float, optional
    λ as a part of the largest useful one, in (0, 1]. Where neither is given, 0.1 for the Lasso,
    0.05 for SMLR, 0.01 for RMLR, 0.2 for SparseRegressor and 0.005 for ProbitClassifier; the last
    two are the best on average in benchmarks/lam_ratio.py.
l1_ratio : float, optional
    ρ of the elastic net, whose penalty is λ(ρ‖w‖₁ + (1 − ρ)‖w‖²/2s), s being the standard
    deviation of y, as in glmnet: so rescaling y rescales the answer and nothing else (for
    classes s is 1).
penalty_factors : array-like of shape (n_basis,), optional
    A factor on λ for each function of the basis; 0 leaves its weight without a penalty.
positive : bool, default=False
    Whether weights must be at least 0.
adaptive : float, optional
    Exponent a of the adaptive Lasso: a column's λ is divided by ``|w|ᵃ``, w its weight in a ridge
    regression.
relaxed : bool, default=False
    Whether the terms kept are fitted again by least squares, which undoes the shrinkage.
parameterization : {"reference", "symmetric"}, default="reference"
    Which classes have weights: all but the last, as in the paper, or all of them, as in glmnet
    and scikit-learn, so that the order of the classes does not matter. Where the penalty leaves a
    choice, as L1 alone does with an even number of classes, one weight of each column is zero;
    the weights of columns without a penalty have mean zero.
solver : str, optional
    The way to the optimum. SMLR and RMLR, to the same one by all: ``"auto"``, the fastest, or the
    paper's, ``"bound"`` (all weights at once by a quadratic bound) and ``"componentwise"`` (one at
    a time). Methods by evidence: ``"fast"``, or ``"block"``, which starts from all columns at once
    as Tipping did in 2001; for comparison.
schedule : {"geometric", "gain"}, default="geometric"
    Which weights ``solver="componentwise"`` visits: all that are not zero, and the others more and
    more seldom, between passes over all of them; or those first that lower the objective most.
warm_start : bool, default=False
    Whether a fit starts from the weights of the last one, where the classes and the functions of
    the basis are the same.
lam_rule : {"active", "hyperprior"}, default="active"
    How λ is found where it is not given: 2(k − 1)/Σ of the variances of the k terms kept, as the
    published code has it (which may go round in a circle, of which the fit of highest evidence is
    then given), or at its best under a hyperprior. Neither leaves a model of pure noise empty; the
    first keeps least of it (benchmarks/results/lam_rule.md).
multiclass : {"ovr", "multinomial"}, default="ovr"
    More than two classes one against the rest, or all of them jointly, the last being the
    reference.
sparsity : float or {"none", "aic", "bic", "ric", "cv"}, optional
    c, the price of an effective parameter: a number, 0, 1, log(n)/2 or log(n); or ``"cv"`` to
    choose among these four by cross-validation.
lam_shape : float, default=1.0
    r of the prior λ² ~ Gamma(r, δ), where λ is not given.
lam_rate : float, optional
    δ of that prior; 1.78 for columns of unit length where it is not given, as in the paper.
estimate : {"median", "mean"}, optional
    What is taken for the weights: the median or the mean of their draws. The median by default,
    and the mean for kernels: medians of weights that trade with each other do not add up to a fit.
inclusion : float, optional
    Keep the terms whose credible interval of this probability does not hold 0. All by default.
chains : int, default=4
    Chains of the sampler, each with random numbers of its own.
draws : int, default=1000
    Draws of each chain that are kept.
warmup : int, default=500
    Draws of each chain before those, which are thrown away.
thin : int, default=1
    Keep one of so many draws.
noise : float or "student_t", optional
    Standard deviation σ of the noise. Estimated where it is not given. For `RVR`,
    ``"student_t"`` is noise of heavy tails, so that gross errors in y hardly move the fit.
nu : float or "estimate", default="estimate"
    Degrees of freedom ν of ``noise="student_t"``, or their estimation between 1 and 1000; gross
    errors are then told apart from tails, and set aside.
families : sequence of {"rbf", "laplacian", "linear"}, default=("rbf",)
    Kinds of terms to add from, of which the best addition wins: ``"rbf"`` exp(−Σ(x−m)²/h²),
    ``"laplacian"`` exp(−Σ|x−m|/h), ``"linear"`` the features themselves: a trend.
anisotropic : bool, default=False
    Whether kernels have a width of their own along each feature.
starts : int, default=50
    Candidates of each family in each search.
parameter_price : float, default=0.25
    From 0 to 1: what a kernel's place or a width costs, as a part of ½ log β + 4/β³ with
    β = var y / σ²: the leading term of Laplace's approximation of an integral over it, and one that
    keeps kernels from following noise.
place_price : float, default=0.0
    What the place of a kernel costs at the end, as a part of log((r − m + 1)/m): it is one of
    r = n/(rows it covers) places, of which m are taken. With 1 there are no kernels on single rows
    of noise, and none on detail that is as faint.
variance_price : float, optional
    κ of the prior density exp(−κγ/2) of variances γ of weights, γ in units of the variance of y or,
    for labels, of the squared log odds. It keeps kernels that are nearly equal from having huge
    weights of opposite signs. With 0 a variance costs nothing.
wavelet : str, default="sym8"
    ``"haar"``, ``"db2"`` to ``"db10"`` (Daubechies) or ``"sym4"`` to ``"sym10"`` (symlets).
padding : {"none", "periodic", "symmetric"}, default="none"
    What is done where the number of rows is no power of two: they are refused, the first are
    repeated after the last, or the last are reflected.
variance : {"posterior", "augmented"}, default="posterior"
    What the standard deviation of a prediction is made of, beside the noise. The posterior of the
    weights kept is sure of itself where there are no data, for kernels say nothing there;
    ``"augmented"`` adds what a kernel centred on the new row could add, so that it grows away from
    the data. It costs a kernel value for every training row, all of which the model then holds.
basis : str or callable, default="linear"
    The functions of x to choose terms from.

    - ``"linear"``: the columns themselves; ``"polynomial"``: their products up to `degree`.
    - Kernels k(x, c), one for each centre c: ``"rbf"`` exp(−γ‖x−c‖²), ``"laplacian"``
      exp(−γ‖x−c‖₁), ``"matern32"`` and ``"matern52"`` (of length 1/√(2γ)),
      ``"polynomial-kernel"`` (γ x·c + coef0)^degree, ``"linear-kernel"`` x·c.
    - ``"precomputed"``: X holds kernel values, a column for each training row.
    - A callable of one argument is functions of x: it takes an array of shape (m, n_features),
      a block of rows, and returns one of shape (m, k), whose rows depend on that row only. Where
      it returns a data frame, its column names become the names of the terms.
    - A callable of two arguments is a kernel: it takes blocks of rows and of centres, of shapes
      (m, n_features) and (c, n_features), and returns the (m, c) values k(x, c). Centres are
      those of the built-in kernels; where `standardize` is true, rows and centres come
      standardised; those of a sparse matrix come dense. It is told by the arguments it must be
      given, or by a second one that is None by default and is called ``Y``, ``C`` or
      ``centres``, so that the kernels of ``sklearn.metrics.pairwise`` and of
      ``sklearn.gaussian_process`` can be given as they are; ``functools.partial`` sets their
      parameters.
degree : int, default=2
    Degree of the polynomial basis and of the polynomial kernel.
gamma : float or {"scale", "median", "cv", "bic", "ebic", "aic", "evidence"}, default="scale"
    γ of the kernels: a number, 1/(n_features · variance of the inputs), or 1/(median distance
    of two rows)²; the other words choose among `gammas` as for `lam`, and together with it.
    ``"evidence"`` is for the methods that maximise it, with a λ that is given or has a
    hyperprior.
coef0 : float, default=1.0
    Constant of the polynomial kernel.
candidates : int or "all", optional
    Offer kernels at so many centres only. All distinct training rows by default.
landmarks : {"kmeans", "random", "redrawn"}, default="kmeans"
    How `candidates` centres are chosen among the training rows: far from each other, by the
    seeding of k-means++, or at random. ``"redrawn"``, of `RVR` alone, draws others in every round
    of the fit, until three rounds in a row bring nothing: for very many rows.
centres : array-like of shape (n_centres, n_features), optional
    Your own centres for the kernels, instead of training rows.
standardize : bool, default=True
    Whether the prior applies to columns of unit variance; for kernels, whether inputs have unit
    variance inside. `coef_` is always in the units of the data.
fit_intercept : bool or "penalised", default=True
    Whether there is an intercept; ``"penalised"`` puts the prior on it too, as in the paper: with
    `standardize` on the output at the mean of the columns, which are then centred, and else on
    the output where they are zero.
variant : {"exact", "paper"}, default="exact"
    ``"paper"`` starts, updates and stops as the paper does; of `BLS` and `FastLaplace`, where λ is
    not given, it takes one action on one column between two steps of λ.
max_terms : int, optional
    Keep at most so many terms. (For SMLR a term is a function with a weight for any class;
    AdaptiveRVC keeps so many for each class where there are more than two.) Lasso and SMLR drop
    the terms that move the output least and fit the others again; of 10 or fewer the last to go
    are those that are missed least, and then terms are exchanged for others as long as the
    objective falls: mostly the best so many, but with no proof.
class_weight : dict or "balanced", optional
    Weights of the classes, on top of those of the rows: by label, 1 for those left out, or such
    that every class weighs the same.
uncertainty : bool, default=False
    Whether the model says how sure it is of its weights: `covariance_`, `coef_std_`,
    :meth:`coef_interval` and ``predict_proba(X, moderated=True)``. It is Laplace's approximation,
    a Gaussian about the fit, of the weights kept, given that these are the ones and that none
    changes its sign: how they were chosen has no part in it.
cv : int, "loo", splitter or list of (train, test) pairs, default=5
    Folds of cross-validation where `lam`, `gamma` or `sparsity` is ``"cv"``: their number (of
    consecutive rows, or stratified for classes; as scikit-learn makes them), one for each row, a
    splitter of scikit-learn, or rows counted from 0. In a fold λ is multiplied by its part of the
    weight of all rows, so that λ per row is the same.
scoring : str, optional
    What judges in the folds: ``"mse"`` (the default for numbers), ``"rmse"``, ``"mae"``,
    ``"r2"``, ``"deviance"`` (the default for classes), ``"nlpd"``, ``"error"``,
    ``"balanced_error"`` or ``"auc"``.
rule : {"best", "one_se"}, default="best"
    Which to choose: the best mean score, or the simplest model whose mean is within one standard
    error of the best: the largest λ where λ alone is chosen, else the fewest terms.
lams : int or array-like, default=100
    The λ to choose from, or how many, from the smallest that leaves the model empty down to a
    thousandth of it (a hundredth where there are more functions than rows).
gammas : int or array-like, default=9
    The γ to choose from, or how many: from 1/256 to 256 times the ``"scale"`` rule's, and then
    six more about the best.
tol : float, default=1e-8
    Bound on the certificate, at which the fit ends.
max_iter : int, default=10000
    Iterations after which it ends in any case, with a ``ConvergenceWarning``.
max_time : float, optional
    Seconds after which it ends, once the step it is at is done.
memory_limit : float, default=4e9
    Bytes that matrices may take. A fit that needs more is refused at once.
random_state : int, RandomState instance or None, default=0
    Seed of the choice of landmarks, and of the visits of ``solver="componentwise"``; nothing else
    is random.
n_jobs : int, optional
    Threads; all by default. The answer is the same to the bit for any number.
verbose : int, default=0
    1 reports to stderr how the fit went, 2 every iteration; of a search, how many fits are done
    and the time left.
"""

ATTRIBUTES = """
n_terms_ : int
    Number of terms kept.
terms_ : list of str
    Their names.
relevance_ : ndarray of int of shape (n_terms,) or None
    For kernels: the training row of each term's centre, from 0 (or its position in `centres`).
relevance_vectors_ : ndarray of shape (n_terms, n_features) or None
    For kernels: the centres, in the units of the data.
gamma_ : float or None
    For built-in kernels: γ in force, for inputs of unit variance where `standardize` is true.
covariance_ : ndarray of shape (n_parameters, n_parameters) or None
    Where the method has a posterior: its covariance of the intercept, where it is free, and the
    weights of `terms_`; of more than two classes, those of one class after those of another,
    weights that are zero left out.
coef_std_, intercept_std_ : as `coef_` and `intercept_`, or None
    Where the method has a posterior: its standard deviations, NaN for what is zero. Where
    intercepts of all classes may change by as much without changing a probability (a symmetric
    parameterisation), their sum is taken for known, and so is that of a column's weights without a
    penalty.
objective_ : float
    The objective above at the end.
certificate_ : Certificate
    How near the end is to a stationary point (or, where the problem is convex, to the
    optimum); also ``float(certificate_)``.
trace_ : ndarray
    The objective after each iteration, and after a last step of Newton's method where there was
    one; empty where classes are fitted one by one.
n_iter_ : int
    Iterations done.
converged_ : bool
    Whether the certificate is within `tol`.
termination_ : str
    ``"converged"``, ``"iteration_limit"``, ``"time_limit"``, ``"stalled"`` by rounding, or
    ``"degenerate"`` where there was nothing to iterate on.
lam_ : float or None
    λ in force.
selection_ : Selection or None
    How λ or γ was chosen: everything that was tried, and its scores.
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
"""


CHOSEN = """
lams_ : ndarray of shape (n_lams,)
    The λ that were tried, falling. (Where γ is chosen too, this and what follows has an entry
    for each pair, in the order of ``selection_.points``.)
cv_scores_ : ndarray of shape (n_lams, n_folds)
    The score of each fold, by default the mean squared error (`mse_path_` of scikit-learn) or,
    for classes, the deviance.
cv_mean_ : ndarray of shape (n_lams,)
    Their means.
cv_std_error_ : ndarray of shape (n_lams,)
    Standard errors of the means.
"""


def documented(cls: T) -> T:
    """Put the descriptions in the places of ``{parameters}``, ``{attributes}`` and ``{chosen}``.

    The parameters are those of the class, in its order; each must be described.
    """
    if cls.__doc__ is not None:  # as it is with python -OO
        described = _entries(PARAMETERS)
        parameters = "\n".join(
            # What most classes leave open has a default in some.
            described[name].replace(", optional\n", f", default={_quoted(parameter.default)}\n", 1)
            if parameter.default is not None
            else described[name]
            for name, parameter in inspect.signature(cls).parameters.items()
        )
        doc = inspect.cleandoc(cls.__doc__)
        doc = doc.replace("{parameters}", parameters).replace("{attributes}", ATTRIBUTES.strip())
        doc = doc.replace("{chosen}", CHOSEN.strip())
        cls.__doc__ = textwrap.indent(doc, "    ").lstrip() + "\n    "
    return cls


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _entries(text: str) -> dict[str, str]:
    """Return the entries by name."""
    entries: list[str] = []
    for line in text.strip().split("\n"):
        if line.startswith(" ") or not line:
            entries[-1] += f"\n{line}"
        else:
            entries.append(line)
    return {entry.partition(" ")[0]: entry for entry in entries}

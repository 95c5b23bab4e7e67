"""Sparse multinomial logistic regression, beside scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import fewer
from fewer import RMLR, RMLRCV, SMLR, SMLRCV


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(150, 12))


def two_classes(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(1).normal(size=len(X))
    return np.where(X[:, 0] - X[:, 3] + noise > 0.3, "yes", "no")


def three_classes(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(2).normal(size=len(X))
    return np.digitize(X[:, 0] + X[:, 1] + noise, [-1.0, 1.0])


@pytest.mark.parametrize("density", [0.02, 0.5])
@pytest.mark.parametrize("classes", [2, 7])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_columns_reach_the_optimum_of_dense_ones(
    density, classes, fit_intercept, standardize
):
    # Rows of one or two values: probabilities of 0 and 1, where the likelihood is flat.
    for seed, shape in enumerate([(172, 77), (519, 262), (120, 390)]):
        rng = np.random.default_rng(seed)
        X = scipy.sparse.random(*shape, density=density, rng=rng, format="csc")
        truth = rng.normal(size=(shape[1], classes)) * (rng.random((shape[1], classes)) < 0.2)
        y = (X @ truth + rng.gumbel(size=(shape[0], classes))).argmax(axis=1)
        settings = {"fit_intercept": fit_intercept, "standardize": standardize, "tol": 1e-9}
        for ratio, form in ((0.05, "symmetric"), (0.01, "reference")):
            model = SMLR(lam_ratio=ratio, parameterization=form, **settings)
            sparse, dense = clone(model).fit(X, y), model.fit(X.toarray(), y)
            assert sparse.converged_, (seed, ratio)
            assert float(sparse.certificate_) <= 1e-9
            assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-7)


@pytest.mark.parametrize("lam", [20.0, 2.0, 0.1])
def test_two_classes_equal_scikit_learn(rows, lam):
    y = two_classes(rows)
    ours = SMLR(lam=lam, standardize=False, fit_intercept=False, tol=1e-13).fit(rows, y)
    # At a tol of 1e-11 or less liblinear fails to converge for one seed in sixty.
    settings = {"fit_intercept": False, "tol": 1e-9, "max_iter": 10**5, "random_state": 0}
    theirs = LogisticRegression(l1_ratio=1.0, C=1 / lam, solver="liblinear", **settings)
    theirs.fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-5)
    margins = np.where(y == "yes", 1, -1) * (rows @ theirs.coef_[0])
    best = np.logaddexp(0, -margins).sum() + lam * np.abs(theirs.coef_).sum()
    assert ours.objective_ == pytest.approx(best, rel=1e-7)
    assert list(ours.classes_) == ["no", "yes"]


def test_ridge_equals_scikit_learn(rows):
    y = two_classes(rows)
    ours = SMLR(lam=3.0, l1_ratio=0.0, standardize=False, tol=1e-14).fit(rows, y)
    theirs = LogisticRegression(C=1 / 3.0, solver="newton-cholesky", tol=1e-12).fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


def test_three_classes_have_a_reference(rows):
    y = three_classes(rows)
    model = SMLR(lam_ratio=0.05).fit(rows, y)
    assert model.coef_.shape == (3, 12)
    assert not model.coef_[2].any()
    assert {"x1", "x2"} <= set(model.terms_)
    probabilities = model.predict_proba(rows)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(probabilities), model.predict_log_proba(rows), atol=1e-12)
    np.testing.assert_array_equal(model.predict(rows), probabilities.argmax(axis=1))
    assert float(model.certificate_) <= 1e-8


def test_sparse_input_and_saved_models(rows, tmp_path):
    X = np.where(np.abs(rows) < 0.7, 0.0, rows)
    y = three_classes(X)
    dense = SMLR(tol=1e-12).fit(X, y)
    sparse = SMLR(tol=1e-12).fit(scipy.sparse.csc_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    dense.save(tmp_path / "model.json")
    loaded = fewer.load(tmp_path / "model.json")
    assert isinstance(loaded, SMLR)
    np.testing.assert_array_equal(loaded.predict_proba(X), dense.predict_proba(X))


def test_lam_is_chosen_by_cross_validation(rows):
    y = two_classes(rows)
    model = SMLR(lam="cv", lams=15).fit(rows, y)
    assert model.lam_ > 0
    assert {"x1", "x4"} <= set(model.terms_)
    assert model.selection_.score == "deviance"


def test_class_weights_count_as_rows(rows):
    y = two_classes(rows)
    weight = np.where(y == "yes", 3.0, 1.0)
    by_class = SMLR(lam=4.0, class_weight={"yes": 3.0}, standardize=False, tol=1e-12).fit(rows, y)
    by_row = SMLR(lam=4.0, standardize=False, tol=1e-12).fit(rows, y, sample_weight=weight)
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-8)


def test_numbers_are_refused(rows):
    with pytest.raises(ValueError, match="class"):
        SMLR().fit(rows, rows[:, 0])


EXACT = {"standardize": False, "tol": 1e-12}


def symmetric_objective(model, X: np.ndarray, y: np.ndarray, lam: float, l1: float) -> float:
    """Return −Σ log p(y) + penalty at weights of any estimator."""
    eta = X @ model.coef_.T + model.intercept_
    own = eta[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    size = l1 * np.abs(model.coef_).sum() + (1 - l1) / 2 * (model.coef_**2).sum()
    return float((logsumexp(eta, axis=1) - own).sum() + lam * size)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_symmetric_form_equals_scikit_learn(rows, fit_intercept):
    y = three_classes(rows)
    settings = {"fit_intercept": fit_intercept, "parameterization": "symmetric"}
    ours = RMLR(lam=3.0, **settings, **EXACT).fit(rows, y)
    theirs = LogisticRegression(C=1 / 3.0, fit_intercept=fit_intercept, tol=1e-10, max_iter=10**5)
    theirs.fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.coef_.sum(axis=0), 0, atol=1e-6)
    intercept = theirs.intercept_ - theirs.intercept_.mean()
    np.testing.assert_allclose(ours.intercept_, intercept, atol=1e-5)
    assert ours.objective_ == pytest.approx(symmetric_objective(ours, rows, y, 3.0, 0.0))
    ours = SMLR(lam=3.0, **settings, **EXACT).fit(rows, y)
    theirs = LogisticRegression(
        l1_ratio=1.0,
        C=1 / 3.0,
        solver="saga",
        fit_intercept=fit_intercept,
        tol=1e-9,
        max_iter=10**5,
        random_state=0,
    ).fit(rows, y)
    best = symmetric_objective(theirs, rows, y, 3.0, 1.0)
    assert ours.objective_ == pytest.approx(symmetric_objective(ours, rows, y, 3.0, 1.0), rel=1e-9)
    assert ours.objective_ <= best * (1 + 1e-9)
    assert ours.objective_ == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(np.median(ours.coef_, axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.0, 0.5])
def test_two_classes_in_symmetric_form(rows, l1_ratio):
    # Weights of both classes, at the best of all that differ by the same.
    y = (two_classes(rows) == "yes").astype(int)
    symmetric = SMLR(lam=2.0, l1_ratio=l1_ratio, parameterization="symmetric", **EXACT)
    symmetric.fit(rows, y)
    half = symmetric.coef_[0] / 2

    class Both:
        classes_ = np.arange(2)
        coef_ = np.array([-half, half])
        intercept_ = np.array([0.0, symmetric.intercept_[0]])

    found = symmetric_objective(Both, rows, y, 2.0, l1_ratio)
    assert symmetric.objective_ == pytest.approx(found, rel=1e-9)
    if l1_ratio == 0:
        reference = RMLR(lam=1.0, **EXACT).fit(rows, y)
        np.testing.assert_allclose(symmetric.coef_, reference.coef_, atol=1e-6)
    if l1_ratio == 1:
        reference = SMLR(lam=2.0, **EXACT).fit(rows, y)
        np.testing.assert_allclose(symmetric.coef_, reference.coef_, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"basis": "rbf"}, {"l1_ratio": 0.0, "lam": 1.0}])
def test_solvers_agree(rows, settings):
    y = three_classes(rows)
    X = scipy.sparse.csc_array(np.where(np.abs(rows) < 0.7, 0.0, rows)) if not settings else rows
    best = SMLR(tol=1e-10, **settings).fit(X, y)
    for solver, schedule in [
        ("bound", "geometric"),
        ("componentwise", "geometric"),
        ("componentwise", "gain"),
    ]:
        model = SMLR(solver=solver, schedule=schedule, **settings).fit(X, y)
        assert model.objective_ == pytest.approx(best.objective_, rel=1e-7)
        assert float(model.certificate_) <= 1e-8
        assert (np.diff(model.trace_) <= 1e-10 * model.objective_).all()
        np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=1e-3)


def test_the_answer_does_not_depend_on_threads_but_on_nothing_else(rows):
    y = three_classes(rows)
    for solver in ("auto", "bound", "componentwise"):
        models = [SMLR(solver=solver, n_jobs=n).fit(rows, y) for n in (1, 2)]
        np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_words_that_are_none(rows):
    y = two_classes(rows)
    for name in ("solver", "schedule", "parameterization"):
        with pytest.raises(ValueError, match=f"{name} = .*fastest.*is expected"):
            SMLR(**{name: "fastest"}).fit(rows, y)


def test_ridge_keeps_all_and_is_another_class(rows, tmp_path):
    y = three_classes(rows)
    ridge = RMLR().fit(rows, y)
    assert ridge.n_terms_ == 12
    assert ridge.lam_ == pytest.approx(0.01 * len(rows))
    same = SMLR(l1_ratio=0.0, lam=ridge.lam_).fit(rows, y)
    np.testing.assert_allclose(same.coef_, ridge.coef_, atol=1e-6)
    ridge.save(tmp_path / "ridge.json")
    loaded = fewer.load(tmp_path / "ridge.json")
    assert type(loaded) is RMLR
    assert loaded.l1_ratio == 0
    np.testing.assert_array_equal(loaded.predict_proba(rows), ridge.predict_proba(rows))


@pytest.mark.parametrize("cls", [SMLRCV, RMLRCV])
def test_lam_by_cross_validation_has_its_own_class(rows, cls):
    y = three_classes(rows)
    model = cls(lams=8, cv=3).fit(rows, y)
    assert model.lam_ in model.lams_
    assert model.cv_scores_.shape == (8, 3)
    np.testing.assert_allclose(model.cv_scores_.mean(axis=1), model.cv_mean_)
    assert model.cv_mean_.argmin() == np.flatnonzero(model.lams_ == model.lam_)[0]
    base = cls.__mro__[2]
    same = base(lam=model.lam_).fit(rows, y)
    np.testing.assert_allclose(same.coef_, model.coef_, atol=1e-4)
    assert repr(clone(model)) == f"{cls.__name__}(cv=3, lams=8)"


def test_a_path_has_the_fits_of_its_lams(rows):
    y = three_classes(rows)
    method = SMLR(lam=3.0, parameterization="symmetric", tol=1e-12)
    path = method.path(rows, y, lams=[1.0, 20.0, 5.0])
    assert not hasattr(method, "classes_")
    for k, lam in enumerate(path.lams):
        alone = clone(method).set_params(lam=lam).fit(rows, y)
        np.testing.assert_allclose(path.coefs[k], alone.coef_, atol=1e-6)
        np.testing.assert_allclose(path.intercepts[k], alone.intercept_, atol=1e-6)
        assert path.n_terms[k] == alone.n_terms_
    path = SMLR().path(rows, two_classes(rows), n_lams=7)
    assert path.coefs.shape == (7, 1, 12)
    assert path.n_terms[0] == 0
    assert path.lams[-1] == pytest.approx(path.lams[0] / 1000)
    assert repr(path).startswith("SMLRPath(7 λ from ")
    assert RMLR().path(rows, y, n_lams=3).n_terms.tolist() == [12, 12, 12]


@pytest.mark.parametrize("solver", ["auto", "bound", "componentwise"])
def test_a_warm_start_takes_fewer_steps_to_the_same(rows, solver):
    y = three_classes(rows)
    model = SMLR(lam=2.0, solver=solver, tol=1e-9, warm_start=True).fit(rows, y)
    steps, coef = model.n_iter_, model.coef_
    model.set_params(lam=1.999).fit(rows, y)
    assert model.n_iter_ <= steps
    cold = clone(model).fit(rows, y)
    assert model.objective_ == pytest.approx(cold.objective_, rel=1e-8)
    model.set_params(lam=2.0).fit(rows, y)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-3)
    # Other classes, other functions: from nothing.
    assert model.fit(rows[:, :5], two_classes(rows)).coef_.shape == (1, 5)


def test_few_terms_count_columns(rows):
    y = three_classes(rows)
    for settings in ({}, {"parameterization": "symmetric"}, {"solver": "componentwise"}):
        model = SMLR(lam_ratio=0.01, max_terms=3, **settings).fit(rows, y)
        assert model.n_terms_ == 3
        assert {"x1", "x2"} < set(model.terms_)
        assert (model.coef_ != 0).any(axis=0).sum() == 3
        assert model.certificate_.scope == "kept terms"


def test_offsets_are_part_of_the_outputs(rows):
    y = two_classes(rows)
    known = 2.0 * rows[:, 0]
    X = rows[:, 1:]
    model = SMLR(lam=2.0, standardize=False, tol=1e-12).fit(X, y, offset=known)
    # A column without a penalty whose weight cannot but be 1 would do the same.
    eta = model.decision_function(X, known)
    loss = np.logaddexp(0, np.where(y == "yes", -eta, eta)).sum()
    assert model.objective_ == pytest.approx(loss + 2 * np.abs(model.coef_).sum())
    np.testing.assert_allclose(model.predict_proba(X, offset=known)[:, 1], 1 / (1 + np.exp(-eta)))
    np.testing.assert_array_equal(model.predict(X, known), np.where(eta > 0, "yes", "no"))
    residual = (y == "yes") - model.predict_proba(X, offset=known)[:, 1]
    assert np.abs(X.T @ residual).max() <= 2 * (1 + 1e-5)
    assert abs(residual.sum()) < 1e-6
    both = np.column_stack([-known / 2, known / 2])
    for solver in ("auto", "bound", "componentwise"):
        other = SMLR(lam=2.0, standardize=False, solver=solver).fit(X, y, offset=both)
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-7)


def test_offsets_are_part_of_a_path(rows):
    y = two_classes(rows)
    known = 2.0 * rows[:, 0]
    X = rows[:, 1:]
    plain = SMLR(standardize=False, tol=1e-10)
    path = plain.path(X, y, lams=[5.0, 2.0], offset=known)
    for lam, coefs in zip(path.lams, path.coefs, strict=True):
        one = SMLR(lam=lam, standardize=False, tol=1e-10).fit(X, y, offset=known)
        np.testing.assert_allclose(coefs, one.coef_, atol=1e-6)
    assert np.abs(path.coefs - plain.path(X, y, lams=[5.0, 2.0]).coefs).max() > 1e-2
    with pytest.raises(ValueError, match="offset: the shape"):
        plain.path(X, y, offset=known[1:])


@pytest.mark.parametrize("parameterization", ["reference", "symmetric"])
def test_offsets_of_three_classes(rows, parameterization):
    y = three_classes(rows)
    offset = np.random.default_rng(3).normal(size=(150, 3))
    settings = {"lam": 3.0, "parameterization": parameterization, "standardize": False}
    model = SMLR(tol=1e-12, **settings).fit(rows, y, offset=offset)
    # The same added to all classes changes nothing.
    moved = SMLR(tol=1e-12, **settings).fit(rows, y, offset=offset + rows[:, :1])
    np.testing.assert_allclose(moved.coef_, model.coef_, atol=1e-6)
    residual = np.eye(3)[y] - model.predict_proba(rows, offset=offset)
    classes = slice(None) if parameterization == "symmetric" else slice(2)
    assert np.abs(rows.T @ residual)[:, classes].max() <= 3 * (1 + 1e-5)
    for solver in ("bound", "componentwise"):
        other = SMLR(solver=solver, **settings).fit(rows, y, offset=offset)
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-7)


def test_offsets_take_part_in_the_choice(rows):
    y = np.digitize(rows[:, 0] + 0.3 * rows[:, 1], [-0.5, 0.5])
    offset = np.random.default_rng(4).normal(size=(150, 3))
    folds = list(KFold(3).split(rows))
    lams = [30.0, 3.0]
    model = SMLRCV(lams=lams, cv=folds, scoring="deviance", tol=1e-10).fit(rows, y, offset=offset)
    for k, (train, test) in enumerate(folds):
        for lam, scores in zip(lams, model.cv_scores_, strict=True):
            part = SMLR(lam=lam * len(train) / 150, tol=1e-10)
            part.fit(rows[train], y[train], offset=offset[train])
            found = part.predict_log_proba(rows[test], offset=offset[test])
            expected = -2 * found[np.arange(len(test)), y[test]].mean()
            assert scores[k] == pytest.approx(expected, rel=1e-5)


def test_offsets_that_are_none(rows):
    y = three_classes(rows)
    with pytest.raises(ValueError, match=r"the shape \(150, 3\) is expected, found \(150,\)"):
        SMLR().fit(rows, y, offset=rows[:, 0])
    with pytest.raises(ValueError, match="finite"):
        SMLR().fit(rows, y, offset=np.full((150, 3), np.nan))


@pytest.mark.parametrize("solver", ["auto", "bound", "componentwise"])
def test_no_penalty_on_separable_classes_ends(solver):
    X = np.arange(40.0)[:, None] - 19.5
    y = X[:, 0] > 0
    said = (ConvergenceWarning, fewer.SeparableWarning)
    with np.errstate(all="raise"), pytest.warns(said):
        model = SMLR(lam=0.0, solver=solver, max_iter=300).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.termination_ in ("converged", "iteration_limit", "stalled")
    assert model.score(X, y) == 1


def test_one_class_is_refused(rows):
    with pytest.raises(ValueError, match="class"):
        SMLR().fit(rows, np.zeros(150, dtype=int))


def test_scores_take_offsets(rows):
    y = two_classes(rows)
    known = 2.0 * rows[:, 0]
    model = SMLR(lam=2.0).fit(rows[:, 1:], y, offset=known)
    right = np.mean(model.predict(rows[:, 1:], known) == y)
    assert model.score(rows[:, 1:], y, offset=known) == right
    assert model.score(rows[:, 1:], y, offset=np.zeros(len(rows))) < right


def test_lam_max_is_exact_with_free_columns():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 10))
        y = (X[:, 0] + X[:, 1] + rng.normal(size=200) > 0).astype(int)
        model = SMLR(penalty_factors=[0] + 9 * [1], lam_ratio=1.0).fit(X, y)
        assert model.terms_ == ["x1"], seed
        assert not any("not exact" in note for note in model.notes_), seed


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_lam_max_of_two_classes_is_the_strongest_pull(fit_intercept, weighted, sparse):
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.normal(size=(150, 7)) * 10.0 ** np.arange(-3, 4) + np.arange(7))
    y = (X[:, 3] - X[:, 3].mean() + 0.5 + rng.normal(size=150) > 0).astype(int)
    weights = rng.uniform(0.5, 2.0, 150) if weighted else np.ones(150)
    share = np.average(y, weights=weights) if fit_intercept else 0.5
    expected = np.abs(X.T @ (weights * (y - share))).max()
    model = SMLR(lam_ratio=1.0, standardize=False, fit_intercept=fit_intercept)
    data = scipy.sparse.csc_matrix(X) if sparse else X
    model.fit(data, y, sample_weight=weights if weighted else None)
    assert model.n_terms_ == 0
    np.testing.assert_allclose(model.lam_, expected, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_choice_that_rests_on_fits_cut_short_says_so(rows):
    model = SMLRCV(lams=4, max_time=1e-9).fit(rows, two_classes(rows))
    assert any("cut short" in note for note in model.notes_)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_ridge_has_no_largest_lam(rows):
    model = RMLR(lam=1e12).fit(rows, two_classes(rows))
    assert not any("λ_max" in note for note in model.notes_)


def test_a_hundred_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(100), 4)
    X = rng.normal(size=(100, 12))[y] + 0.1 * rng.normal(size=(400, 12))
    auto = SMLR(lam_ratio=0.2).fit(X, y)
    assert auto.score(X, y) > 0.8
    for settings in (
        {"parameterization": "symmetric"},
        {"solver": "componentwise", "tol": 1e-5},
        {"solver": "bound", "tol": 1e-5},
    ):
        model = SMLR(lam_ratio=0.2, **settings).fit(X, y)
        assert model.converged_
        assert model.coef_.shape == (100, 12)


@pytest.mark.parametrize("lam", [20.0, 2.0, 0.1])
def test_a_penalised_intercept_equals_liblinear(rows, lam):
    y = two_classes(rows)
    ours = SMLR(lam=lam, standardize=False, fit_intercept="penalised", tol=1e-13).fit(rows, y)
    settings = {"tol": 1e-9, "max_iter": 10**5, "random_state": 0}
    theirs = LogisticRegression(l1_ratio=1.0, C=1 / lam, solver="liblinear", **settings)
    theirs.fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)


def test_no_penalty_on_separable_classes_is_said(rows):
    with pytest.warns(fewer.SeparableWarning, match="give a λ above 0"):
        model = SMLR(lam=0.0, uncertainty=True).fit(rows, rows[:, 0] > 0)
    assert model.coef_std_ is None
    assert any("no standard errors" in note for note in model.notes_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = SMLR(lam=0.0, uncertainty=True).fit(rows, two_classes(rows))
    assert held.coef_std_ is not None


def test_free_columns_that_tell_classes_apart_are_said(rows):
    factors = np.ones(rows.shape[1])
    factors[0] = 0.0
    # Rounding may end such a fit first.
    said = (ConvergenceWarning, fewer.SeparableWarning)
    with pytest.warns(said, match="penalty factors above 0"):
        SMLR(lam=1.0, penalty_factors=factors).fit(rows, rows[:, 0] > 0)


def test_forgotten_offsets_are_said(rows):
    y = two_classes(rows)
    known = rows[:, 0]
    model = SMLR(lam=2.0).fit(rows[:, 1:], y, offset=known)
    for method in (model.predict, model.predict_proba, model.predict_log_proba):
        with pytest.warns(UserWarning, match="fitted with offsets"):
            method(rows[:, 1:])
        method(rows[:, 1:], offset=np.zeros(len(rows)))
    with pytest.warns(UserWarning, match="fitted with offsets"):
        plain = model.decision_function(rows[:, 1:])
    with pytest.warns(UserWarning, match="fitted with offsets"):
        model.score(rows[:, 1:], y)
    np.testing.assert_allclose(model.decision_function(rows[:, 1:], known), plain + known)


def test_offsets_of_two_classes_may_be_a_column(rows):
    y = two_classes(rows)
    known = rows[:, 0]
    flat = SMLR(lam=2.0).fit(rows[:, 1:], y, offset=known)
    column = SMLR(lam=2.0).fit(rows[:, 1:], y, offset=known[:, None])
    np.testing.assert_array_equal(flat.coef_, column.coef_)
    np.testing.assert_array_equal(
        flat.predict_proba(rows[:, 1:], offset=known),
        flat.predict_proba(rows[:, 1:], offset=known[:, None]),
    )


@pytest.mark.parametrize("most", [-1, 0])
def test_a_limit_of_terms_is_at_least_one(rows, most):
    with pytest.raises(ValueError, match=r"max_terms = .*at least 1"):
        SMLR(max_terms=most).fit(rows, two_classes(rows))


def test_an_explanation_has_the_standard_error_of_the_intercept(rows):
    model = SMLR(lam=2.0, uncertainty=True).fit(rows, two_classes(rows))
    line = next(x for x in str(model.explain()).split("\n") if x.startswith("(intercept)"))
    assert float(line.split()[2]) == pytest.approx(model.intercept_std_[0], rel=1e-4)


def test_intercepts_of_all_classes_have_a_fixed_sum():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 6))
    y = np.argmax(X[:, :3] + rng.gumbel(size=(150, 3)), 1)
    settings = {"lam": 2.0, "parameterization": "symmetric", "standardize": False}
    for shift in (0.0, 3.0):
        model = RMLR(**settings, uncertainty=True, tol=1e-13).fit(X + shift, y)
        p = model.predict_proba(X + shift)
        ones = np.c_[np.ones(150), X + shift]
        hessian = np.diag(np.tile([0.0] + [2.0] * 6, 3))
        for a in range(3):
            for b in range(3):
                curvature = p[:, a] * ((a == b) - p[:, b])
                block = np.s_[7 * a : 7 * a + 7, 7 * b : 7 * b + 7]
                hessian[block] += (ones * curvature[:, None]).T @ ones
        # The intercepts' sum is the only direction without curvature.
        expected = np.sqrt(np.diag(np.linalg.pinv(hessian)))[::7]
        np.testing.assert_allclose(model.intercept_std_, expected, rtol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "bound", "componentwise"])
@pytest.mark.parametrize("parameterization", ["reference", "symmetric"])
@pytest.mark.parametrize("count", [2, 3])
def test_separable_classes_are_told_by_margins(solver, parameterization, count):
    """A slow solver is far from an objective of 0 when it ends."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    first, second = np.sort(X[:, :count], axis=1).T[:-3:-1]
    X = X[first > second + 0.3]
    y = np.argmax(X[:, :count], axis=1)
    settings = {"solver": solver, "parameterization": parameterization, "max_iter": 2000}
    with pytest.warns(fewer.SeparableWarning, match="give a λ above 0") as caught:
        model = SMLR(lam=0.0, **settings).fit(X, y)
    assert model.score(X, y) == 1
    said = str(caught[0].message)
    assert len(caught) == 1
    assert "raise" not in said
    ended = "tol" if model.converged_ else "max_iter = 2000"
    assert f"these are where {ended} ended the fit" in said


def test_paths_say_that_classes_are_separable():
    X = np.random.default_rng(0).normal(size=(10, 20))
    with pytest.warns(fewer.SeparableWarning, match=r"1 of 2 fits .*λ = 0.*give a λ above 0"):
        path = SMLR().path(X, [0, 1] * 5, lams=[1.0, 0.0])
    assert (path.gaps < 1e-7).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SMLR().path(X, [0, 1] * 5, lams=[1.0, 0.1])


def test_a_tiny_lam_is_named(rows):
    y = two_classes(rows)
    with pytest.warns(ConvergenceWarning, match=r"likely cause is λ = 1.0e-16"):
        SMLR(lam=1e-16).fit(rows, y)


def test_errors_name_what_is_taken(rows):
    y = two_classes(rows)
    with pytest.raises(ValueError, match="class_weight = 'foo': a dict or 'balanced'"):
        SMLR(class_weight="foo").fit(rows, y)
    with pytest.raises(ValueError, match="warm_start = 'yes': True or False"):
        SMLR(warm_start="yes").fit(rows, y)
    with pytest.raises(ValueError, match="scoring = accuracy: take error"):
        SMLR(lam="cv", scoring="accuracy").fit(rows, y)
    for cls in (SMLRCV, RMLRCV):
        with pytest.raises(ValueError, match=f"lam = None: {cls.__name__} .* give 'cv'"):
            cls(lam=None).fit(rows, y)
    y = np.r_[["alone"], y[1:]]
    notes = SMLRCV(lams=3).fit(rows, y).selection_.notes
    assert any("class 'alone' has 1 row," in note for note in notes)

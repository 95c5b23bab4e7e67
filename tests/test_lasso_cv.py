"""LassoCV and paths of the Lasso, beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import fewer
from fewer import Lasso, LassoCV, lasso_path

N = 90
ALPHAS = np.geomspace(2, 0.01, 25)
EXACT = {"standardize": False, "tol": 1e-14}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 30))
    X[rng.random(X.shape) < 0.5] = 0
    return X, 1 + 2 * X[:, 0] - X[:, 3] + 0.5 * X[:, 7] + rng.normal(size=N)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["dense", "float32", "csc", "csr"])
@pytest.mark.parametrize("cv", [5, "shuffled"])
def test_it_is_scikit_learns(data, fit_intercept, kind, cv):
    X, y = data
    cv = list(KFold(4, shuffle=True, random_state=1).split(X)) if cv == "shuffled" else cv
    if kind == "float32":
        X = X.astype(np.float32).astype(np.float64)
    peer = linear_model.LassoCV(
        alphas=ALPHAS, cv=cv, fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000
    ).fit(X, y)
    X = {"dense": X, "float32": X.astype(np.float32)}.get(kind, sparse.csc_matrix(X))
    X = X.tocsr() if kind == "csr" else X
    lasso = LassoCV(lams=N * ALPHAS, cv=cv, fit_intercept=fit_intercept, n_jobs=1, **EXACT)
    lasso.fit(X, y)
    np.testing.assert_allclose(lasso.lams_, N * peer.alphas_)
    np.testing.assert_allclose(lasso.cv_scores_, peer.mse_path_, rtol=1e-6)
    assert lasso.lam_ == pytest.approx(N * peer.alpha_, rel=1e-12)
    np.testing.assert_allclose(lasso.coef_, peer.coef_, atol=1e-6)
    assert lasso.intercept_ == pytest.approx(peer.intercept_, abs=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_count_as_in_scikit_learn(data, fit_intercept):
    X, y = data
    weights = np.random.default_rng(1).uniform(0.5, 2, size=N)
    peer = linear_model.LassoCV(
        alphas=ALPHAS, cv=5, fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000
    ).fit(X, y, sample_weight=weights)
    lasso = LassoCV(lams=weights.sum() * ALPHAS, fit_intercept=fit_intercept, **EXACT)
    lasso.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(lasso.cv_scores_, peer.mse_path_, rtol=1e-6)
    assert lasso.lam_ == pytest.approx(weights.sum() * peer.alpha_, rel=1e-12)
    np.testing.assert_allclose(lasso.coef_, peer.coef_, atol=1e-6)


def test_its_attributes_belong_together(data):
    X, y = data
    lasso = LassoCV(lams=20, rule="one_se").fit(X, y)
    selection = lasso.selection_
    assert lasso.cv_scores_.shape == (20, 5)
    np.testing.assert_allclose(lasso.cv_mean_, lasso.cv_scores_.mean(axis=1))
    error = lasso.cv_scores_.std(axis=1, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(lasso.cv_std_error_, error)
    assert (np.diff(lasso.lams_) < 0).all()
    best = lasso.cv_mean_.argmin()
    limit = lasso.cv_mean_[best] + lasso.cv_std_error_[best]
    assert lasso.lam_ == lasso.lams_[lasso.cv_mean_ <= limit].max()
    assert (selection.best, selection.points[selection.chosen]["lam"]) == (best, lasso.lam_)
    assert lasso.lam_ > LassoCV(lams=20).fit(X, y).lam_
    same = Lasso(lam=lasso.lam_).fit(X, y)
    np.testing.assert_allclose(same.coef_, lasso.coef_, atol=1e-7)


def test_it_is_the_lasso_by_another_name(data, tmp_path):
    X, y = data
    lasso = LassoCV(lams=10, cv=3).fit(X, y)
    same = Lasso(lam="cv", lams=10, cv=3).fit(X, y)
    np.testing.assert_array_equal(same.coef_, lasso.coef_)
    assert same.selection_ == lasso.selection_
    assert repr(clone(lasso)) == "LassoCV(cv=3, lams=10)"
    assert repr(Lasso(lam="cv")) == "Lasso(lam='cv')"
    lasso.save(tmp_path / "model.json")
    other = fewer.load(tmp_path / "model.json")
    assert type(other) is Lasso
    assert (other.lam, other.lams, other.cv) == ("cv", 10, 3)
    assert other.selection_ == lasso.selection_


def test_attributes_of_an_earlier_search_go(data):
    X, y = data
    lasso = LassoCV(lams=5).fit(X, y)
    assert hasattr(lasso, "cv_scores_")
    lasso.set_params(lam="bic").fit(X, y)
    assert not hasattr(lasso, "cv_scores_")
    assert lasso.lams_.shape == lasso.cv_mean_.shape == (5,)
    lasso.set_params(lam=3.0, lams=100).fit(X, y)
    assert lasso.selection_ is None
    assert not hasattr(lasso, "lams_")


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_a_path_is_scikit_learns(data, fit_intercept, as_sparse):
    X, y = data
    y = y - y.mean() if fit_intercept else y
    centred = X - X.mean(axis=0) if fit_intercept else X
    _, coefs, _ = linear_model.lasso_path(centred, y, alphas=ALPHAS, tol=1e-12, max_iter=100_000)
    path = lasso_path(
        sparse.csc_matrix(X) if as_sparse else X,
        y,
        lams=N * ALPHAS,
        fit_intercept=fit_intercept,
        n_jobs=1,
        **EXACT,
    )
    np.testing.assert_array_equal(path.lams, N * ALPHAS)
    np.testing.assert_allclose(path.coefs, coefs.T, atol=1e-6)
    np.testing.assert_array_equal(path.n_terms, (path.coefs != 0).sum(axis=1))
    np.testing.assert_allclose(
        path.intercepts, -path.coefs @ X.mean(axis=0) * fit_intercept, atol=1e-12
    )
    assert path.gaps.max() <= 1e-14


def test_a_path_has_the_fits_of_single_lams_in_their_order(data):
    X, y = data
    lams = [3.0, 30.0, 3.0, 0.0]
    weights = np.linspace(0, 2, N)
    path = lasso_path(X, y, lams=lams, sample_weight=weights, positive=True)
    for k, lam in enumerate(lams):
        lasso = Lasso(lam=lam, positive=True).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(path.coefs[k], lasso.coef_, atol=1e-6)
        assert path.intercepts[k] == pytest.approx(lasso.intercept_, abs=1e-6)
    assert path.names[0] == "x1"


def test_lams_of_a_path_are_those_of_a_search(data):
    X, y = data
    y = 3 * y + 10 * X[:, 0]
    weights = np.where(np.arange(N) < 25, 1.0, 0.0)
    for weight in (None, weights):
        path = lasso_path(X, y, n_lams=7, sample_weight=weight)
        lasso = LassoCV(lams=7).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(path.lams, lasso.lams_)
        assert path.n_terms[0] == 0
    assert repr(path).startswith("LassoPath(7 λ from ")


@pytest.mark.filterwarnings("ignore::fewer.EmptyModelWarning")
def test_a_path_of_a_constant_target_is_one_empty_model(data):
    path = lasso_path(data[0], np.full(N, 2.0))
    assert (path.n_terms.tolist(), path.intercepts.tolist()) == ([0], [2.0])
    assert LassoCV().fit(data[0], np.full(N, 2.0)).intercept_ == 2


def test_paths_take_what_the_lasso_takes(data):
    X, y = data
    assert lasso_path(X, y, n_lams=3, basis="rbf").coefs.shape == (3, N)
    squares = lasso_path(X, y, n_lams=3, basis=lambda X: np.hstack([X, X**2]))
    assert squares.coefs.shape == (3, 60)
    with pytest.warns(ConvergenceWarning, match="of 9 fits of the path have not converged"):
        lasso_path(X[:, :2], y, n_lams=9, max_time=1e-9)


def test_paths_refuse(data):
    X, y = data
    for name in ("lam", "lam_ratio", "cv"):
        with pytest.raises(TypeError, match=f"has no parameter {name}"):
            lasso_path(X, y, **{name: 1})
    with pytest.raises(ValueError, match="lams: at least one"):
        lasso_path(X, y, lams=[])
    with pytest.raises(ValueError, match="numbers of at least 0"):
        lasso_path(X, y, lams=[-1.0])
    with pytest.raises(ValueError, match="n_lams = 0"):
        lasso_path(X, y, n_lams=0)

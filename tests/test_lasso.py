"""Lasso: equal to other solvers, certified, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn import linear_model
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from fewer import EmptyModelWarning, Lasso, SparseRegressor

TIGHT = {"tol": 1e-14, "max_iter": 1_000_000}


@pytest.fixture(params=[(100, 20), (30, 60)], ids=["tall", "wide"])
def data(request):
    n, p = request.param
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + 0.75**0.5 * X[:, j]
    X[rng.random(X.shape) < 0.3] = 0
    y = 3 + 2 * X[:, 1] - X[:, 4] + 1.5 * X[:, 9] + 0.5 * rng.normal(size=n)
    return X, y


def objective(model, X, y, weights=1.0):
    residual = y - X @ model.coef_ - model.intercept_
    return 0.5 * np.sum(weights * residual**2) + model.lam_ * np.abs(model.coef_).sum()


# ---- other solvers ----


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("ratio", [0.5, 0.1, 0.01])
def test_scikit_learn(data, fit_intercept, positive, ratio):
    X, y = data
    params = {"fit_intercept": fit_intercept, "positive": positive}
    ours = Lasso(lam_ratio=ratio, standardize=False, tol=1e-14, **params).fit(X, y)
    theirs = linear_model.Lasso(alpha=ours.lam_ / len(y), **params, **TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-8)
    assert ours.objective_ == pytest.approx(objective(ours, X, y), rel=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l1_ratio", [0.9, 0.5, 0.05])
def test_scikit_learn_elastic_net(data, fit_intercept, l1_ratio):
    X, y = data
    params = {"standardize": False, "fit_intercept": fit_intercept}
    ours = Lasso(l1_ratio=l1_ratio, tol=1e-14, **params).fit(X, y)
    deviation = y.std() if fit_intercept else np.sqrt(np.mean(y**2))
    l1, l2 = ours.lam_ * l1_ratio / len(y), ours.lam_ * (1 - l1_ratio) / deviation / len(y)
    theirs = linear_model.ElasticNet(
        alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), fit_intercept=fit_intercept, **TIGHT
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


def test_scikit_learn_weights(data):
    X, y = data
    weights = np.random.default_rng(1).integers(0, 4, size=len(y)).astype(float)
    ours = Lasso(lam_ratio=0.05, standardize=False, tol=1e-14).fit(X, y, weights)
    alpha = ours.lam_ / weights.sum()
    theirs = linear_model.Lasso(alpha=alpha, **TIGHT).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert ours.objective_ == pytest.approx(objective(ours, X, y, weights), rel=1e-9)


# Weights of celer 0.7.4 (tol 1e-15), which skglm 0.5 and scikit-learn 1.9 give to 2e-9.
OF_CELER = {
    0.1: {
        1: -57.30952604287475, 2: 503.3580430724633, 3: 223.02648260667786,
        6: -150.86540137566095, 8: 460.3181191291002, 11: 77.0144481730835,
        13: 21.357069257814985, 19: 10.775297481343301, 28: 24.74828041325894,
        29: 68.13215369440739, 63: 50.53868256658362,
    },
    0.02: {
        0: 9.812200532659581, 1: -199.98128087766617, 2: 495.1659369302874,
        3: 307.73198880024523, 4: -56.26832758816158, 6: -257.5256944747569,
        8: 516.2876387178749, 9: 53.162377886166894, 10: 54.05391777683272,
        11: 151.20258231643396, 13: 24.79972157677791, 15: -56.26049725528731,
        16: 34.73050713314417, 18: 59.05014715678087, 19: 25.873907949071114,
        20: 38.37436808242833, 21: 58.32723917109059, 23: -25.124328034199863,
        24: 61.60703660423171, 28: 39.306466005984404, 29: 130.7285945010157,
        37: 6.668207254318482, 39: 37.02853394152366, 42: -46.018548060469634,
        45: 9.063024021451913, 46: -71.445800278933, 47: -0.41910870180750237,
        52: 96.94293044015231, 53: 10.430145086911534, 55: -74.94422942766738,
        59: -87.38727739878676, 60: 30.011146014351883, 61: -2.264081080423278,
        63: 98.70961671992008,
    },
}  # fmt: skip


@pytest.mark.parametrize("ratio", OF_CELER)
def test_celer(ratio):
    X, y = load_diabetes(return_X_y=True)
    # The square of sex is sex again: weights would not be unique.
    pairs = [(i, j) for i in range(10) for j in range(i, 10) if (i, j) != (1, 1)]
    X = np.column_stack([X] + [X[:, i] * X[:, j] for i, j in pairs])
    X -= X.mean(axis=0)
    X /= np.sqrt((X**2).sum(axis=0))
    y -= y.mean()
    lam = ratio * np.abs(X.T @ y).max()
    ours = Lasso(lam=lam, standardize=False, fit_intercept=False, tol=1e-15).fit(X, y)
    theirs = np.zeros(X.shape[1])
    theirs[list(OF_CELER[ratio])] = list(OF_CELER[ratio].values())
    np.testing.assert_allclose(ours.coef_, theirs, atol=1e-8 * np.abs(theirs).max())
    assert ours.objective_ == pytest.approx(
        0.5 * np.sum((y - X @ theirs) ** 2) + lam * np.abs(theirs).sum(), rel=1e-12
    )


def test_em(data):
    X, y = data
    ours = Lasso(lam_ratio=0.05, tol=1e-14).fit(X, y)
    em = SparseRegressor(prior="laplace", lam=ours.lam_ / 0.49, noise=0.7, tol=1e-13).fit(X, y)
    np.testing.assert_allclose(ours.coef_, em.coef_, atol=1e-8)


# ---- forms of the data ----


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: X.astype(np.float32),
        scipy.sparse.csc_matrix,
        scipy.sparse.csr_matrix,
        lambda X: scipy.sparse.csr_matrix(X.astype(np.float32)),
    ],
    ids=["F", "float32", "csc", "csr", "csr float32"],
)
def test_forms(data, standardize, form):
    X, y = data
    X = X.astype(np.float32).astype(np.float64)
    plain = Lasso(lam_ratio=0.05, standardize=standardize, tol=1e-14).fit(X, y)
    other = Lasso(lam_ratio=0.05, standardize=standardize, tol=1e-14).fit(form(X), y)
    np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-8)
    assert other.lam_ == pytest.approx(plain.lam_, rel=1e-12)


def test_standardize_is_a_change_of_units(data):
    X, y = data
    scale = X.std(axis=0)
    inside = Lasso(lam_ratio=0.05, tol=1e-14).fit(X, y)
    outside = Lasso(lam_ratio=0.05, standardize=False, tol=1e-14).fit(X / scale, y)
    np.testing.assert_allclose(inside.coef_, outside.coef_ / scale, atol=1e-8)


# ---- relatives ----


def test_penalty_factors_are_a_change_of_units(data):
    X, y = data
    factors = np.random.default_rng(2).uniform(0.2, 3, size=X.shape[1])
    params = {"lam_ratio": 0.05, "standardize": False, "tol": 1e-14}
    ours = Lasso(penalty_factors=factors, **params).fit(X, y)
    other = Lasso(**params).fit(X / factors, y)
    np.testing.assert_allclose(ours.coef_, other.coef_ / factors, atol=1e-8)


def test_a_column_without_a_penalty_is_projected_out(data):
    X, y = data
    factors = np.ones(X.shape[1])
    factors[[0, 5]] = 0
    params = {"lam_ratio": 0.05, "standardize": False, "tol": 1e-14}
    ours = Lasso(penalty_factors=factors, **params).fit(X, y)
    free = np.column_stack([np.ones(len(y)), X[:, [0, 5]]])
    Q, _ = np.linalg.qr(free)
    kept = np.delete(np.arange(X.shape[1]), [0, 5])
    Z = X[:, kept]
    other = Lasso(fit_intercept=False, **params).fit(Z - Q @ (Q.T @ Z), y - Q @ (Q.T @ y))
    assert ours.lam_ == pytest.approx(other.lam_, rel=1e-6)
    np.testing.assert_allclose(ours.coef_[kept], other.coef_, atol=1e-6)


def test_relaxed_is_least_squares(data):
    X, y = data
    plain = Lasso(lam_ratio=0.2).fit(X, y)
    relaxed = Lasso(lam_ratio=0.2, relaxed=True).fit(X, y)
    kept = np.flatnonzero(plain.coef_)
    least_squares = linear_model.LinearRegression().fit(X[:, kept], y)
    np.testing.assert_array_equal(np.flatnonzero(relaxed.coef_), kept)
    np.testing.assert_allclose(relaxed.coef_[kept], least_squares.coef_, atol=1e-6)


def test_without_a_penalty_it_is_least_squares(sparse_data):
    X, y = sparse_data
    least_squares = linear_model.LinearRegression().fit(X, y)
    np.testing.assert_allclose(Lasso(lam=0).fit(X, y).coef_, least_squares.coef_, atol=1e-8)


def test_kernels_and_polynomials(sparse_data):
    X, y = sparse_data
    for basis in ["polynomial", "rbf", "matern32"]:
        model = Lasso(basis=basis, lam_ratio=0.01).fit(X, y)
        assert model.converged_
        assert 0 < model.n_terms_ < 120
        assert model.score(X, y) > 0.5


# ---- certificates ----


@pytest.mark.parametrize("limits", [{"tol": 1e-2}, {"tol": 1e-4}, {"max_iter": 1}, {"tol": 1e-8}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_gap_bounds_the_distance_to_the_optimum(data, limits):
    X, y = data
    null = 0.5 * np.sum((y - y.mean()) ** 2)
    for ratio in (0.5, 0.1, 0.01, 0.001):
        model = Lasso(lam_ratio=ratio, standardize=False, **limits).fit(X, y)
        best = linear_model.Lasso(alpha=model.lam_ / len(y), **TIGHT).fit(X, y)
        best.lam_ = model.lam_
        left = objective(model, X, y) - objective(best, X, y)
        assert left <= (float(model.certificate_) + 1e-12) * null
        if "max_iter" not in limits:
            assert float(model.certificate_) <= limits["tol"]


def test_attributes(sparse_data):
    X, y = sparse_data
    model = Lasso(lam_ratio=0.2).fit(X, y)
    assert model.terms_ == ["x2", "x5"]
    assert model.certificate_.kind == "duality_gap"
    assert model.certificate_.scope == "all"
    assert float(model.certificate_) <= 1e-8
    assert model.converged_
    assert model.termination_ == "converged"
    assert model.trace_[-1] == pytest.approx(model.objective_)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-12)
    assert Lasso(max_terms=1).fit(X, y).terms_ == ["x2"]


def test_a_fit_that_did_not_converge_warns():
    X = np.random.default_rng(0).normal(size=(50, 1000))
    y = X[:, :10].sum(axis=1)
    with pytest.warns(ConvergenceWarning, match="max_iter = 1 was reached"):
        model = Lasso(lam_ratio=0.02, max_iter=1).fit(X, y)
    assert model.termination_ == "iteration_limit"


def test_an_empty_model_warns(data):
    X, y = data
    with pytest.warns(EmptyModelWarning, match=r"no term is kept: .* is not below λ_max"):
        model = Lasso(lam_ratio=1).fit(X, y)
    assert model.n_terms_ == 0
    assert float(model.certificate_) <= 1e-14


# ---- settings ----


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lam": -1}, "lam = -1"),
        ({"lam": 1, "lam_ratio": 0.1}, "either lam or lam_ratio"),
        ({"lam_ratio": 0}, r"lam_ratio = 0: a number in \(0, 1\]"),
        ({"l1_ratio": -0.1}, r"l1_ratio = -0.1: a number in \[0, 1\]"),
        ({"l1_ratio": 1.5}, r"l1_ratio = 1.5: a number in \[0, 1\]"),
        ({"adaptive": 0}, "adaptive = 0: a number above 0"),
        ({"adaptive": "ridge"}, "adaptive"),
        ({"penalty_factors": [1.0, 2.0]}, "penalty_factors = 2 numbers: one for each of the 8"),
        ({"penalty_factors": [-1.0] * 8}, "penalty_factors = -1"),
        ({"positive": "yes"}, "positive"),
        ({"tol": 0}, "tol = 0: a number above 0"),
        ({"max_iter": 0}, "max_iter = 0"),
    ],
)
def test_bad_settings_are_named(sparse_data, params, message):
    X, y = sparse_data
    with pytest.raises(ValueError, match=message):
        Lasso(**params).fit(X, y)

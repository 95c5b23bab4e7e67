"""Kernels as a basis, for every estimator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)
from sklearn.model_selection import cross_val_score

import fewer
from fewer import ProbitClassifier, SparseRegressor

ESTIMATORS = [SparseRegressor, ProbitClassifier]


def distances(X, centres):
    return np.sqrt(((X[:, None] - centres) ** 2).sum(axis=-1))


def matern(nu):
    def kernel(X, centres, gamma):
        a = np.sqrt(2 * nu * 2 * gamma) * distances(X, centres)
        return (1 + a + (a**2 / 3 if nu == 2.5 else 0)) * np.exp(-a)

    return kernel


KERNELS = {
    "rbf": rbf_kernel,
    "laplacian": laplacian_kernel,
    "matern32": matern(1.5),
    "matern52": matern(2.5),
    "polynomial-kernel": lambda X, c, gamma: polynomial_kernel(X, c, 3, gamma, 0.5),
    "linear-kernel": lambda X, c, gamma: linear_kernel(X, c),
}


def data(kind, n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) * [1.0, 3.0]
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, (y > 0) if kind is ProbitClassifier else y


def output(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("name", KERNELS)
def test_the_model_is_the_documented_one(kind, name):
    X, y = data(kind)
    params = {"basis": name, "degree": 3, "coef0": 0.5, "standardize": False, "max_iter": 500}
    model = kind(gamma=0.4, **params).fit(X, y)
    assert model.gamma_ == 0.4
    assert model.n_terms_ > 0
    assert model.relevance_.dtype == np.intp
    assert model.relevance_.shape == (model.n_terms_,)
    np.testing.assert_array_equal(X[model.relevance_], model.relevance_vectors_)
    assert model.coef_.shape == ((1,) if is_classifier(model) else ()) + (model.n_terms_,)
    values = KERNELS[name](X, model.relevance_vectors_, gamma=0.4)
    expected = values @ np.ravel(model.coef_) + model.intercept_
    np.testing.assert_allclose(output(model, X), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_gamma(kind):
    X, y = data(kind)
    assert kind(basis="rbf").fit(X, y).gamma_ == pytest.approx(1 / 2)
    raw = kind(basis="rbf", standardize=False).fit(X, y)
    assert raw.gamma_ == pytest.approx(1 / (2 * X.var()))
    median = kind(basis="rbf", gamma="median", standardize=False, tol=1e-4).fit(X, y)
    pairs = distances(X, X)[np.triu_indices(len(X), 1)]
    assert median.gamma_ == pytest.approx(1 / np.median(pairs) ** 2, rel=0.01)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_candidates_and_centres(kind):
    X, y = data(kind)
    for landmarks in ("kmeans", "random"):
        params = {"basis": "rbf", "candidates": 15, "landmarks": landmarks}
        model = kind(**params, random_state=3).fit(X, y)
        assert model.model_.basis_size == 15
        np.testing.assert_array_equal(X[model.relevance_], model.relevance_vectors_)
        again = kind(**params, random_state=np.int64(3)).fit(X, y)
        np.testing.assert_array_equal(again.relevance_, model.relevance_)
        generator = np.random.RandomState(0)
        first = kind(**params, random_state=generator).fit(X, y)
        second = kind(**params, random_state=generator).fit(X, y)
        assert not np.array_equal(first.relevance_, second.relevance_)
    centres = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    model = kind(basis="rbf", centres=centres).fit(X, y)
    assert model.n_terms_ > 0
    np.testing.assert_array_equal(centres[model.relevance_], model.relevance_vectors_)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_repeated_rows_are_one_centre(kind):
    X, y = data(kind)
    model = kind(basis="rbf").fit(np.vstack([X, X]), np.hstack([y, y]))
    assert model.model_.basis_size == len(X)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_precomputed_kernel_is_a_kernel(kind):
    X, y = data(kind)
    direct = kind(basis="rbf", gamma=0.4, standardize=False)
    given = kind(basis="precomputed")
    K = rbf_kernel(X, gamma=0.4)
    direct.fit(X, y)
    given.fit(K, y)
    np.testing.assert_array_equal(given.relevance_, direct.relevance_)
    np.testing.assert_allclose(given.coef_, direct.coef_, rtol=1e-4)
    assert given.relevance_vectors_ is None
    assert given.gamma_ is None
    scores = cross_val_score(given, K, y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(direct, X, y, cv=3), atol=1e-3)
    with pytest.raises(ValueError, match="120 rows and 7 columns: a precomputed kernel"):
        given.fit(K[:, :7], y)


def test_a_refit_forgets_the_kernel():
    X, y = data(SparseRegressor)
    model = SparseRegressor(basis="rbf").fit(X, y)
    model.set_params(basis="linear").fit(X, y)
    assert model.relevance_ is model.relevance_vectors_ is model.gamma_ is None
    assert model.coef_.shape == (2,)


def test_a_saved_kernel(tmp_path):
    X, y = data(SparseRegressor)
    model = SparseRegressor(basis="rbf", centres=X[:30]).fit(X, y)
    model.save(tmp_path / "model.json")
    other = fewer.load(tmp_path / "model.json")
    np.testing.assert_array_equal(other.centres, model.centres)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    np.testing.assert_array_equal(other.relevance_vectors_, model.relevance_vectors_)
    other.fit(X, y)
    np.testing.assert_array_equal(other.coef_, model.coef_)


def test_a_function_of_two_arguments_is_no_basis():
    with pytest.raises(ValueError, match=r"one argument.*basis='precomputed'"):
        SparseRegressor(basis=lambda x, c: x @ c.T).fit(*data(SparseRegressor))

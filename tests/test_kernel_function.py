"""The user's own kernel, against the same kernel built in."""

from __future__ import annotations

import copy
import functools
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gaussian_process
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV

import fewer
from fewer import ProbitClassifier, SparseRegressor, _functions

GAMMA = 0.1
METHODS = [SparseRegressor, ProbitClassifier]


def gaussian(X, C):
    return np.exp(-GAMMA * ((X[:, None] - C) ** 2).sum(axis=2))


def target(method, y):
    return y if method is SparseRegressor else np.where(y > 1, "high", "low")


def outputs(model, X):
    return model.predict(X) if isinstance(model, SparseRegressor) else model.decision_function(X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("given", ["rows", "centres", "kmeans", "random"])
def test_a_kernel_equals_the_one_built_in(sparse_data, method, standardize, given):
    X, y = sparse_data
    X = 3 * X + 1
    y = target(method, y)
    settings = {
        "rows": {},
        "centres": {"centres": X[::3] + 0.5},
        "kmeans": {"candidates": 30},
        "random": {"candidates": 30, "landmarks": "random", "random_state": 4},
    }[given]
    settings |= {"standardize": standardize, "prior": "laplace"}
    gamma = GAMMA if standardize else 0.01

    def own(X, C):
        return pairwise.rbf_kernel(X, C, gamma=gamma)

    model = method(basis=own, **settings).fit(X, y)
    other = method(basis="rbf", gamma=gamma, **settings).fit(X, y)
    np.testing.assert_allclose(outputs(model, X), outputs(other, X), atol=1e-9)
    assert model.n_terms_ > 0
    assert model.gamma_ is None
    np.testing.assert_array_equal(model.relevance_, other.relevance_)
    np.testing.assert_array_equal(model.relevance_vectors_, other.relevance_vectors_)
    assert model.coef_.shape == other.coef_.shape
    assert model.terms_[0] == f"own(x, row {model.relevance_[0] + 1})"


@pytest.mark.parametrize("standardize", [True, False])
def test_rows_come_in_the_units_asked_for(sparse_data, standardize):
    X, y = sparse_data
    X = np.column_stack([5 * X + 2, np.full(len(X), 7.0)])
    seen = []

    def own(X, C):
        seen.append((X, C))
        return gaussian(X, C)

    model = SparseRegressor(basis=own, standardize=standardize).fit(X, y)
    expected = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    expected = expected if standardize else X
    for array in seen.pop():
        np.testing.assert_allclose(array, expected, atol=1e-12)
    model.predict(sparse.csr_array(X[:5]))
    rows, centres = seen.pop()
    np.testing.assert_allclose(rows, expected[:5], atol=1e-12)
    np.testing.assert_allclose(centres, expected[model.relevance_], atol=1e-12)


KERNELS = [
    functools.partial(pairwise.laplacian_kernel, gamma=0.1),
    pairwise.cosine_similarity,
    gaussian_process.RBF(2.0) + gaussian_process.DotProduct(),
    functools.partial(fewer.kernels.kernel_matrix, kernel="matern52", gamma=0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=_functions.name_of)
def test_kernels_of_others_can_be_given(sparse_data, kernel):
    X, y = sparse_data
    model = SparseRegressor(basis=kernel, standardize=False).fit(X, y)
    assert 0 < model.n_terms_ < 60
    assert model.terms_[0].startswith(f"{_functions.name_of(kernel)}(x, row ")
    assert model.score(X, y) > 0.8
    expected = model.intercept_ + kernel(X, X[model.relevance_]) @ model.coef_
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-9)


def test_parameters_of_a_kernel_can_be_searched(sparse_data):
    X, y = sparse_data
    grid = {"basis__length_scale": [0.01, 3.0]}
    regressor = SparseRegressor(basis=gaussian_process.RBF())
    search = GridSearchCV(regressor, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"basis__length_scale": 3.0}


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(sparse_data, method):
    X, y = sparse_data
    y = target(method, y)
    weights = np.arange(len(y)) % 3
    # A convex prior, whose answer is unique.
    settings = {"basis": gaussian, "prior": "gaussian"}
    model = method(**settings).fit(X, y, sample_weight=weights)
    other = method(**settings).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(outputs(model, X), outputs(other, X), atol=1e-6)


def test_more_than_two_classes(sparse_data):
    X, y = sparse_data
    y = np.digitize(y, [0, 2])
    model = ProbitClassifier(basis=gaussian, prior="laplace").fit(X, y)
    other = ProbitClassifier(basis="rbf", gamma=GAMMA, prior="laplace").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_sparse_rows_are_seen_dense(sparse_data):
    X, y = sparse_data
    model = SparseRegressor(basis=gaussian).fit(X, y)
    for form in (sparse.csc_array, sparse.csr_array):
        other = SparseRegressor(basis=gaussian).fit(form(X), y)
        np.testing.assert_allclose(other.predict(form(X)), model.predict(X), atol=1e-8)


def test_categories_are_seen_encoded(sparse_data):
    X, y = sparse_data
    frame = pd.DataFrame(X).rename(columns=str).assign(city=["Oslo", "Bergen"] * 60)
    model = SparseRegressor(basis=gaussian, prior="laplace").fit(frame, y)
    other = SparseRegressor(basis="rbf", gamma=GAMMA, prior="laplace").fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), other.predict(frame), atol=1e-6)


def test_copies_and_files(sparse_data, tmp_path):
    X, y = sparse_data
    model = SparseRegressor(basis=gaussian).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    for functions in (None, {"other": gaussian}):
        with pytest.raises(ValueError, match=r"your function 'gaussian'.*functions="):
            fewer.load(path, functions=functions)
    loaded = fewer.load(path, functions={"gaussian": gaussian})
    for other in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.basis is gaussian
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        np.testing.assert_array_equal(other.relevance_, model.relevance_)
    assert clone(model).basis is gaussian
    wrong = fewer.load(path, functions={"gaussian": lambda X: X})
    with pytest.raises(TypeError, match="positional argument"):
        wrong.predict(X)


def test_a_kernel_runs_on_the_calling_thread(sparse_data):
    X, y = sparse_data
    threads = set()

    def own(X, C):
        threads.add(threading.get_ident())
        return gaussian(X, C)

    SparseRegressor(basis=own, n_jobs=2).fit(X, y).predict(X)
    assert threads == {threading.get_ident()}


def test_what_a_kernel_raises_is_raised(sparse_data):
    X, y = sparse_data

    def fragile(X, C):
        if len(X) > 100:
            raise LookupError("no such distance")
        return gaussian(X, C)

    with pytest.raises(LookupError, match="no such distance"):
        SparseRegressor(basis=fragile).fit(X, y)
    model = SparseRegressor(basis=fragile).fit(X[:90], y[:90])
    with pytest.raises(LookupError, match="no such distance"):
        model.predict(X)
    assert np.isfinite(model.predict(X[:50])).all()


def with_nan(X, C):
    values = gaussian(X, C)
    values[3, 8] = np.nan
    return values


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda X, C: gaussian(X, C)[:-1], r"\[120, 120\] for 120 rows.*found the shape \[119, 1"),
        (lambda X, C: gaussian(X, C)[:, 0], r"found the shape \[120\]"),
        (lambda X, C: 1.0, r"found the shape \[\]"),
        (with_nan, r"'with_nan\(x, row 9\)' is NaN at row 4; a finite number is expected"),
    ],
)
def test_bad_kernels_are_refused(sparse_data, kernel, message):
    X, y = sparse_data
    with pytest.raises(ValueError, match=message):
        SparseRegressor(basis=kernel).fit(X, y)


def test_one_centre_may_give_one_column(sparse_data):
    X, y = sparse_data
    model = SparseRegressor(basis=lambda X, C: X @ C[0], centres=[[0, 2, 0, 0, -1, 0, 0, 0]])
    model.set_params(standardize=False).fit(X, y)
    assert model.terms_ == ["kernel(x, row 1)"]
    np.testing.assert_allclose(model.coef_, [1.0], atol=0.05)


def test_a_kernel_that_is_too_large_is_refused_at_once(sparse_data):
    X, y = sparse_data
    with pytest.raises(MemoryError, match=r"120×120 values of 'gaussian'.*set candidates"):
        SparseRegressor(basis=gaussian, memory_limit=1e5).fit(X, y)


class Callable:
    def __call__(self, X, C):
        return gaussian(X, C)


def needs_gamma(X, C, *, gamma):
    return gaussian(X, C)


@pytest.mark.parametrize(
    ("function", "kernel"),
    [
        (lambda X, C: X, True),
        (lambda X, C, gamma=1.0, *rest: X, True),
        (lambda X, Y=None: X, True),
        (lambda X, C=None: X, True),
        (Callable(), True),
        (functools.partial(needs_gamma, gamma=1.0), True),
        (gaussian_process.Matern(), True),
        (pairwise.chi2_kernel, True),
        (fewer.kernels.kernel_matrix, True),
        (lambda X: X, False),
        (lambda X, degree=2: X, False),
        (lambda X, y=None: X, False),
        (functools.partial(gaussian, C=np.zeros((1, 8))), False),
        (np.cbrt, False),
    ],
)
def test_kernels_are_told_by_their_arguments(function, kernel):
    assert _functions.is_kernel(function) == kernel


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda *rows: rows, "'basis': it may be called with one argument or with more; write"),
        (np.vectorize(abs), "it may be called with one argument or with more"),
        (lambda **options: 1, "it may be called with one argument or with more"),
        (lambda: 1, "it must be given 0 arguments"),
        (lambda X, C, gamma: X, "it must be given 3 arguments"),
        (needs_gamma, "it must be given gamma by name; bind them with functools.partial"),
        (dict, "'dict': which arguments it takes cannot be told; write a function"),
    ],
)
def test_unclear_functions_are_refused(sparse_data, function, message):
    with pytest.raises(ValueError, match=message):
        SparseRegressor(basis=function).fit(*sparse_data)

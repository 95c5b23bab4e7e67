"""SparseRegressor: what it returns, refuses and promises."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer import SparseRegressor

# ---- attributes ----


def test_attributes(sparse_data):
    X, y = sparse_data
    model = SparseRegressor().fit(X, y)
    assert model.terms_ == ["x2", "x5"]
    assert model.n_terms_ == 2
    assert model.coef_.shape == (8,)
    np.testing.assert_array_equal(np.flatnonzero(model.coef_), [1, 4])
    np.testing.assert_allclose(model.coef_[[1, 4]], [2, -1], atol=0.05)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-12)
    assert model.noise_std_ == pytest.approx(0.1, rel=0.2)
    assert model.converged_
    assert model.termination_ == "converged"
    assert model.certificate_.kind == "stationarity"
    assert model.certificate_.scope == "support"
    assert float(model.certificate_) == model.certificate_.value <= model.tol
    assert model.trace_.shape == (model.n_iter_,)
    assert model.trace_[-1] == pytest.approx(model.objective_)
    assert model.lam_ is None
    assert model.n_features_in_ == 8
    assert not hasattr(model, "feature_names_in_")
    assert model.score(X, y) > 0.99


def test_the_objective_is_the_documented_one(sparse_data):
    X, y = sparse_data
    model = SparseRegressor().fit(X, y)
    variance = model.noise_std_**2
    loss = len(y) / 2 * np.log(variance) + np.sum((y - model.predict(X)) ** 2) / (2 * variance)
    weights = model.coef_[model.coef_ != 0] * X[:, model.coef_ != 0].std(axis=0)
    assert model.objective_ == pytest.approx(loss + np.log(np.abs(weights)).sum(), rel=1e-9)


def test_lam_is_reported_and_used(sparse_data):
    X, y = sparse_data
    assert SparseRegressor(prior="laplace", lam=7.5).fit(X, y).lam_ == 7.5
    weak = SparseRegressor(prior="laplace", lam_ratio=0.01).fit(X, y)
    strong = SparseRegressor(prior="laplace", lam_ratio=0.5).fit(X, y)
    assert weak.lam_ * 50 == pytest.approx(strong.lam_)
    assert np.abs(weak.coef_).sum() > np.abs(strong.coef_).sum()


def test_dropped_columns_are_reported(sparse_data, recwarn):
    X, y = sparse_data
    X = np.column_stack([X, np.ones(len(X)), X[:, 1]])
    model = SparseRegressor().fit(X, y)
    assert model.dropped_columns_ == {"x9": "constant", "x10": "a copy of 'x2'"}
    assert not recwarn.list


def test_explain(sparse_data):
    X, y = sparse_data
    model = SparseRegressor().fit(X, y)
    explanation = model.explain()
    assert "2 of 8 terms kept" in repr(explanation)
    assert "<td>x2</td>" in explanation._repr_html_()
    table = explanation.to_dict()
    assert [row["term"] for row in table["terms"]] == ["x2", "x5"]
    assert table["intercept"] == model.intercept_
    json.dumps(table)


def test_standard_deviations_are_refused(sparse_data):
    X, y = sparse_data
    with pytest.raises(ValueError, match=r"no posterior.*noise_std"):
        SparseRegressor().fit(X, y).predict(X, return_std=True)


def test_max_terms(sparse_data):
    X, y = sparse_data
    assert SparseRegressor(max_terms=1).fit(X, y).terms_ == ["x2"]


def test_verbose_reports_to_stderr(sparse_data, capsys):
    X, y = sparse_data
    SparseRegressor(verbose=2).fit(np.column_stack([X, np.ones(len(X))]), y)
    out, err = capsys.readouterr()
    assert not out
    assert "iteration 1: 8 terms, objective" in err
    assert "SparseRegressor: converged after" in err
    assert "column 'x9' was left out: constant" in err
    SparseRegressor(verbose=1).fit(X, y)
    assert "iteration" not in capsys.readouterr().err.replace("iterations", "")


# ---- settings ----


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prior": "cauchy"}, 'prior = "cauchy": one of .jeffreys., .laplace., .gauss'),
        ({"basis": "cubic"}, 'basis = "cubic": one of .linear., .polynomial.'),
        ({"variant": "fast"}, 'variant = "fast": .exact. or .paper. is expected'),
        ({"basis": "rbf", "gamma": "wide"}, 'gamma = "wide": a number, "scale", "median" or'),
        ({"basis": "rbf", "gamma": 0}, "gamma = 0: a number above 0"),
        ({"landmarks": "all"}, 'landmarks = "all"'),
        ({"basis": "rbf", "candidates": 0}, "candidates = 0: a whole number of at least 1"),
        ({"random_state": -1}, "random_state = -1"),
        ({"random_state": "x"}, "cannot be used to seed"),
        ({"basis": "rbf", "centres": [1.0, 2.0]}, "Expected 2D array"),
        ({"basis": "rbf", "centres": [[1.0, 2.0]]}, "coordinates of centre 1: expected 8, found 2"),
        ({"basis": "rbf", "centres": [[float("nan")] * 8]}, "centres: finite numbers"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
        ({"fit_intercept": 3}, "fit_intercept = 3"),
        ({"max_iter": 0}, "max_iter = 0: a whole number of at least 1"),
        ({"max_iter": 2.5}, "max_iter = 2.5: a whole number"),
        ({"max_terms": -1}, "max_terms = -1: a whole number"),
        ({"tol": -1.0}, "tol = -1: a number above 0"),
        ({"tol": float("nan")}, "tol = nan: a finite number"),
        ({"tol": "small"}, 'tol = "small": a number is expected'),
        ({"tol": [1.0]}, "tol = .*a number or a word is expected"),
        ({"lam": 1.0}, "the Jeffreys prior has no λ"),
        ({"prior": "laplace", "lam": 1, "lam_ratio": 0.1}, "either lam or lam_ratio"),
        ({"prior": "laplace", "lam_ratio": 2}, r"lam_ratio = 2: a number in \(0, 1\]"),
        ({"basis": "polynomial", "degree": 0}, "degree = 0"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"noise": 0.0}, "noise = 0"),
    ],
)
def test_bad_settings_are_named(sparse_data, params, message):
    X, y = sparse_data
    with pytest.raises(ValueError, match=message):
        SparseRegressor(**params).fit(X, y)


def test_numpy_scalars_are_settings(sparse_data):
    X, y = sparse_data
    params = {"tol": np.float32(1e-6), "max_iter": np.int64(500), "standardize": np.bool_(True)}
    assert SparseRegressor(**params).fit(X, y).converged_


def test_memory_limit(sparse_data):
    X, y = sparse_data
    with pytest.raises(MemoryError, match="raise memory_limit"):
        SparseRegressor(memory_limit=100).fit(X, y)


# ---- promises ----


def test_integer_weights_are_repeated_rows(sparse_data):
    X, y = sparse_data
    weights = np.random.default_rng(3).integers(0, 4, size=len(y))
    weighted = SparseRegressor().fit(X, y, sample_weight=weights)
    repeated = SparseRegressor().fit(X.repeat(weights, axis=0), y.repeat(weights))
    dropped = SparseRegressor().fit(X[weights > 0], y[weights > 0], weights[weights > 0])
    for other in (repeated, dropped):
        np.testing.assert_allclose(other.coef_, weighted.coef_, rtol=1e-9)
        assert other.noise_std_ == pytest.approx(weighted.noise_std_, rel=1e-9)
    same = SparseRegressor().fit(X, y, sample_weight=1.0)
    np.testing.assert_allclose(same.coef_, SparseRegressor().fit(X, y).coef_, rtol=1e-12)


def test_bad_weights(sparse_data):
    X, y = sparse_data
    weights = np.ones(len(y))
    weights[2] = -1
    with pytest.raises(ValueError, match="row 3, column 'sample_weight': the weight is -1"):
        SparseRegressor().fit(X, y, weights)
    with pytest.raises(ValueError, match="expected 120 weights, found 3"):
        SparseRegressor().fit(X, y, weights[:3])


@settings(max_examples=25, deadline=None)
@given(
    scale=st.sampled_from([1e-6, 1e-3, 7.0, 1e6]),
    column=st.integers(0, 5),
    shift=st.sampled_from([0.0, -3.0, 50.0]),
    factor=st.sampled_from([1e-6, 0.3, 1e6]),
)
def test_rescaling_rescales_the_answer_and_nothing_else(scale, column, shift, factor):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6))
    y = 1 + 2 * X[:, 1] - X[:, 4] + 0.2 * rng.normal(size=60)
    plain = SparseRegressor().fit(X, y)
    Z = X.copy()
    Z[:, column] = factor * (Z[:, column] + shift)
    other = SparseRegressor().fit(Z, scale * y)
    np.testing.assert_allclose(other.predict(Z), scale * plain.predict(X), rtol=1e-6)
    expected = scale * plain.coef_
    expected[column] /= factor
    np.testing.assert_allclose(other.coef_, expected, rtol=1e-6)
    assert other.noise_std_ == pytest.approx(scale * plain.noise_std_, rel=1e-6)


# ---- the user's own functions ----


def waves(X):
    return np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 0]), X[:, 0]])


@pytest.fixture
def wave_data():
    X = np.linspace(0, 10, 5000)[:, None]
    return X, 1 + 2 * np.sin(X[:, 0])


def test_a_function_is_a_basis(wave_data):
    X, y = wave_data
    model = SparseRegressor(basis=waves).fit(X, y)
    assert model.terms_ == ["waves[0]"]
    assert model.coef_.shape == (3,)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    assert SparseRegressor(basis=lambda X: np.sin(X[:, 0])).fit(X, y).terms_ == ["basis"]


def test_a_function_may_name_its_values(wave_data):
    pandas = pytest.importorskip("pandas")
    X, y = wave_data

    def named(X):
        return pandas.DataFrame(waves(X), columns=["sin x", "cos x", "x"])

    assert SparseRegressor(basis=named).fit(X, y).formula() == "1 + 2 sin x"


def test_a_function_runs_on_the_calling_thread(wave_data):
    X, y = wave_data
    threads = set()

    def function(X):
        threads.add(threading.get_ident())
        return waves(X)

    SparseRegressor(basis=function, n_jobs=2).fit(X, y).predict(X)
    assert threads == {threading.get_ident()}


def test_what_a_function_raises_is_raised(wave_data):
    X, y = wave_data

    def late(X):
        if len(X) > 100:
            raise LookupError("no such wave")
        return waves(X)

    with pytest.raises(LookupError, match="no such wave"):
        SparseRegressor(basis=late).fit(X, y)
    model = SparseRegressor(basis=late).fit(X[:90], y[:90])
    with pytest.raises(LookupError, match="no such wave"):
        model.predict(X)
    np.testing.assert_allclose(model.predict(X[:50]), y[:50], atol=1e-5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: waves(X)[:-1], "expected an array of 8 rows.*found the shape"),
        (lambda X: waves(X)[: max(8, len(X) - 1)], r"found the shape \[4095, 3\]"),
        (lambda X: waves(X)[:, : 2 + (len(X) == 8)], "expected 4096×3 values, found 4096×2"),
        (lambda X: np.log(X - X), "at row 1; a finite number is expected"),
        (lambda X: 3.0, "found the shape"),
        (lambda X: waves(X)[:, :0], "the basis is empty"),
    ],
)
def test_bad_functions_are_refused(wave_data, function, message):
    X, y = wave_data
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        SparseRegressor(basis=function).fit(X, y)

"""The conformance tests of scikit-learn; they run on the oldest supported version too."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewer import EmptyModelWarning, SparseRegressor

ESTIMATORS = [
    SparseRegressor(),
    SparseRegressor(prior="laplace"),
    SparseRegressor(prior="gaussian", standardize=False),
    SparseRegressor(basis="polynomial", max_terms=5),
    SparseRegressor(fit_intercept="penalised", variant="paper"),
]


# The checks fit noise, and stop after few iterations.
@pytest.mark.filterwarnings("ignore::fewer.EmptyModelWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_conformance(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    return X, 1 + 2 * X[:, 1] - X[:, 4] + 0.1 * rng.normal(size=80)


def test_copies_predict_the_same(data, tmp_path):
    X, y = data
    model = SparseRegressor(basis="polynomial").fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    others = [
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
    ]
    for other in others:
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.get_params() == model.get_params()
        assert other.formula() == model.formula()


def test_a_clone_is_not_fitted(data):
    X, y = data
    with pytest.raises(NotFittedError):
        clone(SparseRegressor(max_terms=3).fit(X, y)).predict(X)


def test_pipelines_and_searches(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), SparseRegressor())
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.9
    grid = {"prior": ["jeffreys", "laplace"], "basis": ["linear", "polynomial"]}
    search = GridSearchCV(SparseRegressor(n_jobs=1), grid, cv=3, n_jobs=2).fit(X, y)
    assert search.best_estimator_.n_terms_ >= 2


def test_parameters_are_keywords_only():
    with pytest.raises(TypeError):
        SparseRegressor("laplace")


def test_a_fit_that_did_not_converge_warns(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="max_iter = 2 was reached.*raise max_iter"):
        model = SparseRegressor(max_iter=2).fit(X, y)
    assert not model.converged_
    assert model.termination_ == "iteration_limit"
    assert model.n_iter_ == 2


def test_an_empty_model_warns(data):
    X, _ = data
    with pytest.warns(EmptyModelWarning, match="no term is kept: the strongest column"):
        model = SparseRegressor().fit(X, np.random.default_rng(7).normal(size=80))
    assert model.n_terms_ == 0
    with pytest.warns(EmptyModelWarning, match="the target is constant"):
        model = SparseRegressor().fit(X, np.full(80, 3.5))
    np.testing.assert_array_equal(model.predict(X), np.full(80, 3.5))

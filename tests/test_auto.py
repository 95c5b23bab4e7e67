"""The choice among methods."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning

import fewer
from fewer import auto


@pytest.fixture(scope="module")
def linear() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    return X, 1 + 2 * X[:, 1] - X[:, 4] + 0.5 * rng.normal(size=80)


@pytest.fixture(scope="module")
def chosen(linear):
    return auto(*linear, cv_repeats=2)


def test_few_terms_where_few_suffice(chosen):
    model = chosen
    assert set(model.terms_) >= {"x2", "x5"}
    assert model.n_terms_ <= 4
    tried = model.tried_
    assert sum(entry["chosen"] for entry in tried) == 1
    assert {"sparse", "lasso", "bls", "rvm"} <= {entry["method"] for entry in tried}
    assert "chosen" in repr(tried)
    assert any("auto chose" in note for note in model.notes_)


def test_the_choice_is_the_smallest_within_one_standard_error(chosen):
    tried = chosen.tried_
    best = min(tried, key=lambda entry: entry["mean"])
    assert best["repeats"] == 2 and best["error_of_difference"] is None
    taken = next(entry for entry in tried if entry["chosen"])
    within = [best]
    for entry in tried:
        if entry is not best and entry["repeats"] == 2:
            upper = entry["mean"] - best["mean"] + entry["error_of_difference"]
            within += [entry] * (upper <= best["standard_error"])
    assert taken == min(within, key=lambda entry: (entry["terms"], entry["mean"]))
    assert all(entry["seconds"] > 0 for entry in tried)


def test_means_are_those_of_nested_cross_validation(linear, chosen):
    X, y = linear
    entry = next(entry for entry in chosen.tried_ if entry["name"] == "Jeffreys prior")
    assert entry["settings"]["random_state"] == 0
    found = fewer.cross_validate(fewer.SparseRegressor(), X, y, scoring="mse")
    # Other folds, the same quantity.
    assert entry["mean"] == pytest.approx(found.mean["mse"], rel=0.2)


def test_curves_get_kernels():
    rng = np.random.default_rng(1)
    X = rng.uniform(-10, 10, size=(80, 1))
    y = np.sinc(X[:, 0] / np.pi) + 0.05 * rng.normal(size=80)
    model = auto(X, y, cv_repeats=2)
    assert isinstance(model, fewer.RVR)
    assert model.score(X, y) > 0.9
    # Those far behind are not judged again.
    best = min(entry["mean"] for entry in model.tried_)
    left = [entry for entry in model.tried_ if entry["repeats"] == 1]
    assert {"lasso", "ridge"} <= {entry["name"] for entry in left}
    for entry in left:
        assert entry["mean"] - best > 2.5 * entry["error_of_difference"]


def test_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = auto(X, names, cv_repeats=1)
    assert model.score(X, names) > 0.93
    assert set(model.classes_) == set(names)
    assert {entry["score"] for entry in model.tried_} == {"deviance"}
    two = np.where(y[::3] > 1, 1, 0)
    quick = {"cv": 3, "cv_repeats": 1}
    by_task = auto(X[::3], two, task="classification", max_terms=2, scoring="error", **quick)
    assert by_task.n_terms_ <= 2
    # One against the rest would keep two for each class.
    for limit in (2, 4):
        limited = auto(X[::3], names[::3], max_terms=limit, **quick)
        assert 0 < limited.n_terms_ <= limit


def test_limits(linear):
    X, y = linear
    assert auto(X, y, max_terms=1, cv_repeats=1).n_terms_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        hurried = auto(X, y, max_time=1e-6)
    assert all(entry["mean"] is None for entry in hurried.tried_)
    assert any("raise max_time" in note for note in hurried.notes_)
    # The fit to all rows has a limit, too.
    assert 0 < hurried.max_time < 1e-6
    assert 0 < auto(X, y, max_time=100, cv_repeats=1).max_time < 100
    assert auto(X, y, cv_repeats=1).max_time is None


def test_what_is_predicted_is_read_off_the_target(linear):
    pandas = pytest.importorskip("pandas")
    X, y = linear[0][:60], linear[1][:60]
    quick = {"cv": 2, "cv_repeats": 1, "max_terms": 2}
    grades = np.where(y > 1, 2, 1)
    for classes in (
        pandas.Series(grades, dtype="category", name="grade"),
        pandas.Series(grades > 1),
        [bool(grade > 1) for grade in grades],
        np.array(["low", "high"], dtype=object)[grades - 1],
    ):
        assert hasattr(auto(X, classes, **quick), "classes_")
    for numbers in (
        y.astype(object),
        pandas.Series(y, name="y").astype(object),
        pandas.Series(grades, name="grade"),
        [Decimal(repr(float(value))) for value in y],
        list(y),
    ):
        assert not hasattr(auto(X, numbers, **quick), "classes_")


def test_a_model_that_was_saved_knows_what_was_tried(linear, chosen, tmp_path):
    X, model = linear[0], chosen
    model.save(tmp_path / "model.json")
    again = fewer.load(tmp_path / "model.json")
    assert list(again.tried_) == list(model.tried_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_settings_are_checked(linear):
    X, y = linear
    with pytest.raises(ValueError, match="task"):
        auto(X, y, task="clustering")
    with pytest.raises(ValueError, match="scoring"):
        auto(X, y, scoring="auc")
    with pytest.raises(ValueError, match="class_weight"):
        auto(X, y, class_weight="balanced")
    with pytest.raises(ValueError, match="cv_repeats"):
        auto(X, y, cv_repeats=0)
    with pytest.raises(ValueError, match=r"^max_time"):
        auto(X, y, max_time="soon")
    with pytest.raises(ValueError, match=r"^max_time = inf: a finite number"):
        auto(X, y, max_time=float("inf"))
    rows = np.arange(len(y))
    with pytest.raises(ValueError, match=r"^cv: auto makes its own folds"):
        auto(X, y, cv=[(rows[:20], rows[20:]), (rows[20:], rows[:20])])


def test_it_is_not_worse_than_the_best_by_more_than_one_standard_error():
    """In folds that have no part in the choice."""
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order][:150], y[order][:150]
    folds = [(np.delete(np.arange(150), t), t) for t in np.array_split(np.arange(150), 3)]
    errors = [
        np.mean((auto(X[train], y[train], cv_repeats=2).predict(X[test]) - y[test]) ** 2)
        for train, test in folds
    ]
    singles = [fewer.LassoCV(), fewer.SparseRegressor(), fewer.BLS()]
    found = [fewer.cross_validate(single, X, y, cv=folds, scoring="mse") for single in singles]
    best = min(found, key=lambda f: f.mean["mse"])
    assert np.mean(errors) <= best.mean["mse"] + best.standard_error["mse"]

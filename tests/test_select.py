"""Choosing λ and γ, and judging methods on data they have not seen."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, metrics, model_selection
from sklearn.base import clone, is_classifier
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    check_cv,
)

import fewer
from fewer import BLS, RVR, Lasso, LassoCV, ProbitClassifier, SparseRegressor, cross_validate

LAPLACE = SparseRegressor(prior="laplace", lam="cv", lams=6)
PROBIT = ProbitClassifier(prior="laplace", lam="cv", lams=4, tol=1e-5)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    return X, 1 + 2 * X[:, 1] - X[:, 4] + 0.5 * rng.normal(size=60)


def scores(estimator):
    return estimator.selection_.values("scores")


def target_for(estimator, y):
    return np.digitize(y, [0, 2]) if is_classifier(estimator) else y


@pytest.mark.parametrize("estimator", [LAPLACE, PROBIT, Lasso(lam="cv", lams=6)])
def test_folds_of_a_number_are_scikit_learns(data, estimator):
    X, y = data
    y = target_for(estimator, y)
    for k in (3, 7):
        ours = clone(estimator).set_params(cv=k).fit(X, y)
        splitter = check_cv(k, y, classifier=is_classifier(estimator))
        assert isinstance(splitter, StratifiedKFold if is_classifier(estimator) else KFold)
        theirs = clone(estimator).set_params(cv=splitter).fit(X, y)
        np.testing.assert_array_equal(scores(ours), scores(theirs))
        pairs = clone(estimator).set_params(cv=list(splitter.split(X, y))).fit(X, y)
        np.testing.assert_array_equal(scores(ours), scores(pairs))
        assert ours.lam_ == pairs.lam_ == pairs.selection_.points[pairs.selection_.chosen]["lam"]


def test_splitters(data):
    X, y = data
    lasso = Lasso(lam="cv", lams=5)
    loo = clone(lasso).set_params(cv="loo").fit(X, y)
    assert scores(loo).shape == (5, 60)
    other = clone(lasso).set_params(cv=LeaveOneOut()).fit(X, y)
    np.testing.assert_array_equal(scores(loo), scores(other))
    for splitter, folds in [(TimeSeriesSplit(4), 4), (ShuffleSplit(3, random_state=0), 3)]:
        assert clone(lasso).set_params(cv=splitter).fit(X, y).selection_.folds == folds
    masks = [(np.arange(60) >= 20, np.arange(60) < 20), (np.arange(60) < 40, np.arange(60) >= 40)]
    pairs = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in masks]
    np.testing.assert_allclose(
        scores(clone(lasso).set_params(cv=masks).fit(X, y)),
        scores(clone(lasso).set_params(cv=pairs).fit(pd.DataFrame(X), y)),
    )


def test_groups_stay_together(data):
    X, y = data
    groups = np.arange(60) // 2
    lasso = Lasso(lam="cv", lams=5, cv=GroupKFold(3)).fit(X, y, groups=groups)
    pairs = list(GroupKFold(3).split(X, y, groups))
    np.testing.assert_array_equal(
        scores(lasso), scores(clone(lasso).set_params(cv=pairs).fit(X, y))
    )
    with pytest.raises(ValueError, match="groups"):
        clone(lasso).fit(X, y)
    with pytest.raises(ValueError, match="groups are of use to a splitter only"):
        Lasso(lam="cv").fit(X, y, groups=groups)


@pytest.mark.parametrize("estimator", [LAPLACE, PROBIT])
@pytest.mark.parametrize("word", ["bic", "ebic", "aic"])
def test_criteria(data, estimator, word):
    X, y = data
    model = clone(estimator).set_params(lam=word).fit(X, target_for(estimator, y))
    selection = model.selection_
    assert (selection.score, selection.folds, selection.settings) == (word, 0, ["lam"])
    assert selection.best == selection.values("mean").argmin()
    assert np.isnan(selection.values("standard_error")).all()
    assert {"x2", "x5"} <= set(model.terms_)


def test_gamma(data):
    X, y = data
    y = np.sin(2 * X[:, 0]) + 0.1 * y
    # Kernels of one variable are nearly dependent: no time is spent on the last digits.
    grid = {"lams": 4, "gammas": [0.1, 1.0, 3.0]}
    model = Lasso(basis="rbf", gamma="cv", lam="cv", **grid, cv=3, tol=1e-2)
    model.fit(X[:, :1], y)
    selection = model.selection_
    assert sorted(selection.settings) == ["gamma", "lam"]
    assert len(selection.points) == 12
    assert model.gamma_ == selection.points[selection.chosen]["gamma"] in (0.1, 1.0, 3.0)
    alone = SparseRegressor(basis="rbf", gamma="cv", gammas=3, cv=3).fit(X[:, :1], y)
    assert alone.selection_.settings == ["gamma"]
    assert len(alone.selection_.points) == 3 + 6
    assert alone.gamma_ == alone.selection_.points[alone.selection_.chosen]["gamma"]


def test_a_selection_is_plain_data(data, tmp_path):
    X, y = data
    model = clone(LAPLACE).set_params(rule="one_se", scoring="r2").fit(X, y)
    selection = model.selection_
    frame = pd.DataFrame(selection.points)
    assert list(frame) == ["lam", "mean", "standard_error", "terms", "scores"]
    assert selection.larger_is_better
    assert json.loads(json.dumps(selection.to_dict())) == selection.to_dict()
    assert repr(selection).startswith("lam chosen among 6 by r2 in 5 folds (one_se)\n")
    assert pickle.loads(pickle.dumps(model)).selection_ == selection
    model.save(tmp_path / "model.json")
    loaded = fewer.load(tmp_path / "model.json")
    assert loaded.selection_ == selection
    assert loaded.get_params() == model.get_params()
    assert SparseRegressor().fit(X, y).selection_ is None


def test_the_same_choice_for_any_number_of_threads(data):
    X, y = data
    fits = [clone(LAPLACE).set_params(n_jobs=k).fit(X, y) for k in (1, 2, None)]
    for fit in fits[1:]:
        np.testing.assert_array_equal(scores(fit), scores(fits[0]))
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)


def test_own_functions_and_tables(data):
    X, y = data
    lasso = Lasso(lam="cv", lams=5, basis=lambda X: np.hstack([X, X**2]), cv=3).fit(X, y)
    assert {"basis[1]", "basis[4]"} <= set(lasso.terms_)
    frame = pd.DataFrame(X).add_prefix("c").assign(city=np.where(y > 1, "Oslo", "Bergen"))
    assert "c1" in Lasso(lam="cv", lams=5).fit(frame, y).terms_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lam": "best"}, '"cv", "bic"'),
        ({"lam": "bic", "rule": "one_se"}, "bic needs none"),
        ({"lam": "bic", "gamma": "cv", "basis": "rbf"}, "use the same word"),
        ({"gamma": "cv"}, "the basis has no gamma"),
        ({"lam": "cv", "cv": 1}, "at least 2 folds"),
        ({"lam": "cv", "cv": 61}, "at most 60"),
        ({"lam": "cv", "cv": "shuffled"}, '"loo", is expected'),
        ({"lam": "cv", "cv": 2.5}, "a splitter of scikit-learn or a list"),
        ({"lam": "cv", "cv": [([0, 1, 2], [3.5])]}, "whole numbers"),
        ({"lam": "cv", "cv": [([0, 1, 2], [-1])]}, "counted from 0"),
        ({"lam": "cv", "cv": [([0, 1, 2], [99])]}, "test rows of fold 1.*below 60"),
        ({"lam": "cv", "cv": [([0, 1, 2], [])]}, "the test part of fold 1"),
        ({"lam": "cv", "cv": []}, "list of folds"),
        ({"lam": "cv", "cv": [(1, 2, 3)]}, "pairs of rows is expected"),
        ({"lam": "cv", "scoring": "neg_mean_squared_error"}, "one of rmse, mse"),
        ({"lam": "cv", "scoring": "auc"}, "the target holds numbers"),
        ({"lam": "cv", "rule": "simple"}, '"best" or "one_se"'),
        ({"lam": "cv", "lams": [1.0, np.nan]}, "lams: a list of finite numbers"),
        ({"lam": "cv", "lams": [[1.0]]}, "lams: a list of finite numbers"),
        ({"lam": "cv", "lams": [-1.0]}, "at least 0"),
        ({"lam": "cv", "lams": 0}, "how many to try"),
        ({"lam": "cv", "lams": "many"}, "lams: a list of finite numbers"),
        ({"lam": "cv", "lam_ratio": 0.1}, "lam is searched: leave it out"),
        ({"lam": "cv", "gammas": [1.0]}, "set gamma to"),
    ],
)
def test_what_makes_no_sense_is_said(data, params, message):
    with pytest.raises(ValueError, match=message):
        Lasso(**params).fit(*data)


def test_parameters_of_a_search_that_is_not_made_do_nothing(data):
    X, y = data
    idle = {"cv": KFold(3), "lams": [1.0], "gammas": [1.0], "rule": "one_se", "scoring": "r2"}
    np.testing.assert_array_equal(Lasso(**idle).fit(X, y).coef_, Lasso().fit(X, y).coef_)
    by_bic = Lasso(lam="bic", cv=KFold(3)).fit(X, y)
    np.testing.assert_array_equal(by_bic.coef_, Lasso(lam="bic").fit(X, y).coef_)
    with pytest.raises(ValueError, match="groups are given, but there is nothing to choose"):
        Lasso().fit(X, y, groups=np.arange(60))


def test_jeffreys_has_no_lam(data):
    with pytest.raises(ValueError, match=r"lam.*cv.*[Jj]effreys"):
        SparseRegressor(lam="cv").fit(*data)


def test_progress(data, capsys):
    Lasso(lam="cv", lams=5, cv=3, verbose=2).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("fit 1 of 15")
    assert "s left" in lines[0]
    assert any(line.startswith("fit 15 of 15, best 0.") for line in lines)
    assert "Lasso: lam chosen among 5 by mse in 3 folds (best)" in lines
    Lasso(lam="cv", lams=5, cv=3, verbose=1).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("fit 15 of 15")


def test_an_evaluation_is_scikit_learns(data):
    X, y = data
    model = SparseRegressor()
    found = cross_validate(model, X, y, cv=4)
    names = {"r2": "r2", "mse": "neg_mean_squared_error", "mae": "neg_mean_absolute_error"}
    theirs = model_selection.cross_validate(model, X, y, cv=4, scoring=names)
    np.testing.assert_allclose(found.scores["r2"], theirs["test_r2"])
    np.testing.assert_allclose(found.scores["mse"], -theirs["test_mse"])
    np.testing.assert_allclose(found.scores["mae"], -theirs["test_mae"])
    assert found.mean["mse"] == pytest.approx(found.scores["mse"].mean())
    predictions = model_selection.cross_val_predict(model, X, y, cv=4)
    np.testing.assert_allclose(found.predictions, predictions)
    between_folds = found.scores["mse"].std(ddof=1) / 2
    between_rows = ((y - predictions) ** 2).std(ddof=1) / 60**0.5
    assert found.standard_error["mse"] == pytest.approx(max(between_folds, between_rows))
    np.testing.assert_array_equal(found.rows, np.arange(60))
    assert found.pooled["r2"] == pytest.approx(metrics.r2_score(y, predictions))
    assert found.chosen == []
    assert found.n_terms.shape == (4,)
    assert not hasattr(model, "coef_")


def test_an_evaluation_of_classes_is_scikit_learns(data):
    X, y = data
    y = np.array(["a", "b", "c"])[np.digitize(y, [0, 2])]
    model = ProbitClassifier(prior="gaussian", class_weight="balanced")
    found = cross_validate(model, X, y, scoring=["error", "balanced_error", "nlpd"])
    names = {"accuracy": "accuracy", "balanced": "balanced_accuracy", "nlpd": "neg_log_loss"}
    theirs = model_selection.cross_validate(model, X, y, scoring=names)
    np.testing.assert_allclose(found.scores["error"], 1 - theirs["test_accuracy"])
    np.testing.assert_allclose(found.scores["balanced_error"], 1 - theirs["test_balanced"])
    np.testing.assert_allclose(found.scores["nlpd"], -theirs["test_nlpd"], rtol=1e-6)
    assert list(found.mean) == ["error", "balanced_error", "nlpd"]
    predictions = model_selection.cross_val_predict(model, X, y)
    np.testing.assert_array_equal(found.predictions, predictions)
    assert found.probabilities.shape == (60, 3)


@pytest.mark.parametrize("estimator", [LassoCV(lams=8, cv=3), LAPLACE])
def test_nested_cross_validation_is_scikit_learns(data, estimator):
    X, y = data
    outer = KFold(4, shuffle=True, random_state=0)
    found = cross_validate(estimator, X, y, cv=outer, scoring="mse")
    theirs = model_selection.cross_validate(
        estimator, X, y, cv=outer, scoring="neg_mean_squared_error", return_estimator=True
    )
    np.testing.assert_allclose(found.scores["mse"], -theirs["test_score"], rtol=1e-5)
    chosen = [fit.lam_ for fit in theirs["estimator"]]
    np.testing.assert_allclose([c["lam"] for c in found.chosen], chosen)


def test_an_evaluation_is_a_table_and_plain_data(data, capsys):
    X, y = data
    found = cross_validate(LassoCV(lams=5, verbose=1), X, y, cv="loo", scoring=["mse", "r2"])
    lines = repr(found).splitlines()
    assert lines[0].startswith("60 folds, ")
    assert ", lam " in lines[0]
    assert [line.split()[0] for line in lines[1:]] == ["score", "mse", "r2"]
    assert found.mean["r2"] == found.pooled["r2"]  # one row has no R²
    assert 0 < found.standard_error["r2"] < 1
    assert json.loads(json.dumps(found.to_dict()))["mean"] == found.mean
    assert capsys.readouterr().err.splitlines()[-1] == "fit 60 of 60"


def test_groups_and_weights_of_an_evaluation(data):
    X, y = data
    groups = np.arange(60) // 5
    weights = np.linspace(0.5, 2, 60)
    model = SparseRegressor()
    splitter = GroupKFold(3)
    found = cross_validate(
        model, X, y, cv=splitter, groups=groups, sample_weight=weights, scoring="mse"
    )
    for k, (train, test) in enumerate(splitter.split(X, y, groups)):
        fit = clone(model).fit(X[train], y[train], sample_weight=weights[train])
        square = (y[test] - fit.predict(X[test])) ** 2
        assert found.scores["mse"][k] == pytest.approx(np.average(square, weights=weights[test]))
    part = cross_validate(model, X, y, cv=[(np.arange(40), np.arange(40, 60))])
    np.testing.assert_array_equal(part.rows, np.arange(40, 60))
    square = (y[40:] - part.predictions) ** 2
    assert part.standard_error["mse"] == pytest.approx(square.std(ddof=1) / 20**0.5)


def test_the_price_of_a_parameter_is_chosen(data):
    model = RVR(basis="linear", sparsity="cv", cv=3).fit(*data)
    assert list(model.selection_.values("sparsity")) == ["none", "aic", "bic", "ric"]
    assert model.selection_.points[model.selection_.chosen]["sparsity"] in repr(model.selection_)
    with pytest.raises(ValueError, match="say which to try in lams"):
        BLS(lam="cv").fit(*data)


def test_evaluations_refuse(data):
    X, y = data
    with pytest.raises(TypeError, match=r"not Ridge; sklearn\.model_selection\.cross_validate"):
        cross_validate(linear_model.Ridge(), X, y)
    with pytest.raises(ValueError, match="give it a number of folds"):
        cross_validate(LassoCV(cv=KFold(3)), X, y)
    with pytest.raises(ValueError, match="the target holds numbers"):
        cross_validate(Lasso(), X, y, scoring="auc")
    with pytest.raises(ValueError, match="groups are of use to a splitter only"):
        cross_validate(Lasso(), X, y, groups=y)
    with pytest.raises(ValueError, match='"loo", is expected'):
        cross_validate(Lasso(), X, y, cv="all")

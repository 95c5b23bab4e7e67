"""How sure SMLR is: standard errors, moderated probabilities, bounds on its error."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier

import fewer
from fewer import SMLR, Lasso

FIXTURES = pathlib.Path(__file__).parents[1] / "crates" / "fewer" / "tests" / "fixtures"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * [1, 2, 0.5, 1, 1, 1] + [0, 3, 0, 0, 0, 0]
    eta = 1.5 * X[:, 0] - X[:, 3] + 0.5
    return X, np.where(rng.random(300) < 1 / (1 + np.exp(-eta)), "yes", "no")


def test_standard_errors_are_those_of_the_information_matrix(data):
    X, y = data
    model = SMLR(lam=2.0, uncertainty=True, tol=1e-12).fit(X, y)
    kept = np.flatnonzero(model.coef_[0])
    design = np.column_stack([np.ones(len(X)), X[:, kept]])
    p = model.predict_proba(X)[:, 1]
    expected = np.linalg.inv(design.T @ (design * (p * (1 - p))[:, None]))
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.coef_std_[0, kept], np.sqrt(np.diag(expected))[1:])
    np.testing.assert_allclose(model.intercept_std_, np.sqrt(expected[0, 0]))
    assert np.isnan(np.delete(model.coef_std_[0], kept)).all()
    interval = model.coef_interval(0.9)
    assert interval.shape == (1, 6, 2)
    reach = stats.norm.ppf(0.95) * model.coef_std_
    np.testing.assert_allclose(interval[..., 1] - model.coef_, np.where(model.coef_, reach, np.nan))
    assert "standard error" in repr(model.explain())


@pytest.mark.parametrize("classes", [2, 3])
def test_moderated_probabilities(data, classes):
    X, _ = data
    y = np.digitize(X[:, 0] + X[:, 2], [0.0] if classes == 2 else [-0.5, 0.5])
    y = np.where(np.arange(len(y)) % 9 == 0, 0, y)
    model = SMLR(lam=1.0, uncertainty=True).fit(X, y)
    plain, moderated = model.predict_proba(X), model.predict_proba(X, moderated=True)
    np.testing.assert_allclose(moderated.sum(axis=1), 1.0)
    assert 0 < np.abs(plain - moderated).max() < 0.2
    far = X * 1000
    assert model.predict_proba(far, moderated=True).max() < model.predict_proba(far).max()
    assert model.coef_std_.shape == model.coef_.shape


def test_models_without_a_posterior_say_what_to_do(data):
    X, y = data
    model = SMLR().fit(X, y)
    assert model.covariance_ is None and model.coef_std_ is None
    with pytest.raises(ValueError, match="uncertainty = true"):
        model.predict_proba(X, moderated=True)
    with pytest.raises(ValueError, match="uncertainty = true"):
        model.coef_interval()
    with pytest.raises(ValueError, match="no posterior"):
        Lasso().fit(X, X[:, 0]).predict_interval(X)
    with pytest.raises(ValueError, match="coverage"):
        SMLR(uncertainty=True).fit(X, y).coef_interval(2.0)


def test_saved_models_keep_their_posterior(data, tmp_path):
    X, y = data
    model = SMLR(lam=1.0, uncertainty=True).fit(X, y)
    model.save(tmp_path / "model.json")
    again = fewer.load(tmp_path / "model.json")
    assert again.uncertainty
    np.testing.assert_array_equal(again.covariance_, model.covariance_)
    np.testing.assert_array_equal(
        again.predict_proba(X, moderated=True), model.predict_proba(X, moderated=True)
    )


def test_chosen_models_have_a_posterior(data):
    X, y = data
    model = SMLR(lam="cv", lams=10, uncertainty=True).fit(X, y)
    assert model.covariance_ is not None


def test_bounds_agree_with_the_reference():
    case = json.loads((FIXTURES / "bounds.json").read_text())
    X = np.loadtxt(FIXTURES / case["X"], delimiter=",")
    y = np.loadtxt(FIXTURES / case["labels"], delimiter=",").astype(int)
    model = SMLR(lam=case["lam"], standardize=False, fit_intercept=False, tol=1e-13).fit(X, y)
    for gibbs in ("exact", "gaussian"):
        bound = model.risk_bound(X, y, delta=case["delta"], gibbs=gibbs, margin=case["s"])
        assert bound.kl == pytest.approx(case["kl_min"], abs=1e-6)
        assert bound.gibbs_error == pytest.approx(case[gibbs]["gibbs_empirical"], abs=1e-6)
        assert float(bound.pac_bayes_gibbs) == pytest.approx(
            case[gibbs]["pac_bayes_gibbs"], abs=1e-6
        )
        assert float(bound.rademacher_point) == pytest.approx(case[gibbs]["rademacher"], abs=1e-6)
        assert bound.pac_bayes_point.vacuous
    finer = model.risk_bound(X, y, delta=case["delta"], margin=case["s"], level=0.1, ratio=1.1)
    assert float(finer.rademacher_point) != float(bound.rademacher_point)
    with pytest.raises(ValueError, match="ratio"):
        model.risk_bound(X, y, ratio=1.0)
    for draws in (-3, 0, 2.5):
        with pytest.raises(ValueError, match=f"draws = {draws}: a whole number of at least 1"):
            model.risk_bound(X, y, draws=draws)
    with pytest.raises(ValueError, match="random_state = -1"):
        model.risk_bound(X, y, random_state=-1)
    drawn = model.risk_bound(X, y, gibbs="monte-carlo", draws=20000, random_state=1)
    assert drawn.gibbs_error == pytest.approx(case["exact"]["gibbs_empirical"], abs=0.01)
    assert "PAC-Bayes" in repr(drawn) and "vacuous" in repr(drawn)
    json.dumps(drawn.to_dict())


def test_bounds_that_do_not_hold_are_refused(data):
    X, y = data
    fixed = {"lam": 1.0, "standardize": False, "fit_intercept": False}
    for changed, reason in [
        ({"fit_intercept": True}, "free intercept"),
        ({"standardize": True}, "standardize = false"),
        ({"lam": None}, "chosen on the data"),
        ({"lam": "cv", "lams": 5}, "chosen on the data"),
        ({"l1_ratio": 0.0}, "l1_ratio = 1"),
        ({"basis": "rbf", "gamma": 1.0}, "centred on training rows"),
    ]:
        with pytest.raises(ValueError, match=reason):
            SMLR(**(fixed | changed)).fit(X, y).risk_bound(X, y)
    with pytest.raises(ValueError, match="two classes"):
        SMLR(**fixed).fit(X, np.arange(300) % 3).risk_bound(X, y)
    model = SMLR(**fixed).fit(X, y)
    with pytest.raises(ValueError, match="gibbs"):
        model.risk_bound(X, y, gibbs="guess")
    with pytest.raises(ValueError, match="delta"):
        model.risk_bound(X, y, delta=0)
    with pytest.raises(ValueError, match="maybe"):
        model.risk_bound(X, np.where(y == "no", "maybe", y))
    with pytest.raises(ValueError, match="inconsistent"):
        model.risk_bound(X, y[:-1])
    chosen = SMLR(**(fixed | {"lam": "cv", "lams": 5})).fit(X, y)
    assert chosen.risk_bound(X, y, lam=1.0).lam == 1.0


def test_bounds_are_for_the_rows_of_the_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X[:, 0] > 0
    plain = SMLR(lam=1.0, standardize=False, fit_intercept=False)
    with pytest.raises(ValueError, match="100 rows that the model was fitted on"):
        plain.fit(X, y).risk_bound(np.r_[X, X], np.r_[y, y])
    with pytest.raises(ValueError, match="offset"):
        plain.fit(X, y, offset=X[:, 1]).risk_bound(X, y)


def test_more_classes_are_bounded_by_each_against_the_rest():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 900)]
    X = np.where(y[:, None] == ["a", "b", "c"], 1.0, -1.0) + 0.3 * rng.normal(size=(900, 3))
    classifier = SMLR(lam=1.0, standardize=False, fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="multiclass"):
        classifier.risk_bound(X, y)
    found = classifier.risk_bound(X, y, 0.06, multiclass="ovr")
    ensemble = OneVsRestClassifier(clone(classifier)).fit(X, y)
    assert found.point_error == np.mean(ensemble.predict(X) != y)
    members = [
        member.risk_bound(X, (y == label).astype(int), 0.02)
        for member, label in zip(ensemble.estimators_, ensemble.classes_, strict=True)
    ]
    assert list(found.each) == ["a", "b", "c"]
    for name in ("pac_bayes_point", "rademacher_point"):
        total = sum(float(getattr(member, name)) for member in members)
        assert float(getattr(found, name)) == pytest.approx(total, rel=1e-9)
        assert getattr(found, name).vacuous == (total >= 1)
    assert "against the rest" in repr(found)
    assert found.to_dict()["each"]["b"]["delta"] == pytest.approx(0.02)
    few = classifier.fit(X[:30], y[:30]).risk_bound(X[:30], y[:30], multiclass="ovr")
    assert few.pac_bayes_point.vacuous
    assert "vacuous" in repr(few)


def test_what_is_no_number_is_named():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = SMLR(lam=1.0, standardize=False, fit_intercept=False).fit(X, X[:, 0] > 0)
    for name in ("lam", "margin", "level", "ratio", "delta"):
        with pytest.raises(ValueError, match=f"{name} = '2': a number is expected"):
            model.risk_bound(X, X[:, 0] > 0, **{name: "2"})
    with pytest.raises(ValueError, match="multiclass = 'ovo'"):
        model.risk_bound(X, X[:, 0] > 0, multiclass="ovo")
    assert "1 - 1e-300 confidence" in repr(model.risk_bound(X, X[:, 0] > 0, 1e-300))

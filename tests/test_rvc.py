"""RVC."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import fewer
from fewer import RVC

DATA = Path(os.environ.get("FEWER_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


@pytest.fixture
def moons() -> tuple[np.ndarray, np.ndarray]:
    return make_moons(300, noise=0.25, random_state=0)


def test_the_mode_and_the_evidence_are_those_of_the_precisions(moons):
    X, y = moons
    model = RVC(gamma=1.0, standardize=False, fit_intercept=False).fit(X, y)
    assert model.converged_
    assert 2 < model.n_terms_ < 15
    squares = ((X[:, None] - model.relevance_vectors_) ** 2).sum(-1)
    F = np.exp(-squares)
    w = model.coef_[0]
    p = 1 / (1 + np.exp(-F @ w))
    # At the mode Fᵀ(t − y) = αw, and the inverse of the covariance is FᵀBF + A.
    alpha = F.T @ (y - p) / w
    hessian = (F.T * (p * (1 - p))) @ F + np.diag(alpha)
    np.testing.assert_allclose(np.linalg.inv(hessian), model.covariance_, rtol=1e-5, atol=1e-9)
    # Tipping's fixed point.
    gamma = 1 - alpha * np.diag(model.covariance_)
    np.testing.assert_allclose(alpha * w**2, gamma, rtol=1e-5)

    def joint(w: np.ndarray) -> float:
        eta = F @ w
        return float(np.logaddexp(0, eta).sum() - y @ eta + 0.5 * alpha @ w**2)

    best = minimize(joint, np.zeros_like(w), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(best.x, w, rtol=1e-3)
    evidence = -joint(w) + 0.5 * (np.log(alpha).sum() - np.linalg.slogdet(hessian)[1])
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)
    assert model.objective_ == pytest.approx(-evidence, abs=1e-6)


def test_the_trace_falls(moons):
    X, y = moons
    for sparsity in ("none", "bic"):
        trace = RVC(sparsity=sparsity).fit(X, y).trace_
        assert len(trace) > 1
        assert np.all(np.diff(trace) < 0)


def test_probabilities_are_averaged_unless_asked_otherwise(moons, tmp_path):
    X, y = moons
    model = RVC(basis="linear").fit(X, y)
    eta = model.coef_[0] @ X.T + model.intercept_[0]
    plain = model.predict_proba(X, moderated=False)
    np.testing.assert_allclose(plain[:, 1], 1 / (1 + np.exp(-eta)))
    ones = np.hstack([np.ones((len(X), 1)), X])
    variance = np.einsum("ij,jk,ik->i", ones, model.covariance_, ones)
    odds = eta / np.sqrt(1 + np.pi * variance / 8)
    np.testing.assert_allclose(model.decision_function(X), odds, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)))
    np.testing.assert_array_equal(model.predict(X), odds > 0)
    model.save(tmp_path / "model.json")
    again = fewer.load(tmp_path / "model.json")
    assert isinstance(again, RVC)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("multiclass", ["ovr", "multinomial"])
@pytest.mark.parametrize("basis", ["rbf", "linear"])
def test_several_classes(multiclass, basis):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = RVC(multiclass=multiclass, basis=basis).fit(X, names)
    assert model.score(X, names) > 0.94
    assert model.coef_.shape[0] == 3
    for moderated in (False, True):
        p = model.predict_proba(X, moderated)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_allclose(model.predict_log_proba(X, moderated), np.log(p))
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])


def test_weights_are_repetitions(moons):
    X, y = moons
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = RVC().fit(X, y, sample_weight=counts)
    repeated = RVC().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-4
    )
    heavy = RVC(class_weight={1: 5}).fit(X, y)
    assert heavy.predict(X).mean() > RVC().fit(X, y).predict(X).mean()


@pytest.mark.parametrize("name", ["pima768", "ida_banana", "ida_breast_cancer", "wdbc"])
def test_averaged_probabilities_are_better_calibrated(name):
    path = DATA / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there (FEWER_DATA says where data sets are)")
    with path.open() as lines:
        rows = list(csv.reader(lines))[1:]
    X, y = np.array([row[:-1] for row in rows], float), np.array([row[-1] for row in rows])
    if len(X) > 1000:
        X, y = X[:600], y[:600]
    losses = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = RVC().fit(X[train], y[train])
        losses.append(
            [log_loss(y[test], model.predict_proba(X[test], moderated)) for moderated in (1, 0)]
        )
    moderated, plain = np.mean(losses, axis=0)
    assert moderated <= plain


def test_settings_are_checked(moons):
    X, y = moons
    with pytest.raises(ValueError, match="multiclass"):
        RVC(multiclass="all").fit(X, y)
    with pytest.raises(ValueError, match="sparsity"):
        RVC(sparsity=-1.0).fit(X, y)


def test_a_limit_of_terms_that_suffices_costs_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X[:, 0] * X[:, 1] > 0
    free = fewer.RVC(gamma=0.02).fit(X, y)
    assert free.score(X, y) == 1.0
    held = fewer.RVC(gamma=0.02, max_terms=10).fit(X, y)
    assert held.log_evidence_ == pytest.approx(free.log_evidence_, abs=1e-6)
    few = fewer.RVC(gamma=0.02, max_terms=4).fit(X, y)
    assert few.n_terms_ <= 4
    assert few.log_evidence_ > free.log_evidence_ - 5


def test_few_wide_kernels_that_tell_labels_apart_together_are_found():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(100, 1))
    y = np.sin(4 * x[:, 0]) + 0.2 * rng.normal(size=100) > 0
    model = fewer.RVC(gamma=0.3).fit(x, y)
    assert model.log_evidence_ > -45
    assert model.score(x, y) > 0.9

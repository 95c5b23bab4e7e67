"""RVR, BLS and FastLaplace."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import ARDRegression

import fewer
from fewer import BLS, RVR, FastLaplace


@pytest.fixture
def sinc() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, size=(200, 1))
    return X, np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=200)


def evidence(model: RVR, X: np.ndarray, y: np.ndarray) -> float:
    """log N(y | 0, C) of a model without an intercept, from its posterior.

    Σ⁻¹ = FᵀF/σ² + A gives the precisions A.
    """
    F = np.exp(-model.gamma_ * (X - model.relevance_vectors_.T) ** 2)
    A = np.diag(np.linalg.inv(model.covariance_) - F.T @ F / model.noise_std_**2)
    C = model.noise_std_**2 * np.eye(len(y)) + (F / A) @ F.T
    return -0.5 * (len(y) * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + y @ np.linalg.solve(C, y))


def test_log_evidence_is_that_of_the_posterior(sinc):
    X, y = sinc
    model = RVR(gamma=0.3, standardize=False, fit_intercept=False).fit(X, y)
    assert model.n_terms_ < 20
    assert model.log_evidence_ == pytest.approx(evidence(model, X, y), abs=1e-4)
    assert model.objective_ == pytest.approx(-model.log_evidence_)
    assert model.certificate_.kind == "evidence"
    assert float(model.certificate_) <= 1e-8


def test_predictions_have_deviations(sinc, tmp_path):
    X, y = sinc
    model = RVR().fit(X, y)
    std = model.predict(X, return_std=True)[1]
    assert np.all(std > model.noise_std_)
    low, high = model.predict_interval(X, coverage=0.9).T
    assert 0.8 < np.mean((low < y) & (y < high)) < 0.97
    model.save(tmp_path / "model.json")
    again = fewer.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X, return_std=True)[1], std)


@pytest.mark.parametrize("estimator", [RVR(basis="linear"), BLS(), FastLaplace()])
def test_linear_terms_are_found_in_any_units(estimator):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 12))
    y = 1 + 3 * X[:, 0] - 2 * X[:, 7] + 0.5 * rng.normal(size=150)
    reference = estimator.fit(X, y)
    expected = reference.coef_.copy()
    assert abs(expected[0] - 3) < 0.2
    assert abs(expected[7] + 2) < 0.2
    # ARDRegression gives up on such a target (scikit-learn issue 17624).
    np.testing.assert_allclose(estimator.fit(X, 1e6 * y).coef_ / 1e6, expected, atol=1e-6)


def test_linear_evidence_is_at_least_that_of_ard():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 10))
    y = 3 * X[:, 0] - 2 * X[:, 3] + 0.5 * rng.normal(size=200)
    ours = RVR(basis="linear", standardize=False).fit(X, y)
    theirs = ARDRegression().fit(X, y)
    np.testing.assert_allclose(ours.coef_[[0, 3]], theirs.coef_[[0, 3]], atol=0.02)
    assert ours.noise_std_ == pytest.approx(theirs.alpha_**-0.5, rel=0.03)


def test_sparsity_costs_terms(sinc):
    X, y = sinc
    terms = [RVR(gamma=3.0, sparsity=c).fit(X, y).n_terms_ for c in ("none", "bic", 20.0)]
    assert terms[0] >= terms[1] >= terms[2]


def test_settings_are_checked(sinc):
    X, y = sinc
    with pytest.raises(ValueError, match="sparsity"):
        RVR(sparsity=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="lam_rule"):
        BLS(lam_rule="guess").fit(X, y)

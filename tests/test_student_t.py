"""RVR with noise of heavy tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, gammaln
from sklearn.datasets import make_friedman1

import fewer
from fewer import RVR


@pytest.fixture(scope="module")
def sine() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 6, size=(70, 1)), axis=0)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=70)
    y[[9, 33, 50]] += [4.0, -5.0, 3.0]
    return X, y


def bound(F, y, log_alpha, log_beta, log_nu, z):
    """log p(y | precisions) and what λ adds, all from its definition.

    q(λ_n) is Gamma((ν + 1)/2, (ν + z_n)/2).
    """
    nu = np.exp(log_nu)
    shape, rate = (nu + 1) / 2, (nu + z) / 2
    mean, mean_log = shape / rate, digamma(shape) - np.log(rate)
    C = np.diag(np.exp(-log_beta) / mean) + (F * np.exp(-log_alpha)) @ F.T
    evidence = stats.multivariate_normal(np.zeros(len(y)), C).logpdf(y)
    prior = nu / 2 * np.log(nu / 2) - gammaln(nu / 2) + (nu / 2 - 1) * mean_log - nu / 2 * mean
    entropy = stats.gamma(shape, scale=1 / rate).entropy()
    return evidence + np.sum(0.5 * (mean_log - np.log(mean)) + prior + entropy)


@pytest.mark.parametrize("nu", ["estimate", 2.0])
def test_bound_is_its_definition_and_at_a_maximum(sine, nu):
    X, y = sine
    settings = {"gamma": 0.5, "standardize": False, "fit_intercept": False}
    model = RVR(noise="student_t", nu=nu, **settings).fit(X, y)
    # Rows that are set aside for gross errors are known by their weight.
    aside = model.row_weights_ == 0
    assert set(np.flatnonzero(aside)) == ({9, 33, 50} if nu == "estimate" else set())
    share, width = np.mean(aside), np.ptp(y)
    apart = (
        np.sum(aside) * np.log(share / width) + np.sum(~aside) * np.log1p(-share) if share else 0
    )
    X, y, lam = X[~aside], y[~aside], model.row_weights_[~aside]
    F = np.exp(-model.gamma_ * (X - model.relevance_vectors_.T) ** 2)
    beta, nu = model.noise_std_**-2, model.nu_
    B = beta * lam
    log_alpha = np.log(np.diag(np.linalg.inv(model.covariance_) - F.T @ (B[:, None] * F)))
    at = (log_alpha, np.log(beta), np.log(nu), (nu + 1) / lam - nu)
    assert model.log_evidence_ == pytest.approx(bound(F, y, *at) + apart, abs=1e-3)
    assert model.objective_ == pytest.approx(-model.log_evidence_)

    def slope(part, place, h=1e-4):
        ends = []
        for step in (h, -h):
            moved = [np.array(v, dtype=float) for v in at]
            if place is None:
                moved[part] += step
            else:
                # z by ratios
                moved[part][place] += step * (1 if part == 0 else moved[part][place])
            ends.append(bound(F, y, *moved))
        return (ends[0] - ends[1]) / (2 * h)

    assert max(abs(slope(0, i)) for i in range(len(log_alpha))) < 1e-2
    assert abs(slope(1, None)) < 0.05
    assert max(abs(slope(3, n)) for n in (0, 9, 20, 33, len(y) - 1)) < 0.05
    if 1.01 < nu < 999 and np.any(aside):
        assert abs(slope(2, None)) < 0.05


def test_bound_never_falls(sine):
    X, y = sine
    for nu in ("estimate", 3.0):
        model = RVR(noise="student_t", nu=nu).fit(X, y)
        assert model.converged_
        assert np.all(np.diff(model.trace_) <= 1e-7)
        assert float(model.certificate_) <= 1e-8


def test_outliers_are_reported(sine):
    X, y = sine
    model = RVR(noise="student_t").fit(X, y)
    assert {9, 33, 50} <= set(model.outliers_) and len(model.outliers_) <= 6
    assert model.row_weights_.shape == (70,)
    assert max(model.row_weights_[[9, 33, 50]]) < 0.05 < np.median(model.row_weights_)
    assert "rows far off for the noise" in str(model.explain())
    assert "34" in str(model.explain()).splitlines()[-1]
    truth = np.sin(X[:, 0])
    plain = RVR().fit(X, y)
    error = np.abs(model.predict(X) - truth).max()
    assert error < 0.15 < np.abs(plain.predict(X) - truth).max()
    assert not hasattr(plain, "outliers_")


def test_gross_errors_cost_little():
    ratios = []
    for seed in range(5):
        X, truth = make_friedman1(300, n_features=10, noise=0, random_state=seed)
        rng = np.random.default_rng(seed)
        clean = truth + rng.normal(size=300)
        bad = rng.choice(300, 30, replace=False)
        y = clean.copy()
        y[bad] += rng.choice([-1, 1], 30) * rng.uniform(20, 40, 30)
        X_new, truth = make_friedman1(1000, n_features=10, noise=0, random_state=100 + seed)
        model = RVR(noise="student_t").fit(X, y)
        found = set(model.outliers_)
        assert len(found & set(bad)) >= 28 and len(found) <= 40
        errors = [m.predict(X_new) - truth for m in (model, RVR().fit(X, clean))]
        ratios.append(np.sqrt(np.mean(errors[0] ** 2) / np.mean(errors[1] ** 2)))
    assert np.mean(ratios) < 1.15, ratios


def test_no_row_is_set_aside_without_need():
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 6, size=(150, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_t(4, size=150)
    model = RVR(noise="student_t").fit(X, y)
    assert np.mean(model.row_weights_ == 0) < 0.03
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)
    assert np.all(RVR(noise="student_t").fit(X, y).row_weights_ > 0)


def test_light_tails_are_gaussian(sine):
    X, _ = sine
    y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=70)
    plain, light = RVR().fit(X, y), RVR(noise="student_t", nu=1e7).fit(X, y)
    np.testing.assert_allclose(light.predict(X), plain.predict(X), atol=1e-4)
    assert light.noise_std_ == pytest.approx(plain.noise_std_, rel=1e-3)
    assert light.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-2)
    assert len(light.outliers_) == 0


def test_intervals_are_of_students_t(sine, tmp_path):
    X, y = sine
    model = RVR(noise="student_t", nu=3.0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    scale = std / stats.t(3).ppf(stats.norm.cdf(1))
    assert np.all(scale > model.noise_std_)
    for coverage in (0.5, 0.95):
        ends = model.predict_interval(X, coverage)
        reach = stats.t(3).ppf(0.5 + coverage / 2)
        np.testing.assert_allclose(ends[:, 1] - mean, reach * scale, rtol=1e-9)
        np.testing.assert_allclose(ends[:, 0] - mean, -reach * scale, rtol=1e-9)
    inside = np.delete(np.arange(70), [9, 33, 50])
    ends = model.predict_interval(X, 0.9)
    assert np.mean((y > ends[:, 0]) & (y < ends[:, 1])) > 0.8
    drawn = model.sample_y(X[inside[:2]], 20_000, random_state=1)
    quartiles = np.quantile(drawn - mean[inside[:2], None], [0.25, 0.75], axis=1)
    np.testing.assert_allclose(quartiles[1], stats.t(3).ppf(0.75) * scale[inside[:2]], rtol=0.1)

    model.save(tmp_path / "model.json")
    again = fewer.load(tmp_path / "model.json")
    assert again.nu_ == model.nu_ == 3.0
    np.testing.assert_array_equal(again.outliers_, model.outliers_)
    np.testing.assert_array_equal(again.predict(X, return_std=True)[1], std)
    assert not hasattr(again, "row_weights_")


def test_weights_and_precisions_of_rows(sine):
    X, y = sine
    weight = np.ones(70)
    weight[5:20] = 2
    weight[40] = 0
    # Repeated rows have the same centres, but not the same inputs to standardise by.
    method = RVR(noise="student_t", gamma=0.5, standardize=False)
    weighted = method.fit(X, y, sample_weight=weight).predict(X)
    copies = np.repeat(np.arange(70), weight.astype(int))
    np.testing.assert_allclose(weighted, method.fit(X[copies], y[copies]).predict(X), atol=1e-3)
    a = method.fit(X, y, noise_precision=np.full(70, 4.0))
    np.testing.assert_allclose(a.predict(X), method.fit(X, y).predict(X), atol=1e-4)


def test_what_cannot_be_is_said(sine):
    X, y = sine
    with pytest.raises(ValueError, match=r"nu = 3.*student_t"):
        RVR(nu=3.0).fit(X, y)
    with pytest.raises(ValueError, match="nu = -1"):
        RVR(noise="student_t", nu=-1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"noise.*student_t"):
        RVR(noise="cauchy").fit(X, y)
    with pytest.raises(ValueError, match="variant"):
        RVR(noise="student_t", variant="paper").fit(X, y)

"""The Bayesian lasso."""

from __future__ import annotations

import json
import pathlib
import sys
import types

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import fewer
from fewer import BayesianLasso

FIXTURES = pathlib.Path(__file__).parent.parent / "crates" / "fewer" / "tests" / "fixtures"
NAMES = ["age", "sex", "bmi", "map", "tc", "ldl", "hdl", "tch", "ltg", "glu"]


@pytest.fixture(scope="module")
def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Columns of unit length, and the target about its mean."""
    table = np.loadtxt(FIXTURES / "diabetes_unitnorm.csv", delimiter=",", skiprows=1)
    return table[:, :10], table[:, 10]


@pytest.fixture(scope="module")
def fitted(diabetes) -> BayesianLasso:
    return BayesianLasso(standardize=False, lam_rate=1.78, draws=10000).fit(*diabetes)


def test_diabetes_is_that_of_the_reference_and_of_the_paper(fitted):
    reference = json.loads((FIXTURES / "bayesian_lasso.json").read_text())
    for k, name in enumerate(NAMES):
        found = np.array(reference["median"][name])
        # Three chains of the reference, whose spread is its own error.
        spread = max(np.ptp(found), 2.0)
        assert abs(fitted.coef_[k] - found.mean()) < 1.5 * spread, name
        low, high = fitted.coef_interval(0.9)[k]
        width = reference["q95"][name] - reference["q05"][name]
        assert abs(low - reference["q05"][name]) < 0.05 * width, name
        assert abs(high - reference["q95"][name]) < 0.05 * width, name
    lam = fitted.draws_["lam"].ravel()
    assert np.median(lam) == pytest.approx(np.mean(reference["lambda_median"]), rel=0.02)
    assert fitted.lam_ == pytest.approx(np.median(lam))
    # Park & Casella 2008, sec. 3.2: 0.279, 95 % interval (0.139, 0.486).
    np.testing.assert_allclose(
        np.quantile(lam, [0.5, 0.025, 0.975]), [0.279, 0.139, 0.486], rtol=0.03
    )
    sigma = np.median(fitted.draws_["noise_std"])
    assert sigma == pytest.approx(np.mean(reference["sigma_median"]), rel=0.005)


def test_medians_are_those_of_the_paper(diabetes):
    # Park & Casella 2008, table 1, λ = 0.237; two runs of 10 000 draws differ by so much.
    published = [-3.73, -214.55, 522.62, 307.56, -173.16, -1.50, -152.12, 90.43, 523.26, 62.47]
    model = BayesianLasso(lam=0.237, standardize=False, draws=10000).fit(*diabetes)
    assert (np.abs(model.coef_ - published) < 0.03 * model.coef_std_).all()


def test_the_default_prior_is_that_of_columns_of_unit_length(diabetes, fitted):
    X, y = diabetes
    scaled = BayesianLasso(draws=10000).fit(X * [1, 1e3, 1, 1, 1e-6, 1, 1, 1, 1, 7] + 5, y)
    factors = np.array([1, 1e3, 1, 1, 1e-6, 1, 1, 1, 1, 7])
    np.testing.assert_allclose(scaled.coef_ * factors, fitted.coef_, rtol=1e-6)
    assert scaled.lam_ == pytest.approx(fitted.lam_ * np.sqrt(len(y)))


def test_chains_are_diagnosed(fitted):
    assert fitted.converged_
    assert fitted.certificate_.kind == "sampling"
    assert 0 <= float(fitted.certificate_) < 0.01
    assert fitted.draws_["coef"].shape == (4, 10000, 10)
    assert fitted.r_hat_["coef"].max() <= 1 + float(fitted.certificate_) + 1e-12
    assert min(fitted.ess_bulk_["coef"].min(), fitted.ess_bulk_["lam"]) > 4000
    assert fitted.ess_tail_["noise_std"] > 4000


def test_diagnostics_are_those_of_arviz(fitted):
    arviz = pytest.importorskip("arviz")
    data = fitted.to_arviz()
    assert list(data.posterior["term"].values) == fitted.terms_
    np.testing.assert_allclose(arviz.rhat(data)["coef"], fitted.r_hat_["coef"], rtol=1e-6)
    ess = arviz.ess(data, method="tail")
    np.testing.assert_allclose(ess["lam"], fitted.ess_tail_["lam"], rtol=1e-4)


def test_draws_go_to_arviz(fitted, monkeypatch):
    given: dict[str, object] = {}

    def before(posterior=None, *, coords=None, dims=None):
        given.update(posterior=posterior, coords=coords, dims=dims)
        return "data"

    def since(data, *, coords=None, dims=None):
        return before(data["posterior"], coords=coords, dims=dims)

    for version, function in (("0.23.4", before), ("1.3.0", since)):
        double = types.SimpleNamespace(__version__=version, from_dict=function)
        monkeypatch.setitem(sys.modules, "arviz", double)
        given.clear()
        assert fitted.to_arviz() == "data"
        assert set(given["posterior"]) == {"coef", "intercept", "noise_std", "lam"}
        assert given["coords"] == {"term": fitted.terms_}
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match="pip install arviz"):
        fitted.to_arviz()


def test_predictions_follow_the_draws(diabetes, fitted):
    X, y = diabetes
    rows = X[:7]
    means = fitted.draws_["intercept"][..., None] + fitted.draws_["coef"] @ rows.T
    means = means.reshape(-1, 7)
    noise = fitted.draws_["noise_std"].reshape(-1, 1)
    mean, std = fitted.predict(rows, return_std=True)
    np.testing.assert_allclose(mean, np.median(means, axis=0), atol=2.0)
    expected = np.sqrt(means.var(axis=0) + (noise**2).mean())
    np.testing.assert_allclose(std, expected, rtol=2e-3)
    new = means + noise * np.random.default_rng(0).normal(size=means.shape)
    interval = fitted.predict_interval(rows, coverage=0.9)
    np.testing.assert_allclose(interval.T, np.quantile(new, [0.05, 0.95], axis=0), atol=3.0)
    inside = (fitted.predict_interval(X, 0.9).T - y)[0] < 0
    assert 0.9 < inside.mean() <= 1
    np.testing.assert_allclose(fitted.coef_std_, fitted.draws_["coef"].std(axis=(0, 1)), rtol=1e-9)


def test_samples_are_draws_with_their_own_noise(diabetes, fitted):
    X, _ = diabetes
    coef, intercept = fitted.sample_posterior(500, random_state=2)
    assert coef.shape == (500, 10) and intercept.shape == (500,)
    stored = {tuple(row) for row in fitted.draws_["coef"].reshape(-1, 10)}
    assert all(tuple(row) in stored for row in coef)
    rows = X[:5]
    functions = fitted.sample_y(rows, 500, random_state=2, noise=False)
    np.testing.assert_allclose(functions, (intercept[:, None] + coef @ rows.T).T, rtol=1e-9)
    # A few rows leave σ uncertain: new observations have heavier tails than any one σ gives.
    small = BayesianLasso(draws=5000).fit(X[:8, :1], diabetes[1][:8])
    observed = small.sample_y(np.zeros((1, 1)), 40000, random_state=1)[0]
    means = small.sample_y(np.zeros((1, 1)), 40000, random_state=1, noise=False)[0]
    noise = observed - means
    kurtosis = np.mean(noise**4) / np.mean(noise**2) ** 2
    variances = small.draws_["noise_std"].ravel() ** 2
    expected = 3 * np.mean(variances**2) / np.mean(variances) ** 2
    assert expected > 4
    assert kurtosis > 0.5 * (3 + expected)
    assert noise.std() == pytest.approx(np.sqrt(variances.mean()), rel=0.05)


def test_iterations_are_those_that_there_were(diabetes):
    X, y = diabetes
    with pytest.warns(ConvergenceWarning, match="max_time"):
        hurried = BayesianLasso(max_time=1e-9).fit(X, y)
    assert hurried.n_iter_ == hurried.draws_["lam"].shape[1] == 16
    assert BayesianLasso(draws=200, warmup=30, thin=2, tol=10).fit(X, y).n_iter_ == 430


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_seed_gives_the_same_draws(diabetes):
    X, y = diabetes
    draws = [
        BayesianLasso(draws=50, warmup=10, tol=10, random_state=s, n_jobs=n).fit(X, y).draws_
        for s, n in [(1, 1), (1, 2), (2, 2)]
    ]
    np.testing.assert_array_equal(draws[0]["coef"], draws[1]["coef"])
    assert not np.array_equal(draws[0]["coef"], draws[2]["coef"])


def test_a_model_that_was_saved_predicts_the_same(diabetes, tmp_path):
    X, y = diabetes
    model = BayesianLasso(inclusion=0.9).fit(X, y)
    assert 3 <= model.n_terms_ < 10
    low, high = model.coef_interval(0.9)[model.coef_ != 0].T
    assert np.all(low * high > 0)
    model.save(tmp_path / "model.json")
    again = fewer.load(tmp_path / "model.json")
    assert isinstance(again, BayesianLasso)
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    np.testing.assert_array_equal(again.draws_["lam"], model.draws_["lam"])
    assert again.r_hat_["lam"] == model.r_hat_["lam"]


def test_mean_and_fixed_lam(diabetes):
    X, y = diabetes
    model = BayesianLasso(lam=3.0, estimate="mean").fit(X, y)
    assert model.lam_ == 3.0
    assert "lam" not in model.draws_
    np.testing.assert_allclose(model.coef_, model.draws_["coef"].mean(axis=(0, 1)), rtol=1e-9)
    strong = BayesianLasso(lam=300.0).fit(X, y)
    assert np.abs(strong.coef_).sum() < 0.2 * np.abs(model.coef_).sum()


def test_more_columns_than_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 120))
    y = 3 * X[:, 5] - 2 * X[:, 70] + 0.3 * rng.normal(size=40)
    model = BayesianLasso().fit(X, y)
    assert set(np.argsort(-np.abs(model.coef_))[:2]) == {5, 70}
    assert model.converged_


def test_poor_chains_warn(diabetes):
    X, y = diabetes
    with pytest.warns(ConvergenceWarning, match="raise draws|raise warmup"):
        model = BayesianLasso(draws=20, warmup=0).fit(X, y)
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match="max_iter = 100 was reached"):
        BayesianLasso(max_iter=100).fit(X, y)


def test_settings_are_checked(diabetes):
    X, y = diabetes
    for name, value in [("lam", 0.0), ("chains", 0), ("inclusion", 1.0), ("lam_rate", -1.0)]:
        with pytest.raises(ValueError, match=name):
            BayesianLasso(**{name: value}).fit(X, y)
    with pytest.raises(MemoryError, match="fewer draws"):
        BayesianLasso(draws=900_000, memory_limit=1e6).fit(X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lam_needs_values_to_choose_from(diabetes):
    X, y = diabetes
    short = {"draws": 60, "warmup": 40, "chains": 2}
    with pytest.raises(ValueError, match=r"say which to try in lams"):
        BayesianLasso(lam="cv", **short).fit(X, y)
    chosen = BayesianLasso(lam="cv", lams=[0.1, 1000.0], cv=2, **short).fit(X, y)
    assert chosen.lam_ == 0.1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_constant_target_is_certain(diabetes):
    X, _ = diabetes
    mean, std = BayesianLasso().fit(X, np.full(len(X), 3.0)).predict(X[:4], return_std=True)
    np.testing.assert_array_equal(mean, 3.0)
    np.testing.assert_array_equal(std, 0.0)

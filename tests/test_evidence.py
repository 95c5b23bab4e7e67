"""RVR, BLS and FastLaplace."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ARDRegression

import fewer
from fewer import BLS, RVR, BayesianLasso, FastLaplace, Lasso, Moments, SparseRegressor


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


def test_linear_weights_and_noise_are_near_those_of_ard():
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


@pytest.mark.parametrize("estimator", [BLS, FastLaplace])
def test_circles_of_lam_and_terms_end(estimator):
    x = np.linspace(-10, 10, 100)
    circles = 0
    for seed in (30, *range(10)):
        rng = np.random.default_rng(seed)
        for noise in (0.05, 0.1, 0.3, 0.7):
            y = np.sinc(x / np.pi) + noise * rng.normal(size=100)
            model = estimator(basis="rbf", gamma=0.16, standardize=False, fit_intercept=False)
            model.fit(x[:, np.newaxis], y)
            assert model.converged_
            assert np.isfinite(model.log_evidence_)
            assert model.noise_std_ == pytest.approx(noise, rel=0.4)
            circles += any("circle" in note for note in model.notes_)
    assert circles > 0


def test_settings_are_checked(sinc):
    X, y = sinc
    with pytest.raises(ValueError, match="sparsity"):
        RVR(sparsity=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="lam_rule"):
        BLS(lam_rule="guess").fit(X, y)


def dense_evidence(model: RVR, X: np.ndarray, y: np.ndarray, r: np.ndarray, factor=1.0) -> float:
    """log N(y | 0, C) with C = diag(σ²/r) + FA⁻¹Fᵀ, σ² being `factor` times the model's."""
    F = np.exp(-model.gamma_ * (X - model.relevance_vectors_.T) ** 2)
    noise = model.noise_std_**2 / r
    A = np.diag(np.linalg.inv(model.covariance_) - (F.T / noise) @ F)
    C = np.diag(factor * noise) + (F / A) @ F.T
    return -0.5 * (len(y) * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + y @ np.linalg.solve(C, y))


def scattered(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A sinc whose rows are measured by two instruments, the second one ten times worse."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, size=(n, 1))
    noise = np.where(rng.uniform(size=n) < 0.5, 0.05, 0.5)
    return X, np.sinc(X[:, 0] / np.pi) + noise * rng.normal(size=n), noise**-2


def test_noise_precision_is_that_of_the_dense_evidence():
    X, y, r = scattered(3, 150)
    model = RVR(gamma=0.3, standardize=False, fit_intercept=False)
    model.fit(X, y, noise_precision=r)
    assert model.n_terms_ < 20
    assert model.noise_std_ == pytest.approx(1.0, rel=0.15)
    best = dense_evidence(model, X, y, r)
    assert model.log_evidence_ == pytest.approx(best, abs=1e-3)
    assert model.objective_ == pytest.approx(-best, abs=1e-3)
    # The noise is where the dense evidence is largest.
    assert max(dense_evidence(model, X, y, r, f) for f in (0.97, 1.03)) < best
    # Neither the unit of the precisions nor that of y matters to the fit.
    again = RVR(gamma=0.3, standardize=False, fit_intercept=False).fit(
        X, 1e3 * y, noise_precision=1e-4 * r
    )
    np.testing.assert_array_equal(again.relevance_, model.relevance_)
    np.testing.assert_allclose(again.coef_, 1e3 * model.coef_, rtol=1e-5)
    assert again.noise_std_ == pytest.approx(1e3 * 1e-2 * model.noise_std_, rel=1e-6)
    assert again.log_evidence_ == pytest.approx(model.log_evidence_ - 150 * np.log(1e3), rel=1e-9)


@pytest.mark.parametrize("estimator", [RVR(), BLS(basis="rbf"), FastLaplace(basis="rbf")])
def test_equal_noise_precisions_change_the_noise_only(estimator, sinc):
    X, y = sinc
    weights = np.arange(len(y)) % 3
    for sample_weight in (None, weights):
        one = estimator.fit(X, y, sample_weight=sample_weight)
        coef, noise, evidence_ = one.coef_.copy(), one.noise_std_, one.log_evidence_
        other = estimator.fit(
            X, y, sample_weight=sample_weight, noise_precision=np.full(len(y), 4.0)
        )
        np.testing.assert_array_equal(other.coef_, coef)
        assert other.noise_std_ == pytest.approx(2 * noise, rel=1e-12)
        assert other.log_evidence_ == evidence_


def test_a_row_of_weight_two_with_a_precision_is_two_rows():
    X, y, r = scattered(4, 80)
    twice = np.repeat(np.arange(80), np.where(np.arange(80) % 2, 2, 1))
    settings = {"gamma": 0.3, "standardize": False}
    one = RVR(**settings).fit(X, y, sample_weight=1.0 + np.arange(80) % 2, noise_precision=r)
    other = RVR(**settings).fit(X[twice], y[twice], noise_precision=r[twice])
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-6)


def test_noise_precision_predicts_better():
    def nlpd(model, X, y, r):
        mean, std = model.predict(X, return_std=True)
        variance = std**2 - model.noise_std_**2 + model.noise_std_**2 / r
        return np.mean(0.5 * np.log(2 * np.pi * variance) + 0.5 * (y - mean) ** 2 / variance)

    with_it, without = [], []
    for seed in range(5):
        X, y, r = scattered(seed, 100)
        X_new, y_new, r_new = scattered(100 + seed, 300)
        with_it.append(nlpd(RVR().fit(X, y, noise_precision=r), X_new, y_new, r_new))
        without.append(nlpd(RVR().fit(X, y), X_new, y_new, np.ones(300)))
    assert np.mean(with_it) < np.mean(without) - 0.3


@pytest.mark.parametrize("estimator", [RVR(), BLS(basis="rbf"), FastLaplace(basis="rbf")])
def test_predictions_take_noise_precisions(estimator):
    X, y, r = scattered(5, 200)
    model = estimator.fit(X, y, noise_precision=r)
    X_new, y_new, r_new = scattered(105, 500)
    mean, plain = model.predict(X_new, return_std=True)
    again, std = model.predict(X_new, return_std=True, noise_precision=r_new)
    np.testing.assert_array_equal(again, mean)
    noise = model.noise_std_**2
    np.testing.assert_allclose(std**2, plain**2 - noise + noise / r_new, rtol=1e-9)
    low, high = model.predict_interval(X_new, 0.9, noise_precision=r_new).T
    np.testing.assert_allclose(high - low, 2 * 1.6448536 * std, rtol=1e-6)
    # Deviations of one noise for all would hold far too many of the better rows.
    assert 0.8 < np.mean((low < y_new) & (y_new < high), where=r_new > 100) < 0.985
    bad = r_new.copy()
    bad[3] = 0
    with pytest.raises(ValueError, match="row 4, column 'noise_precision'"):
        model.predict(X_new, return_std=True, noise_precision=bad)
    with pytest.raises(ValueError, match="noise precisions"):
        model.predict_interval(X_new, noise_precision=r_new[:7])


@pytest.mark.parametrize(
    "estimator",
    [
        RVR(basis="linear"),
        RVR(basis="linear", sparsity="bic", fit_intercept=False),
        BLS(),
        BLS(lam=0.3),
        FastLaplace(),
        Lasso(lam=20.0),
        SparseRegressor(prior="laplace"),
        BayesianLasso(),
    ],
)
def test_moments_tell_all(estimator, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 12)) + np.arange(12)
    y = 1 + 3 * X[:, 0] - 2 * X[:, 7] + 0.5 * rng.normal(size=300)
    weights = 1.0 + np.arange(300) % 3
    expected = clone(estimator).fit(X, y, sample_weight=weights)
    moments = Moments()
    for rows in np.array_split(np.arange(300), 7):
        moments.push(X[rows], y[rows], sample_weight=weights[rows])
    assert moments.n_rows_ == 300
    model = clone(estimator).fit_moments(moments)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-4)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(fewer.load(tmp_path / "model.json").predict(X), model.predict(X))
    if expected.coef_std_ is not None:
        std = model.predict(X, return_std=True)[1]
        np.testing.assert_allclose(std, expected.predict(X, return_std=True)[1], rtol=1e-4)


def test_moments_are_checked():
    X, y = np.ones((5, 2)), np.arange(5.0)
    with pytest.raises(ValueError, match="no rows"):
        BLS().fit_moments(Moments())
    moments = Moments().push(X, y)
    with pytest.raises(ValueError, match="x1, x2, x3"):
        moments.push(np.ones((5, 3)), y)
    with pytest.raises(ValueError, match="expected 5 numbers"):
        moments.push(X, y[:3])
    with pytest.raises(ValueError, match="row 1, column 'x2'"):
        moments.push([[1, np.nan]], [1.0])
    with pytest.raises(ValueError, match="linear"):
        RVR().fit_moments(moments)
    with pytest.raises(ValueError, match="rows"):
        RVR(basis="linear", noise="student_t").fit_moments(moments)
    with pytest.raises(ValueError, match="from moments"):
        SparseRegressor(prior="laplace", lam="cv").fit_moments(moments)


MEMORY = """
import resource
import numpy as np
from fewer import RVR
rng = np.random.default_rng(0)
X = rng.uniform(-10, 10, size=(20_000, 1))
y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=20_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = RVR(gamma=0.1, standardize=False).fit(X, y)
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(model.n_terms_, used)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units elsewhere")
def test_memory_does_not_grow_with_the_square_of_the_rows():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True
    )
    terms, kilobytes = map(int, done.stdout.split())
    assert terms < 30
    # All kernel values would be 3.2 GB.
    assert kilobytes < 300_000


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_bad_noise_precisions_are_refused_by_row(bad, sinc):
    X, y = sinc
    precision = np.ones(len(y))
    precision[6] = bad
    with pytest.raises(ValueError, match="row 7, column 'noise_precision'"):
        RVR().fit(X, y, noise_precision=precision)
    with pytest.raises(ValueError, match="200 numbers"):
        RVR().fit(X, y, noise_precision=np.ones(3))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_draws_have_the_mean_and_covariance_of_the_posterior(sinc, fit_intercept):
    X, y = sinc
    model = RVR(fit_intercept=fit_intercept).fit(X, y)
    coef, intercept = model.sample_posterior(20000, random_state=1)
    assert coef.shape == (20000, model.n_terms_)
    np.testing.assert_allclose(coef.mean(0), model.coef_, atol=np.max(0.04 * model.coef_std_))
    draws = np.column_stack([intercept, coef]) if fit_intercept else coef
    scale = np.sqrt(np.diag(model.covariance_))
    found = np.cov(draws.T) / np.outer(scale, scale)
    np.testing.assert_allclose(found, model.covariance_ / np.outer(scale, scale), atol=0.05)

    X_new = np.linspace(-12, 12, 40)[:, None]
    mean, std = model.predict(X_new, return_std=True)
    functions = model.sample_y(X_new, 20000, random_state=1, noise=False)
    observed = model.sample_y(X_new, 20000, random_state=1)
    assert functions.shape == observed.shape == (40, 20000)
    np.testing.assert_allclose(observed.mean(1), mean, atol=0.04 * std.max())
    np.testing.assert_allclose(observed.std(1), std, rtol=0.04)
    variance = np.maximum(std**2 - model.noise_std_**2, 0)
    np.testing.assert_allclose(functions.std(1), np.sqrt(variance), rtol=0.04, atol=1e-6)
    # A draw of the function is the function of a draw.
    weights = model.sample_posterior(1, random_state=1)
    kernel = np.exp(-model.gamma_ * ((X_new - model.relevance_vectors_.T) / X.std()) ** 2)
    np.testing.assert_allclose(functions[:, 0], kernel @ weights[0][0] + weights[1][0], atol=1e-9)


def test_draws_depend_on_the_seed_only(sinc, tmp_path):
    X, y = sinc
    model = RVR().fit(X, y)
    one, again = model.sample_y(X, 3, random_state=5), model.sample_y(X, 3, random_state=5)
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - model.sample_y(X, 3, random_state=6)).min() > 0
    model.save(tmp_path / "model.json")
    loaded = fewer.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.sample_y(X, 3, random_state=5), one)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample_y(X, 0)


def test_linear_draws_have_zeros_where_terms_were_left_out():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 12))
    model = BLS().fit(X, 1 + 3 * X[:, 0] - 2 * X[:, 7] + 0.5 * rng.normal(size=150))
    coef, intercept = model.sample_posterior(50)
    assert coef.shape == (50, 12)
    np.testing.assert_array_equal(coef[:, model.coef_ == 0], 0)
    assert np.abs(intercept - model.intercept_).max() < 6 * model.intercept_std_


def augmented_variance(model: RVR, X: np.ndarray, X_new: np.ndarray, prior: float) -> np.ndarray:
    """What a kernel at each new row adds, by refitting with it: dense, for no intercept."""
    kernel = lambda a, b: np.exp(-model.gamma_ * (a - b.T) ** 2)  # noqa: E731
    F, beta = kernel(X, model.relevance_vectors_), model.noise_std_**-2
    A = np.linalg.inv(model.covariance_) - beta * F.T @ F
    added = []
    for x in X_new[:, None]:
        G = np.hstack([F, kernel(X, x)])
        prior_precision = np.zeros((len(A) + 1, len(A) + 1))
        prior_precision[:-1, :-1], prior_precision[-1, -1] = A, 1 / prior
        sigma = np.linalg.inv(beta * G.T @ G + prior_precision)
        here = np.hstack([kernel(x, model.relevance_vectors_)[0], 1.0])
        added.append(here @ sigma @ here - here[:-1] @ model.covariance_ @ here[:-1])
    return np.array(added)


def test_augmented_variance_is_that_of_a_fit_with_one_more_kernel(sinc, tmp_path):
    X, y = sinc
    settings = {"gamma": 0.3, "standardize": False, "fit_intercept": False}
    plain = RVR(**settings).fit(X, y)
    model = RVR(**settings, variance="augmented").fit(X, y)
    X_new = np.linspace(-30, 30, 61)[:, None]
    mean, std = model.predict(X_new, return_std=True)
    np.testing.assert_array_equal(mean, plain.predict(X_new))
    added = std**2 - plain.predict(X_new, return_std=True)[1] ** 2
    F = np.exp(-0.3 * (X - model.relevance_vectors_.T) ** 2)
    A = np.diag(np.linalg.inv(model.covariance_) - F.T @ F / model.noise_std_**2)
    expected = augmented_variance(model, X, X_new, np.mean(1 / A))
    np.testing.assert_allclose(added, expected, rtol=1e-3, atol=1e-6)
    assert std[0] > 3 * std[30]
    low, high = model.predict_interval(X_new).T
    np.testing.assert_allclose(high - low, 2 * 1.959964 * std, rtol=1e-6)
    observed = model.sample_y(X_new, 20000, random_state=1)
    np.testing.assert_allclose(observed.mean(1), mean, atol=0.04 * std.max())
    np.testing.assert_allclose(observed.std(1), std, rtol=0.04)
    functions = model.sample_y(X_new, 20000, random_state=1, noise=False)
    variance = np.maximum(std**2 - model.noise_std_**2, 0)
    np.testing.assert_allclose(functions.std(1), np.sqrt(variance), rtol=0.04, atol=1e-6)
    model.save(tmp_path / "model.json")
    again = fewer.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X_new, return_std=True)[1], std)
    with pytest.raises(ValueError, match="variance = augmented"):
        RVR(basis="linear", variance="augmented").fit(X, y)


def test_widths_are_chosen_by_evidence(sinc):
    X, y = sinc
    model = RVR(gamma="evidence").fit(X, y)
    points = model.selection_.points
    assert model.selection_.score == "evidence"
    # Nine, and six around each of the best two, but for those that follow the rows.
    assert 12 <= len(points) <= 21
    assert -min(p["mean"] for p in points) == pytest.approx(model.log_evidence_)
    assert model.log_evidence_ >= RVR().fit(X, y).log_evidence_ - 1e-6
    # The sparsity prior has no part in the comparison.
    priced = RVR(gamma="evidence", sparsity="bic").fit(X, y)
    assert -min(p["mean"] for p in priced.selection_.points) == pytest.approx(priced.log_evidence_)
    assert BLS(basis="rbf", lam=0.1, gamma="evidence").fit(X, y).selection_ is not None


def test_widths_that_follow_the_rows_are_left_out():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(560, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=560)
    model = RVR(gamma="evidence").fit(X[:60], y[:60])
    assert model.n_terms_ <= 30
    assert any("left out" in note for note in model.notes_)
    low, high = model.predict_interval(X[60:]).T
    assert np.mean((low < y[60:]) & (y[60:] < high)) > 0.6
    # Three rows: the noise that is left is twice the least there can be.
    assert any("exactly" in note for note in RVR().fit(X[:3], y[:3]).notes_)
    # Where all of them do, one of them is chosen still.
    lone = RVR(gamma="evidence", gammas=[50, 500]).fit(X[:20], y[:20])
    assert len(lone.selection_.points) == 2


@pytest.mark.filterwarnings("ignore::fewer.EmptyModelWarning")
def test_evidence_that_does_not_exist_is_explained():
    X = np.arange(6.0).reshape(3, 2)
    assert RVR().fit(X[:1], [2.0]).log_evidence_ == 0
    for model in (
        RVR().fit(X, np.ones(3)),
        BLS().fit(X, [1.0, 2.0, 3.0], sample_weight=[0.2, 0.2, 0.2]),
    ):
        with pytest.raises(AttributeError, match="has no value"):
            _ = model.log_evidence_
    assert np.isfinite(RVR(noise=0.1).fit(X, np.ones(3)).log_evidence_)
    with pytest.raises(AttributeError, match="no attribute 'log_evidence_'"):
        _ = RVR().log_evidence_


def test_covariances_beyond_floating_point_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=50)
    with pytest.raises(ValueError, match="too small for floating point"):
        BLS().fit(X * 1e100, y * 1e-100)


@pytest.mark.parametrize("estimator", [BLS, FastLaplace])
def test_published_steps(estimator, sinc):
    X, y = sinc
    paper = estimator(basis="rbf", variant="paper").fit(X, y)
    exact = estimator(basis="rbf").fit(X, y)
    # From the maximum without λ more is found than by one action after the other.
    assert exact.log_evidence_ > paper.log_evidence_ + 3
    assert exact.noise_std_ < paper.noise_std_
    # With λ given there is one objective, and no step of λ.
    paper = estimator(basis="rbf", variant="paper", lam=0.3).fit(X, y)
    exact = estimator(basis="rbf", lam=0.3).fit(X, y)
    assert paper.objective_ == exact.objective_


@pytest.mark.parametrize("estimator", [BLS, FastLaplace])
def test_widths_have_no_evidence_where_lam_has_no_objective(estimator, sinc):
    X, y = sinc
    with pytest.raises(ValueError, match='choose by "cv"'):
        estimator(basis="rbf", lam_rule="active", gamma="evidence").fit(X, y)
    model = estimator(basis="rbf", gamma="cv", gammas=5, cv=3, lam_rule="active").fit(X, y)
    assert len(model.selection_.points) == 11


# log evidence that fastrvm 0.1.5 reaches, by the seed of `problem`.
FASTRVM = (
    *(218.203, 130.742, -258.550, -551.927, 198.560, 140.196, -191.383, -609.733),
    *(212.783, 128.538, -239.244, -358.032, 172.736, 212.994, -150.796, -598.197),
    *(183.840, 176.649, -271.456, -486.216, 215.772, 94.939, -232.429, -315.160),
    *(141.025, 144.706, -260.288, -282.234, 194.143, 220.584, -136.856, -543.949),
    *(240.421, 182.054, -104.388, -328.964, 149.565, 84.325, -150.810, -637.895),
)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """A sinc, a smooth function of two, a linear one of five, and Friedman's first of ten."""
    rng = np.random.default_rng(seed)
    kind, n = seed % 4, int(rng.integers(120, 300))
    d = (1, 2, 5, 10)[kind]
    X = rng.uniform(-1, 1, size=(n, d))
    if kind == 0:
        return 10 * X, np.sinc(10 * X[:, 0] / np.pi) + 0.1 * rng.normal(size=n), 1 / 9
    if kind == 1:
        return 2 * X, np.sin(4 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.1 * rng.normal(size=n), 1.0
    if kind == 2:
        return X, X @ [3.0, -2.0, 0, 0, 1.0] + 0.5 * rng.normal(size=n), 0.3
    U = (X + 1) / 2
    y = 10 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20 * (U[:, 2] - 0.5) ** 2 + 10 * U[:, 3]
    return X, y + 5 * U[:, 4] - 14 + rng.normal(size=n), 0.1


def test_evidence_is_at_least_that_of_fastrvm():
    gained = []
    for seed, reached in enumerate(FASTRVM):
        X, y, gamma = problem(seed)
        model = RVR(gamma=gamma, standardize=False, fit_intercept=False).fit(X, y)
        gained.append(model.log_evidence_ - reached)
    assert np.median(gained) > 0
    # The objective has many maxima: none is much lower, and few are.
    assert np.min(gained) > -1
    assert np.sum(np.array(gained) < -1e-3) <= len(FASTRVM) / 10


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("basis", ["linear", "rbf"])
@pytest.mark.parametrize("estimator", [RVR, BLS, FastLaplace])
def test_a_model_of_no_terms_has_an_evidence_and_deviations(estimator, basis, fit_intercept):
    X = np.full((20, 2), 3.0 if fit_intercept else 0.0)
    y = np.random.default_rng(0).normal(size=20)
    if basis == "rbf" and not fit_intercept:
        pytest.skip("a constant kernel is a term there")
    with pytest.warns(fewer.EmptyModelWarning, match="no column varies"):
        model = estimator(basis=basis, fit_intercept=fit_intercept).fit(X, y)
    rows = 20 - fit_intercept
    residual = y - y.mean() if fit_intercept else y
    # BLS has p(σ²) ∝ 1/σ².
    noise = residual @ residual / (rows + 2 * (estimator is BLS))
    assert model.noise_std_**2 == pytest.approx(noise, rel=1e-6)
    expected = -0.5 * (rows * np.log(2 * np.pi * noise) + residual @ residual / noise)
    expected -= 0.5 * np.log(20) * fit_intercept
    assert model.log_evidence_ == pytest.approx(expected)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y.mean() * fit_intercept)
    np.testing.assert_allclose(std, np.sqrt(noise * (1 + fit_intercept / 20)), rtol=1e-6)


def test_a_constant_target_leaves_no_doubt(sinc):
    X = sinc[0]
    with pytest.warns(fewer.EmptyModelWarning, match="constant"):
        model = RVR().fit(X, np.full(200, 2.5))
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, 2.5)
    np.testing.assert_array_equal(std, 0)
    # Of known noise it is one sample of all.
    with pytest.warns(fewer.EmptyModelWarning, match="constant"):
        model = RVR(noise=0.5).fit(X, np.full(200, 2.5))
    expected = -0.5 * (199 * np.log(2 * np.pi * 0.25) + np.log(200))
    assert model.log_evidence_ == pytest.approx(expected)
    np.testing.assert_allclose(model.predict(X, return_std=True)[1], 0.5 * np.sqrt(1 + 1 / 200))


def test_a_width_of_no_usable_column_has_an_evidence(sinc):
    X, y = sinc
    model = RVR(gamma="evidence", gammas=[1e-25, 0.5, 2.0]).fit(X, y)
    assert model.n_terms_ > 0
    assert len(model.selection_.points) >= 3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("deviation", [0.01, 0.003])
def test_small_noise_is_not_mistaken_for_none(seed, deviation):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, size=(150, 1))
    y = np.sinc(X[:, 0] / np.pi) + deviation * rng.normal(size=150)
    model = fewer.RVR(max_time=30).fit(X, y)
    assert model.converged_
    # Wide kernels make huge weights: what the residuals are must not be lost in rounding.
    spread = np.std(y - model.predict(X))
    assert 0.9 * spread < model.noise_std_ < 1.2 * spread
    assert 0.8 * deviation < model.noise_std_ < 1.3 * deviation


ENDS = ({}, {"noise": "student_t"}, {"noise": "student_t", "nu": 4})


@pytest.mark.parametrize("settings", [*ENDS, {"candidates": 20, "landmarks": "redrawn"}])
def test_fits_without_noise_end(settings):
    x = np.sort(np.random.default_rng(2).normal(size=150))
    model = fewer.RVR(max_time=60, **settings).fit(x[:, None], x**2 + x)
    assert model.converged_
    assert np.std(x**2 + x - model.predict(x[:, None])) < 0.03


def test_a_known_noise_bounds_the_evidence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=100)
    for noise in (1e-4, 1e-6):
        model = fewer.RVR(noise=noise).fit(X, y)
        square = np.sum((y - model.predict(X)) ** 2)
        assert model.log_evidence_ < 100 * np.log(1 / noise) - 0.49 * square / noise**2


def test_columns_that_count_only_together_are_found():
    rng = np.random.default_rng(0)
    shared, apart = rng.normal(size=(2, 200))
    X = np.column_stack([shared + 0.01 * apart, shared - 0.01 * apart, rng.normal(size=(200, 3))])
    y = apart + 0.05 * rng.normal(size=200)
    model = fewer.RVR(basis="linear").fit(X, y)
    block = fewer.RVR(basis="linear", solver="block").fit(X, y)
    assert model.log_evidence_ == pytest.approx(block.log_evidence_, abs=1e-3)
    assert model.noise_std_ < 0.06


@pytest.mark.parametrize("seed", [11, 14])
def test_a_surface_of_many_kernels_is_not_taken_for_noise(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(300, 2))
    signal = np.sin(8 * X[:, 0]) * np.cos(7 * X[:, 1])
    for noise in (0.05, 0.2):
        y = signal + noise * rng.normal(size=300)
        model = fewer.RVR(gamma=2.0, fit_intercept=False).fit(X, y)
        block = fewer.RVR(gamma=2.0, fit_intercept=False, solver="block").fit(X, y)
        assert model.log_evidence_ > block.log_evidence_
        assert model.noise_std_ < 1.3 * noise


def test_tiny_targets_are_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model = fewer.RVR(basis="linear").fit(X, 1e-90 * (X[:, 0] + 0.1 * rng.normal(size=40)))
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(fewer.load(tmp_path / "model.json").predict(X), model.predict(X))


@pytest.mark.parametrize("method", ["BLS", "FastLaplace"])
@pytest.mark.parametrize("beside", [0.0, 1.0])
def test_columns_that_count_only_together_are_found_while_lam_follows(method, beside):
    rng = np.random.default_rng(0)
    shared, apart = rng.normal(size=(2, 200))
    X = np.column_stack([shared + 0.01 * apart, shared - 0.01 * apart, rng.normal(size=(200, 3))])
    y = apart + beside * X[:, 2] + 0.05 * rng.normal(size=200)
    model = getattr(fewer, method)(basis="linear").fit(X, y)
    assert model.converged_
    assert np.all(model.coef_[:2] != 0)
    assert (model.coef_[2] != 0) == (beside > 0)
    assert model.noise_std_ < 0.06
    assert model.lam_ > 0


@pytest.mark.parametrize("method", ["BLS", "FastLaplace"])
def test_a_second_start_leaves_noise_out(method):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 12)), rng.normal(size=100)
    fitted = getattr(fewer, method)(basis="linear").fit(X, y)
    singles = np.corrcoef(np.column_stack([X, y]), rowvar=False)[-1, :-1] ** 2
    assert fitted.n_terms_ <= np.sum(100 * singles > 0.5)


@pytest.mark.parametrize("seed", [0, 3, 4])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"sparsity": "bic"}])
def test_block_stops_where_nothing_is_left_to_gain(seed, settings):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-10, 10, size=(60, 1))
    y = np.sinc(x[:, 0] / np.pi) + 0.1 * rng.normal(size=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fewer.RVR(solver="block", **settings).fit(x, y)
    assert model.converged_
    assert float(model.certificate_) <= 1e-8
    longer = fewer.RVR(solver="block", tol=1e-12, max_iter=100_000, **settings).fit(x, y)
    assert model.objective_ == pytest.approx(longer.objective_, abs=1e-6)


def test_inputs_that_do_not_vary_make_a_constant():
    y = np.random.default_rng(0).normal(size=30)
    for standardize in (False, True):
        with pytest.warns(fewer.EmptyModelWarning, match="no column varies"):
            model = fewer.RVR(standardize=standardize).fit(np.full((30, 2), 7.0), y)
        np.testing.assert_allclose(model.predict(np.full((1, 2), 7.0)), y.mean())


@pytest.mark.parametrize("method", ["RVR", "RVC"])
@pytest.mark.parametrize("distance", [20.0, 22.0, 26.0, 30.0])
def test_kernels_that_vanish_at_all_rows_are_left_out(method, distance):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] > 0 if method == "RVC" else X[:, 0]
    make = getattr(fewer, method)
    settings = {"gamma": 1.0, "standardize": False}
    near = np.array([[-1.0, 0.0], [1.0, 0.0]])
    with_far = make(centres=np.vstack([near, [[distance, 0.0]]]), **settings).fit(X, y)
    without = make(centres=near, **settings).fit(X, y)
    if distance > 21:
        assert with_far.log_evidence_ == pytest.approx(without.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(with_far.predict(X), without.predict(X), rtol=1e-6)
    assert np.all(np.isfinite(with_far.predict(X).astype(float)))


@pytest.mark.parametrize("method", [RVR, BLS, FastLaplace])
@pytest.mark.parametrize("seed", range(4))
def test_noise_that_is_known_leaves_no_worse_maximum(method, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, size=(200, 1))
    y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=200)
    model = method(basis="rbf").fit(X, y)
    told = method(basis="rbf", noise=model.noise_std_).fit(X, y)
    assert told.converged_
    assert told.noise_std_ == model.noise_std_
    # λ that follows the terms has several ends; before, they were up to 15 below.
    assert told.log_evidence_ > model.log_evidence_ - (0.2 if method is RVR else 4)


@pytest.mark.parametrize("most", [2, 3, 4])
def test_few_terms_may_count_only_together(most):
    rng = np.random.default_rng(0)
    shared, apart = rng.normal(size=(2, 200))
    X = np.column_stack([shared + 0.01 * apart, shared - 0.01 * apart, rng.normal(size=(200, 3))])
    y = apart + 0.05 * rng.normal(size=200)
    model = RVR(basis="linear", max_terms=most).fit(X, y)
    assert model.n_terms_ <= most
    assert np.all(model.coef_[:2] != 0)
    assert model.noise_std_ < 0.06


@pytest.mark.parametrize("unit", [1e-150, 1e-80, 1e100])
def test_augmented_deviations_follow_the_units_of_the_target(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=150)
    expected = RVR(variance="augmented").fit(X, y).predict(2 * X, return_std=True)[1]
    scaled = RVR(variance="augmented").fit(X, unit * y).predict(2 * X, return_std=True)[1]
    np.testing.assert_allclose(scaled / unit, expected, rtol=1e-8)


@pytest.mark.parametrize("method", [BLS, FastLaplace])
def test_candidates_are_drawn_again_by_rvr_alone(method, sinc):
    with pytest.raises(ValueError, match="RVR with Gaussian noise draws candidates again"):
        method(basis="rbf", candidates=20, landmarks="redrawn").fit(*sinc)


@pytest.mark.filterwarnings("ignore::fewer.EmptyModelWarning")
@pytest.mark.parametrize(
    ("settings", "columns", "target", "note"),
    [
        ({"fit_intercept": "penalised"}, 0.0, 1.0, "no column varies"),
        ({"fit_intercept": "penalised"}, 1.0, 0.0, "the target is constant"),
        ({"fit_intercept": "penalised", "noise": 0.1}, 1.0, 0.0, "the target is constant"),
        ({"noise": 100.0}, 1.0, 1.0, "at this noise"),
        ({"sparsity": 1e6}, 1.0, 1.0, "at this sparsity"),
    ],
)
def test_empty_models_say_why(settings, columns, target, note):
    rng = np.random.default_rng(0)
    X, y = 1 + columns * rng.normal(size=(30, 2)), 5 + target * rng.normal(size=30)
    model = RVR(basis="linear", **settings).fit(X, y)
    assert model.n_terms_ == 0
    assert len(model.notes_) == 1 and note in model.notes_[0]


def test_one_row_is_not_explained_exactly():
    model = FastLaplace(basis="linear", fit_intercept=False).fit([[1.0]], [3.0])
    assert model.noise_std_ > 1
    assert model.notes_ == []


def test_a_limit_says_what_is_left(sinc):
    with pytest.warns(ConvergenceWarning) as said:
        RVR(solver="block", max_iter=1).fit(*sinc)
    assert "residual of 0" not in str(said[0].message)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_search_cut_short_ends_at_the_noise_that_is_known():
    rng = np.random.default_rng(1)
    X = np.linspace(-10, 10, 60)[:, np.newaxis]
    y = np.sinc(X[:, 0] / np.pi) + 0.05 * rng.normal(size=60)
    model = RVR(noise=0.1, gamma=0.3)
    best = clone(model).fit(X, y).log_evidence_
    for limit in range(5, 50, 3):
        cut = clone(model).set_params(max_iter=limit).fit(X, y)
        assert cut.log_evidence_ < best + 1e-3
        assert np.all(cut.predict(X, return_std=True)[1] > 0.1)

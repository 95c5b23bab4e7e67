"""AdaptiveRVR, AdaptiveRVC and WaveletRVR."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import fewer
from fewer import RVR, AdaptiveRVC, AdaptiveRVR, WaveletRVR
from papers.doppler import points, truth
from papers.experiment import generator


def doppler(rows, noise=0.1, seed=0):
    x = (np.arange(rows) + 0.5) / rows
    clean = np.sqrt(x * (1 - x)) * np.sin(2 * np.pi * 1.05 / (x + 0.05))
    return x[:, np.newaxis], clean, clean + noise * np.random.default_rng(seed).normal(size=rows)


def test_smooth_here_and_rough_there():
    X, clean, y = doppler(200)
    adaptive = AdaptiveRVR().fit(X, y)
    folds = KFold(5, shuffle=True, random_state=0)
    fixed = RVR(gamma="cv", sparsity="bic", cv=folds).fit(X, y)
    error = [np.mean((model.predict(X) - clean) ** 2) for model in (adaptive, fixed)]
    assert error[0] < error[1]
    assert adaptive.n_terms_ <= 1.2 * fixed.n_terms_
    # Narrow kernels where the function is rough.
    order = np.argsort(adaptive.centres_[:, 0])
    widths = adaptive.widths_[order, 0]
    assert np.median(widths[: len(widths) // 2]) < 0.5 * np.median(widths[len(widths) // 2 :])


def test_predictions_follow_from_the_attributes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2)) * [1.0, 100.0]
    y = np.exp(-(X[:, 0] ** 2)) + 0.003 * X[:, 1] + 0.05 * rng.normal(size=150)
    model = AdaptiveRVR(families=["rbf", "linear"], anisotropic=True).fit(X, y)
    total = np.full(150, model.intercept_)
    for k, family in enumerate(model.families_):
        distance = (X - model.centres_[k]) / model.widths_[k]
        if family == "linear":
            feature = ["x1", "x2"].index(model.terms_[k])
            total += model.coef_[k] * X[:, feature]
        else:
            total += model.coef_[k] * np.exp(-(distance**2).sum(axis=1))
    np.testing.assert_allclose(model.predict(X), total, rtol=1e-9)
    assert model.feature_relevances_.shape == (2,)
    _, std = model.predict(X, return_std=True)
    assert (std >= model.noise_std_).all()
    assert len(model.explain().terms) == model.n_terms_


def test_explanations_hold_whole_kernels():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 8)) * 10.0 ** np.arange(8)
    X[:, 4] = 1.0
    y = np.tanh(X[:, 0]) + 0.1 * rng.normal(size=120)
    model = AdaptiveRVR(families=["rbf", "linear"]).fit(X, y)
    explanation = model.explain()
    terms = explanation.to_dict()["terms"]
    json.dumps(terms, allow_nan=False)
    assert len(explanation.kernels) == len(terms) == model.n_terms_ > 0
    for term in terms:
        k = model.terms_.index(term["term"])
        assert term["family"] == model.families_[k]
        if term["family"] == "linear":
            assert term["feature"] == term["term"]
        else:
            np.testing.assert_array_equal(term["centre"], model.centres_[k])
            widths = [np.inf if width is None else width for width in term["width"]]
            np.testing.assert_array_equal(widths, model.widths_[k])
    assert "to_dict()" in str(explanation) or "…" not in str(explanation)
    assert "family" not in RVR().fit(X[:, :1], y).explain().to_dict()["terms"][0]


@pytest.mark.parametrize("anisotropic", [False, True])
def test_a_useless_feature_of_two_values_does_not_matter(anisotropic):
    """Kernels sit between the values, and are steep at both."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=200)
    X = np.c_[x, rng.integers(2, size=200)]
    y = np.sin(2 * x) + 0.1 * rng.normal(size=200)
    relevances = AdaptiveRVR(anisotropic=anisotropic).fit(X, y).feature_relevances_
    assert relevances[0] > 5 * relevances[1]
    # Of a line it is the slope times the deviation.
    linear = AdaptiveRVR(families=["linear"]).fit(X, 2 * x + 0.1 * rng.normal(size=200))
    assert linear.feature_relevances_[0] == pytest.approx(2 * x.std(), rel=0.03)


def test_wavelets_of_many_rows():
    """Weights are independent: no pairs of terms are held, unless they are asked for."""
    rng = np.random.default_rng(6)
    X = np.arange(2**15)[:, np.newaxis] / 2**15
    y = np.sin(20 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    model = WaveletRVR(sparsity="none", noise=0.02).fit(X, y)
    assert model.n_terms_ > len(X) // 2
    predicted, std = model.predict(X, return_std=True)
    assert np.mean((predicted - y) ** 2) < 0.02**2
    assert ((std >= 0.02) & (std < 0.03)).all()
    small = WaveletRVR().fit(X[:256], y[:256])
    assert small.covariance_.shape == (small.n_terms_ + 1,) * 2
    np.testing.assert_array_equal(np.diag(np.diag(small.covariance_)), small.covariance_)


def test_seeds_and_files(tmp_path):
    X, _, y = doppler(128)
    model = AdaptiveRVR(random_state=3).fit(X, y)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    path = tmp_path / "model.json"
    model.save(path)
    loaded = fewer.load(path)
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))
    np.testing.assert_array_equal(model.widths_, loaded.widths_)
    assert loaded.get_params()["families"] == ["rbf"]


@pytest.mark.parametrize("kind", ["cluster", "far"])
def test_new_rows_do_not_explode(kind):
    """Rows in gaps of the training data, and far beyond it."""
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(60, 3)), 8 + rng.normal(size=(60, 3))])
    y = np.sin(X[:, 0]) + X[:, 1] / 4 + 0.1 * rng.normal(size=120)
    new = rng.uniform(0, 8, size=(500, 3)) if kind == "cluster" else 100 * rng.normal(size=(500, 3))
    predicted = AdaptiveRVR().fit(X, y).predict(new)
    assert np.abs(predicted - y.mean()).max() < 5 * np.ptp(y)


@pytest.mark.filterwarnings("ignore::fewer.EmptyModelWarning")
@pytest.mark.parametrize("shape", [(200, 150), (100, 70), (80, 50), (40, 30)])
@pytest.mark.parametrize("anisotropic", [False, True])
def test_many_features_do_not_explain_noise(shape, anisotropic):
    """The places of two kernels alone would be more numbers than there are rows."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=shape), rng.normal(size=(400, shape[1]))
    y = X[:, 0] + rng.normal(size=len(X))
    model = AdaptiveRVR(anisotropic=anisotropic).fit(X, y)
    assert model.noise_std_ > 0.6
    error = np.mean((model.predict(new) - new[:, 0]) ** 2)
    assert error < 1.2 * np.mean((y.mean() - new[:, 0]) ** 2)
    # Centres stay on rows.
    for centre in model.centres_:
        assert np.abs(X - centre).max(axis=1).min() < 1e-9


def test_rules_as_published_come_to_an_end():
    """They do not climb the objective, and this draw of noise leads them in a circle."""
    X = points()
    clean = truth(X)
    noise = generator(2009_0300).standard_normal(len(X))
    y = clean + np.sqrt(np.var(clean) / 10) * noise
    model = AdaptiveRVR(variant="paper", sparsity=0.5 * np.log(len(X)), fit_intercept=False)
    model.fit(X, y)
    assert model.converged_
    assert model.n_iter_ < 100
    assert np.mean((model.predict(X) - clean) ** 2) < np.mean((y - clean) ** 2)


def test_rules_as_published_serve_labels():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 2))
    y = np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=200) > 1.2
    model = AdaptiveRVC(variant="paper").fit(X, y)
    assert model.converged_
    assert model.n_terms_ < 10
    assert model.score(X, y) > 0.85
    assert model.get_params()["variant"] == "paper"
    with pytest.raises(ValueError, match="variant"):
        AdaptiveRVC(variant="published").fit(X, y)


def test_weights_are_paid_for():
    """A slope is the difference of wide kernels of huge weights where these cost nothing."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(150, 4))
    y = X @ [3.0, -2.0, 1.0, 0.0] + 0.1 * rng.normal(size=150)
    models = [AdaptiveRVR(variance_price=price).fit(X, y) for price in (0.0, 1.0, 10.0)]
    largest = [np.abs(model.coef_).max() for model in models]
    assert largest[0] > 1.5 * largest[1] > 1.5 * largest[2]
    labels = y + 0.5 * rng.normal(size=150) > 0
    models = [AdaptiveRVC(variance_price=price).fit(X, labels) for price in (0.0, 1.0)]
    largest = [np.abs(model.coef_).max() for model in models]
    assert largest[0] > largest[1]
    for estimator in (AdaptiveRVR(variance_price=-1.0), AdaptiveRVC(variance_price=-1.0)):
        with pytest.raises(ValueError, match="variance_price"):
            estimator.fit(X, labels)


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c"]])
def test_labels(names, tmp_path):
    rng = np.random.default_rng(3)
    codes = np.arange(150) % len(names)
    X = rng.normal(size=(150, 2)) + 3 * np.array([[0, 0], [2, 0], [0, 2]])[codes]
    y = np.array(names)[codes]
    model = AdaptiveRVC().fit(X, y)
    assert model.score(X, y) > 0.95
    outputs = 1 if len(names) == 2 else 3
    assert model.coef_.shape == (outputs, model.n_terms_)
    eta = np.tile(model.intercept_, (150, 1))
    for k in range(model.n_terms_):
        distance = (X - model.centres_[k]) / model.widths_[k]
        eta += model.coef_[:, k] * np.exp(-(distance**2).sum(axis=1, keepdims=True))
    plain = 1 / (1 + np.exp(-eta))
    plain = np.hstack([1 - plain, plain]) if outputs == 1 else plain / plain.sum(axis=1)[:, None]
    np.testing.assert_allclose(model.predict_proba(X, moderated=False), plain, atol=1e-9)
    moderated = model.predict_proba(X)
    np.testing.assert_allclose(moderated.sum(axis=1), 1)
    assert moderated.max() < plain.max()
    assert all(term[0].startswith("rbf(x1 = ") for term in model.explain().terms)
    model.save(tmp_path / "model.json")
    loaded = fewer.load(tmp_path / "model.json")
    assert isinstance(loaded, AdaptiveRVC)
    np.testing.assert_array_equal(loaded.predict_proba(X), moderated)


def test_wavelets():
    X, clean, y = doppler(256)
    model = WaveletRVR().fit(X, y)
    assert np.mean((model.predict(X) - clean) ** 2) < 0.01
    assert model.coef_.shape == (256,)
    assert np.count_nonzero(model.coef_) == model.n_terms_
    middle = model.predict((X[10] + X[11])[np.newaxis] / 2)[0]
    np.testing.assert_allclose(middle, model.predict(X[10:12]).mean())
    model.predict_interval(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(32.0).reshape(16, 2), "one feature"),
        (np.arange(12.0)[:, np.newaxis], "give 8 or 16 rows"),
        (np.arange(16.0)[:, np.newaxis] ** 2, "equally spaced"),
        (np.zeros((16, 1)), "equally spaced"),
    ],
)
def test_wavelets_refuse_what_does_not_suit_them(X, message):
    with pytest.raises(ValueError, match=message):
        WaveletRVR().fit(X, np.arange(float(len(X))))


def test_wavelets_of_padded_rows():
    X, clean, y = doppler(200, noise=0.05)
    model = WaveletRVR(padding="symmetric").fit(X, y)
    assert np.mean((model.predict(X) - clean) ** 2) < 0.01
    with pytest.raises(ValueError, match="known wavelets"):
        WaveletRVR(wavelet="mexican", padding="symmetric").fit(X, y)


def test_the_price_by_cross_validation():
    """As in the paper: c by validation."""
    X, clean, y = doppler(128)
    folds = KFold(4, shuffle=True, random_state=0)
    model = AdaptiveRVR(sparsity="cv", cv=folds).fit(X, y)
    assert model.selection_.settings == ["sparsity"]
    assert np.mean((model.predict(X) - clean) ** 2) < np.mean((y - clean) ** 2)
    classifier = AdaptiveRVC(sparsity="cv", cv=folds, scoring="error").fit(X, y > 0)
    assert classifier.score(X, y > 0) > 0.9
    assert clone(classifier).get_params()["cv"] is not None
    with pytest.raises(ValueError, match=r"sparsity.*gaps"):
        WaveletRVR(sparsity="cv").fit(X, y)


@pytest.mark.parametrize("estimator", [AdaptiveRVR(), WaveletRVR()])
def test_draws_of_the_posterior(estimator):
    X, _, y = doppler(128)
    mean, std = estimator.fit(X, y).predict(X, return_std=True)
    draws = estimator.sample_y(X, 2000)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.1 * std.max())
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)
    weights, _ = estimator.sample_posterior(50)
    assert weights.shape == (50, len(estimator.coef_))


def test_constant_inputs():
    y = np.random.default_rng(5).normal(size=40)
    for intercept in (True, False, "penalised"):
        model = AdaptiveRVR(fit_intercept=intercept)
        with pytest.warns(fewer.EmptyModelWarning, match="no column varies"):
            model.fit(np.ones((40, 2)), y)
        _, std = model.predict(np.ones((3, 2)), return_std=True)
        assert np.isfinite(std).all()


def test_words_are_no_numbers():
    X = np.arange(8.0)[:, np.newaxis]
    with pytest.raises(ValueError, match=r"y has text in it.*take a classifier"):
        AdaptiveRVR().fit(X, np.array(["a", "b"] * 4))


def test_copies_do_not_let_kernels_interpolate():
    """As in samples with replacement; the numbers of parameters are held against other rows."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2, 2, size=(120, 2)), rng.uniform(-2, 2, size=(500, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
    model = AdaptiveRVR().fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert model.noise_std_ > 0.01
    assert np.sqrt(np.mean((model.predict(new) - np.sin(2 * new[:, 0])) ** 2)) < 0.3


@pytest.mark.parametrize("price", [0.0, 0.25])
def test_kernels_that_join_and_leave_end(price):
    rng = np.random.default_rng(15)
    X, y = rng.normal(size=(200, 13)), rng.normal(size=200)
    model = AdaptiveRVR(parameter_price=price, n_jobs=1).fit(X, y)
    assert model.converged_ and model.n_iter_ < 400


def smooth(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=rows)


def test_many_rows_may_weigh_be_repeated_or_have_other_units():
    X, y = smooth(4000)
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    model = AdaptiveRVR(max_terms=12).fit(X, y, sample_weight=weights)
    expected = model.predict(X)
    repeated = clone(model).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    np.testing.assert_allclose(repeated.predict(X), expected, atol=1e-10)
    scaled = clone(model).fit(1e6 * X, 1e-6 * y - 2e-6, sample_weight=weights)
    np.testing.assert_allclose(1e6 * scaled.predict(1e6 * X) + 2, expected, atol=1e-10)
    turned = clone(model).fit(X[::-1], y[::-1], sample_weight=weights[::-1])
    np.testing.assert_allclose(turned.predict(X), expected, atol=1e-10)


@pytest.mark.parametrize("anisotropic", [False, True])
@pytest.mark.parametrize("families", [["laplacian"], ["rbf", "laplacian", "linear"]])
def test_a_constant_feature_changes_nothing(families, anisotropic):
    X, y = smooth(150)
    wide = np.insert(X, 1, 7.0, axis=1)
    plain, more = (
        AdaptiveRVR(families=families, anisotropic=anisotropic).fit(of, y) for of in (X, wide)
    )
    np.testing.assert_array_equal(more.predict(wide), plain.predict(X))
    np.testing.assert_array_equal(np.delete(more.centres_, 1, 1), plain.centres_)
    np.testing.assert_array_equal(np.delete(more.widths_, 1, 1), plain.widths_)
    np.testing.assert_array_equal(np.delete(more.feature_relevances_, 1), plain.feature_relevances_)
    assert more.feature_relevances_[1] == 0


@pytest.mark.filterwarnings("ignore::fewer.EmptyModelWarning")
def test_constants_have_their_evidence_and_say_why():
    rng = np.random.default_rng(0)
    x, noise = np.linspace(0, 1, 64)[:, np.newaxis], rng.normal(size=64)
    constant = AdaptiveRVR().fit(np.ones((64, 2)), noise)
    assert constant.log_evidence_ == pytest.approx(RVR().fit(np.ones((64, 2)), noise).log_evidence_)
    assert constant.notes_ == ["no column varies: the model is a constant"]
    flat = [
        method.fit(x, np.ones(64))
        for method in (RVR(noise=0.5), AdaptiveRVR(noise=0.5), WaveletRVR(noise=0.5))
    ]
    for model in flat:
        assert model.notes_ == ["the target is constant: the model is that constant"]
        assert model.log_evidence_ == pytest.approx(flat[0].log_evidence_)
    for method in (AdaptiveRVR, WaveletRVR):
        with pytest.raises(AttributeError, match="give noise"):
            method().fit(x, np.ones(64)).log_evidence_  # noqa: B018
        (note,) = method(fit_intercept="penalised").fit(x, np.ones(64)).notes_
        assert "the target is constant" in note
    (note,) = AdaptiveRVR().fit(x, noise, sample_weight=np.full(64, 0.01)).notes_
    assert "one or less" in note
    assert WaveletRVR(fit_intercept=False).fit([[0.0]], [5.0]).notes_ == []

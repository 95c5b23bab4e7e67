"""ProbitClassifier: labels, shapes, weights, probabilities."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

import fewer
from fewer import ProbitClassifier


@pytest.fixture
def two():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    X[rng.random(X.shape) < 1 / 3] = 0
    return X, (1.5 * X[:, 1] - X[:, 4] + 0.7 * rng.normal(size=200) > 0).astype(int)


@pytest.fixture
def three():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, 6))
    return X, np.digitize(X[:, 2] + 0.3 * rng.normal(size=240), [-0.6, 0.6])


# ---- shapes ----


def test_two_classes(two):
    X, y = two
    model = ProbitClassifier().fit(X, y)
    assert model.terms_ == ["x2", "x5"]
    assert model.coef_.shape == (1, 8)
    assert model.intercept_.shape == (1,)
    np.testing.assert_array_equal(np.flatnonzero(model.coef_), [1, 4])
    assert model.coef_[0, 1] > 0 > model.coef_[0, 4]
    eta = model.decision_function(X)
    assert eta.shape == (200,)
    np.testing.assert_allclose(eta, X @ model.coef_[0] + model.intercept_[0], rtol=1e-12)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities[:, 1], norm.cdf(eta), rtol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(X), (eta > 0).astype(int))
    assert model.score(X, y) > 0.8
    assert model.relevance_ is None
    assert model.gamma_ is None
    assert not hasattr(model, "noise_std_")
    assert model.n_iter_ <= len(model.trace_) <= model.n_iter_ + 1
    assert model.trace_[-1] == pytest.approx(model.objective_)


def test_many_classes(three):
    X, y = three
    model = ProbitClassifier().fit(X, y)
    assert model.coef_.shape == (3, 6)
    assert model.intercept_.shape == (3,)
    eta = model.decision_function(X)
    np.testing.assert_allclose(eta, X @ model.coef_.T + model.intercept_, rtol=1e-9)
    expected = norm.cdf(eta) / norm.cdf(eta).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), eta.argmax(axis=1))
    # One against the rest: each output is the fit of two classes.
    alone = ProbitClassifier().fit(X, y == 2)
    np.testing.assert_allclose(alone.coef_[0], model.coef_[2], rtol=1e-9)


@pytest.mark.parametrize("data", ["two", "three"])
def test_logarithms_of_probabilities(data, request):
    X, y = request.getfixturevalue(data)
    model = ProbitClassifier(prior="gaussian").fit(X, y)
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(logs, np.log(model.predict_proba(X)), rtol=1e-8)
    assert np.isfinite(model.predict_log_proba(1e3 * X)).all()
    np.testing.assert_allclose(model.predict_proba(1e3 * X).sum(axis=1), 1, rtol=1e-12)


def test_the_objective_is_the_documented_one(two):
    X, y = two
    model = ProbitClassifier().fit(X, y)
    loss = -norm.logcdf(np.where(y == 1, 1, -1) * model.decision_function(X)).sum()
    kept = model.coef_[0] != 0
    weights = model.coef_[0, kept] * X[:, kept].std(axis=0)
    assert model.objective_ == pytest.approx(loss + np.log(np.abs(weights)).sum(), rel=1e-9)


def test_explanations(two, three):
    model = ProbitClassifier().fit(two[0], np.where(two[1], "yes", "no"))
    assert model.formula().startswith("Φ(")
    assert model.explain().target == "yes"
    assert model.explain().terms[0][1] == pytest.approx(model.coef_[0, 1])
    assert "weight in yes" in repr(model.explain())
    assert "<td>x2</td>" in model.explain()._repr_html_()

    model = ProbitClassifier().fit(three[0], np.array(["low", "mid", "<top>"])[three[1]])
    lines = model.formula().split("\n")
    assert [line.partition(":")[0] for line in lines] == ["<top>", "low", "mid"]
    explanation = model.explain()
    assert explanation.intercept == dict(zip(model.classes_, model.intercept_, strict=True))
    name, weight, effect = explanation.terms[0]
    assert name == "x3"
    assert weight == pytest.approx(dict(zip(model.classes_, model.coef_[:, 2], strict=True)))
    assert effect.keys() == weight.keys()
    assert "&lt;top&gt;" in explanation._repr_html_()


def test_not_fitted(two):
    X, y = two
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(ProbitClassifier(), method)(X)
    model = ProbitClassifier(prior="cauchy")
    with pytest.raises(ValueError, match="prior"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


# ---- labels ----

LABELS = {
    "text": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "integers": np.array([-3, 12]),
    "small integers": np.array([1, 2], dtype=np.uint8),
    "booleans": np.array([False, True]),
    "whole numbers": np.array([1.0, 2.0]),
    "large numbers": np.array([1, 2**63 + 5], dtype=np.uint64),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind(two, kind, tmp_path):
    X, y = two
    labels = LABELS[kind]
    model = ProbitClassifier().fit(X, labels[y])
    np.testing.assert_array_equal(model.classes_, labels)
    assert model.classes_.dtype == labels.dtype
    plain = ProbitClassifier().fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(X), labels[plain.predict(X)])
    assert model.predict(X).dtype == labels.dtype

    copy = pickle.loads(pickle.dumps(model))
    assert copy.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    model.save(tmp_path / "model.json")
    other = fewer.load(tmp_path / "model.json")
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    if kind == "large numbers":
        np.testing.assert_array_equal(other.classes_, labels.astype(str))
        return
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    # A model file has text, whole numbers and booleans.
    kinds = {"O": "U", "f": "i", "u": "i"}
    assert other.classes_.dtype.kind == kinds.get(labels.dtype.kind, labels.dtype.kind)


def test_series_and_categories(two):
    X, y = two
    words = pd.Series(np.where(y, "yes", "no"), name="answer")
    expected = ProbitClassifier().fit(X, words.to_numpy())
    for labels in (words, words.astype("category"), words.astype("string"), list(words)):
        model = ProbitClassifier().fit(X, labels)
        assert list(model.classes_) == ["no", "yes"]
        np.testing.assert_array_equal(model.coef_, expected.coef_)
    frame = pd.DataFrame({"x": X[:, 1], "city": np.where(X[:, 4] > 0, "Oslo", "Bergen")})
    model = ProbitClassifier().fit(frame, words)
    assert model.terms_ == ["x", "city=Oslo"] or model.terms_ == ["x", "city=Bergen"]
    assert model.score(frame, words) > 0.75
    assert set(model.predict(frame)) == {"no", "yes"}


def test_the_order_of_rows_and_labels_does_not_matter(two):
    X, y = two
    plain = ProbitClassifier().fit(X, y)
    backwards = ProbitClassifier().fit(X[::-1], y[::-1])
    np.testing.assert_allclose(backwards.coef_, plain.coef_, rtol=1e-7)
    turned = ProbitClassifier().fit(X, 1 - y)
    np.testing.assert_allclose(turned.coef_, -plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(turned.intercept_, -plain.intercept_, rtol=1e-7)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(200, "yes"), "column 'y' has one class only, yes: at least 2 classes"),
        (pd.Series(np.ones(200), name="dose"), "column 'dose' has one class only, 1.0"),
        (np.linspace(0, 1, 200), "Unknown label type: continuous"),
        (np.array([None] + ["a", "b"] * 99 + ["a"]), "row 1, column 'y': the label is missing"),
        (np.array([0, np.nan] * 100), "row 2, column 'y': the label is missing"),
        (pd.Series(["a", pd.NA] * 100, dtype="string"), "row 2, column 'y': the label is missing"),
        (np.zeros((200, 2)), "shape"),
        (np.array(["a", "b"] * 99), "inconsistent"),
    ],
)
def test_bad_labels_are_refused(two, labels, message):
    with pytest.raises(ValueError, match=message):
        ProbitClassifier().fit(two[0], labels)


def test_one_class_of_positive_weight_is_refused(two):
    X, y = two
    with pytest.raises(ValueError, match="has the class '1'; at least 2 classes are needed"):
        ProbitClassifier().fit(X, y, sample_weight=y)


# ---- weights ----


def test_class_weights_are_row_weights(two):
    X, y = two
    y = np.array(["no", "yes"])[y]
    rows = np.random.default_rng(3).integers(1, 4, size=len(y)).astype(float)
    given = ProbitClassifier(class_weight={"yes": 3.0, "no": 0.5}).fit(X, y, rows)
    same = ProbitClassifier().fit(X, y, rows * np.where(y == "yes", 3.0, 0.5))
    np.testing.assert_allclose(given.coef_, same.coef_, rtol=1e-10)
    partly = ProbitClassifier(class_weight={"yes": 3.0, "no": 1}).fit(X, y)
    same = ProbitClassifier().fit(X, y, np.where(y == "yes", 3.0, 1.0))
    np.testing.assert_allclose(partly.coef_, same.coef_, rtol=1e-10)

    balanced = ProbitClassifier(class_weight="balanced").fit(X, y, rows)
    shares = {label: rows[y == label].sum() for label in ("no", "yes")}
    factors = {label: rows.sum() / (2 * share) for label, share in shares.items()}
    same = ProbitClassifier().fit(X, y, rows * np.array([factors[label] for label in y]))
    np.testing.assert_allclose(balanced.coef_, same.coef_, rtol=1e-10)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("equal", "class_weight = 'equal': a dict or 'balanced' is expected"),
        ([1.0, 2.0], r"class_weight = \[1.0, 2.0\]: a dict or 'balanced'"),
        ({0: -1.0, 1: 1.0}, "class_weight = -1: numbers above 0"),
        ({"a": 1.0}, "not in class_weight"),
    ],
)
def test_bad_class_weights(two, weight, message):
    with pytest.raises(ValueError, match=message):
        ProbitClassifier(class_weight=weight).fit(*two)


@pytest.mark.parametrize("params", [{}, {"basis": "rbf"}, {"prior": "laplace", "lam": 2.0}])
def test_integer_weights_are_repeated_rows(two, params):
    X, y = two
    X, y = X[:80], y[:80]
    weights = np.random.default_rng(3).integers(0, 4, size=80)
    weighted = ProbitClassifier(**params).fit(X, y, sample_weight=weights)
    repeated = ProbitClassifier(**params).fit(X.repeat(weights, axis=0), y.repeat(weights))
    np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), rtol=1e-6)


# ---- inputs ----


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("params", [{}, {"basis": "rbf"}])
def test_sparse_inputs(two, make, params):
    X, y = two
    dense = ProbitClassifier(**params).fit(X, y)
    model = ProbitClassifier(**params).fit(make(X), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(make(X)), dense.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("params", [{}, {"basis": "rbf"}, {"prior": "laplace", "lam_ratio": 0.1}])
def test_rescaling_inputs_changes_nothing_else(two, params):
    X, y = two
    factors, shifts = np.array([1e-6, 1e6, 3, 1, 0.1, 1, 7, 1]), np.arange(8.0)
    plain = ProbitClassifier(**params).fit(X, y)
    other = ProbitClassifier(**params).fit(factors * (X + shifts), y)
    probabilities = other.predict_proba(factors * (X + shifts))
    np.testing.assert_allclose(probabilities, plain.predict_proba(X), rtol=1e-5, atol=1e-9)
    if "basis" not in params:
        np.testing.assert_allclose(other.coef_ * factors, plain.coef_, rtol=1e-5)


def test_a_loaded_model_is_the_same(three, tmp_path):
    X, y = three
    params = {
        "basis": "rbf",
        "candidates": 30,
        "class_weight": {0: 2.0, 1: 1.0, 2: 1.0},
        "tol": 1e-5,
    }
    model = ProbitClassifier(**params).fit(X, y)
    model.save(tmp_path / "model.json")
    other = fewer.load(tmp_path / "model.json")
    assert type(other) is ProbitClassifier
    assert other.get_params() == model.get_params()
    assert vars(other).keys() == vars(model).keys()
    for copy in (other, pickle.loads(pickle.dumps(model))):
        for name in vars(model):
            if name.endswith("_") and name != "model_":
                np.testing.assert_array_equal(getattr(copy, name), getattr(model, name))
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))

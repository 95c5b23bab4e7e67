"""Sparse multinomial logistic regression, beside scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression

import fewer
from fewer import SMLR


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(150, 12))


def two_classes(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(1).normal(size=len(X))
    return np.where(X[:, 0] - X[:, 3] + noise > 0.3, "yes", "no")


def three_classes(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(2).normal(size=len(X))
    return np.digitize(X[:, 0] + X[:, 1] + noise, [-1.0, 1.0])


@pytest.mark.parametrize("lam", [20.0, 2.0, 0.1])
def test_two_classes_equal_scikit_learn(rows, lam):
    y = two_classes(rows)
    ours = SMLR(lam=lam, standardize=False, fit_intercept=False, tol=1e-13).fit(rows, y)
    theirs = LogisticRegression(
        l1_ratio=1.0, C=1 / lam, solver="liblinear", fit_intercept=False, tol=1e-12, max_iter=10**5
    ).fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=1e-5)
    assert list(ours.classes_) == ["no", "yes"]


def test_ridge_equals_scikit_learn(rows):
    y = two_classes(rows)
    ours = SMLR(lam=3.0, l1_ratio=0.0, standardize=False, tol=1e-14).fit(rows, y)
    theirs = LogisticRegression(C=1 / 3.0, solver="newton-cholesky", tol=1e-12).fit(rows, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


def test_three_classes_have_a_reference(rows):
    y = three_classes(rows)
    model = SMLR(lam_ratio=0.05).fit(rows, y)
    assert model.coef_.shape == (3, 12)
    assert not model.coef_[2].any()
    assert {"x1", "x2"} <= set(model.terms_)
    probabilities = model.predict_proba(rows)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(probabilities), model.predict_log_proba(rows), atol=1e-12)
    np.testing.assert_array_equal(model.predict(rows), probabilities.argmax(axis=1))
    assert float(model.certificate_) <= 1e-8


def test_sparse_input_and_saved_models(rows, tmp_path):
    X = np.where(np.abs(rows) < 0.7, 0.0, rows)
    y = three_classes(X)
    dense = SMLR(tol=1e-12).fit(X, y)
    sparse = SMLR(tol=1e-12).fit(scipy.sparse.csc_array(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    dense.save(tmp_path / "model.json")
    loaded = fewer.load(tmp_path / "model.json")
    assert isinstance(loaded, SMLR)
    np.testing.assert_array_equal(loaded.predict_proba(X), dense.predict_proba(X))


def test_lam_is_chosen_by_cross_validation(rows):
    y = two_classes(rows)
    model = SMLR(lam="cv", lams=15).fit(rows, y)
    assert model.lam_ > 0
    assert {"x1", "x4"} <= set(model.terms_)
    assert model.selection_.score == "deviance"


def test_class_weights_count_as_rows(rows):
    y = two_classes(rows)
    weight = np.where(y == "yes", 3.0, 1.0)
    by_class = SMLR(lam=4.0, class_weight={"yes": 3.0}, standardize=False, tol=1e-12).fit(rows, y)
    by_row = SMLR(lam=4.0, standardize=False, tol=1e-12).fit(rows, y, sample_weight=weight)
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-8)


def test_numbers_are_refused(rows):
    with pytest.raises(ValueError, match="class"):
        SMLR().fit(rows, rows[:, 0])

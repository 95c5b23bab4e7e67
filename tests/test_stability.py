"""Stability selection."""

from __future__ import annotations

import numpy as np
import pytest

import fewer
from fewer import RVR, SMLR, Lasso, SparseRegressor, stability_selection


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 60))
    return X, 2 * X[:, 3] - 2 * X[:, 10] + X[:, 20] + rng.normal(size=120)


def test_true_terms_are_stable(data):
    found = stability_selection(Lasso(lam_ratio=0.2, max_terms=6), *data)
    assert set(found.stable) >= {"x4", "x11"}
    assert set(found.stable) <= {"x4", "x11", "x21"}
    assert found.frequencies["x4"] == 1.0
    assert found.positions["x11"] == 10
    assert found.candidates == 60
    q, p = found.mean_terms, found.candidates
    assert found.expected_false == pytest.approx(q**2 / ((2 * 0.75 - 1) * p))
    assert "expected by chance" in repr(found)
    assert found.to_dict()["subsamples"] == 100


def test_frequencies_are_those_of_fits_to_the_halves(data):
    """Counted again from the pairs of halves that complement each other."""
    X, y = data
    found = stability_selection(SparseRegressor(max_terms=4), X, y, subsamples=10)
    assert found.subsamples == 10
    for part in found.frequencies.values():
        assert part * 10 == pytest.approx(round(part * 10))
    total = sum(found.frequencies.values())
    assert total == pytest.approx(found.mean_terms)
    assert found.mean_terms <= 4


def test_noise_alone_is_within_the_bound():
    rng = np.random.default_rng(1)
    stable, bound = 0, 0.0
    for _ in range(10):
        X = rng.normal(size=(60, 40))
        found = stability_selection(
            Lasso(lam_ratio=0.5, max_terms=4), X, rng.normal(size=60), subsamples=40
        )
        stable += len(found.stable)
        bound += found.expected_false
    assert stable <= bound


def test_the_threshold_follows_from_what_is_allowed(data):
    X, y = data
    estimator = Lasso(lam_ratio=0.3, max_terms=4)
    found = stability_selection(estimator, X, y, max_false=0.5, subsamples=20)
    assert found.expected_false <= 0.5 + 1e-9
    assert 0.5 < found.threshold <= 1
    with pytest.raises(ValueError, match=r"max_false.*lower max_terms"):
        stability_selection(Lasso(lam_ratio=0.001), X, y, max_false=0.1, subsamples=4)


def test_a_path_of_lams(data):
    X, y = data
    lams = [200.0, 50.0, 20.0]
    found = stability_selection(Lasso(standardize=False), X, y, lams=lams, subsamples=20)
    np.testing.assert_array_equal(found.lams, lams)
    assert found.paths["x4"].shape == (3,)
    for name, path in found.paths.items():
        assert found.frequencies[name] == path.max()
    # λ is that of all rows here, too.
    single = stability_selection(Lasso(lam=50.0, standardize=False), X, y, subsamples=20)
    assert single.frequencies["x21"] == pytest.approx(found.paths["x21"][1])


def test_seeds_and_threads(data):
    X, y = data
    runs = [
        stability_selection(Lasso(lam_ratio=0.1, n_jobs=n), X, y, subsamples=12, random_state=s)
        for s, n in [(1, 1), (1, 2), (2, 2)]
    ]
    assert runs[0].frequencies == runs[1].frequencies
    assert runs[0].frequencies != runs[2].frequencies


def test_classes(data):
    X, y = data
    labels = np.where(y > 0, "high", "low")
    found = stability_selection(SMLR(lam_ratio=0.3), X, labels, subsamples=20)
    assert found.frequencies["x4"] > 0.9


def test_what_cannot_be(data):
    X, y = data
    with pytest.raises(ValueError, match="give centres"):
        stability_selection(RVR(), X, y, subsamples=2)
    with pytest.raises(ValueError, match="threshold"):
        stability_selection(Lasso(), X, y, threshold=0.5)
    with pytest.raises(ValueError, match="subsamples"):
        stability_selection(Lasso(), X, y, subsamples=1)
    for wrong in (-3, 2.5, "many"):
        with pytest.raises(ValueError, match="subsamples"):
            stability_selection(Lasso(), X, y, subsamples=wrong)
    with pytest.raises(TypeError, match="estimators of fewer"):
        stability_selection("lasso", X, y)
    centres = X[:8]
    found = stability_selection(RVR(centres=centres), X, y, subsamples=4)
    assert found.candidates == 8


def test_a_picture(data):
    pytest.importorskip("matplotlib").use("Agg")
    found = stability_selection(Lasso(lam_ratio=0.2), *data, subsamples=4)
    ax = fewer.plots.stability(found)
    assert len(ax.patches) == min(len(found.frequencies), 30)


def test_learnt_kernels_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    with pytest.raises(ValueError, match="every half learns others"):
        fewer.stability_selection(fewer.AdaptiveRVR(), X, np.sin(X[:, 0]), subsamples=4)


def test_nothing_is_promised_where_no_column_varies_in_a_half():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]])
    found = fewer.stability_selection(fewer.Lasso(), X, [0.0, 1.0, 2.0], subsamples=6)
    assert found.candidates == 0
    assert found.expected_false >= len(found.stable)

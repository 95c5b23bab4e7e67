"""RVR with candidates that are drawn again in every round."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from fewer import RVR


def sinc(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, size=(rows, 1))
    truth = np.sinc(X[:, 0] / np.pi)
    return X, truth + 0.1 * rng.normal(size=rows), truth


def test_all_candidates_are_looked_at_where_that_is_cheap():
    X, y, _ = sinc(1000)
    whole = RVR().fit(X, y)
    drawn = RVR(candidates=50, landmarks="redrawn").fit(X, y)
    assert drawn.converged_ and drawn.certificate_.scope == "all"
    assert float(drawn.certificate_) <= 1e-4
    assert drawn.log_evidence_ > whole.log_evidence_ - 1.5
    assert np.all(np.diff(drawn.trace_) <= 1e-4)


def test_rounds_end_and_predict_as_well_as_all_candidates():
    X, truth = make_friedman1(3000, n_features=10, noise=0, random_state=0)
    y = truth + np.random.default_rng(0).normal(size=3000)
    X_new, truth = make_friedman1(2000, n_features=10, noise=0, random_state=1)
    few = RVR().fit(X[:600], y[:600])
    model = RVR(candidates=200, landmarks="redrawn").fit(X, y)
    assert model.converged_ and model.n_iter_ < 60 and model.n_terms_ < 500
    errors = [np.sqrt(np.mean((m.predict(X_new) - truth) ** 2)) for m in (few, model)]
    assert errors[1] < 0.75 * errors[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_first_rounds_of_few_rows_lead_to_the_same_with_any_threads(weighted):
    X, y, truth = sinc(64_000)
    weights = np.random.default_rng(1).integers(0, 3, size=len(y)) if weighted else None
    settings = {"candidates": 40, "landmarks": "redrawn", "gamma": 3.0, "random_state": 3}
    models = [RVR(n_jobs=jobs, **settings).fit(X, y, sample_weight=weights) for jobs in (1, 2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    model = models[0]
    assert model.converged_ and model.n_terms_ < 40
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.01
    assert model.noise_std_ == pytest.approx(0.1, rel=0.02)
    # What is reported is of all rows.
    total = len(y) if weights is None else weights.sum()
    expected = -0.5 * total * np.log(2 * np.pi * np.e * model.noise_std_**2)
    assert model.log_evidence_ == pytest.approx(expected, rel=0.01)
    assert len(model.trace_) <= model.n_iter_


def test_limits_hold():
    X, y, _ = sinc(64_000)
    with pytest.warns(UserWarning, match="max_iter"):
        model = RVR(candidates=30, landmarks="redrawn", max_iter=1).fit(X, y)
    assert not model.converged_ and model.n_terms_ > 0
    assert RVR(candidates=30, landmarks="redrawn", max_terms=4).fit(X, y).n_terms_ <= 4

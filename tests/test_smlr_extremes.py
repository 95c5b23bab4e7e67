"""SMLR where weights, offsets or ties could mislead it, and what its formulas say."""

from __future__ import annotations

import itertools
import re
import time
import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from fewer import RMLR, SMLR, ProbitClassifier, SeparableWarning


def classes_of(X: np.ndarray, count: int) -> np.ndarray:
    """So many classes, in no order along any column."""
    rng = np.random.default_rng(count)
    scores = X[:, :4] @ rng.normal(size=(4, count)) + rng.gumbel(size=(len(X), count))
    return np.array(["hi", "mid", "lo", "no"])[np.argmax(scores, axis=1)]


def value_of(formula: str, X: np.ndarray, offset: np.ndarray | float = 0.0) -> np.ndarray:
    """What a formula says of rows."""
    code = re.sub(r"(\d) (x\d+)", r"\1 * \2", formula)
    names = {f"x{j + 1}": column for j, column in enumerate(X.T)}
    logistic = lambda t: 1 / (1 + np.exp(-t))  # noqa: E731
    return eval(code, {"exp": np.exp, "logistic": logistic, "offset": offset, **names})


@pytest.mark.parametrize("cls", [SMLR, RMLR])
@pytest.mark.parametrize("parameterization", ["reference", "symmetric"])
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("shifted", [False, True])
def test_formulas_give_the_probabilities(cls, parameterization, count, shifted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = classes_of(X, count)
    offset = rng.normal(size=120 if count == 2 else (120, count)) if shifted else None
    model = cls(lam=2.0, parameterization=parameterization).fit(X, y, offset=offset)
    expected = model.predict_proba(X, offset=offset)
    lines = [model.model_.formula(k) for k in range(1 if count == 2 else count)]
    assert all(("offset" in line) == shifted for line in lines)
    if count == 2:
        given = 0.0 if offset is None else offset
        np.testing.assert_allclose(value_of(lines[0], X, given), expected[:, 1], atol=1e-4)
        return
    given = np.zeros((120, count)) if offset is None else offset
    parts = [value_of(line, X, given[:, k]) * np.ones(120) for k, line in enumerate(lines)]
    found = np.column_stack(parts) / np.sum(parts, axis=0)[:, None]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    if parameterization == "reference":
        assert lines[-1] == ("exp(offset)" if shifted else "1")
    assert model.formula().startswith(f"{model.classes_[0]}: exp(")


def test_one_against_the_rest_keeps_its_own_functions():
    X = np.random.default_rng(0).normal(size=(120, 5))
    assert "exp" not in ProbitClassifier().fit(X, classes_of(X, 3)).formula()


def least(X, y, w, lam):
    """The objective of an independent solver: two classes, L1, in units that suit it."""
    mean = np.average(X, axis=0, weights=w)
    unit = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    Z, cost = (X - mean) / unit, np.r_[lam / unit, lam / unit]
    side = np.where(y == 1, 1, -1)

    def objective(v):
        margin = side * (Z @ (v[:5] - v[5:10]) + v[10])
        loss = np.logaddexp(0, -margin)
        pull = -side * w * np.exp(-margin - loss)
        slope = np.r_[np.r_[Z.T @ pull, -Z.T @ pull] + cost, pull.sum()]
        return w @ loss + cost @ v[:10], slope

    bounds = [(0, None)] * 10 + [(None, None)]
    options = {"maxiter": 10**5, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    runs = [
        minimize(objective, np.r_[np.zeros(10), start], jac=True, bounds=bounds, options=options)
        for start in (0.0, 10.0, -10.0, 30.0, -30.0)
    ]
    return min(run.fun for run in runs)


@pytest.mark.parametrize("solver", ["auto", "bound", "componentwise"])
@pytest.mark.parametrize("heavy", [1e3, 1e9, 1e12, 1e15])
def test_one_heavy_row_does_not_hide_the_others(solver, heavy):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0) * 1
    weights = np.r_[heavy, np.ones(59)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SMLR(solver=solver, standardize=False, max_iter=2000).fit(X, y, weights)
        empty = SMLR(lam_ratio=1.0, standardize=False).fit(X, y, weights)
    best = least(X, y, weights, model.lam_)
    if model.converged_:
        assert model.objective_ <= best * (1 + 1e-6)
    assert model.objective_ >= best * (1 - 1e-6)
    gap = max(model.certificate_.value, 1e-6) * empty.objective_
    assert model.objective_ - gap <= best
    assert model.converged_ or solver == "bound"


@pytest.mark.parametrize("weight", [1e160, 1e300, 1e-160])
def test_weights_without_room_for_products_are_refused(weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = (X[:, 0] > 0) * 1
    with pytest.raises(ValueError, match=r"sample_weight.*divide all weights, and λ"):
        SMLR().fit(X, y, np.full(60, weight))
    plain = SMLR().fit(X, y)
    for factor in (1e120, 1e-120):
        model = SMLR().fit(X, y, np.full(60, factor))
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-5)
        assert model.lam_ == pytest.approx(factor * plain.lam_)


@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
def test_the_symmetric_form_does_not_depend_on_the_order_of_classes(fit_intercept):
    X = np.random.default_rng(0).normal(size=(150, 6))
    y = np.unique(classes_of(X, 4), return_inverse=True)[1]
    settings = {
        "lam": 1.0,
        "parameterization": "symmetric",
        "fit_intercept": fit_intercept,
        "tol": 1e-13,
    }
    model = SMLR(**settings).fit(X, y)
    # A weight of zero in every column, at no cost: half of the others on either side.
    assert (model.coef_ == 0).any(axis=0).all()
    assert np.abs(np.sign(model.coef_).sum(axis=0)).max() <= 2
    kept = np.abs(model.coef_ * X.std(axis=0)).sum()
    assert kept > 0
    for order in itertools.islice(itertools.permutations(range(4)), 0, None, 5):
        other = SMLR(**settings).fit(X, np.array(order)[y])
        np.testing.assert_allclose(other.coef_[list(order)], model.coef_, atol=1e-5)
        np.testing.assert_allclose(other.intercept_[list(order)], model.intercept_, atol=1e-5)
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-10)
    for solver in ("bound", "componentwise"):
        other = SMLR(**{**settings, "solver": solver, "tol": 1e-11}).fit(X, y)
        np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-4)
    other = SMLR(**settings).fit(scipy.sparse.csc_array(X), y)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-5)
    on_path = SMLR(**settings).path(X, y, lams=[5.0, 1.0])
    np.testing.assert_allclose(on_path.coefs[1], model.coef_, atol=1e-5)


@pytest.mark.parametrize("factors", [None, [0, 1, 1, 1, 1, 1]])
def test_the_symmetric_form_has_standard_errors(factors):
    X = np.random.default_rng(0).normal(size=(150, 6))
    y = classes_of(X, 4)
    settings = {"lam": 1.0, "parameterization": "symmetric", "penalty_factors": factors}
    model = SMLR(uncertainty=True, **settings).fit(X, y)
    low, high = np.moveaxis(model.coef_interval(), -1, 0)
    kept = model.coef_ != 0
    assert (low[kept] < model.coef_[kept]).all() and (model.coef_[kept] < high[kept]).all()
    if factors is not None:
        np.testing.assert_allclose(model.coef_[:, 0].sum(), 0, atol=1e-12)


def test_a_fit_that_rounding_stops_names_causes_that_are_there():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 1))
    y = (x[:, 0] + rng.normal(size=100) > 0.3) * 1
    with pytest.warns(ConvergenceWarning, match="values or offsets far from 0"):
        SMLR(lam=1.0).fit(x, y, offset=1e8 * x[:, 0])


def test_max_time_is_looked_at_inside_a_round():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2000))
    y = rng.integers(4, size=150)
    factors = np.r_[np.zeros(200), np.ones(1800)]

    def seconds(**settings):
        start = time.perf_counter()
        model = SMLR(lam=1.0, penalty_factors=factors, **settings).fit(X, y)
        return time.perf_counter() - start, model

    with pytest.warns(SeparableWarning):
        whole = [seconds() for _ in range(3)]
    assert all(model.converged_ and model.n_iter_ <= 1 for _, model in whole)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        _, model = seconds(max_time=min(taken for taken, _ in whole) / 10)
    assert not model.converged_


@pytest.mark.parametrize("seed", [5, 58, 74])
def test_columns_far_from_zero_come_back_into_the_working_set(seed):
    """Nearly equal columns: those that one of them stands for are wanted again a step later."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 10)) + 250
    y = np.digitize(X[:, 0] - 250 + rng.normal(size=30), [-1, 1])
    settings = {"lam": 12.0, "standardize": False, "fit_intercept": False}
    fast = SMLR(**settings).fit(X, y)
    slow = SMLR(**settings, solver="componentwise", max_iter=100_000).fit(X, y)
    assert fast.converged_ and slow.converged_
    np.testing.assert_allclose(fast.objective_, slow.objective_, rtol=1e-7)


def test_the_last_digits_of_many_classes_cost_little():
    """Sweeps went on below rounding until they were stopped: eight times the time of the rest."""
    X = scipy.sparse.random(1000, 300, 0.05, random_state=0, format="csr")
    y = np.arange(1000) % 100
    seconds = []
    for tol in (1e-6, 1e-8):
        start = time.process_time()
        assert SMLR(lam_ratio=0.1, n_jobs=1, tol=tol).fit(X, y).converged_
        seconds.append(time.process_time() - start)
    assert seconds[1] < 4 * seconds[0]

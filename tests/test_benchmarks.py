"""The benchmark harness: the judge, and that no library can stop a run."""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import __main__ as command  # noqa: E402
from benchmarks.adapters import discover  # noqa: E402
from benchmarks.cases import CASES  # noqa: E402
from benchmarks.data import problem_of, read_csv, standardised  # noqa: E402
from benchmarks.evidence import (  # noqa: E402
    LEAST_NOISE,
    best_log_evidence,
    density,
    gaussian_kernel,
    judge_evidence,
    log_evidence,
)
from benchmarks.judge import (  # noqa: E402
    jeffreys_objective,
    jeffreys_stationarity,
    judge,
    lasso_objective,
)
from benchmarks.lasso import certify, gaps, judge_lasso, meets, objectives, polish  # noqa: E402
from benchmarks.logistic import TASKS, Logistic, judge_logistic, solve  # noqa: E402
from benchmarks.problem import Problem, Sizes, Solution, TrainingData  # noqa: E402
from benchmarks.report import (  # noqa: E402
    as_json,
    as_markdown,
    evidence_table,
    ratios,
    seconds_table,
    target_verdicts,
)
from benchmarks.runner import Entry, Settings, first_entry, run, run_case  # noqa: E402

CASE = {case.name: case for case in CASES}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX process groups")

ADAPTER = {adapter.name: adapter for adapter in discover()}
NUMPY = ADAPTER["numpy-moments"]
PEERS = ("adelie", "celer", "glmnet", "sklearn", "skglm")

BAD_ADAPTERS = """
import os
import time

import numpy as np

from benchmarks.adapters.base import Adapter


class _Bad(Adapter):
    library = module = "numpy"

    def supports(self, case):
        return True


class Raises(_Bad):
    name = "raises"

    def fit(self, data, case):
        raise RuntimeError("no such luck")


class Dies(_Bad):
    name = "dies"

    def fit(self, data, case):
        os.abort()


class Sleeps(_Bad):
    name = "sleeps"

    def fit(self, data, case):
        time.sleep(600)


class WrongShape(_Bad):
    name = "wrong-shape"

    def fit(self, data, case):
        self.coef_, self.intercept_ = np.zeros(3), 0.0
        return self


class NotFinite(_Bad):
    name = "not-finite"

    def fit(self, data, case):
        self.coef_, self.intercept_ = np.full(data.X.shape[1], np.nan), 0.0
        return self


class Cannot(_Bad):
    name = "cannot"
    fit = None

    def supports(self, case):
        return "wrong kind of case"


class Lazy(_Bad):
    name = "lazy"
    ladder = (1e-2, 1e-3)

    def fit(self, data, case):
        self.coef_, self.intercept_ = np.zeros(data.X.shape[1]), 0.0
        return self


class Missing(_Bad):
    name = "missing"
    module = "no_such_module_anywhere"
    fit = None
"""


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "bad_adapters.py").write_text(BAD_ADAPTERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    sys.modules.pop("bad_adapters", None)
    return importlib.import_module("bad_adapters")


def small_problem() -> Problem:
    rng = np.random.Generator(np.random.PCG64(1))
    X = rng.standard_normal((30, 4))
    coef = np.array([2.0, 0.0, -1.0, 0.0])
    y = X @ coef + 0.5
    return Problem(X, y, X, y, coef, 0.5, 0.0)


def test_judge_on_the_truth() -> None:
    problem = small_problem()
    measures = ("test_rmse", "terms", "true_terms", "false_terms", "stationarity")
    judged = judge(problem, Solution(problem.coef, 0.5), measures, None)
    assert judged["test_rmse"] == pytest.approx(0, abs=1e-12)
    assert (judged["terms"], judged["true_terms"], judged["false_terms"]) == (2, 2, 0)
    assert judged["stationarity"] is None


def test_judge_ignores_the_claims() -> None:
    problem = small_problem()
    honest = judge(problem, Solution(0 * problem.coef), ("test_rmse", "terms"), None)
    boastful = Solution(0 * problem.coef, claims={"test_rmse": 0.0, "objective": -1e9})
    assert judge(problem, boastful, ("test_rmse", "terms"), None) == honest


def test_objectives_by_hand() -> None:
    X, y = np.eye(2), np.array([3.0, 1.0])
    coef = np.array([2.0, 0.0])
    # Residual (1, 1): variance 1, so (n/2)(log 1 + 1) + log 2.
    assert jeffreys_objective(X, y, coef, 0.0) == pytest.approx(1 + np.log(2))
    assert lasso_objective(X, y, coef, 0.0, lam=0.5) == pytest.approx(1 + 1)


def test_stationarity_vanishes_at_a_fixed_point() -> None:
    # One column of unit length: w solves w^2 - b w + s2 = 0 with s2 = |r|^2 / n.
    rng = np.random.Generator(np.random.PCG64(2))
    x = rng.standard_normal(50)
    x /= np.linalg.norm(x)
    y = 10 * x + 0.3 * rng.standard_normal(50)
    b, w = float(x @ y), float(x @ y)
    for _ in range(500):
        variance = float(np.sum((y - w * x) ** 2)) / 50
        w = b * w**2 / (variance + w**2)
    X, coef = x[:, None], np.array([w])
    assert jeffreys_stationarity(X, y, coef, 0.0) < 1e-12
    assert jeffreys_stationarity(7 * X, y, coef / 7, 0.0) < 1e-12
    assert jeffreys_stationarity(X, y, 1.01 * coef, 0.0) > 1e-2


def test_quick_run_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "numbers.json"
    arguments = ["--quick", "--only", "moments", "--libraries", "numpy", "--out", str(out)]
    assert command.main(arguments) == 0
    table, progress = capsys.readouterr()
    assert "| numpy-moments |" in table
    assert "2/2 numpy-moments" in progress
    (numbers,) = json.loads(out.read_text())
    (entry,) = numbers["entries"]
    assert entry["status"] == "ok"
    assert len(entry["records"]) == 2
    record = entry["records"][0]
    assert record["wall_s"] > 0
    assert record["peak_rss_bytes"] >= record["extra_rss_bytes"] >= 0
    assert record["judged"]["terms"] == 50
    assert record["judged"]["test_rmse"] == pytest.approx(1.0, abs=0.15)
    assert numbers["machine"]["cpu"]
    assert numbers["versions"] == {"numpy-moments": np.__version__}


def test_bad_libraries_do_not_stop_the_run(bad: Any) -> None:
    adapters = [bad.Raises, bad.Dies, bad.WrongShape, bad.NotFinite, bad.Cannot, bad.Missing, NUMPY]
    settings = Settings(repeats=2, quick=True)
    entries = {e.library: e for e in run_case(CASE["moments"], adapters, settings)}
    assert entries["raises"].status == "failed"
    assert entries["raises"].reason == "RuntimeError: no such luck"
    assert (entries["dies"].status, entries["dies"].reason) == ("failed", "killed by SIGABRT")
    assert entries["wrong-shape"].status == "failed"
    assert "(3,)" in entries["wrong-shape"].reason
    assert entries["not-finite"].reason == "solution is not finite"
    assert (entries["cannot"].status, entries["cannot"].reason) == ("N/A", "wrong kind of case")
    assert (entries["missing"].status, entries["missing"].reason) == ("N/A", "not installed")
    assert len(entries["numpy-moments"].records) == 2
    table = as_markdown(CASE["moments"], list(entries.values()), settings)
    assert "| raises | failed |" in table
    assert "- raises: failed, RuntimeError: no such luck" in table


def test_time_out_is_nc(bad: Any) -> None:
    settings = Settings(repeats=2, quick=True, timeout_s=0.2)
    (entry,) = run_case(CASE["moments"], [bad.Sleeps], settings)
    assert (entry.status, entry.reason, entry.records) == ("NC", "no result after 0.2 s", [])


def _timed(library: str, *seconds: float) -> Entry:
    judged = {"test_rmse": 1.0, "terms": 1.0}
    records = [
        {"cpu_s": s, "wall_s": s, "extra_rss_bytes": 0, "judged": judged, "warnings": []}
        for s in seconds
    ]
    return Entry(library, "1.0", records=records)


def test_ratios_and_target() -> None:
    case = dataclasses.replace(CASE["moments"], measures=("test_rmse", "terms"))
    entries = [_timed("fewer", 3.0, 2.0, 9.0), _timed("numpy-moments", 1.0, 1.5)]
    assert ratios(case, entries, "cpu_s") == {"fewer": 2.0, "numpy-moments": 1.0}
    (verdict,) = target_verdicts(case, entries, Settings())
    assert (verdict["ratio"], verdict["verdict"]) == (2.0, "met")
    slow = [_timed("fewer", 2.6), _timed("numpy-moments", 1.0)]
    (verdict,) = target_verdicts(case, slow, Settings())
    assert verdict["verdict"] == "missed"
    (verdict,) = target_verdicts(case, slow[:1], Settings())
    assert verdict["verdict"] == "not measured"
    assert target_verdicts(case, entries, Settings(quick=True)) == []
    late = Entry("numpy-moments", "1.0")
    late.stop("NC", "no result after 10 s")
    (verdict,) = target_verdicts(case, [slow[0], late], Settings(timeout_s=10.0))
    assert (verdict["ratio"], verdict["bound"], verdict["verdict"]) == (0.26, True, "met")
    assert "2.000 / 3.000" in as_markdown(case, entries, Settings())
    json.dumps(as_json(case, entries, Settings()))


def test_a_library_that_was_late_is_not_waited_for_again(bad: Any, tmp_path: Path) -> None:
    settings = Settings(repeats=1, quick=True, timeout_s=0.2, cache=str(tmp_path / "cache"))
    (entry,) = run_case(CASE["moments"], [bad.Sleeps], settings)
    assert entry.status == "NC"
    patient = dataclasses.replace(settings, timeout_s=600.0)
    (entry,) = run_case(CASE["moments"], [bad.Sleeps], patient)
    assert (entry.status, entry.reason) == ("NC", "no result after 0.2 s")


def evidence_problem() -> tuple[Any, Any, Any]:
    rng = np.random.Generator(np.random.PCG64(6))
    F = rng.standard_normal((25, 4))
    y = F @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.3 * rng.standard_normal(25)
    return F, y, np.array([0.5, 2.0, 7.0, 90.0])


def test_log_evidence_is_that_of_a_normal_vector() -> None:
    F, y, precisions = evidence_problem()
    value, mean, variances = log_evidence(F, y, precisions, 0.1)
    covariance = 0.1 * np.eye(25) + F @ np.diag(1 / precisions) @ F.T
    sign, volume = np.linalg.slogdet(2 * np.pi * covariance)
    assert sign == 1
    assert value == pytest.approx(-0.5 * (volume + y @ np.linalg.solve(covariance, y)))
    posterior = np.linalg.inv(F.T @ F / 0.1 + np.diag(precisions))
    assert mean == pytest.approx(posterior @ F.T @ y / 0.1)
    assert variances == pytest.approx(np.diag(posterior))


def test_the_best_log_evidence_is_a_maximum() -> None:
    F, y, precisions = evidence_problem()
    F, precisions = F[:, :3], precisions[:3]
    _, weights, _ = log_evidence(F, y, precisions, 0.1)
    best = best_log_evidence(F, y, weights, 0.1)
    rng = np.random.Generator(np.random.PCG64(7))
    others = [
        log_evidence(F, y, np.exp(rng.normal(size=3)) / weights**2, 0.1)[0] for _ in range(200)
    ]
    assert max(others) < best + 1e-3
    assert max(others) > best - 0.1
    # Less noise than the cap counts as the cap.
    floor = LEAST_NOISE * float(np.var(y))
    assert best_log_evidence(F, y, weights, 0.0) == best_log_evidence(F, y, weights, floor)
    empty = best_log_evidence(F[:, :0], y, weights[:0], 0.1)
    assert empty == pytest.approx(-12.5 * np.log(2 * np.pi * 0.1) - y @ y / 0.2)


def test_judge_of_evidence() -> None:
    case = CASE["rvm-sinc-500"]
    problem = case.problem(quick=True)
    size = len(problem.y)
    K = gaussian_kernel(problem.X, problem.X[:1], 0.1)
    assert K[:, 0] == pytest.approx(np.exp(-0.1 * (problem.X[:, 0] - problem.X[0, 0]) ** 2))
    coef = np.zeros(size)
    coef[0] = 1.0
    mean, std = np.zeros(len(problem.y_test)), np.full(len(problem.y_test), 2.0)
    solution = Solution(coef, prediction=np.array([mean, std]), noise_std=0.1)
    judged = judge_evidence(case, problem, solution)
    assert judged["test_rmse"] == pytest.approx(np.sqrt(np.mean(problem.y_test**2)))
    assert judged["nlpd"] == pytest.approx(density(problem.y_test, mean, std))
    assert density(np.array([3.0]), np.array([1.0]), np.array([2.0])) == pytest.approx(
        0.5 * np.log(2 * np.pi * 4) + 0.5
    )
    assert judged["terms"] == 1
    assert judged["log_evidence"] == pytest.approx(
        best_log_evidence(K, problem.y, np.ones(1), 0.01)
    )
    silent = Solution(coef, prediction=np.array([mean, np.nan * std]))
    judged = judge_evidence(case, problem, silent)
    assert judged["nlpd"] is None
    assert judged["log_evidence"] is None
    with pytest.raises(ValueError, match="no predictions"):
        judge_evidence(case, problem, Solution(coef))
    with pytest.raises(ValueError, match=r"\(3,\), not"):
        judge_evidence(case, problem, dataclasses.replace(silent, coef=np.zeros(3)))


EVIDENCE_PEERS = {
    "rvm-sinc-500": ("fewer", "fastrvm", "kernlab", "sklearn-rvm", "sklearn-SVR"),
    "ard-tall": ("fewer", "fastrvm", "sklearn-ARDRegression"),
}


@pytest.mark.parametrize(
    ("case", "name"), [(case, name) for case, names in EVIDENCE_PEERS.items() for name in names]
)
def test_evidence_peers(name: str, case: str) -> None:
    adapter = ADAPTER[name]
    if not adapter().available():
        pytest.skip(f"{name} is {adapter.missing}")
    (entry,) = run_case(CASE[case], [adapter], Settings(repeats=1, quick=True))
    assert (entry.status, entry.reason) == ("ok", "")
    judged = entry.records[0]["judged"]
    assert judged["test_rmse"] < (0.13 if case == "rvm-sinc-500" else 2.2)
    if name != "sklearn-SVR":
        assert judged["terms"] < 30
        assert judged["log_evidence"] > (70 if case == "rvm-sinc-500" else -640)


def test_a_case_may_leave_a_library_out() -> None:
    entry = first_entry(ADAPTER["sklearn-SVR"](), CASE["rvm-sinc-500"])
    assert entry is not None
    assert entry.status == "ok"
    case = dataclasses.replace(CASE["rvm-sinc-500"], left_out={"sklearn-SVR": "too slow"})
    entry = first_entry(ADAPTER["sklearn-SVR"](), case)
    assert entry is not None
    assert (entry.status, entry.reason) == ("N/A", "too slow")


def soft_threshold_problem() -> tuple[Any, Any, Any, Any]:
    # With orthonormal columns the answer is known: every product moves towards 0 by lam.
    rng = np.random.Generator(np.random.PCG64(3))
    X = np.linalg.qr(rng.standard_normal((20, 5)))[0]
    y = X @ np.array([3.0, -2.0, 0.5, 0.0, 0.0]) + 0.1 * rng.standard_normal(20)
    lams = np.array([1.0, 0.2])
    pulls = X.T @ y
    coefs = np.sign(pulls) * np.maximum(np.abs(pulls) - lams[:, None], 0)
    return X, y, lams, coefs


def test_the_gap_vanishes_at_the_optimum_only() -> None:
    X, y, lams, coefs = soft_threshold_problem()
    assert np.all(gaps(X, y, coefs, lams) < 1e-14)
    worse = 1.01 * coefs
    gap = gaps(X, y, worse, lams)
    best, found = objectives(X, y, coefs, lams), objectives(X, y, worse, lams)
    assert np.all(found - best > 0)
    assert np.all(gap * found >= found - best)
    assert found[0] == pytest.approx(lasso_objective(X, y, worse[0], 0.0, lams[0]))


def test_polishing_needs_the_right_signs() -> None:
    X, y, lams, coefs = soft_threshold_problem()
    assert polish(X, y, 0.9 * coefs[0], 1.0) == pytest.approx(coefs[0])
    wrong = coefs[0] * np.array([-1.0, 1, 1, 1, 1])
    assert polish(X, y, wrong, 1.0) is wrong
    reference = certify(X, y, 0.999 * coefs, lams, "test")
    assert reference.worst_gap < 1e-12
    assert reference.coefs == pytest.approx(coefs)


def test_judge_of_the_lasso() -> None:
    X, y, lams, coefs = soft_threshold_problem()
    problem = Problem(X, y, X, y, coefs[0], 0.0, 0.1)
    reference = dataclasses.replace(certify(X, y, coefs, lams, "test"), curve=np.array([2.0, 1.0]))
    path = judge_lasso(CASE["lasso-path"], problem, Solution(coefs), reference)
    assert path["suboptimality"] == pytest.approx(0, abs=1e-14)
    assert path["terms"] == np.count_nonzero(coefs[1])
    cv = Solution(coefs[1], lam=0.2, curve=np.array([2.0, 1.01]))
    judged = judge_lasso(CASE["lasso-cv"], problem, cv, reference)
    assert judged["curve_error"] == pytest.approx(0.01)
    assert judged["lam_ratio"] == pytest.approx(0.2)
    assert judged["regret"] == 0
    assert not meets(1e-6, judged)
    assert meets(1e-6, {**judged, "curve_error": 1e-4})
    with pytest.raises(ValueError, match=r"\(5,\), the problem has \(2, 5\)"):
        judge_lasso(CASE["lasso-path"], problem, Solution(coefs[0]), reference)


def class_problem(classes: int) -> tuple[Any, Any]:
    rng = np.random.Generator(np.random.PCG64(4))
    X = rng.standard_normal((60, 8))
    y = (rng.random(60) * classes).astype(np.int64).astype(np.float64)
    return X, y


@pytest.mark.parametrize("task", TASKS)
def test_the_judge_finds_the_optimum_of_every_task(task: str) -> None:
    classes = 3 if "multinomial" in task else 2
    X, y = class_problem(classes)
    goal = Logistic.of(task, classes, X, y)
    lam = 0.2 * goal.largest_lam()
    W = goal.minimise(np.zeros(goal.shape), lam)
    assert goal.gap(W, lam) < 1e-9
    best = goal.objective(W, lam)
    rng = np.random.Generator(np.random.PCG64(5))
    for size in (1e-1, 1e-3):
        worse = W + size * rng.standard_normal(W.shape)
        excess = goal.objective(worse, lam) - best
        assert 0 < excess <= goal.gap(worse, lam) * goal.objective(worse, lam) * (1 + 1e-9)
    if not goal.ridge:
        assert np.count_nonzero(goal.minimise(0 * W, 1.0001 * goal.largest_lam())) == 0
        assert np.count_nonzero(goal.minimise(0 * W, 0.99 * goal.largest_lam())) > 0


def test_logistic_objective_by_hand() -> None:
    X, y = np.eye(2), np.array([0.0, 1.0])
    goal = Logistic.of("logistic", 2, X, y)
    W = np.array([[-1.0, 2.0]])
    loss = np.log1p(np.exp(-1.0)) + np.log1p(np.exp(-2.0))
    assert goal.objective(W, 0.5) == pytest.approx(loss + 1.5)
    ridge = Logistic.of("ridge-logistic", 2, X, y)
    assert ridge.objective(W, 0.5) == pytest.approx(loss + 1.25)


def test_the_judge_agrees_with_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = class_problem(3)
    for task, classes in (("ridge-logistic", 2), ("ridge-multinomial", 3)):
        labels = np.minimum(y, classes - 1)
        goal = Logistic.of(task, classes, X, labels)
        model = linear_model.LogisticRegression(C=0.5, fit_intercept=False, tol=1e-12)
        model.fit(X, labels)
        found = goal.minimise(np.zeros(goal.shape), 2.0)
        assert found == pytest.approx(model.coef_, abs=1e-5)


def test_judge_of_logistic_regression() -> None:
    X, y = class_problem(3)
    case = CASE["multinomial-reference-dense"]
    case = dataclasses.replace(case, classes=3)
    problem = Problem(X, y, X[:0], y[:0], np.zeros(0), 0.0, 0.0)
    lams = np.array([2.0])
    reference = solve(case, problem, lams)
    full = np.vstack([reference.coefs.reshape(2, 8), np.zeros(8)])
    judged = judge_logistic(case, problem, Solution(full), reference)
    assert judged["suboptimality"] == pytest.approx(0, abs=1e-12)
    assert judged["terms"] == np.count_nonzero(full)
    with pytest.raises(ValueError, match="class of reference"):
        judge_logistic(case, problem, Solution(full + 1), reference)
    with pytest.raises(ValueError, match=r"\(8,\), expected \(3, 8\)"):
        judge_logistic(case, problem, Solution(full[0]), reference)
    with pytest.raises(ValueError, match="not finite"):
        judge_logistic(case, problem, Solution(full * np.nan), reference)


def test_data_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEWER_DATA", str(tmp_path))
    text = "a,b,c,target\n1,2,5,no\n3,0,5,yes\n5,4,5,no\n"
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text.encode()))
    X, y = read_csv("x.csv.gz")
    assert X.shape == (3, 3)
    assert y.tolist() == [0, 1, 0]
    Z = standardised(X)
    assert Z.shape == (3, 2)
    assert Z.mean(axis=0) == pytest.approx(0)
    rng = np.random.Generator(np.random.PCG64(0))
    part = problem_of(lambda: (X, y), rng, Sizes(n=2, p=1, terms=0, n_test=0))
    assert part.X.shape == (2, 1)
    assert part.X.max() == 5


def test_a_case_without_its_data_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEWER_DATA", str(tmp_path))
    assert command.main(["--quick", "--only", "logistic-colon"]) == 0
    out, progress = capsys.readouterr()
    assert out == ""
    assert "logistic-colon: skipped, data file colon.csv.gz is not here" in progress


LOGISTIC_PEERS = {
    "logistic-dense": ("adelie", "celer", "glmnet", "skglm", "snapml", "sklearn-liblinear"),
    "logistic-path": ("adelie", "glmnet"),
    "logistic-sparse": ("adelie", "glmnet", "sklearn-liblinear", "snapml"),
    "multinomial-dense": ("adelie", "glmnet", "sklearn-saga"),
    "ridge-logistic-dense": ("adelie", "glmnet", "sklearn-lbfgs", "snapml"),
    # adelie takes minutes for the ridge of several classes, at the smallest sizes too.
    "ridge-multinomial-dense": ("glmnet", "sklearn-newton-cg"),
}


@pytest.mark.parametrize(
    ("case", "name"), [(case, name) for case, names in LOGISTIC_PEERS.items() for name in names]
)
def test_logistic_peers_reach_the_goal(
    name: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = ADAPTER[name]
    if not adapter().available():
        pytest.skip(f"{name} is {adapter.missing}")
    first = adapter().variants(CASE[case])[:1]
    monkeypatch.setattr(adapter, "variants", lambda self, case: first)
    monkeypatch.setattr(adapter, "ladder", (1e-12 if name in ("adelie", "glmnet") else 1e-7,))
    done = run(CASE[case], [adapter], Settings(repeats=1, quick=True))
    (entry,) = done.entries
    assert (entry.status, entry.reason) == ("ok", "")
    assert entry.records[0]["judged"]["suboptimality"] <= 1e-6
    assert done.facts["reference_gap"] <= 1e-8


def test_who_cannot_do_multinomial_regression_says_why() -> None:
    case = CASE["multinomial-dense"]
    for name in ("celer", "skglm", "snapml", "sklearn-liblinear"):
        assert isinstance(ADAPTER[name]().supports(case), str)
    assert ADAPTER["sklearn-lbfgs"]().supports(case) is False
    assert ADAPTER["sklearn"]().supports(case) is False


def test_folds_leave_every_row_out_once() -> None:
    data = TrainingData(np.zeros((7, 2)), np.zeros(7), 1, fold_ids=np.arange(7) % 3)
    assert [len(test) for _, test in data.folds] == [3, 2, 2]
    for train, test in data.folds:
        assert sorted([*train, *test]) == list(range(7))


@pytest.mark.parametrize("case", ["lasso-dense", "lasso-path", "lasso-cv", "lasso-sparse"])
@pytest.mark.parametrize("name", PEERS)
def test_peers_reach_the_goal(name: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = ADAPTER[name]
    if not adapter().available():
        pytest.skip(f"{name} is {adapter.missing}")
    # One rung and one way: that the ladder is climbed has a test of its own.
    first = adapter().variants(CASE[case])[:1]
    monkeypatch.setattr(adapter, "variants", lambda self, case: first)
    monkeypatch.setattr(adapter, "ladder", (1e-12 if name in ("adelie", "glmnet") else 1e-7,))
    done = run(CASE[case], [adapter], Settings(repeats=1, quick=True))
    (entry,) = done.entries
    assert (entry.status, entry.reason) == ("ok", "")
    assert entry.records[0]["judged"]["suboptimality"] <= 1e-6
    assert done.facts["reference_gap"] <= 1e-9
    assert done.facts["pass_s"] > 0


def test_the_loosest_tolerance_is_taken(tmp_path: Path) -> None:
    settings = Settings(repeats=1, quick=True, cache=str(tmp_path))
    done = run(CASE["lasso-dense"], [ADAPTER["sklearn"]], settings)
    (entry,) = done.entries
    tried = [(c["tol"], c["judged"]["suboptimality"] <= 1e-6) for c in entry.calibration]
    assert entry.setting is not None
    assert entry.setting.tol == max(tol for tol, met in tried if met)
    assert not tried[0][1]
    table = as_markdown(CASE["lasso-dense"], done.entries, settings, done.facts)
    assert f"| {entry.version} | {entry.setting.tol:.0e} |" in table
    assert "relative duality gap at most" in table
    assert str(tmp_path) not in json.dumps(
        as_json(CASE["lasso-dense"], done.entries, settings, done.facts)
    )
    # The second run climbs no ladder.
    (again,) = run_case(CASE["lasso-dense"], [ADAPTER["sklearn"]], settings)
    assert again.setting == entry.setting
    assert len(list(tmp_path.glob("*/reference.npz"))) == 1


def test_missing_the_goal_is_nc(bad: Any) -> None:
    (entry,) = run_case(CASE["lasso-dense"], [bad.Lazy], Settings(repeats=1, quick=True))
    assert (entry.status, entry.records) == ("NC", [])
    assert "only, at tolerances down to 1e-03" in entry.reason
    (entry,) = run_case(CASE["lasso-dense"], [bad.Raises], Settings(repeats=1, quick=True))
    assert (entry.status, entry.reason) == ("failed", "RuntimeError: no such luck")


def test_libraries_without_the_lasso_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASE["lasso-dense"]
    assert first_entry(NUMPY(), case) is None
    assert first_entry(ADAPTER["sklearn-ARDRegression"](), case) is None
    assert first_entry(ADAPTER["sklearn"](), CASE["moments"]) is None
    monkeypatch.setitem(sys.modules, "fewer", type(sys)("fewer"))
    assert ADAPTER["fewer"]().supports(case) == "this version has no Lasso"


def test_quick_results_are_never_saved() -> None:
    with pytest.raises(SystemExit, match="without --quick"):
        command.main(["--quick", "--save"])


def test_unknown_names_are_said() -> None:
    with pytest.raises(SystemExit, match="unknown case nonsense; known: moments"):
        command.main(["--only", "nonsense"])


def test_the_table_of_evidence(tmp_path: Path) -> None:
    case = CASE["rvm-sinc-500"]
    ours, late = _timed("fewer", 0.25, 0.5), Entry("kernlab", "1.0")
    ours.records[-1]["judged"] = {"test_rmse": 0.1, "terms": 7.0, "log_evidence": 1.25}
    late.stop("NC", "no result after 1 s")
    case = dataclasses.replace(case, measures=("test_rmse", "terms"))
    numbers = as_json(case, [late, ours], Settings())
    (tmp_path / f"{case.name}.json").write_text(json.dumps(numbers))
    table = evidence_table([case, CASE["ard-tall"]], tmp_path)
    assert "| case | fewer | kernlab |" in table
    assert "(results/rvm-sinc-500.md) | 0.25 s, 0.1, 7, 1.2 | NC |" in table
    assert "ard-tall" not in table


def test_the_table_of_times_tells_who_cannot_from_who_was_not_measured(tmp_path: Path) -> None:
    dense, multinomial = CASE["lasso-dense"], CASE["multinomial-dense"]
    absent, unable = Entry("skglm", ""), Entry("celer", "1.0")
    absent.stop("N/A", ADAPTER["skglm"].missing)
    unable.stop("N/A", "two classes only")
    stored = [
        (dense, [_timed("fewer", 0.25), absent]),
        (multinomial, [_timed("fewer", 0.5), unable, _timed("sklearn-saga", 2.0)]),
    ]
    for case, entries in stored:
        case = dataclasses.replace(case, measures=("test_rmse", "terms"))
        numbers = as_json(case, entries, Settings())
        (tmp_path / f"{case.name}.json").write_text(json.dumps(numbers))
    table = seconds_table([dense, multinomial], tmp_path, list(ADAPTER.values()))
    assert "| case | fewer | celer | skglm | sklearn-saga |" in table
    assert "(lasso-dense.md) | **0.25** |  |  | N/A |" in table
    assert "(multinomial-dense.md) | **0.5** | N/A | N/A | 2 |" in table


def test_libraries_not_asked_keep_their_stored_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    case = CASE["moments"]
    numbers = as_json(case, [_timed("fewer", 2.0), _timed("old", 5.0)], Settings())
    command.save(case, Settings(), "table", numbers)
    (kept,) = command.earlier_entries(case, Settings(), [_timed("fewer", 1.0)])
    assert (kept.library, kept.records[0]["cpu_s"], kept.earlier) == ("old", 5.0, numbers["date"])
    other = dataclasses.replace(case, seed=1)
    assert command.earlier_entries(other, Settings(), []) == []


def test_the_study_of_evidence_says_what_it_needs(monkeypatch):
    from benchmarks import evidence_study

    monkeypatch.setattr(sys, "argv", ["evidence_study"])
    monkeypatch.setitem(sys.modules, "fastrvm", None)
    with pytest.raises(SystemExit, match="pip install fastrvm"):
        evidence_study.main()


def test_the_study_of_evidence_counts_losses():
    from benchmarks import evidence_study

    X, y = np.eye(3), np.array([2.0, 0.1, -0.1])
    found = (np.array([0]), np.array([1.9]), 0.1)
    reached = evidence_study.evidence(X, y, None, found)
    C = np.diag([0.01 + 1.9**2, 0.01, 0.01])
    assert reached > -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + y @ np.linalg.solve(C, y)) - 0.1
    rows = [(1, "sinc", 60, 1.0, 0.5, 2.0, 1.0), (8, "sinc", 70, 1.0, 1.5, 2.0, 1.0)]
    text = evidence_study.table(rows)
    assert "| all | 2 | 0.000 | 1 | 0.50 | 2.0 |" in text
    assert "- seed 8, sinc, 70 rows" in text

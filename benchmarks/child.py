"""One measured fit in a process of its own: ``python -m benchmarks.child JOB.json``."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib
import json
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.adapters.base import Adapter
from benchmarks.cases import CASES
from benchmarks.logistic import Logistic
from benchmarks.problem import Case, TrainingData

_WARM_UP = {False: (64, 8), True: (2000, 200)}  # a sparse corner must hold some values


def load_adapter(spec: str) -> Adapter:
    """The adapter named ``module:Class``."""
    module, _, name = spec.partition(":")
    adapter: Adapter = getattr(importlib.import_module(module), name)()
    return adapter


def cpu_seconds() -> float:
    """User and system time of this process and of the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _status_kib(field: str) -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), None)


def peak_rss_bytes() -> int:
    """The largest resident size so far.

    On Linux ru_maxrss starts at the size of the parent at the time of the fork, so the
    kernel's own high-water mark of this process is preferred.
    """
    kib = _status_kib("VmHWM:")
    if kib is not None:
        return kib * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def rss_bytes() -> int:
    """The resident size now (where the system does not say, the peak so far)."""
    kib = _status_kib("VmRSS:")
    return kib * 1024 if kib is not None else peak_rss_bytes()


def reset_peak() -> None:
    """Forget the peak of loading and warming up, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def load(job: dict[str, Any]) -> TrainingData:
    """The data of a job, read into memory, not mapped: page faults are no part of a fit."""
    if job["sparse"]:
        parts = tuple(np.load(job[f"X_{name}"]) for name in ("data", "indices", "indptr"))
        X = scipy.sparse.csc_matrix(parts, shape=(job["n"], job["p"]))
    else:
        X = np.load(job["X"])
    return TrainingData(
        X,
        np.load(job["y"]),
        job["threads"],
        np.load(job["lams"]),
        np.load(job["fold_ids"]) if job["task"] == "lasso-cv" else None,
        job["tol"],
        job["variant"],
        job["classes"],
        job["gamma"],
        np.load(job["X_test"]) if job["predict"] else np.zeros((0, 0)),
    )


def corner_of(data: TrainingData, task: str) -> TrainingData:
    """A tiny problem of the same kind: compiled code depends on types and layout."""
    rows, columns = _WARM_UP[scipy.sparse.issparse(data.X)]
    X, y = data.X[:rows, :columns], data.y[:rows].copy()
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csc_matrix(X)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    else:
        X = X.copy(order="F" if data.X.flags.f_contiguous else "C")
    lams = data.lams
    if len(lams):
        # The same part of the largest penalty, which is not known here: the first will do.
        if data.classes:
            largest = Logistic.of(task, data.classes, X, y).largest_lam()
        else:
            largest = float(np.abs(X.T @ y).max())
        lams = lams / lams[0] * 0.5 * largest
    folds = None if data.fold_ids is None else data.fold_ids[:rows]
    # With a loose tolerance some libraries stop before they have compiled everything.
    tol = min(data.tol, 1e-3)
    return dataclasses.replace(data, X=X, y=y, lams=lams, fold_ids=folds, tol=tol)


def time_pass(data: TrainingData) -> float:
    """Seconds of one product of the transposed matrix with a vector: the unit of lasso work."""
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        data.X.T @ data.y
        best = min(best, time.process_time() - start)
    return best


def warm_up(adapter: Adapter, data: TrainingData, case: Case) -> float:
    """Fit a tiny corner of the data, so that compilation and lazy imports are not timed."""
    corner = adapter.arrange(corner_of(data, case.task))
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            adapter.fit(corner, case)
        except Exception as error:
            print(f"warm-up failed: {error}", file=sys.stderr)
    return time.perf_counter() - start


def measure(adapter: Adapter, data: TrainingData, case: Case) -> tuple[Any, dict[str, Any]]:
    """Fit once; the fitted object, and what the fit call alone cost."""
    warm_up_s = warm_up(adapter, data, case)
    data = adapter.arrange(data)
    gc.collect()
    reset_peak()
    rss_before = rss_bytes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cpu, wall = cpu_seconds(), time.perf_counter()
        fitted = adapter.fit(data, case)
        wall_s, cpu_s = time.perf_counter() - wall, cpu_seconds() - cpu
    peak = peak_rss_bytes()
    cost = {
        "cpu_s": cpu_s,
        "wall_s": wall_s,
        "peak_rss_bytes": peak,
        "extra_rss_bytes": max(0, peak - rss_before),
        "warm_up_s": warm_up_s,
        "warnings": sorted({f"{w.category.__name__}: {w.message}" for w in caught}),
    }
    return fitted, cost


def main(job_file: str) -> None:
    """Load the job, measure, write the solution and what it cost."""
    job = json.loads(Path(job_file).read_text())
    data = load(job)
    if job["adapter"] == "pass":
        Path(job["result"]).write_text(json.dumps({"pass_s": time_pass(data)}))
        return
    adapter = load_adapter(job["adapter"])
    case = next(case for case in CASES if case.name == job["case"])
    case = dataclasses.replace(case, task=job["task"])
    adapter.prepare()
    fitted, cost = measure(adapter, data, case)
    solution = adapter.solution(fitted, data)
    np.save(job["coef"], solution.coef)
    for name, values in (("curve", solution.curve), ("prediction", solution.prediction)):
        if values is not None:
            np.save(job[name], values)
    cost.update(intercept=solution.intercept, claims=dict(solution.claims), lam=solution.lam)
    cost.update(noise_std=solution.noise_std)
    Path(job["result"]).write_text(json.dumps(cost))


if __name__ == "__main__":
    main(sys.argv[1])

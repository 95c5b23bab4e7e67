"""One measured fit in a process of its own: ``python -m benchmarks.child JOB.json``."""

from __future__ import annotations

import contextlib
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

from benchmarks.adapters.base import Adapter
from benchmarks.cases import CASES
from benchmarks.problem import Case, TrainingData

_WARM_UP_ROWS, _WARM_UP_COLUMNS = 64, 8


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


def warm_up(adapter: Adapter, data: TrainingData, case: Case) -> float:
    """Fit a tiny corner of the data, so that compilation and lazy imports are not timed."""
    corner = TrainingData(
        np.ascontiguousarray(data.X[:_WARM_UP_ROWS, :_WARM_UP_COLUMNS]),
        data.y[:_WARM_UP_ROWS].copy(),
        data.threads,
    )
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
    adapter = load_adapter(job["adapter"])
    case = next(case for case in CASES if case.name == job["case"])
    # Read into memory, not mapped: page faults are no part of a fit.
    data = TrainingData(np.load(job["X"]), np.load(job["y"]), job["threads"])
    adapter.prepare()
    fitted, cost = measure(adapter, data, case)
    solution = adapter.solution(fitted, data)
    np.save(job["coef"], solution.coef)
    cost.update(intercept=solution.intercept, claims=dict(solution.claims))
    Path(job["result"]).write_text(json.dumps(cost))


if __name__ == "__main__":
    main(sys.argv[1])

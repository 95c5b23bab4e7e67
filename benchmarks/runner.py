"""Run cases: one process per fit, libraries interleaved, one judge."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adapters.base import Adapter
from benchmarks.judge import judge
from benchmarks.problem import Case, Problem, Solution

ROOT = Path(__file__).resolve().parent.parent
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)

OK, NOT_APPLICABLE, NOT_CONVERGED, FAILED = "ok", "N/A", "NC", "failed"


@dataclass
class Entry:
    """One library on one case: its state, and one record per finished repeat."""

    library: str
    version: str
    status: str = OK
    reason: str = ""
    records: list[dict[str, Any]] = field(default_factory=list)

    def stop(self, status: str, reason: str) -> None:
        """No more repeats of this library; the run goes on."""
        self.status, self.reason = status, reason


@dataclass(frozen=True)
class Settings:
    """How a case is run."""

    repeats: int = 5
    threads: int = 1
    quick: bool = False
    timeout_s: float | None = None

    @property
    def clock(self) -> str:
        """What is ranked: CPU time in one thread (steadier on a shared machine), else wall."""
        return "cpu_s" if self.threads == 1 else "wall_s"


class ChildFailedError(Exception):
    """The fitting process ended without a result."""


class ChildTimeoutError(Exception):
    """The fitting process did not end in time."""


def child_environment(threads: int) -> dict[str, str]:
    """The environment of a fit: threads pinned the same for all, this package importable."""
    environment = dict(os.environ)
    environment.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    path = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *([path] if path else [])])
    return environment


def run_child(job: dict[str, Any], job_file: Path, threads: int, timeout_s: float) -> None:
    """Run one fit in its own process group; end the whole group when time is up."""
    job_file.write_text(json.dumps(job))
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.child", str(job_file)],
        env=child_environment(threads),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise ChildTimeoutError(f"no result after {timeout_s:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        raise ChildFailedError(_last_words(stderr, process.returncode))


def _last_words(stderr: str, returncode: int) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return lines[-1] if lines else f"exit code {returncode}"


def fit_once(
    adapter: Adapter, case: Case, problem: Problem, folder: Path, settings: Settings
) -> dict[str, Any]:
    """One measured and judged fit."""
    job: dict[str, Any] = {
        "adapter": f"{type(adapter).__module__}:{type(adapter).__qualname__}",
        "case": case.name,
        "threads": settings.threads,
        **{name: str(folder / f"{name}.npy") for name in ("X", "y", "coef")},
        "result": str(folder / "result.json"),
    }
    for name in ("coef", "result"):
        Path(job[name]).unlink(missing_ok=True)
    timeout_s = settings.timeout_s or case.timeout_s
    run_child(job, folder / "job.json", settings.threads, timeout_s)
    record: dict[str, Any] = json.loads(Path(job["result"]).read_text())
    solution = Solution(np.load(job["coef"]), record["intercept"])
    record["judged"] = judge(problem, solution, case.measures, adapter.solves)
    return record


def first_entry(adapter: Adapter, case: Case) -> Entry:
    """The entry of a library before it has run, N/A where it cannot."""
    if not adapter.available():
        entry = Entry(adapter.name, "")
        entry.stop(NOT_APPLICABLE, "not installed")
        return entry
    entry = Entry(adapter.name, adapter.version())
    answer = adapter.supports(case)
    if answer is not True:
        entry.stop(NOT_APPLICABLE, answer or "not supported")
    return entry


def save_problem(problem: Problem, folder: Path) -> Problem:
    """Write the training rows for the children; the parent keeps them mapped only."""
    np.save(folder / "X.npy", problem.X)
    np.save(folder / "y.npy", problem.y)
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    return Problem(
        mapped,
        problem.y,
        problem.X_test,
        problem.y_test,
        problem.coef,
        problem.intercept,
        problem.noise_std,
    )


def run_case(
    case: Case,
    adapters: Sequence[type[Adapter]],
    settings: Settings,
    say: Callable[[str], None] = lambda text: None,
) -> list[Entry]:
    """All libraries on one case, interleaved: A B C A B C ..."""
    libraries = [adapter() for adapter in adapters]
    entries = [first_entry(adapter, case) for adapter in libraries]
    with tempfile.TemporaryDirectory(prefix="fewer-benchmark-") as name:
        folder = Path(name)
        problem = save_problem(case.problem(settings.quick), folder)
        for repeat in range(settings.repeats):
            for adapter, entry in zip(libraries, entries, strict=True):
                if entry.status == OK:
                    _repeat(adapter, entry, case, problem, folder, settings)
                    say(f"{case.name} {repeat + 1}/{settings.repeats} {_line(entry)}")
    return entries


def _repeat(
    adapter: Adapter,
    entry: Entry,
    case: Case,
    problem: Problem,
    folder: Path,
    settings: Settings,
) -> None:
    try:
        entry.records.append(fit_once(adapter, case, problem, folder, settings))
    except ChildTimeoutError as error:
        entry.stop(NOT_CONVERGED, str(error))
    except (ChildFailedError, ValueError, OSError) as error:
        entry.stop(FAILED, str(error))


def _line(entry: Entry) -> str:
    if entry.status != OK:
        return f"{entry.library}: {entry.status} ({entry.reason})"
    record = entry.records[-1]
    return f"{entry.library}: {record['cpu_s']:.3f} s CPU, {record['wall_s']:.3f} s"

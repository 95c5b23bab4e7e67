"""Run cases: one process per fit, libraries interleaved, one judge."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks import evidence, goals
from benchmarks.adapters.base import Adapter
from benchmarks.judge import judge
from benchmarks.lasso import Reference, meets
from benchmarks.problem import Array, Case, Problem, Solution

ROOT = Path(__file__).resolve().parent.parent
# How much longer than its CPU time a process may take on a busy machine, or asleep.
_PATIENCE = 8.0
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
_ANSWERS = ("coef", "curve", "prediction")  # files that a child writes


@dataclass(frozen=True)
class Setting:
    """One way to run a library."""

    variant: str = ""
    tol: float = float("nan")


@dataclass
class Entry:
    """One library on one case: its state, and one record per finished repeat."""

    library: str
    version: str
    status: str = OK
    reason: str = ""
    records: list[dict[str, Any]] = field(default_factory=list)
    setting: Setting | None = None  # what was measured, in cases with a goal
    calibration: list[dict[str, Any]] = field(default_factory=list)  # what was tried for it
    earlier: str = ""  # the date of the run it was taken from, where that is an earlier one

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
    cache: str | None = None  # folder of references and settings of earlier runs

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


def run_child(command: list[str], threads: int, timeout_s: float) -> None:
    """Run one fit in its own process group; end the whole group when time is up.

    The limit is one of CPU time where ``/proc`` tells it, so that a busy machine makes nobody late.
    RLIMIT_CPU will not do: under it the clock of a process moves in ticks of some milliseconds,
    too coarse for what is measured.
    """
    process = subprocess.Popen(
        command,
        env=child_environment(threads),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    start = time.monotonic()
    try:
        while True:
            try:
                _, stderr = process.communicate(timeout=min(0.5, timeout_s / 4))
                break
            except subprocess.TimeoutExpired:
                wall_s = time.monotonic() - start
                cpu_s = _cpu_s(process.pid)
                spent_s = wall_s if cpu_s is None else max(cpu_s / threads, wall_s / _PATIENCE)
                if spent_s > timeout_s:
                    raise ChildTimeoutError(f"no result after {timeout_s:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        raise ChildFailedError(_last_words(stderr, process.returncode))


def _cpu_s(pid: int) -> float | None:
    """CPU time of a process and the children it has waited for, where the system tells it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    # utime, stime, cutime and cstime are fields 14 to 17 of proc(5); ")" ends field 2.
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _last_words(stderr: str, returncode: int) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return lines[-1] if lines else f"exit code {returncode}"


@dataclass(frozen=True)
class Stage:
    """A problem on disk, where the children find it, and what its solutions are judged by."""

    case: Case
    problem: Problem
    folder: Path
    settings: Settings
    lams: Array
    fold_ids: Any = None
    reference: Reference | None = None

    def job(self, adapter: str, setting: Setting) -> dict[str, Any]:
        """What a child is told."""
        X = self.problem.X
        parts = ("X_data", "X_indices", "X_indptr")
        names = ("X", *parts, "y", "X_test", "lams", "fold_ids", *_ANSWERS)
        return {
            "adapter": adapter,
            "case": self.case.name,
            "task": self.case.task,
            "threads": self.settings.threads,
            "n": X.shape[0],
            "p": X.shape[1],
            "sparse": scipy.sparse.issparse(X),
            "classes": self.case.classes,
            "gamma": self.case.gamma,
            "predict": self.case.task in evidence.TASKS,
            "tol": setting.tol,
            "variant": setting.variant,
            **{name: str(self.folder / f"{name}.npy") for name in names},
            "result": str(self.folder / "result.json"),
        }

    def run(self, adapter: Adapter, setting: Setting) -> tuple[Solution, dict[str, Any]]:
        """One fit: what came back, and what it cost."""
        job = self.job(f"{type(adapter).__module__}:{type(adapter).__qualname__}", setting)
        for name in (*_ANSWERS, "result"):
            Path(job[name]).unlink(missing_ok=True)
        job_file = self.folder / "job.json"
        job_file.write_text(json.dumps(job))
        timeout_s = self.settings.timeout_s or self.case.timeout_s
        run_child(adapter.command(job_file, job), self.settings.threads, timeout_s)
        record: dict[str, Any] = json.loads(Path(job["result"]).read_text())
        found = {n: np.load(job[n]) for n in _ANSWERS if Path(job[n]).exists()}
        lam, noise_std = record.pop("lam", None), record.pop("noise_std", None)
        solution = Solution(intercept=record["intercept"], lam=lam, noise_std=noise_std, **found)
        return solution, record

    def fit_once(self, adapter: Adapter, setting: Setting) -> dict[str, Any]:
        """One measured and judged fit."""
        solution, record = self.run(adapter, setting)
        if self.reference is not None:
            record["judged"] = goals.judge(self.case, self.problem, solution, self.reference)
        elif self.case.task in evidence.TASKS:
            record["judged"] = evidence.judge_evidence(self.case, self.problem, solution)
        else:
            record["judged"] = judge(self.problem, solution, self.case.measures, adapter.solves)
        return record

    def pass_s(self) -> float:
        """Time of one pass over the matrix in NumPy."""
        job = self.job("pass", Setting())
        job_file = self.folder / "job.json"
        job_file.write_text(json.dumps(job))
        command = [sys.executable, "-m", "benchmarks.child", str(job_file)]
        run_child(command, self.settings.threads, self.case.timeout_s)
        return float(json.loads(Path(job["result"]).read_text())["pass_s"])


def first_entry(adapter: Adapter, case: Case) -> Entry | None:
    """The entry of a library before it has run: N/A where it cannot, None where none asks it."""
    if not adapter.available():
        # Whether it is a candidate at all can be asked of most libraries without having them.
        try:
            candidate = adapter.supports(case) is not False
        except ImportError:
            candidate = True
        if not candidate:
            return None
        entry = Entry(adapter.name, "")
        entry.stop(NOT_APPLICABLE, adapter.missing)
        return entry
    entry = Entry(adapter.name, adapter.version())
    answer = adapter.supports(case)
    if answer is False:
        return None
    if answer is not True:
        entry.stop(NOT_APPLICABLE, answer or "not supported")
    elif adapter.name in case.left_out:
        entry.stop(NOT_APPLICABLE, case.left_out[adapter.name])
    return entry


def save_problem(problem: Problem, folder: Path) -> Problem:
    """Write the training rows for the children; the parent keeps them mapped only."""
    np.save(folder / "y.npy", problem.y)
    if len(problem.y_test):
        np.save(folder / "X_test.npy", problem.X_test)
    if scipy.sparse.issparse(problem.X):
        for name in ("data", "indices", "indptr"):
            np.save(folder / f"X_{name}.npy", getattr(problem.X, name))
        return problem
    np.save(folder / "X.npy", problem.X)
    return replace(problem, X=np.load(folder / "X.npy", mmap_mode="r"))


def stage(
    case: Case,
    problem: Problem,
    folder: Path,
    settings: Settings,
    lams: Array | None = None,
) -> Stage:
    """Put a problem on disk, with the penalties that the case asks for unless they are given."""
    problem = save_problem(problem, folder)
    if lams is None:
        ratios = case.ratios(settings.quick)
        lams = ratios * goals.largest_lam(case, problem) if len(ratios) else np.zeros(0)
    np.save(folder / "lams.npy", lams)
    fold_ids = None
    if case.folds:
        # By turns: the rows are exchangeable, and the folds differ by one row at most.
        fold_ids = (np.arange(len(problem.y)) % case.folds).astype(np.int32)
        np.save(folder / "fold_ids.npy", fold_ids)
    return Stage(case, problem, folder, settings, lams, fold_ids)


def run_case(
    case: Case,
    adapters: Sequence[type[Adapter]],
    settings: Settings,
    say: Callable[[str], None] = lambda text: None,
) -> list[Entry]:
    """All libraries on one case, interleaved: A B C A B C ..."""
    return run(case, adapters, settings, say).entries


@dataclass
class Run:
    """A finished case: what the libraries did, and what holds for all of them."""

    entries: list[Entry]
    facts: dict[str, Any] = field(default_factory=dict)


def run(
    case: Case,
    adapters: Sequence[type[Adapter]],
    settings: Settings,
    say: Callable[[str], None] = lambda text: None,
) -> Run:
    """As ``run_case``, with the facts about the case."""
    from benchmarks.calibration import calibrate, certified, recall_late, remember_late

    pairs = [(adapter, first_entry(adapter, case)) for adapter in (kind() for kind in adapters)]
    asked = [(adapter, entry) for adapter, entry in pairs if entry is not None]
    out = Run([entry for _, entry in asked])
    with tempfile.TemporaryDirectory(prefix="fewer-benchmark-") as name:
        here = stage(case, case.problem(settings.quick), Path(name), settings)
        for adapter, entry in asked:
            if entry.status == OK:
                recall_late(here, adapter, entry)
        if case.goal is not None:
            here = replace(here, reference=certified(here, say))
            out.facts.update(reference_facts(here))
            out.facts["pass_s"] = here.pass_s()
            for adapter, entry in asked:
                if entry.status == OK:
                    _guard(entry, partial(calibrate, here, adapter, entry, say))
                    remember_late(here, adapter, entry)
        for repeat in range(settings.repeats):
            for adapter, entry in asked:
                if entry.status == OK:
                    _guard(entry, partial(_repeat, here, adapter, entry))
                    remember_late(here, adapter, entry)
                    say(f"{case.name} {repeat + 1}/{settings.repeats} {_line(entry)}")
            if case.goal is not None:
                out.facts["pass_s"] = min(out.facts["pass_s"], here.pass_s())
    return out


def reference_facts(here: Stage) -> dict[str, Any]:
    """What is said about the optimum that a case was judged by."""
    reference = here.reference
    if reference is None:
        return {}
    return {
        "goal": here.case.goal,
        "lam_max": goals.largest_lam(here.case, here.problem),
        "reference": reference.source,
        "reference_gap": reference.worst_gap,
        "reference_terms": int(np.count_nonzero(reference.coefs[-1])),
    }


def _repeat(here: Stage, adapter: Adapter, entry: Entry) -> None:
    record = here.fit_once(adapter, entry.setting or Setting())
    entry.records.append(record)
    if here.case.goal is not None and not meets(here.case.goal, record["judged"]):
        entry.stop(NOT_CONVERGED, "a repeat missed the goal that the first fit had met")


def _guard(entry: Entry, step: Callable[[], None]) -> None:
    try:
        step()
    except ChildTimeoutError as error:
        entry.stop(NOT_CONVERGED, str(error))
    except (ChildFailedError, ValueError, OSError) as error:
        entry.stop(FAILED, str(error))


def _line(entry: Entry) -> str:
    if entry.status != OK:
        return f"{entry.library}: {entry.status} ({entry.reason})"
    record = entry.records[-1]
    return f"{entry.library}: {record['cpu_s']:.3f} s CPU, {record['wall_s']:.3f} s"

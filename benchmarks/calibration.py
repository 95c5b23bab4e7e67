"""Before a case with a goal is timed: its certified optimum, and how each library reaches it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import logistic
from benchmarks.adapters import discover
from benchmarks.adapters.base import Adapter
from benchmarks.lasso import CERTIFIED, Reference, better_of, certify, meets
from benchmarks.problem import Array
from benchmarks.runner import (
    FAILED,
    NOT_CONVERGED,
    OK,
    ChildFailedError,
    ChildTimeoutError,
    Entry,
    Setting,
    Stage,
    first_entry,
    stage,
)

Say = Callable[[str], None]
_REFERENCE_TIMEOUT_S = 1800.0
_START_TOL = 1e-10  # relative duality gap


def certified(here: Stage, say: Say) -> Reference:
    """The optimum of a case, from tight fits, with the gap that the judge computes itself."""
    file = _cache(here, "reference.npz")
    if file is not None and file.exists():
        return _load(file)
    if here.case.task in logistic.TASKS:
        start = _start(here, say) if logistic.is_large(here.case, here.problem) else None
        reference = logistic.solve(here.case, here.problem, here.lams, start)
        say(f"{here.case.name} reference: gap {reference.worst_gap:.1e}")
    else:
        reference = _lasso(here, say)
    if file is not None:
        _store(file, reference)
    return reference


def _start(here: Stage, say: Say) -> Array | None:
    """Weights from which the judge's own method has little left to do, whoever found them."""
    here = replace(here, settings=replace(here.settings, timeout_s=_REFERENCE_TIMEOUT_S))
    adapter = next(kind() for kind in discover() if kind.name == "fewer")
    try:
        solution, _ = here.run(adapter, Setting(adapter.variants(here.case)[0], _START_TOL))
    except (ChildFailedError, ChildTimeoutError) as error:
        say(f"{here.case.name} start by {adapter.name}: {error}")
        return None
    return solution.coef


def _lasso(here: Stage, say: Say) -> Reference:
    # Cross-validation chooses among a whole path.
    task = "lasso-path" if here.case.folds else here.case.task
    reference = _tight(replace(here, case=replace(here.case, task=task)), say)
    if here.case.folds:
        reference = _with_curve(here, reference, say)
    return reference


def _tight(here: Stage, say: Say) -> Reference:
    """One library after the other until the gap is closed."""
    here = replace(here, settings=replace(here.settings, timeout_s=_REFERENCE_TIMEOUT_S))
    X, y = here.problem.X, here.problem.y
    best: Reference | None = None
    for adapter in (kind() for kind in discover()):
        if adapter.tight is None:
            continue
        entry = first_entry(adapter, here.case)
        if entry is None or entry.status != OK:
            continue
        try:
            solution, _ = here.run(adapter, Setting(adapter.variants(here.case)[0], adapter.tight))
        except (ChildFailedError, ChildTimeoutError) as error:
            say(f"{here.case.name} reference by {adapter.name}: {error}")
            continue
        coefs = np.atleast_2d(solution.coef)
        best = better_of(best, certify(X, y, coefs, here.lams, adapter.name))
        say(f"{here.case.name} reference by {adapter.name}: gap {best.worst_gap:.1e}")
        if best.worst_gap <= CERTIFIED:
            break
    if best is None:
        raise SystemExit(f"{here.case.name}: no library here can compute a reference")
    return best


def _with_curve(here: Stage, reference: Reference, say: Say) -> Reference:
    """The certified curve: the path of every fold, and its errors on the rows left out."""
    X, y, ids = np.asarray(here.problem.X), here.problem.y, here.fold_ids
    case = replace(here.case, task="lasso-path", folds=0)
    curve, gaps = np.zeros(len(here.lams)), reference.gaps
    for fold in range(here.case.folds):
        train, test = ids != fold, ids == fold
        folder = here.folder / f"fold-{fold}"
        folder.mkdir()
        problem = replace(here.problem, X=np.asfortranarray(X[train]), y=y[train])
        # The same penalty for each row: alpha in the other libraries.
        lams = here.lams * (np.count_nonzero(train) / len(y))
        path = _tight(stage(case, problem, folder, here.settings, lams), say)
        errors = y[test][:, None] - X[test] @ path.coefs.T
        curve += np.mean(errors**2, axis=0) / here.case.folds
        gaps = np.maximum(gaps, path.gaps)
    return replace(reference, curve=curve, gaps=gaps)


def calibrate(here: Stage, adapter: Adapter, entry: Entry, say: Say) -> None:
    """Find the loosest tolerance that meets the goal, of the fastest variant."""
    file = _cache(here, f"{adapter.name}-{entry.version}.json")
    # fewer changes without changing its version.
    if file is not None and file.exists() and adapter.name != "fewer":
        known = json.loads(file.read_text())
        entry.setting, entry.calibration = Setting(**known["setting"]), known["calibration"]
        return
    found: list[tuple[float, Setting]] = []
    problems: list[str] = []
    status = NOT_CONVERGED
    for variant in adapter.variants(here.case):
        try:
            found.append(_climb(here, adapter, variant, entry.calibration, say))
        except (ChildTimeoutError, _MissedError) as error:
            problems.append(f"{variant} {error}".strip())
        except (ChildFailedError, ValueError) as error:
            status = FAILED
            problems.append(f"{variant} {error}".strip())
    if not found:
        entry.stop(status, "; ".join(problems))
        return
    entry.setting = min(found, key=lambda pair: pair[0])[1]
    if file is not None:
        known = {"setting": asdict(entry.setting), "calibration": entry.calibration}
        file.write_text(json.dumps(known, indent=1))


def remember_late(here: Stage, adapter: Adapter, entry: Entry) -> None:
    """Keep that a library had no result in time: it costs as long to find out again."""
    file = _cache(here, f"{adapter.name}-{entry.version}-late.txt")
    if file is not None and entry.status == NOT_CONVERGED and not entry.records:
        file.write_text(entry.reason)


def recall_late(here: Stage, adapter: Adapter, entry: Entry) -> None:
    """What ``remember_late`` kept."""
    file = _cache(here, f"{adapter.name}-{entry.version}-late.txt")
    if file is not None and file.exists() and adapter.name != "fewer":
        entry.stop(NOT_CONVERGED, file.read_text())


class _MissedError(Exception):
    """No tolerance of the ladder is enough."""


def _climb(
    here: Stage, adapter: Adapter, variant: str, trail: list[dict[str, Any]], say: Say
) -> tuple[float, Setting]:
    """CPU time and setting of the first tolerance of the ladder that meets the goal."""

    def attempt(tol: float) -> float | None:
        record = here.fit_once(adapter, Setting(variant, tol))
        judged, cpu_s = record["judged"], float(record["cpu_s"])
        trail.append({"variant": variant, "tol": tol, "cpu_s": cpu_s, "judged": judged})
        say(
            f"{here.case.name} calibration {adapter.name} {variant} tol {tol:.1e}: "
            f"{judged['suboptimality']:.1e}, {cpu_s:.3f} s"
        )
        return cpu_s if meets(here.case.goal or 0.0, judged) else None

    for step, tol in enumerate(adapter.ladder):
        if (cpu_s := attempt(tol)) is None:
            continue
        # A whole decade can be a good deal more than is needed.
        looser = tol * 10**0.5
        if step and (faster := attempt(looser)) is not None:
            return faster, Setting(variant, looser)
        return cpu_s, Setting(variant, tol)
    least = min(entry["judged"]["suboptimality"] for entry in trail if entry["variant"] == variant)
    raise _MissedError(f"reached {least:.1e} only, at tolerances down to {adapter.ladder[-1]:.0e}")


def _cache(here: Stage, name: str) -> Path | None:
    """Where a result of this very problem is kept, if at all."""
    if here.settings.cache is None:
        return None
    problem = hashlib.sha256(here.problem.y.tobytes() + here.lams.tobytes()).hexdigest()[:12]
    threads = here.settings.threads
    folder = Path(here.settings.cache) / f"{here.case.name}-{problem}-{threads}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def _store(file: Path, reference: Reference) -> None:
    values = {k: v for k, v in vars(reference).items() if v is not None}
    np.savez_compressed(file, **values)


def _load(file: Path) -> Reference:
    with np.load(file) as stored:
        values = {name: stored[name] for name in stored.files}
    return Reference(**{**values, "source": str(values["source"])})

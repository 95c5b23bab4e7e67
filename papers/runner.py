"""Run an experiment's repetitions and keep every number."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import math
import os
import platform
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from papers.experiment import Experiment

_SECONDS_BETWEEN_WRITES = 5.0


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp gives 0600; a result is an ordinary file.
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def versions() -> dict[str, str]:
    """What the numbers were made with."""
    found = {"python": platform.python_version()}
    for name in ("fewer", "numpy", "scikit-learn"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def result_file(folder: Path, experiment: Experiment) -> Path:
    """The numbers of a finished run."""
    return folder / f"{experiment.name}.json"


def partial_file(folder: Path, experiment: Experiment) -> Path:
    """The numbers of a run that is under way or was stopped."""
    return folder / f"{experiment.name}.partial.json"


def load(path: Path) -> dict[str, Any] | None:
    """A stored run, or None."""
    if not path.is_file():
        return None
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def fresh(experiment: Experiment) -> dict[str, Any]:
    """A run without repetitions yet."""
    return {
        "experiment": experiment.name,
        "protocol": experiment.protocol,
        "seed": experiment.seed,
        "versions": versions(),
        "repetitions": [],
    }


def resumed(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """The stored run to go on with; an error where it is another experiment by now."""
    run = fresh(experiment)
    stored = load(partial_file(folder, experiment)) or load(result_file(folder, experiment))
    if stored is None:
        return run
    for key in ("protocol", "seed", "versions"):
        if stored[key] != run[key]:
            raise ValueError(
                f"{experiment.name}: the stored repetitions have another {key} "
                f"({stored[key]}); run again without --resume"
            )
    run["repetitions"] = stored["repetitions"]
    return run


def repeat(experiment: Experiment, seed: int) -> dict[str, Any]:
    """One repetition; a failure is kept as such, and so are warnings (not converged, say)."""
    start = time.perf_counter()
    record: dict[str, Any] = {"seed": seed}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values = {name: float(value) for name, value in experiment.run(seed).items()}
        if texts := sorted({f"{w.category.__name__}: {w.message}" for w in caught}):
            record["warnings"] = texts
        if bad := [name for name, value in values.items() if not math.isfinite(value)]:
            raise ValueError(f"not finite: {', '.join(bad)}")
        record["values"] = values
    except Exception as error:
        record["error"] = f"{type(error).__name__}: {error}"
    record["seconds"] = round(time.perf_counter() - start, 4)
    return record


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    quick: bool = False,
    resume: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """All repetitions. An interrupted run keeps what it has; a finished one replaces the old."""
    run = resumed(experiment, folder) if resume else fresh(experiment)
    seeds = experiment.seeds(quick)
    done = {record["seed"] for record in run["repetitions"] if "values" in record}
    run["repetitions"] = [r for r in run["repetitions"] if r["seed"] in done.intersection(seeds)]
    partial = partial_file(folder, experiment)
    written = time.monotonic()
    try:
        for index, seed in enumerate(seeds, start=1):
            if seed in done:
                continue
            run["repetitions"].append(repeat(experiment, seed))
            say(f"{experiment.name} {index}/{len(seeds)}{_failure(run)}")
            if time.monotonic() - written > _SECONDS_BETWEEN_WRITES:
                write_atomically(partial, dump(run))
                written = time.monotonic()
    except BaseException:
        write_atomically(partial, dump(run))
        raise
    write_atomically(result_file(folder, experiment), dump(run))
    partial.unlink(missing_ok=True)
    return run


def _failure(run: dict[str, Any]) -> str:
    error = run["repetitions"][-1].get("error")
    return f" failed: {error}" if error else ""


def dump(run: dict[str, Any]) -> str:
    """JSON with one repetition per line, so that differences can be read."""
    head = json.dumps({k: v for k, v in run.items() if k != "repetitions"}, indent=1)
    lines = ",\n  ".join(json.dumps(record) for record in run["repetitions"])
    return f'{head[:-2]},\n "repetitions": [\n  {lines}\n ]\n}}\n'

"""Relevance vector classification beside fastrvm, sklearn-rvm and an SVC; and how honest it is.

    python -m benchmarks.relevance_classes [--save] [--only probabilities|speed] [--repeats 3]
        [--rows 400,2000,10000] [--seconds 60] [--splits 20]

**Speed.** Two moons (noise 0.3) of several sizes and the banana (400 rows for the fit), γ = 1 (of
the banana 0.5) for all, inputs as given, one thread. Runs of all libraries are interleaved; the
time is the smallest of processor time. Errors are of 5000 new rows (of the banana all others), and
the time of 100 000 predictions of classes is beside. A library whose last fit took longer than
`--seconds` is left out of larger problems. fastrvm and sklearn-rvm are shown where installed.

**Probabilities.** Mean log loss, over random splits (80 % for the fit), of probabilities
averaged over the posterior (`moderated`, the default) and of those of the fitted weights
(`plug-in`); defaults, with inputs standardised.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from benchmarks.problem import Array
from fewer import RVC
from papers.experiment import data_folder

RESULTS = Path(__file__).parent / "results"
DATA = {
    "pima": "pima768",
    "banana": "ida_banana",
    "breast-cancer": "ida_breast_cancer",
    "WBC": "wdbc",
}
NEW = 100_000


def read(name: str) -> tuple[Array, Any]:
    """Numbers of a file; the last column is the class."""
    with (data_folder() / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return np.array([[float(v) for v in row[:-1]] for row in rows]), np.array(
        [row[-1] for row in rows]
    )


def probabilities(splits: int) -> list[str]:
    """Lines of a table of log losses."""
    lines = [f"Mean log loss over {splits} splits.", ""]
    lines += ["| data | moderated | plug-in | moderated better in |", "|---|---|---|---|"]
    for name, file in DATA.items():
        X, y = read(file)
        losses = []
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            size = 400 if name == "banana" else int(0.8 * len(y))
            fit, new = np.split(order, [size])
            model = RVC().fit(X[fit], y[fit])
            ways = (model.predict_proba(X[new], moderated=m) for m in (True, False))
            losses.append([log_loss(y[new], p, labels=model.classes_) for p in ways])
        moderated, plug_in = np.mean(losses, axis=0)
        wins = int(np.sum(np.diff(losses, axis=1) > 0))
        lines.append(f"| {name} | {moderated:.4f} | {plug_in:.4f} | {wins} of {splits} |")
        print(lines[-1], flush=True)
    return lines


def libraries(gamma: float) -> dict[str, Callable[[], Any]]:
    """Estimators of the same kernel by name."""
    found: dict[str, Callable[[], Any]] = {
        "fewer": lambda: RVC(gamma=gamma, standardize=False, n_jobs=1),
        "SVC": lambda: SVC(gamma=gamma),
    }
    try:
        fast = importlib.import_module("fastrvm")
        found["fastrvm"] = lambda: fast.RVC(gamma=gamma, n_jobs=1)
    except ImportError:
        pass
    try:
        slow = importlib.import_module("sklearn_rvm")
        found["sklearn-rvm"] = lambda: slow.EMRVC(kernel="rbf", gamma=gamma)
    except ImportError:
        pass
    return found


def vectors(model: Any) -> int:
    """How many rows a model holds."""
    if hasattr(model, "n_terms_"):
        return int(model.n_terms_)
    if hasattr(model, "n_support_"):
        return int(np.sum(model.n_support_))
    held = getattr(model, "relevance_", None)
    return len(model.relevance_vectors_ if held is None else held)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time, and what came of it."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def problem(name: str, rows: int) -> tuple[Array, Any, Array, Any, float]:
    """Rows to fit and to judge by, and γ."""
    if name == "banana":
        X, y = read(DATA[name])
        order = np.random.default_rng(0).permutation(len(y))
        fit, new = np.split(order, [rows])
        return X[fit], (y[fit] == "pos").astype(int), X[new], (y[new] == "pos").astype(int), 0.5
    X, y = make_moons(rows, noise=0.3, random_state=0)
    return X, y, *make_moons(5000, noise=0.3, random_state=1), 1.0


def speed(rows: list[int], repeats: int, limit: float) -> list[str]:
    """Lines of a table of times and errors."""
    lines = [
        "| data | library | fit, s | error | vectors | 100 000 predictions, s |",
        "|---|---|---|---|---|---|",
    ]
    too_slow: set[str] = set()
    for name, size in [("moons", n) for n in rows] + [("banana", 400)]:
        X, y, X_new, y_new, gamma = problem(name, size)
        many = np.resize(X_new, (NEW, X.shape[1]))
        times: dict[str, list[float]] = {}
        shown: dict[str, tuple[float, int, float]] = {}
        for _ in range(repeats):
            for library, make in libraries(gamma).items():
                if library in too_slow and size > rows[0]:
                    continue
                took, model = seconds(lambda make=make, X=X, y=y: make().fit(X, y))  # type: ignore[misc]
                if took > limit:
                    too_slow.add(library)
                times.setdefault(library, []).append(took)
                error = float(np.mean(model.predict(X_new) != y_new))
                predicting, _ = seconds(lambda model=model, many=many: model.predict(many))  # type: ignore[misc]
                before = shown.get(library, (0, 0, np.inf))[2]
                shown[library] = (error, vectors(model), min(before, predicting))
        for library, took in sorted(times.items(), key=lambda item: min(item[1])):
            error, held, predicting = shown[library]
            lines.append(
                f"| {name} {size} | {library} | {min(took):.4f} | {error:.4f} | {held} "
                f"| {predicting:.4f} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure, print and, if asked, save."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--only", choices=("probabilities", "speed"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rows", default="400,2000,10000")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    for part in ("probabilities", "speed"):
        if options.only not in (None, part):
            continue
        if part == "probabilities":
            lines = probabilities(options.splits)
        else:
            rows = [int(n) for n in options.rows.split(",")]
            lines = speed(rows, options.repeats, options.seconds)
        if options.save:
            head = f"# Relevance vector classification: {part}\n\n"
            tail = f"\n\nWritten by `python -m benchmarks.relevance_classes {' '.join(sys.argv[1:])}`.\n"
            path = RESULTS / f"relevance_classes_{part}.md"
            path.write_text(head + "\n".join(lines) + tail, encoding="utf-8")


if __name__ == "__main__":
    main()

"""What learnt kernels should cost: AdaptiveRVR and AdaptiveRVC on fixed folds.

    python -m benchmarks.adaptive_study [--save] [--only boston,doppler] [--folds 4]

Folds and draws are those of papers/ (Tables I and II, Figure 2 of Tzikas, Likas & Galatsanos 2009),
features are standardised, and settings that are not named have their defaults. c is the price of an
effective parameter (`sparsity`), π that of a kernel's place or width (`parameter_price`), κ that of
the variances of weights (`variance_price`). Errors are mean squared errors and parts of wrong
labels, with standard errors over folds; the worst is that of a fold as a part of the error of
predicting the mean, or the more frequent label, of the training rows. Times are processor seconds
of one fit in one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problem import Array
from fewer import AdaptiveRVC, AdaptiveRVR, EmptyModelWarning
from papers import doppler
from papers.data import folds, read, stratified_folds
from papers.experiment import generator

FILE = Path(__file__).parent / "results" / "adaptive_study.md"
HEAD = (
    "| data | folds | c | π | κ | variant | error ± s.e. | worst | kernels | seconds |",
    "|---|---|---|---|---|---|---|---|---|---|",
)
NAMES = ("banana", "pima", "doppler", "boston", "concrete")
LABELS = {"banana": "ida_banana.csv", "pima": "pima768.csv"}
FOLDS = 10
COUNTS = dict.fromkeys(NAMES, FOLDS) | {"doppler": 2 * FOLDS}
GRID: dict[str, list[dict[str, Any]]] = {
    "numbers": [
        {},
        {"sparsity": "aic"},
        {"sparsity": "ric"},
        {"parameter_price": 0.0},
        {"parameter_price": 1.0},
        {"variance_price": 0.0},
        {"variance_price": 0.1},
        {"variance_price": 10.0},
        {"variant": "paper"},
    ],
    "labels": [
        {},
        {"sparsity": "aic"},
        {"sparsity": "ric"},
        {"variance_price": 0.0},
        {"variance_price": 0.01},
        {"variance_price": 1.0},
    ],
}

Split = tuple[Array, Any, Array, Any]


def splits(name: str, count: int) -> Iterator[Split]:
    """Training and test rows; those of the Doppler function are the same, tested without noise."""
    if name == "doppler":
        X = doppler.points()
        truth = doppler.truth(X)
        for seed in range(2009_0200, 2009_0200 + count):
            noise = generator(seed).standard_normal(len(X))
            yield X, truth + 0.1 * noise, X, truth
        return
    X, text = read(LABELS.get(name, f"{name}.csv"))
    y: Any = text if name in LABELS else text.astype(np.float64)
    if name == "banana":
        orders = [generator(2009_0600 + k).permutation(len(y)) for k in range(FOLDS)]
        parts = [(order[:400], order[400:]) for order in orders]
    elif name in LABELS:
        parts = list(stratified_folds(generator(2009_0600), y, FOLDS))
    else:
        parts = list(folds(generator(2009_0400), len(y), FOLDS))
    for train, test in parts[:count]:
        yield X[train], y[train], X[test], y[test]


def _plain(y: Any, truth: Any) -> float:
    """The error of the model without terms."""
    if y.dtype.kind == "f":
        return float(np.mean((truth - y.mean()) ** 2))
    labels, counts = np.unique(y, return_counts=True)
    return float(np.mean(truth != labels[np.argmax(counts)]))


def measure(name: str, settings: dict[str, Any], count: int) -> tuple[Array, Array, Array, Array]:
    """By fold: errors, parts of the error without terms, kernels and seconds."""
    rows = []
    for X, y, new, truth in splits(name, count):
        started = time.process_time()
        if name in LABELS:
            model: Any = AdaptiveRVC(n_jobs=1, **settings).fit(X, y)
        else:
            model = AdaptiveRVR(n_jobs=1, fit_intercept=name != "doppler", **settings).fit(X, y)
        seconds = time.process_time() - started
        found = model.predict(new)
        error = float(np.mean(found != truth if name in LABELS else (found - truth) ** 2))
        rows.append((error, error / _plain(y, truth), model.n_terms_, seconds))
    errors, parts, terms, times = np.array(rows).T
    return errors, parts, terms, times


def row(name: str, settings: dict[str, Any], count: int) -> str:
    """A line of the table."""
    errors, parts, terms, seconds = measure(name, settings, count)
    spread = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
    defaults = AdaptiveRVC() if name in LABELS else AdaptiveRVR()
    asked = {**defaults.get_params(), **settings}
    price = asked.get("parameter_price", "–")
    shown = [asked["sparsity"], price, asked["variance_price"], asked.get("variant", "exact")]
    if settings.get("variant") == "paper":
        shown[1:3] = ["–", "–"]
    cells = [
        f"{errors.mean():.4g} ± {spread:.2g}",
        f"{parts.max():.2f}",
        f"{terms.mean():.1f}",
        f"{seconds.mean():.1f}",
    ]
    return "| " + " | ".join([name, str(count), *map(str, shown), *cells]) + " |"


def stored() -> dict[str, list[str]]:
    """Lines of the table that is there, by data set."""
    found: dict[str, list[str]] = {}
    if FILE.exists():
        for line in FILE.read_text(encoding="utf-8").splitlines():
            name = line.split("|")[1].strip() if line.startswith("|") else ""
            if name in NAMES:
                found.setdefault(name, []).append(line)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help="renew the lines of these data sets")
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--folds", type=int)
    args = parser.parse_args()
    warnings.simplefilter("ignore", EmptyModelWarning)
    for name in args.only.split(","):
        lines = []
        for settings in GRID["labels" if name in LABELS else "numbers"]:
            lines.append(row(name, settings, args.folds or COUNTS[name]))
            print(lines[-1], flush=True)
        if args.save:
            known = {**stored(), name: lines}
            rows = [line for name in NAMES for line in known.get(name, [])]
            FILE.write_text("\n".join([__doc__, *HEAD, *rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()

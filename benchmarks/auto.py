"""Whether `fewer.auto` is as good as the best single method, in folds without a part in its choice.

    python -m benchmarks.auto [--save]

Data sets are those of `FEWER_DATA`, by default `../shared/data`. Rows are shuffled and divided into
five folds; in each, `auto` chooses from the other rows alone, and every method that it tries is
fitted to the same rows, choosing its own settings there. Scores are mean squared errors as a part
of the target's variance, and deviances (−2 log p per row) of classes. The best single method is
the best one in these folds, in hindsight; "within" tells whether auto's mean is within one standard
error of its. Seconds are those of one `auto` on four fifths of the rows.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fewer
from fewer._base import Estimator

RESULTS = Path(__file__).parent / "results"
FOLDS = 5
NUMBERS = ("prostate.csv", "cpus.csv", "diabetes.csv", "boston.csv")
CLASSES = ("iris.csv", "crabs.csv", "pima.train.csv", "synth.train.csv")


def folder() -> Path:
    """Where the data sets are."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("FEWER_DATA") or default)


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features, and the target as it is written."""
    path = folder() / name
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    rows = list(csv.reader(text.splitlines()))[1:]
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    target = np.array([row[-1] for row in rows])
    return X, target.astype(np.float64) if name in NUMBERS else target


def loss(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Mean squared error, or deviance."""
    if hasattr(model, "classes_"):
        logs = model.predict_log_proba(X)
        return float(-2 * np.mean(logs[np.arange(len(y)), np.searchsorted(model.classes_, y)]))
    return float(np.mean((model.predict(X) - y) ** 2))


def single(entry: dict[str, Any]) -> Any:
    """An estimator of a method that auto tried."""
    short = {cls._method: cls for cls in Estimator._classes.values()}
    names = {
        "sparse": "SparseRegressor",
        "lasso": "Lasso",
        "bls": "BLS",
        "rvm": "RVR",
        "rvc": "RVC",
        "probit": "ProbitClassifier",
        "smlr": "SMLR",
        "rmlr": "RMLR",
    }
    cls = short[names.get(entry["method"], entry["method"])]
    known = cls._get_param_names()
    return cls(**{k: v for k, v in entry["settings"].items() if k in known})


def judge(name: str) -> dict[str, Any]:
    """The losses of auto and of all single methods in each fold."""
    X, y = read(name)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    scale = float(np.var(y)) if name in NUMBERS else 1.0
    losses: dict[str, list[float]] = {"auto": []}
    terms: dict[str, list[float]] = {"auto": []}
    chosen, seconds = [], []
    for test in np.array_split(np.arange(len(y)), FOLDS):
        train = np.setdiff1d(np.arange(len(y)), test)
        start = time.perf_counter()
        model = fewer.auto(X[train], y[train])
        seconds.append(time.perf_counter() - start)
        losses["auto"].append(loss(model, X[test], y[test]) / scale)
        terms["auto"].append(model.n_terms_)
        for entry in model.tried_:
            label = entry["name"]
            if entry["chosen"]:
                chosen.append(label)
                fitted = model
            else:
                fitted = single(entry).fit(X[train], y[train])
            losses.setdefault(label, []).append(loss(fitted, X[test], y[test]) / scale)
            terms.setdefault(label, []).append(fitted.n_terms_)
    means = {label: float(np.mean(values)) for label, values in losses.items()}
    best = min((label for label in means if label != "auto"), key=lambda label: means[label])
    error = float(np.std(losses[best], ddof=1) / np.sqrt(FOLDS))
    return {
        "data": name.removesuffix(".csv"),
        "rows": len(y),
        "columns": X.shape[1],
        "auto": means["auto"],
        "auto_terms": float(np.mean(terms["auto"])),
        "best": best,
        "best_mean": means[best],
        "best_error": error,
        "best_terms": float(np.mean(terms[best])),
        "within": means["auto"] <= means[best] + error,
        "chosen": sorted(set(chosen), key=chosen.count, reverse=True),
        "seconds": float(np.mean(seconds)),
        "means": means,
    }


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        __doc__ or "",
        "| data | size | auto (terms) | best single ± s.e. (terms) | within | chosen | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    everything = []
    for name in (*NUMBERS, *CLASSES):
        if args.only and args.only not in name:
            continue
        found = judge(name)
        everything.append(found)
        lines.append(
            f"| {found['data']} | {found['rows']} × {found['columns']} | {found['auto']:.3f} "
            f"({found['auto_terms']:.1f}) | {found['best']}: {found['best_mean']:.3f} ± "
            f"{found['best_error']:.3f} ({found['best_terms']:.1f}) | "
            f"{'yes' if found['within'] else 'no'} | {', '.join(found['chosen'])} | "
            f"{found['seconds']:.1f} |"
        )
        print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if args.save:
        (RESULTS / "auto.md").write_text(text, encoding="utf-8")
        (RESULTS / "auto.json").write_text(json.dumps(everything, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

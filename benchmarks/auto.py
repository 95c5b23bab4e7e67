"""Whether `fewer.auto` is as good as the best single method, in folds without a part in its choice.

    python -m benchmarks.auto [--seeds 2,3] [--only NAME] [--save] [--merge]

Data sets are those of `FEWER_DATA`, by default `../shared/data`. Rows are shuffled and divided into
five folds, stratified for classes, once for each seed; in each fold, `auto` chooses from the other
rows alone, and every method that it tries is fitted to the same rows, choosing its own settings
there. Scores are mean squared errors as a part of the target's variance, and deviances (−2 log p
per row) of classes. The best single method is the best one in all these folds, in hindsight, which
favours it. "behind" is auto's mean less its. "s.e." are two standard errors of its mean: from the
deviation over the five folds / √5, and from that over the rows / √n (both as root mean squares
over the seeds: repeating adds no data). As in `cross_validate`, the larger one counts: where few
rows make most of the error, as in cpus, five folds can be alike by chance. "within" tells whether
"behind" is at most that. Seconds are those of one `auto` on four fifths of the rows, and of one fit
of the best single method.
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
from sklearn.base import ClassifierMixin
from sklearn.model_selection import KFold, StratifiedKFold

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


def loss(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared error or deviance of each row."""
    if hasattr(model, "classes_"):
        logs = model.predict_log_proba(X)
        return -2 * logs[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return (model.predict(X) - y) ** 2


def single(entry: dict[str, Any]) -> Any:
    """An estimator of a method that auto tried, with settings as it had."""
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
    settings = dict(entry["settings"])
    if settings.pop("cv_shuffle", False):
        kind = StratifiedKFold if issubclass(cls, ClassifierMixin) else KFold
        settings["cv"] = kind(5, shuffle=True, random_state=0)
    return cls(**settings)


def folds(y: np.ndarray, name: str, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows."""
    kind = KFold if name in NUMBERS else StratifiedKFold
    return list(kind(FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def judge(name: str, seed: int) -> dict[str, Any]:
    """The losses of auto and of all single methods in each fold."""
    X, y = read(name)
    scale = float(np.var(y)) if name in NUMBERS else 1.0
    losses: dict[str, list[float]] = {}
    of_rows: dict[str, list[np.ndarray]] = {}
    terms: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    chosen = []

    def enter(label: str, model: Any, start: float, test: np.ndarray) -> None:
        seconds.setdefault(label, []).append(time.perf_counter() - start)
        of_rows.setdefault(label, []).append(loss(model, X[test], y[test]) / scale)
        losses.setdefault(label, []).append(float(np.mean(of_rows[label][-1])))
        terms.setdefault(label, []).append(model.n_terms_)

    for train, test in folds(y, name, seed):
        start = time.perf_counter()
        model = fewer.auto(X[train], y[train])
        enter("auto", model, start, test)
        for entry in model.tried_:
            if entry["chosen"]:
                chosen.append(entry["name"])
            start = time.perf_counter()
            enter(entry["name"], single(entry).fit(X[train], y[train]), start, test)
    return {
        "data": name.removesuffix(".csv"),
        "seed": seed,
        "rows": len(y),
        "columns": X.shape[1],
        "chosen": chosen,
        "losses": losses,
        "row_errors": {
            label: float(np.std(np.concatenate(rows), ddof=1) / np.sqrt(len(y)))
            for label, rows in of_rows.items()
        },
        "terms": terms,
        "seconds": seconds,
    }


def summary(runs: list[dict[str, Any]]) -> str:
    """A line of the table for the runs with one data set."""

    def mean(what: str, label: str) -> float:
        return float(np.mean([run[what][label] for run in runs]))

    def error(values: np.ndarray) -> float:
        return float(np.sqrt(np.mean(np.var(values, axis=1, ddof=1) / FOLDS)))

    labels = [label for label in runs[0]["losses"] if label != "auto"]
    best = min(labels, key=lambda label: mean("losses", label))
    of_folds = error(np.array([run["losses"][best] for run in runs]))
    of_rows = float(np.sqrt(np.mean([run["row_errors"][best] ** 2 for run in runs])))
    own = max(of_folds, of_rows)
    behind = mean("losses", "auto") - mean("losses", best)
    chosen = [label for run in runs for label in run["chosen"]]
    names = sorted(set(chosen), key=lambda name: (-chosen.count(name), name))
    return (
        f"| {runs[0]['data']} | {runs[0]['rows']} × {runs[0]['columns']} | "
        f"{mean('losses', 'auto'):.3f} ({mean('terms', 'auto'):.1f}) | "
        f"{best}: {mean('losses', best):.3f} ({mean('terms', best):.1f}) | {behind:+.3f} | "
        f"{of_folds:.3f}, {of_rows:.3f} | {'yes' if behind <= own else '**no**'} | "
        f"{', '.join(f'{name} {chosen.count(name)}' for name in names)} | "
        f"{mean('seconds', 'auto'):.1f} | {mean('seconds', best):.2f} |"
    )


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0", help="seeds of the folds, between commas")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--merge", action="store_true", help="keep the runs saved before")
    parser.add_argument("--only", default="", help="parts of names, between commas")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    saved = RESULTS / "auto.json"
    runs = json.loads(saved.read_text(encoding="utf-8")) if args.merge and saved.exists() else []
    for seed in map(int, args.seeds.split(",")):
        for name in (*NUMBERS, *CLASSES):
            known = any(r["data"] + ".csv" == name and r["seed"] == seed for r in runs)
            if known or not any(part in name for part in args.only.split(",")):
                continue
            runs.append(judge(name, seed))
            print(f"seed {seed}: {summary(runs[-1:])}", flush=True)
            if args.save:
                saved.write_text(json.dumps(runs, indent=1), encoding="utf-8")
    lines = [
        __doc__ or "",
        f"Seeds: {', '.join(map(str, sorted({run['seed'] for run in runs})))}.\n",
        "| data | size | auto (terms) | best single (terms) | behind | s.e. of folds, rows | "
        "within | chosen in folds | seconds | seconds of best |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in (*NUMBERS, *CLASSES):
        if of_name := [run for run in runs if run["data"] + ".csv" == name]:
            lines.append(summary(of_name))
    text = "\n".join(lines) + "\n"
    print(text)
    if args.save:
        (RESULTS / "auto.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""How well relevance vector regression knows its errors, by what its deviations are made of.

    python -m benchmarks.predictive_variance [--save] [--splits 10]

Negative log predictive density (smaller is better) and how often 90 % and 95 % intervals hold
the target of rows that were not fitted, averaged over random splits (80 % for the fit). `posterior`
and `augmented` are the values of `variance`; `posterior × cv` multiplies all deviations by the
root mean square of what 5-fold cross-validation finds. The sinc has 100 rows between -10 and 10,
and is judged there and, for the last line, between -20 and 20. Settings are the defaults, for the
sinc gamma=3.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.problem import Array
from fewer import RVR
from papers.experiment import data_folder

RESULTS = Path(__file__).parent / "results"
WAYS = ("posterior", "augmented", "posterior × cv")
REAL = ("boston", "concrete", "diabetes")


def read(name: str) -> tuple[Array, Array]:
    """Numbers of a file; the last column is the target."""
    with (data_folder() / f"{name}.csv").open(encoding="utf-8") as file:
        rows = np.array([[float(v) for v in row] for row in list(csv.reader(file))[1:]])
    return rows[:, :-1], rows[:, -1]


def sinc(rng: np.random.Generator, rows: int, reach: float) -> tuple[Array, Array]:
    """sin(x)/x and noise of a tenth."""
    X = rng.uniform(-reach, reach, size=(rows, 1))
    return X, np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=rows)


def problems(split: int) -> Iterator[tuple[str, Array, Array, Array, Array, dict[str, Any]]]:
    """Name, rows to fit and their targets, rows to judge by and theirs, settings."""
    rng = np.random.default_rng(split)
    for name in REAL:
        X, y = read(name)
        order = rng.permutation(len(y))
        fit, new = np.split(order, [int(0.8 * len(y))])
        yield name, X[fit], y[fit], X[new], y[new], {}
    X, y = sinc(rng, 100, 10.0)
    yield "sinc", X, y, *sinc(rng, 500, 10.0), {"gamma": 3.0}
    yield "sinc, beyond the data", X, y, *sinc(rng, 500, 20.0), {"gamma": 3.0}


def predict(way: str, X: Array, y: Array, X_new: Array, settings: dict[str, Any]) -> Any:
    """Mean and deviation of new observations."""
    if way == "augmented":
        return RVR(variance="augmented", **settings).fit(X, y).predict(X_new, return_std=True)
    mean, std = RVR(**settings).fit(X, y).predict(X_new, return_std=True)
    if way == "posterior":
        return mean, std
    fold = np.random.default_rng(0).permutation(len(y)) % 5
    errors = np.empty(len(y))
    for k in range(5):
        model = RVR(**settings).fit(X[fold != k], y[fold != k])
        found, spread = model.predict(X[fold == k], return_std=True)
        errors[fold == k] = (y[fold == k] - found) / spread
    return mean, std * np.sqrt(np.mean(errors**2))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--splits", type=int, default=10)
    args = parser.parse_args()
    found: dict[tuple[str, str], list[list[float]]] = {}
    for split in range(args.splits):
        for name, X, y, X_new, y_new, settings in problems(split):
            for way in WAYS:
                mean, std = predict(way, X, y, X_new, settings)
                z = np.abs(y_new - mean) / std
                held = [100 * np.mean(z < norm.ppf(0.5 + c / 2)) for c in (0.9, 0.95)]
                scores = [-np.mean(norm.logpdf(y_new, mean, std)), *held]
                found.setdefault((name, way), []).append(scores)
    lines = ["| data | deviations | NLPD | in 90 % | in 95 % |", "|---|---|---|---|---|"]
    for (name, way), scores in found.items():
        nlpd, *held = np.mean(scores, axis=0)
        shown = " | ".join(f"{h:.1f}" for h in held)
        lines.append(f"| {name} | {way} | {nlpd:.3f} | {shown} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if args.save:
        head = f"{__doc__}\n{args.splits} splits.\n\n"
        (RESULTS / "predictive_variance.md").write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    main()

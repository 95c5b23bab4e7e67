"""What the default of `lam_rule` was chosen by: BLS and Fast Laplace with each way to find λ.

    python -m benchmarks.lam_rule [--save] [--repeats 20]

A rule should keep nothing of pure noise, miss no clear signal, and predict well. A cell has the
mean number of terms and the root mean squared error against the true function (for diabetes: the
test target), averaged over repetitions; after it, where they are not 0, the per cent of empty
models. The simulations are those of Helgøy & Li (2022, tables 1 and 5 to 7) with 20, 100 or 309
rows, and a wide one with 5 true terms of 400. `0` is automatic relevance determination; λ of Fast
Laplace is given in units of 1/variance of y.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

from benchmarks.problem import Array
from fewer import BLS, FastLaplace

RESULTS = Path(__file__).parent / "results"
RULES: dict[str, dict[str, Any]] = {
    "active": {"lam_rule": "active"},
    "hyperprior": {"lam_rule": "hyperprior"},
    "0": {"lam": 0.0},
    "0.3": {"lam": 0.3},
    "3": {"lam": 3.0},
}
Task = tuple[str, str, Array, Array, Array | None, Array | None]


def noise(rng: np.random.Generator) -> Iterator[Task]:
    """Targets that depend on nothing."""
    for n, p in ((100, 20), (50, 200)):
        yield f"noise, {n}×{p}", "linear", rng.normal(size=(n, p)), rng.normal(size=n), None, None
    x = np.linspace(-10, 10, 100)[:, None]
    yield "noise, rbf", "rbf", x, rng.normal(size=100), None, None


def linear(rng: np.random.Generator) -> Iterator[Task]:
    """Few or many true weights."""

    def task(name: str, draw: Any, weights: Array, n: int, scatter: float) -> Task:
        X, new = draw(n), draw(500)
        return name, "linear", X, X @ weights + scatter * rng.normal(size=n), new, new @ weights

    def independent(p: int) -> Any:
        return lambda n: rng.normal(size=(n, p))

    yield task("one weak term, 100×20", independent(20), np.r_[0.5, np.zeros(19)], 100, 1.0)
    distance = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    root = np.linalg.cholesky(0.5**distance)
    few = np.array([3, 1.5, 0, 0, 2, 0, 0, 0])
    for scatter in (1.0, 3.0, 5.0):
        name = f"simulation 1, σ = {scatter:g}"
        yield task(name, lambda n: rng.normal(size=(n, 8)) @ root.T, few, 20, scatter)
    blocks = np.repeat([0.0, 2.0, 0.0, 2.0], 10)
    yield task(
        "simulation 2",
        lambda n: rng.normal(size=(n, 1)) + rng.normal(size=(n, 40)),
        blocks,
        100,
        2.0,
    )
    many = np.r_[3 * rng.normal(size=30), np.zeros(30)]
    yield task("simulation 3", independent(60), many, 100, 1.0)
    wide = np.r_[2.0, -2.0, 1.0, 1.0, -1.0, np.zeros(395)]
    yield task("wide, 100×400", independent(400), wide, 100, 1.0)


def tasks(seed: int) -> Iterator[Task]:
    """Name, basis, rows, targets, new rows and what is true there."""
    rng = np.random.default_rng(seed)
    yield from noise(rng)
    yield from linear(rng)
    x, new = np.linspace(-10, 10, 100)[:, None], rng.uniform(-10, 10, size=(500, 1))
    for scatter in (0.05, 0.1, 0.3, 0.5):
        y = np.sinc(x[:, 0] / np.pi) + scatter * rng.normal(size=100)
        yield f"sinc, σ = {scatter:g}", "rbf", x, y, new, np.sinc(new[:, 0] / np.pi)
    X, y = load_diabetes(return_X_y=True)
    fit, test = np.split(rng.permutation(len(y)), [309])
    yield "diabetes", "linear", X[fit], y[fit], X[test], y[test]


def fitted(kind: Any, rule: str, basis: str, X: Array, y: Array) -> Any:
    """A model by a rule."""
    settings = dict(RULES[rule])
    if kind is FastLaplace and "lam" in settings:
        settings["lam"] /= y.var()
    # The width of Helgøy & Li is 3 for x between -10 and 10.
    return kind(basis=basis, gamma=3.7 if basis == "rbf" else "scale", **settings).fit(X, y)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[tuple[str, str], dict[str, list[tuple[int, float]]]] = {}
    for seed in range(args.repeats):
        for name, basis, X, y, new, truth in tasks(seed):
            for kind in (BLS, FastLaplace):
                for rule in RULES:
                    model = fitted(kind, rule, basis, X, y)
                    error = 0.0 if new is None else np.mean((model.predict(new) - truth) ** 2)
                    row = found.setdefault((kind.__name__, name), {})
                    row.setdefault(rule, []).append((model.n_terms_, error))
    lines = ["| method | data | " + " | ".join(RULES) + " |", "|---" * (len(RULES) + 2) + "|"]
    for (kind, name), row in sorted(found.items(), key=lambda item: item[0][0]):
        cells = []
        for values in row.values():
            terms, errors = np.array(values).T
            cell = f"{terms.mean():.1f}"
            if errors.any():
                cell += f", {np.sqrt(errors).mean():.3g}"
            if (terms == 0).any():
                cell += f" ({100 * np.mean(terms == 0):.0f} % empty)"
            cells.append(cell)
        lines.append(f"| {kind} | {name} | " + " | ".join(cells) + " |")
    text = "\n".join(lines) + "\n"
    print(text)
    if args.save:
        head = f"{__doc__}\n{args.repeats} repetitions.\n\n"
        (RESULTS / "lam_rule.md").write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""The evidence that RVR reaches, beside that of fastrvm.

    python -m benchmarks.evidence_study [--save] [--sets 60] [--first 1000]

Data sets by seed, of 60 to 600 rows: a sinc, a smooth function of two variables, a linear one of
five and Friedman's first, each with Gaussian kernels on all rows of a given width; pure noise; and
linear problems, tall and wide, whose columns are the candidates. Both libraries have their defaults
and no intercept. Neither says what the variances of its weights are in the same way, so that the
log evidence of both is that of one formula (`benchmarks.evidence.best_log_evidence`): for the terms
and the noise returned, the noise no smaller than a 1e-8 part of the variance of y, the variances of
the weights at their best. A loss is a set on which RVR is more than 0.001 below. Times are the
median of the ratios of processor time, each in one thread.
"""

from __future__ import annotations

import argparse
import importlib
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.evidence import best_log_evidence, gaussian_kernel
from benchmarks.problem import Array
from fewer import RVR, EmptyModelWarning

RESULTS = Path(__file__).parent / "results"
KINDS = ("sinc", "smooth", "linear kernel", "friedman", "noise", "tall", "wide")
LOSS = 1e-3


def problem(seed: int) -> tuple[str, Array, Array, float | None]:
    """The kind, X and y, and the width of the kernels; none where columns of X are the terms."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n = int(np.exp(rng.uniform(np.log(60), np.log(600))))
    if kind in ("tall", "wide"):
        p = max(5, n // 5) if kind == "tall" else 2 * n
        X = rng.normal(size=(n, p))
        weights = np.zeros(p)
        weights[: max(3, p // 20)] = rng.normal(size=max(3, p // 20))
        return kind, X, X @ weights + rng.uniform(0.2, 2) * rng.normal(size=n), None
    d = {"sinc": 1, "smooth": 2, "linear kernel": 5, "friedman": 10, "noise": 2}[kind]
    X = rng.uniform(-1, 1, size=(n, d))
    noise = rng.normal(size=n)
    if kind == "sinc":
        return kind, 10 * X, np.sinc(10 * X[:, 0] / np.pi) + rng.uniform(0.05, 0.5) * noise, 1 / 9
    if kind == "smooth":
        y = np.sin(4 * X[:, 0]) * np.cos(2 * X[:, 1])
        return kind, 2 * X, y + rng.uniform(0.05, 0.5) * noise, 1.0
    if kind == "linear kernel":
        return kind, X, X @ [3.0, -2.0, 0, 0, 1.0] + rng.uniform(0.2, 1) * noise, 0.3
    if kind == "noise":
        return kind, X, noise, 1.0
    U = (X + 1) / 2
    y = 10 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20 * (U[:, 2] - 0.5) ** 2 + 10 * U[:, 3]
    return kind, X, y + 5 * U[:, 4] - 14 + rng.uniform(0.3, 2) * noise, 0.1


def ours(X: Array, y: Array, gamma: float | None) -> tuple[npt.NDArray[np.intp], Array, float]:
    """Terms, weights and noise of RVR."""
    settings: dict[str, Any] = {"basis": "linear"} if gamma is None else {"gamma": gamma}
    model = RVR(fit_intercept=False, standardize=False, n_jobs=1, **settings).fit(X, y)
    if gamma is None:
        kept = np.flatnonzero(model.coef_)
        return kept, np.asarray(model.coef_[kept]), float(model.noise_std_)
    return np.asarray(model.relevance_), np.asarray(model.coef_), float(model.noise_std_)


def theirs(
    library: Any, X: Array, y: Array, gamma: float | None
) -> tuple[npt.NDArray[np.intp], Array, float]:
    """Terms, weights and noise of fastrvm."""
    if gamma is None:
        # Its class has kernels on rows only; what it calls takes any columns.
        core = library._sparsebayes_bindings
        gaussian = core.Likelihood.Gaussian
        solver = core.SparseBayes(gaussian, 10_000, False, False, False, True, False, None)
        fitted = solver.inference(np.asfortranarray(X), y)
        kept, weights = np.ravel(fitted["relevant_idx"]), np.ravel(fitted["mean"])
        return kept.astype(np.intp), weights, float(fitted["beta"]) ** -0.5
    fitted = library.RVR(gamma=gamma, n_jobs=1).fit(X, y)
    kept = np.asarray(fitted.relevance_, dtype=np.intp)
    return kept, np.ravel(fitted.dual_coef_), float(fitted.beta_) ** -0.5


def evidence(
    X: Array, y: Array, gamma: float | None, found: tuple[npt.NDArray[np.intp], Array, float]
) -> float:
    """The log evidence of terms and noise, by the one formula."""
    kept, weights, noise = found
    F = X[:, kept] if gamma is None else gaussian_kernel(X, X[kept], gamma)
    return best_log_evidence(F, y, weights, noise**2)


def table(rows: list[tuple[int, str, int, float, float, float, float]]) -> str:
    """The results by kind, all of them, and every loss."""
    lines = [
        "| data | sets | median gain | losses | largest loss | time, fewer / fastrvm |",
        "|---|---|---|---|---|---|",
    ]
    for kind in (*KINDS, "all"):
        chosen = [r for r in rows if kind in ("all", r[1])]
        if not chosen:
            continue
        gains = np.array([r[3] - r[4] for r in chosen])
        ratio = np.median([r[5] / r[6] for r in chosen])
        lost = gains[gains < -LOSS]
        largest = f"{-lost.min():.2f}" if len(lost) else "–"
        lines.append(
            f"| {kind} | {len(chosen)} | {np.median(gains):.3f} | {len(lost)} | {largest} "
            f"| {ratio:.1f} |"
        )
    lines.append("")
    for seed, kind, n, one, other, *_ in rows:
        if one - other < -LOSS:
            lines.append(f"- seed {seed}, {kind}, {n} rows: {one:.3f} and {other:.3f}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--sets", type=int, default=60)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first set")
    args = parser.parse_args()
    try:
        library = importlib.import_module("fastrvm")
        importlib.import_module("fastrvm._sparsebayes_bindings")
    except ImportError:
        raise SystemExit("fastrvm is needed: pip install fastrvm==0.1.5") from None
    warnings.simplefilter("ignore", EmptyModelWarning)  # of pure noise
    rows = []
    for seed in range(args.first, args.first + args.sets):
        kind, X, y, gamma = problem(seed)
        started = time.process_time()
        one = ours(X, y, gamma)
        between = time.process_time()
        other = theirs(library, X, y, gamma)
        seconds = (between - started, time.process_time() - between)
        reached = [evidence(X, y, gamma, found) for found in (one, other)]
        rows.append((seed, kind, len(y), reached[0], reached[1], *seconds))
        print(f"{seed} {kind} n={len(y)}: {reached[0] - reached[1]:+.3f}", flush=True)
    text = table(rows)
    print(text)
    if args.save:
        head = f"{__doc__}\nfastrvm {version('fastrvm')}, {args.sets} sets from seed {args.first}."
        (RESULTS / "evidence_study.md").write_text(f"{head}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Kernel matrices beside scikit-learn's, and a kernel fit beside one Cholesky factorisation.

    python -m benchmarks.kernels [--repeats R] [--threads T] [--save]

All calls are interleaved in one process; minimum and median of the wall time are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


def interleaved(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Time every call in turn, over and over."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()  # the first call of each pays for imports and caches
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return times


def moons(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two interleaving half circles with noise."""
    upper = rng.random(n) < 0.5
    angle = np.pi * rng.random(n)
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle))
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle))
    return np.column_stack([x, y]) + 0.25 * rng.standard_normal((n, 2)), upper


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    pinned = dict.fromkeys(POOLS, str(args.threads))
    if any(os.environ.get(name) != value for name, value in pinned.items()):
        # Libraries read these when they are loaded: start again with all of them set.
        command = [sys.executable, "-m", "benchmarks.kernels", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | pinned)

    import scipy.linalg
    import sklearn
    from sklearn.metrics.pairwise import rbf_kernel

    import fewer
    from fewer import ProbitClassifier
    from fewer.kernels import kernel_matrix

    rng = np.random.default_rng(0)
    lines = [
        f"fewer {fewer.__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}, "
        f"{args.threads} thread(s), {platform.processor() or platform.machine()}",
        "",
        "| what | fewer, min (median) ms | peer, min (median) ms | ratio of minima |",
        "|---|---|---|---|",
    ]
    rows: list[dict[str, Any]] = []

    def compare(what: str, ours: Callable[[], Any], peer: str, theirs: Callable[[], Any]) -> None:
        times = interleaved({"fewer": ours, peer: theirs}, args.repeats)
        best = {name: min(t) for name, t in times.items()}
        shown = [
            f"{1e3 * best[name]:.1f} ({1e3 * statistics.median(times[name]):.1f})" for name in times
        ]
        ratio = best["fewer"] / best[peer]
        lines.append(f"| {what} | {shown[0]} | {peer}: {shown[1]} | {ratio:.2f} |")
        rows.append({"what": what, "times": times, "ratio": ratio})

    for n, d in ((2000, 20), (4000, 100)):
        X = rng.standard_normal((n, d))
        worst = np.abs(kernel_matrix(X, gamma=1 / d) - rbf_kernel(X, gamma=1 / d)).max()
        compare(
            f"rbf kernel matrix {n}×{d} (largest difference {worst:.0e})",
            lambda X=X, d=d: kernel_matrix(X, gamma=1 / d),
            "rbf_kernel",
            lambda X=X, d=d: rbf_kernel(X, gamma=1 / d),
        )
    X, y = moons(rng, 2000)
    model = ProbitClassifier(basis="rbf", n_jobs=args.threads).fit(X, y)
    K = rbf_kernel(X, gamma=0.5) + np.eye(len(X))
    compare(
        f"ProbitClassifier(basis='rbf') on moons, n = 2000 ({model.n_terms_} kernels, "
        f"{model.n_iter_} iterations, stationary to {float(model.certificate_):.0e})",
        lambda: ProbitClassifier(basis="rbf", n_jobs=args.threads).fit(X, y),
        "one SciPy Cholesky of that size",
        lambda: scipy.linalg.cholesky(K, lower=True),
    )
    text = "\n".join(lines) + "\n"
    print(text)
    if args.save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "kernels.md").write_text(text, encoding="utf-8")
        (RESULTS / "kernels.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

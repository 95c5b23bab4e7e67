"""How the time of AdaptiveRVR grows with the rows.

    python -m benchmarks.adaptive_scaling [--save] [--rows 1000,10000,100000] [--plain 10000]

Friedman's function of 8 inputs (5 of them matter) with noise of deviation 1; errors are those
against the function itself on 5000 other rows. Each fit has a process of its own, with the memory
it took at most. `--plain` rows: RVR with Gaussian kernels on all of them beside it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1

from fewer import RVR, AdaptiveRVR

FILE = Path(__file__).parent / "results" / "adaptive_scaling.md"
HEAD = (
    "| rows | method | CPU, s | wall, s | GB | terms | RMSE | converged |",
    "|---|---|---|---|---|---|---|---|",
)
METHODS: dict[str, Any] = {"AdaptiveRVR": AdaptiveRVR, "RVR": RVR}


def row(name: str, rows: int) -> str:
    """One fit, as a line of the table."""
    X, f = make_friedman1(rows, n_features=8, noise=0, random_state=0)
    y = f + np.random.default_rng(0).normal(size=rows)
    new, truth = make_friedman1(5000, n_features=8, noise=0, random_state=1)
    wall, start = time.perf_counter(), time.process_time()
    model = METHODS[name]().fit(X, y)
    took, wall = time.process_time() - start, time.perf_counter() - wall
    error = float(np.sqrt(np.mean((model.predict(new) - truth) ** 2)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return (
        f"| {rows} | {name} | {took:.1f} | {wall:.1f} | {peak:.2f} "
        f"| {model.n_terms_} | {error:.3f} | {'yes' if model.converged_ else 'no'} |"
    )


def main() -> None:
    """Measure, print and, if asked, save."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--rows", default="1000,10000,100000")
    parser.add_argument("--plain", default="1000,10000")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, rows = options.one.split(",")
        print(row(name, int(rows)))
        return
    lines = list(HEAD)
    for name, sizes in (("AdaptiveRVR", options.rows), ("RVR", options.plain)):
        for rows in filter(None, sizes.split(",")):
            command = [sys.executable, "-m", "benchmarks.adaptive_scaling", "--one"]
            done = subprocess.run(
                [*command, f"{name},{rows}"], check=True, capture_output=True, text=True
            )
            lines.append(done.stdout.strip())
            print(lines[-1], flush=True)
    if options.save:
        text = f"# Time of learnt kernels against rows\n\n{(__doc__ or '').split(chr(10), 2)[2]}\n"
        FILE.write_text(text + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

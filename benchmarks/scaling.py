"""How the time of relevance vector regression grows with the rows, by what candidates there are.

    python -m benchmarks.scaling [--save] [--seconds 60] [--only fast,redrawn] [--large 100000,500]
        [--linear 1000000,500]

Friedman's function of 10 inputs (5 of them matter) with noise of deviation 1. `block` and `fast`
look at all rows; `landmarks` at 300 rows by k-means++; `redrawn` at 300 rows that are others in
every round. Each goes on to twice the rows until a fit takes longer than `--seconds` of processor
time; the exponent is the slope of log time against log rows over its last four sizes. `--large`
rows, candidates: one fit beside, in a process of its own, with the memory it took at most.
`--linear` rows, columns: fits with a linear basis (10 columns matter) beside the moments they are
made from, and NumPy's product of the columns alone.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import make_friedman1

from benchmarks.problem import Array
from fewer import BLS, RVR, Moments

RESULTS = Path(__file__).parent / "results"
WAYS = {
    "block": {"solver": "block"},
    "fast": {},
    "landmarks": {"candidates": 300, "landmarks": "kmeans"},
    "redrawn": {"candidates": 300, "landmarks": "redrawn"},
}
FIRST = {"block": 125, "fast": 250, "landmarks": 1000, "redrawn": 1000}
MOST = 200_000
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759")


def friedman(rows: int) -> tuple[Array, Array, Array, Array]:
    """Rows to fit, and rows to judge by with the function itself."""
    X, f = make_friedman1(rows, n_features=10, noise=0, random_state=0)
    y = f + np.random.default_rng(0).normal(size=rows)
    return X, y, *make_friedman1(5000, n_features=10, noise=0, random_state=1)


def fit(rows: int, **settings: object) -> tuple[float, float, RVR, float]:
    """Processor time, wall time, model, RMSE."""
    X, y, X_new, truth = friedman(rows)
    wall, start = time.perf_counter(), time.process_time()
    model = RVR(**settings).fit(X, y)  # type: ignore[arg-type]
    took, wall = time.process_time() - start, time.perf_counter() - wall
    return took, wall, model, float(np.sqrt(np.mean((model.predict(X_new) - truth) ** 2)))


def exponent(points: list[tuple[int, float]]) -> float:
    """The slope of log time against log rows, over the last four."""
    rows, times = np.log(np.array(points[-4:], dtype=float)).T
    return float(np.polyfit(rows, times, 1)[0])


def picture(points: dict[str, list[tuple[int, float]]]) -> str:
    """The times as an SVG, both axes in powers of ten."""
    width, height, left, base = 640, 420, 60, 370
    all_points = [p for series in points.values() for p in series]
    x0, x1 = (np.log10(f([p[0] for p in all_points])) for f in (min, max))
    y0, y1 = (np.log10(f([p[1] for p in all_points])) for f in (min, max))
    x0, x1, y0, y1 = np.floor(x0), np.ceil(x1), np.floor(y0), np.ceil(y1)

    def place(rows: float, took: float) -> tuple[float, float]:
        x = left + (np.log10(rows) - x0) / (x1 - x0) * (width - left - 130)
        return float(x), float(base - (np.log10(took) - y0) / (y1 - y0) * (base - 30))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for power in range(int(x0), int(x1) + 1):
        x, _ = place(10.0**power, 10.0**y0)
        parts.append(f'<line x1="{x:.1f}" y1="30" x2="{x:.1f}" y2="{base}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{base + 18}" text-anchor="middle">1e{power}</text>')
    for power in range(int(y0), int(y1) + 1):
        _, y = place(10.0**x0, 10.0**power)
        parts.append(
            f'<line x1="{left}" y1="{y:.1f}" x2="{width - 130}" y2="{y:.1f}" stroke="#ddd"/>'
        )
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>')
    for colour, (name, series) in zip(COLOURS, points.items(), strict=False):
        path = " ".join("{:.1f},{:.1f}".format(*place(*p)) for p in series)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = place(*series[-1])
        label = f"{name}, n^{exponent(series):.2f}" if len(series) > 1 else name
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 4:.1f}" fill="{colour}">{label}</text>')
    parts.append(f'<text x="{left}" y="20">processor time of a fit, s</text>')
    parts.append(f'<text x="{width // 2 - 40}" y="{height - 10}">rows</text></svg>')
    return "\n".join(parts) + "\n"


def large(rows: int, candidates: int) -> str:
    """One fit, as a line of a table."""
    took, wall, model, error = fit(rows, candidates=candidates, landmarks="redrawn")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return (
        f"| {rows} | redrawn, {candidates} | {took:.1f} | {wall:.1f} | {peak:.2f} "
        f"| {model.n_terms_} | {error:.4f} | {model.n_iter_} |"
    )


def linear(rows: int, columns: int) -> str:
    """Fits with a linear basis beside the moments, as lines of a table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    y = X[:, :10] @ rng.normal(size=10) + rng.normal(size=rows)
    work: dict[str, Callable[[], object]] = {
        "NumPy X.T @ X": lambda: X.T @ X,
        "Moments": lambda: Moments().push(X, y),
        "RVR(basis='linear')": lambda: RVR(basis="linear").fit(X, y),
        "BLS": lambda: BLS().fit(X, y),
    }
    lines, own = [], 0.0
    for name, run in work.items():
        wall, start = time.perf_counter(), time.process_time()
        run()
        took, wall = time.process_time() - start, time.perf_counter() - wall
        own = took if name == "Moments" else own
        ratio = f"{took / own:.2f}" if own else ""
        lines.append(f"| {rows}, {columns} | {name} | {took:.1f} | {wall:.1f} | {ratio} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and, if asked, save."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", default=",".join(WAYS))
    parser.add_argument("--large", action="append", default=[])
    parser.add_argument("--linear", action="append", default=[])
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        kind, rows, other = options.one.split(",")
        print({"large": large, "linear": linear}[kind](int(rows), int(other)))
        return
    lines = ["| rows | candidates | CPU, s | terms | RMSE |", "|---|---|---|---|---|"]
    points: dict[str, list[tuple[int, float]]] = {}
    for name in options.only.split(","):
        rows, took = FIRST[name], 0.0
        while took * 2 < options.seconds and rows <= MOST:
            took, _, model, error = fit(rows, **WAYS[name])
            points.setdefault(name, []).append((rows, took))
            lines.append(f"| {rows} | {name} | {took:.3f} | {model.n_terms_} | {error:.4f} |")
            print(lines[-1], flush=True)
            rows *= 2
    slopes = [
        f"{name} {exponent(series):.2f}" for name, series in points.items() if len(series) > 1
    ]
    if slopes:
        lines.append("\nExponents of time against rows: " + ", ".join(slopes) + ".")
    tables = {
        "large": "| rows | candidates | CPU, s | wall, s | GB | terms | RMSE | rounds |",
        "linear": "| rows, columns | | CPU, s | wall, s | CPU by that of the moments |",
    }
    for kind, head in tables.items():
        jobs = getattr(options, kind)
        if jobs:
            lines += ["\n" + head, "|---" * (head.count("|") - 1) + "|"]
        for job in jobs:
            command = [sys.executable, "-m", "benchmarks.scaling", "--one", f"{kind},{job}"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            lines.append(done.stdout.strip())
            print(lines[-1], flush=True)
    if options.save:
        head = "# Time of relevance vector regression against rows\n\n![times](scaling.svg)\n\n"
        tail = f"\n\nWritten by `python -m benchmarks.scaling {' '.join(sys.argv[1:])}`.\n"
        (RESULTS / "scaling.md").write_text(head + "\n".join(lines) + tail, encoding="utf-8")
        (RESULTS / "scaling.svg").write_text(picture(points), encoding="utf-8")


if __name__ == "__main__":
    main()

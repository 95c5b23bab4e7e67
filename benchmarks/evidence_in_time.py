"""How far RVR has come in a part of a peer's time.

    python -m benchmarks.evidence_in_time [--save] [--only ard-wide] [--repeats 5]

A fit that is faster at the end may have been far behind for long, or the other way round. Here the
goals of the cases of evidence are put this way: RVR is stopped (`max_time`) after the part of the
peer's time that the goal names (a tenth of ARDRegression's, a fiftieth of sklearn-rvm's and
kernlab's, a third of fastrvm's), and what it has by then is judged as in the other tables: log
evidence by one formula, error of new rows. Peer and RVR take turns, one thread each; the time given
is a part of the peer's least processor time so far, and the median of the repeats is shown. Steps
are not cut short, so that a little more time than given may be taken: the processor time is shown,
too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.adapters import discover
from benchmarks.adapters.base import Adapter
from benchmarks.adapters.fewer_ import Fewer
from benchmarks.cases import EVIDENCE
from benchmarks.evidence import judge_evidence
from benchmarks.problem import Case, Problem, TrainingData
from benchmarks.runner import Setting, Settings, stage
from fewer import RVR

RESULTS = Path(__file__).parent / "results"
# Cases of kernels in which all peers take no more than seconds; at 2000 rows the goals are met
# anyway.
MOST_ROWS = 500


def stopped(data: TrainingData, case: Case, seconds: float) -> Any:
    """RVR after so many seconds."""
    basis: dict[str, Any] = {"basis": "rbf", "gamma": data.gamma} if case.gamma else {}
    settings = {"basis": "linear", **basis, "standardize": False, "fit_intercept": False}
    model = RVR(**settings, n_jobs=1, max_time=max(seconds, 1e-6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(data.X, data.y)


def measure(case: Case, peer: Adapter, part: float, repeats: int) -> dict[str, float]:
    """Seconds, log evidence and error of both, the medians over repeats."""
    problem: Problem = case.problem()
    gamma = float("nan") if case.gamma is None else case.gamma
    data = TrainingData(problem.X, problem.y, 1, gamma=gamma, X_test=problem.X_test)
    stopped(data, case, 1e-6)
    least = float("inf")
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="fewer-benchmark-") as folder:
        here = stage(case, problem, Path(folder), Settings())
        for _ in range(repeats):
            record = here.fit_once(peer, Setting())
            least = min(least, record["cpu_s"])
            started = time.process_time()
            model = stopped(data, case, part * least)
            row = {"seconds": record["cpu_s"], "taken": time.process_time() - started}
            ours = judge_evidence(case, problem, Fewer().solution(model, data))
            for name, of in (("their", record["judged"]), ("our", ours)):
                row |= {
                    f"{name} {key}": of[key] or 0.0
                    for key in ("log_evidence", "test_rmse", "terms")
                }
            rows.append(row)
    return {key: median(row[key] for row in rows) for key in rows[0]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--only", help="a case")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    adapters = {adapter.name: adapter() for adapter in discover()}
    lines = [
        "| case | peer | part | their CPU s | ours | their log evidence | ours | their RMSE | ours "
        "| terms | ours |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for case in EVIDENCE:
        if (case.sizes.n > MOST_ROWS and case.gamma) or args.only not in (None, case.name):
            continue
        for target in case.targets:
            name = target.relative_to
            if name not in adapters or not adapters[name].available():
                print(f"{case.name}: {name} is not here", flush=True)
                continue
            with threadpool_limits(1):
                m = measure(case, adapters[name], target.at_most, args.repeats)
            cells = [
                case.name,
                name,
                f"1/{round(1 / target.at_most)}",
                f"{m['seconds']:.3g}",
                f"{m['taken']:.3g}",
                f"{m['their log_evidence']:.1f}",
                f"{m['our log_evidence']:.1f}",
                f"{m['their test_rmse']:.4g}",
                f"{m['our test_rmse']:.4g}",
                f"{m['their terms']:.0f}",
                f"{m['our terms']:.0f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if args.save:
        head = f"{__doc__}\n{args.repeats} repeats.\n\n"
        (RESULTS / "evidence_in_time.md").write_text(head + text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()

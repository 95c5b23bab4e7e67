"""Tables of what was measured, beside the published and the reference."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from papers.aggregate import Estimate, columns, estimate, verdict
from papers.experiment import Experiment, Quantity
from papers.runner import load, result_file

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
_HEADER = (
    "| quantity | ours (mean ± s.e.) | s.d. | published | reference | verdict |\n"
    "|---|---|---|---|---|---|"
)
_SUMMARY_HEADER = (
    "| experiment | quantity | ours (mean ± s.e.) | s.d. | published | reference | verdict |\n"
    "|---|---|---|---|---|---|---|"
)


def number(value: float) -> str:
    """Four significant digits, without a trailing point."""
    return "–" if math.isnan(value) else f"{value:.4g}"


def ours_text(ours: Estimate) -> str:
    """Value ± standard error."""
    return f"{number(ours.value)} ± {ours.standard_error:.2g}"


def cells(quantity: Quantity, run: dict[str, Any]) -> list[str]:
    """One row of a table, without the name of the experiment."""
    ours = estimate(quantity, columns(run["repetitions"]))
    failed = sum("error" in record for record in run["repetitions"])
    judged = verdict(quantity, ours)
    reference = quantity.reference
    return [
        quantity.name,
        ours_text(ours),
        "" if ours.sd is None else number(ours.sd),
        "" if quantity.published is None else str(quantity.published),
        "" if reference is None else number(reference.value) + _note(reference.note),
        f"{judged}; {failed} failed" if failed else judged,
    ]


def _note(note: str) -> str:
    return f" ({note})" if note else ""


def _row(texts: list[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def experiment_page(experiment: Experiment, run: dict[str, Any]) -> str:
    """The page of one experiment."""
    rows = [_row(cells(quantity, run)) for quantity in experiment.quantities]
    made_with = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    failures = [r for r in run["repetitions"] if "error" in r]
    parts = [
        f"# {experiment.name}",
        f"{experiment.paper}, {experiment.item}.",
        experiment.protocol,
        f"{len(run['repetitions'])} repetitions, seeds from {experiment.seed}; {made_with}.",
        "\n".join([_HEADER, *rows]),
    ]
    if experiment.reading:
        parts.append(f"**What to conclude.** {experiment.reading}")
    if failures:
        parts.append("\n".join(f"- seed {r['seed']}: {r['error']}" for r in failures[:20]))
    if warned := [r for r in run["repetitions"] if r.get("warnings")]:
        first = warned[0]["warnings"][0].splitlines()[0]
        parts.append(f"{len(warned)} repetitions warned, first: {first}")
    return "\n\n".join(parts) + "\n"


def summary_table(experiments: list[Experiment], folder: Path) -> str:
    """What can be compared, of all experiments, or all where nothing can."""
    rows = []
    for experiment in experiments:
        run = load(result_file(folder, experiment))
        if run is None:
            rows.append(_row([experiment.name, "not run yet", "", "", "", "", ""]))
            continue
        link = f"[{experiment.name}](results/{experiment.name}.md)"
        compared = [q for q in experiment.quantities if q.published or q.reference]
        shown = compared or experiment.quantities
        rows += [_row([link, *cells(quantity, run)]) for quantity in shown]
    return "\n".join([_SUMMARY_HEADER, *rows])


def with_summary(readme: str, table: str) -> str:
    """The README with the table between its markers."""
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README lacks the markers {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"

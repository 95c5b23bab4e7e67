"""Tables and JSON of a finished case."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.adapters import Adapter
from benchmarks.problem import Case, Sizes
from benchmarks.runner import NOT_APPLICABLE, NOT_CONVERGED, OK, Entry, Settings

_HEADINGS = {
    "test_rmse": "test RMSE",
    "terms": "terms",
    "true_terms": "true terms found",
    "false_terms": "false terms",
    "stationarity": "stationarity",
    "jeffreys_objective": "objective",
    "suboptimality": "(P − P*)/P*",
    "curve_error": "curve, largest difference",
    "lam_ratio": "chosen λ/λ_max",
    "regret": "error there beyond the least",
    "nlpd": "NLPD",
    "log_evidence": "log evidence",
}


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
    }


def cpu_model() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def times(entry: Entry, key: str) -> tuple[float, float] | None:
    """Minimum and median over the repeats, or None where there is none."""
    values = [record[key] for record in entry.records]
    return (min(values), statistics.median(values)) if entry.status == OK and values else None


def ratios(case: Case, entries: list[Entry], clock: str) -> dict[str, float]:
    """Minimum time over that of the yardstick, or of the fastest where there is none."""
    best = {e.library: t[0] for e in entries if (t := times(e, clock)) is not None}
    if not best:
        return {}
    if case.yardstick is not None and case.yardstick not in best:
        return {}
    unit = best[case.yardstick] if case.yardstick else min(best.values())
    return {library: value / unit for library, value in best.items()} if unit > 0 else {}


def target_verdicts(case: Case, entries: list[Entry], settings: Settings) -> list[dict[str, Any]]:
    """The declared targets of the case, judged."""
    if settings.quick:
        return []  # a target is a promise about the full size
    best = {e.library: t[0] for e in entries if (t := times(e, settings.clock)) is not None}
    # Who had no result in time took longer than that.
    limit = settings.timeout_s or case.timeout_s
    late = {e.library for e in entries if e.status == NOT_CONVERGED and case.goal is None}
    best |= dict.fromkeys(late - {"fewer"}, limit)
    out = []
    for target in case.targets:
        ours, unit = best.get(target.library), best.get(target.relative_to)
        ratio = ours / unit if ours is not None and unit else None
        verdict = "not measured" if ratio is None else "missed"
        if ratio is not None and ratio <= target.at_most:
            verdict = "met"
        at_least = target.relative_to in late
        out.append({**asdict(target), "ratio": ratio, "bound": at_least, "verdict": verdict})
    return out


def as_json(
    case: Case, entries: list[Entry], settings: Settings, facts: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Everything measured, for later comparison."""
    shown = {key: value for key, value in asdict(settings).items() if key != "cache"}
    return {
        "case": case.name,
        "task": case.task,
        "seed": case.seed,
        "sizes": asdict(case.quick_sizes if settings.quick else case.sizes),
        "settings": shown,
        "facts": dict(facts or {}),
        "clock": settings.clock,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": {e.library: e.version for e in entries if e.version},
        "targets": target_verdicts(case, entries, settings),
        "ratios": ratios(case, entries, settings.clock),
        "entries": [asdict(entry) for entry in entries],
    }


def as_markdown(
    case: Case, entries: list[Entry], settings: Settings, facts: Mapping[str, Any] | None = None
) -> str:
    """The table of one case."""
    facts = facts or {}
    sizes = case.quick_sizes if settings.quick else case.sizes
    measures = [name for name in case.measures if _measured(entries, name)]
    unit = f"× {case.yardstick}" if case.yardstick else "× fastest"
    header = ["library", "CPU s min / median", "wall s min / median", unit, "extra MB"]
    header += [_HEADINGS.get(name, name) for name in measures]
    relative = ratios(case, entries, settings.clock)
    rows = [header] + [_row(entry, measures, relative) for entry in entries]
    if case.goal is not None:
        more = [_GOAL_HEADER] + [_goal_cells(entry, facts.get("pass_s")) for entry in entries]
        rows = [[row[0], *cells, *row[1:]] for row, cells in zip(rows, more, strict=True)]
    clock = "CPU" if settings.clock == "cpu_s" else "wall"
    parts = [
        f"## {case.name}: {case.title}",
        case.ask,
        f"n = {sizes.n}, p = {sizes.p}, {_kind(case, sizes)}{settings.repeats} repeats, "
        f"{settings.threads} thread{'s' if settings.threads > 1 else ''}; ratios of minimum "
        f"{clock} time. {_machine_line(entries)}",
        _table(rows),
    ]
    if "reference" in facts:
        parts.append(_reference_line(facts))
    if targets := target_verdicts(case, entries, settings):
        parts.append("\n".join(_target_line(target) for target in targets))
    notes = [f"- {e.library}: measured in the run of {e.earlier}" for e in entries if e.earlier]
    if notes := notes + [f"- {e.library}: {_note(e)}" for e in entries if _note(e)]:
        parts.append("\n".join(notes))
    return "\n\n".join(parts) + "\n"


def evidence_table(cases: Sequence[Case], folder: Path) -> str:
    """The stored cases of evidence in one table: a row for each case, a column for each library."""
    return _overview(
        cases, folder, "results/", lambda run, name, entry: _evidence_cell(entry, run["clock"])
    )


def seconds_table(
    cases: Sequence[Case], folder: Path, adapters: Sequence[type[Adapter]] = ()
) -> str:
    """The least time of each library in the stored cases with a goal, the shortest in bold.

    N/A where a library cannot do the case, nothing where it was not measured.
    """
    case_of = {case.name: case for case in cases}
    adapter_of = {adapter.name: adapter for adapter in adapters}

    def cell(run: Mapping[str, Any], name: str, entry: Mapping[str, Any] | None) -> str:
        adapter = adapter_of[name]() if name in adapter_of else None
        if entry is None:
            able = adapter is None or adapter.supports(case_of[run["case"]]) is True
            return "" if able else NOT_APPLICABLE
        if entry["status"] == NOT_APPLICABLE and adapter and entry["reason"] == adapter.missing:
            return ""
        if entry["status"] != OK:
            return str(entry["status"])
        seconds = min(record[run["clock"]] for record in entry["records"])
        fastest = run["ratios"].get(entry["library"]) == 1.0
        return f"**{seconds:.3g}**" if fastest else f"{seconds:.3g}"

    return _overview(cases, folder, "", cell)


def _overview(
    cases: Sequence[Case],
    folder: Path,
    link: str,
    cell: Callable[[Mapping[str, Any], str, Mapping[str, Any] | None], str],
) -> str:
    stored = [json.loads(f.read_text()) for c in cases if (f := folder / f"{c.name}.json").exists()]
    libraries = list(dict.fromkeys(e["library"] for run in stored for e in run["entries"]))
    libraries.sort(key=lambda name: (name != "fewer", name))
    rows = [["case", *libraries]]
    for run in stored:
        entries = {entry["library"]: entry for entry in run["entries"]}
        rows.append([f"[{run['case']}]({link}{run['case']}.md)"])
        rows[-1] += [cell(run, name, entries.get(name)) for name in libraries]
    return _table(rows)


def _evidence_cell(entry: Mapping[str, Any] | None, clock: str) -> str:
    if entry is None or entry["status"] == NOT_APPLICABLE:
        return ""
    if entry["status"] != OK:
        return str(entry["status"])
    judged = entry["records"][-1]["judged"]
    seconds = min(record[clock] for record in entry["records"])
    parts = [f"{seconds:.3g} s", f"{judged['test_rmse']:.4g}", f"{judged['terms']:.0f}"]
    if judged["log_evidence"] is not None:
        parts.append(f"{judged['log_evidence']:.1f}")
    return ", ".join(parts)


def _kind(case: Case, sizes: Sizes) -> str:
    classes = f"{case.classes} classes, " if case.classes else ""
    return classes + (f"{sizes.terms} true terms, " if sizes.terms else "")


_GOAL_HEADER = ["version", "tolerance", "passes"]


def _goal_cells(entry: Entry, pass_s: float | None) -> list[str]:
    cpu = times(entry, "cpu_s")
    if entry.setting is None or cpu is None:
        return [entry.version, "", ""]
    tolerance = f"{entry.setting.tol:.0e}"
    if entry.setting.variant:
        tolerance += f", {entry.setting.variant}"
    return [entry.version, tolerance, f"{cpu[0] / pass_s:.0f}" if pass_s else ""]


def _reference_line(facts: Mapping[str, Any]) -> str:
    return (
        f"One pass (`X.T @ r` in NumPy) takes {1e3 * facts['pass_s']:.2f} ms. P* by "
        f"{facts['reference']}, relative duality gap at most {facts['reference_gap']:.1e}, "
        f"{facts['reference_terms']} terms (at the last λ)."
    )


def _measured(entries: list[Entry], name: str) -> bool:
    return any(r["judged"].get(name) is not None for e in entries for r in e.records)


def _row(entry: Entry, measures: list[str], relative: dict[str, float]) -> list[str]:
    cpu, wall = times(entry, "cpu_s"), times(entry, "wall_s")
    if cpu is None or wall is None:
        return [entry.library, entry.status] + [""] * (3 + len(measures))
    extra = max(record["extra_rss_bytes"] for record in entry.records) / 1e6
    ratio = relative.get(entry.library)
    judged = entry.records[-1]["judged"]
    return [
        entry.library,
        f"{cpu[0]:.3f} / {cpu[1]:.3f}",
        f"{wall[0]:.3f} / {wall[1]:.3f}",
        "" if ratio is None else f"{ratio:.2f}",
        f"{extra:.0f}",
        *[_number(judged[name], name) for name in measures],
    ]


def _number(value: float | None, name: str) -> str:
    if value is None:
        return "–"
    if name == "log_evidence":
        return f"{value:.1f}"
    return f"{value:.0f}" if value == round(value) else f"{value:.4g}"


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|---|" + "---:|" * (len(rows[0]) - 1))
    return "\n".join(lines)


def _target_line(target: dict[str, Any]) -> str:
    below = "below " if target["bound"] else ""
    ratio = "" if target["ratio"] is None else f" ({below}{target['ratio']:.2g})"
    return (
        f"Target: {target['library']} ≤ {target['at_most']:.3g} × {target['relative_to']}: "
        f"**{target['verdict']}**{ratio}."
    )


def _machine_line(entries: list[Entry]) -> str:
    here = machine()
    versions = ", ".join(f"{e.library} {e.version}" for e in entries if e.version)
    return f"{here['cpu']}, Python {here['python']}; {versions}."


def _note(entry: Entry) -> str:
    if entry.status != OK:
        return f"{entry.status}, {entry.reason}"
    warned = sorted({text for record in entry.records for text in record["warnings"]})
    return "; ".join(text.splitlines()[0][:160] for text in warned)

"""Command line: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.adapters import Adapter, discover
from benchmarks.cases import CASES, EVIDENCE
from benchmarks.problem import Case
from benchmarks.report import as_json, as_markdown, evidence_table, seconds_table
from benchmarks.runner import Entry, Setting, Settings, run
from papers.report import with_summary

RESULTS = Path(__file__).resolve().parent / "results"
README = Path(__file__).resolve().parent / "README.md"


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("--list", action="store_true", help="show cases and libraries, and stop")
    options.add_argument("--only", metavar="NAME", help="cases to run, separated by commas")
    options.add_argument("--libraries", metavar="A,B", help="libraries to run; all by default")
    options.add_argument("--repeats", type=int, metavar="R", help="fits per library (5; quick 2)")
    options.add_argument("--threads", type=int, default=1, metavar="T", help="for every library")
    options.add_argument("--timeout", type=float, metavar="S", help="seconds per fit process")
    options.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    options.add_argument("--out", type=Path, metavar="FILE.json", help="write the numbers here")
    options.add_argument(
        "--cache", metavar="FOLDER", help="keep certified optima and tolerances here, and use them"
    )
    options.add_argument("--save", action="store_true", help="write benchmarks/results/<case>.*")
    return options


def chosen(wanted: str | None, known: dict[str, Any], what: str) -> list[Any]:
    """The named entries of ``known``, all of them when none is named."""
    if wanted is None:
        return list(known.values())
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"unknown {what} {', '.join(unknown)}; known: {', '.join(known)}")
    return [known[name] for name in names]


def choose_adapters(wanted: str | None, adapters: Sequence[type[Adapter]]) -> list[type[Adapter]]:
    """Adapters by their own name or by the name of their library."""
    if wanted is None:
        return list(adapters)
    known: dict[str, list[type[Adapter]]] = {}
    for adapter in adapters:
        for name in {adapter.name, adapter.library}:
            known.setdefault(name, []).append(adapter)
    groups = chosen(wanted, known, "library")
    return list(dict.fromkeys(adapter for group in groups for adapter in group))


def earlier_entries(case: Case, settings: Settings, entries: Sequence[Entry]) -> list[Entry]:
    """Stored entries of libraries that were not asked this time, if the problem is the same."""
    file = RESULTS / f"{stored_name(case, settings)}.json"
    if not file.exists():
        return []
    stored = json.loads(file.read_text())
    if (stored["seed"], stored["sizes"]) != (case.seed, asdict(case.sizes)):
        return []
    known = {entry.library for entry in entries}
    out = []
    for values in stored["entries"]:
        if values["library"] not in known:
            setting = Setting(**values["setting"]) if values["setting"] else None
            date = values.get("earlier") or stored["date"]
            out.append(Entry(**{**values, "setting": setting, "earlier": date}))
    return out


def stored_name(case: Case, settings: Settings) -> str:
    """Results of several threads are stored apart."""
    return case.name if settings.threads == 1 else f"{case.name}-{settings.threads}-threads"


def save(case: Case, settings: Settings, table: str, numbers: dict[str, Any]) -> None:
    """Store the results of one case beside the code."""
    RESULTS.mkdir(exist_ok=True)
    name = stored_name(case, settings)
    (RESULTS / f"{name}.md").write_text(table)
    (RESULTS / f"{name}.json").write_text(json.dumps(numbers, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen cases; tables on stdout, progress on stderr."""
    options = parser().parse_args(arguments)
    if options.save and options.quick:
        raise SystemExit("--save stores full-size results: run without --quick")
    cases = chosen(options.only, {case.name: case for case in CASES}, "case")
    adapters = choose_adapters(options.libraries, discover())
    if options.list:
        for case in cases:
            print(f"{case.name}: {case.title}")
        print("libraries: " + ", ".join(adapter.name for adapter in adapters))
        return 0
    settings = Settings(
        repeats=options.repeats or (2 if options.quick else 5),
        threads=options.threads,
        quick=options.quick,
        timeout_s=options.timeout,
        cache=options.cache,
    )
    results = []
    for case in cases:
        if missing := case.missing():
            print(f"{case.name}: skipped, {missing}", file=sys.stderr)
            continue
        done = run(case, adapters, settings, lambda text: print(text, file=sys.stderr))
        if options.save and options.libraries:
            done.entries += earlier_entries(case, settings, done.entries)
        table = as_markdown(case, done.entries, settings, done.facts)
        numbers = as_json(case, done.entries, settings, done.facts)
        results.append(numbers)
        print(table)
        if options.save:
            save(case, settings, table, numbers)
            summary = evidence_table(EVIDENCE, RESULTS)
            README.write_text(with_summary(README.read_text(encoding="utf-8"), summary))
            write_seconds()
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def write_seconds() -> None:
    """Write the page with the times of all stored cases that have a goal."""
    cases = [case for case in CASES if case.goal is not None]
    (RESULTS / "seconds.md").write_text(
        "# Lasso and logistic regression at a glance\n\nLeast CPU seconds in one thread to the "
        "goal of each case, the shortest in bold. N/A: the library cannot do the case; NC: not "
        "within 300 s; nothing: not measured. The pages of the cases say what was asked and "
        "reached, and how far each library was from the optimum.\n\n"
        + seconds_table(cases, RESULTS, discover())
        + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    sys.exit(main())

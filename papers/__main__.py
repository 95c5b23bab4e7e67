"""Command line: ``python -m papers --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from papers import helgoy_li_tables
from papers.experiment import Experiment, discover
from papers.report import experiment_page, summary_table, with_summary
from papers.runner import run_experiment, write_atomically

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
README = HERE / "README.md"


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    options.add_argument("--list", action="store_true", help="show the experiments, and stop")
    options.add_argument("--only", metavar="NAME,NAME", help="experiments to run")
    options.add_argument("--quick", action="store_true", help="few repetitions, kept apart")
    options.add_argument("--resume", action="store_true", help="go on with a stopped run")
    return options


def chosen(names: str | None, experiments: dict[str, Experiment]) -> list[Experiment]:
    """The named experiments, all of them when none is named."""
    if names is None:
        return list(experiments.values())
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in experiments]:
        raise SystemExit(
            f"unknown experiment {', '.join(unknown)}; known: {', '.join(experiments)}"
        )
    return [experiments[name] for name in wanted]


def show(experiment: Experiment) -> None:
    """One line of --list."""
    missing = experiment.missing()
    state = f" [skipped: {missing}]" if missing else ""
    print(f"{experiment.name}: {experiment.paper}, {experiment.item}{state}")


def progress(text: str) -> None:
    """Progress on stderr; failures keep their line."""
    end = "\n" if "failed" in text or not sys.stderr.isatty() else "\r"
    print(text, end=end, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen experiments; pages on stdout and in papers/results."""
    options = parser().parse_args(arguments)
    experiments = discover()
    wanted = chosen(options.only, experiments)
    if options.list:
        for experiment in wanted:
            show(experiment)
        return 0
    folder = RESULTS / "quick" if options.quick else RESULTS
    for experiment in wanted:
        if missing := experiment.missing():
            print(f"{experiment.name}: skipped, {missing}", file=sys.stderr)
            continue
        try:
            run = run_experiment(
                experiment, folder, quick=options.quick, resume=options.resume, say=progress
            )
        except ValueError as error:
            raise SystemExit(str(error)) from None
        except KeyboardInterrupt:
            print(f"\n{experiment.name}: stopped; --resume goes on", file=sys.stderr)
            return 130
        page = experiment_page(experiment, run)
        write_atomically(folder / f"{experiment.name}.md", page)
        print(page)
    if not options.quick:
        table = summary_table(list(experiments.values()), RESULTS)
        write_atomically(README, with_summary(README.read_text(encoding="utf-8"), table))
        tables = helgoy_li_tables.page(experiments, RESULTS)
        write_atomically(RESULTS / f"{helgoy_li_tables.NAME}.md", tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())

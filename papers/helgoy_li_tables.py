"""Tables 3 to 7 of Helgøy & Li 2022 with all three methods side by side, from stored runs."""

from __future__ import annotations

from pathlib import Path

from papers.aggregate import columns, estimate
from papers.experiment import Experiment
from papers.report import ours_text
from papers.runner import load, result_file

NAME = "helgoy-li2022-tables"
_TRUE = (True, True, False, False, True, False, False, False)
_COLUMNS = ("age", "sex", "bmi", "map", "tc", "ldl", "hdl", "tch", "ltg", "glu")
_HEAD = f"""# {NAME}

Helgøy & Li 2022, tables 3 to 7: BLS, the Bayesian lasso and the Lasso on the same data sets, ours
(mean ± standard error over the repetitions) with the published number in brackets. Written from
the stored runs of the experiments named; their pages have the protocols, the reference's numbers
and what to conclude."""

# A table: its title, its rows, and of each row the name of a quantity by method, or a text.
_Table = tuple[str, dict[str, tuple[tuple[str, str], ...]]]


def _simulation1() -> tuple[_Table, _Table]:
    rows: dict[str, tuple[tuple[str, str], ...]] = {}
    for s in (1, 3, 5):
        rows[f"σ = {s}: RMSE"] = (
            ("simulation1", f"σ = {s}, BLS: RMSE"),
            ("bayesian-lasso-simulation1", f"σ = {s}: RMSE"),
            ("simulation1", f"σ = {s}, Lasso: RMSE"),
        )
        rows[f"σ = {s}: coefficients"] = (
            ("simulation1", f"σ = {s}, BLS: coefficients"),
            ("", "8 [8]"),
            ("simulation1", f"σ = {s}, Lasso: coefficients"),
        )
    chosen: dict[str, tuple[tuple[str, str], ...]] = {}
    for j, true in enumerate(_TRUE, start=1):
        kind = "true" if true else "false"
        chosen[f"x{j} ({kind})"] = (
            ("simulation1", f"σ = 1, BLS: x{j} ({kind}) chosen, %"),
            (
                "bayesian-lasso-simulation1",
                f"σ = 1: the 95 % interval of x{j} ({kind}) leaves 0 out, %",
            ),
            ("bayesian-lasso-simulation1", f"σ = 1, Lasso: x{j} ({kind}) chosen, %"),
        )
    return (
        ("Table 3: simulation 1", rows),
        (
            "Table 4: how often each column is chosen at σ = 1, % (the Bayesian lasso keeps all: "
            "how often its 95 % interval leaves 0 out)",
            chosen,
        ),
    )


def _simulations23() -> _Table:
    rows: dict[str, tuple[tuple[str, str], ...]] = {}
    for k, all_of_them in ((2, "40 [40]"), (3, "60 [60]")):
        rows[f"simulation {k}: RMSE"] = (
            ("simulations23", f"simulation {k}, BLS: RMSE"),
            ("bayesian-lasso-simulations23", f"simulation {k}: RMSE"),
            ("simulations23", f"simulation {k}, Lasso: RMSE"),
        )
        rows[f"simulation {k}: coefficients"] = (
            ("simulations23", f"simulation {k}, BLS: coefficients"),
            ("", all_of_them),
            ("simulations23", f"simulation {k}, Lasso: coefficients"),
        )
    return "Table 5: simulations 2 and 3 (designs inferred)", rows


def _diabetes() -> tuple[_Table, _Table]:
    weights = {
        name: (
            ("diabetes", f"BLS, {name}"),
            ("bayesian-lasso-diabetes", f"{name}, median"),
            ("diabetes", f"Lasso, {name}"),
        )
        for name in _COLUMNS
    }
    errors = {
        "RMSE": (
            ("diabetes-splits", "BLS: RMSE"),
            ("bayesian-lasso-splits", "all 10 coefficients: RMSE"),
            ("diabetes-splits", "Lasso: RMSE"),
        ),
        "coefficients": (
            ("diabetes-splits", "BLS: coefficients"),
            ("", "10 [10]"),
            ("diabetes-splits", "Lasso: coefficients"),
        ),
    }
    return (
        ("Table 6: coefficients of diabetes", weights),
        ("Table 7: diabetes, prediction", errors),
    )


def page(experiments: dict[str, Experiment], folder: Path) -> str:
    """The page; what was not run, or is called otherwise, is left empty."""
    names = {name.removeprefix("helgoy-li2022-"): name for name in experiments}
    runs = {part: load(result_file(folder, experiments[name])) for part, name in names.items()}

    def cell(part: str, name: str) -> str:
        if not part:
            return name
        run = runs.get(part)
        if run is None:
            return ""
        quantities = (q for q in experiments[names[part]].quantities if q.name == name)
        quantity = next(quantities, None)
        if quantity is None:
            return ""
        ours = estimate(quantity, columns(run["repetitions"]))
        published = "" if quantity.published is None else f" [{quantity.published}]"
        # The fit to all rows is always the same.
        fixed = ours.standard_error <= 1e-9 * abs(ours.value)
        return (f"{ours.value:.4g}" if fixed else ours_text(ours)) + published

    def source(part: str) -> str:
        run = runs.get(part)
        return f"[{part}](helgoy-li2022-{part}.md) {len(run['repetitions']) if run else 0}"

    parts = [_HEAD]
    for title, rows in (*_simulation1(), _simulations23(), *_diabetes()):
        used = dict.fromkeys(part for row in rows.values() for part, _ in row if part)
        lines = ["| | BLS | Bayesian lasso | Lasso |", "|---|---|---|---|"]
        lines += [f"| {k} | {' | '.join(cell(*c) for c in row)} |" for k, row in rows.items()]
        parts += [f"## {title}", "\n".join(lines)]
        parts.append(f"Repetitions: {', '.join(source(part) for part in used)}.")
    return "\n\n".join(parts) + "\n"

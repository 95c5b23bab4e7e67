"""The runner of the papers' experiments: aggregation, storage, resuming."""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import importlib.util
import json
import math
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers import __main__ as command  # noqa: E402
from papers.aggregate import Estimate, columns, estimate, verdict  # noqa: E402
from papers.data import folds, read, split, stratified_folds  # noqa: E402
from papers.experiment import (  # noqa: E402
    Experiment,
    Published,
    Quantity,
    Reference,
    discover,
    generator,
)
from papers.experiments.figueiredo2003_orthogonal_rule import rule  # noqa: E402
from papers.report import experiment_page, summary_table, with_summary  # noqa: E402
from papers.runner import (  # noqa: E402
    dump,
    partial_file,
    result_file,
    run_experiment,
    write_atomically,
)
from papers.tally import Tally, loss_and_terms, terms_of  # noqa: E402
from papers.two_gaussians import BAYES, error_of_linear_rule, mean, sample  # noqa: E402

KRISHNAPURAM = ("iris", "glass", "colon", "yeast")  # those with folds


def toy(run: Any = None, **changes: Any) -> Experiment:
    experiment = Experiment(
        name="toy",
        paper="Nobody 1900",
        item="table 1",
        protocol="count",
        seed=10,
        repetitions=6,
        quick_repetitions=2,
        quantities=(
            Quantity("x", "x", published=Published("12", recalled=True), reference=Reference(12.5)),
            Quantity("ratio", lambda t: float(t["x"].mean() / t["y"].mean()), better="higher"),
        ),
        run=run or (lambda seed: {"x": float(seed), "y": 2.0 * seed}),
        needs=(),
    )
    return dataclasses.replace(experiment, **changes)


def seeds_of(path: Path) -> list[int]:
    return [record["seed"] for record in json.loads(path.read_text())["repetitions"]]


def test_mean_and_standard_error() -> None:
    table = columns([{"values": {"x": v}} for v in (1.0, 2.0, 3.0, 6.0)] + [{"error": "no"}])
    ours = estimate(Quantity("x", "x"), table)
    sd = math.sqrt((4 + 1 + 0 + 9) / 3)
    assert (ours.value, ours.repetitions) == (3.0, 4)
    assert ours.sd == pytest.approx(sd)
    assert ours.standard_error == pytest.approx(sd / 2)


def test_bootstrap_error_of_a_mean_is_the_usual_one() -> None:
    values = np.random.Generator(np.random.PCG64(3)).standard_normal(400)
    usual = estimate(Quantity("x", "x"), {"x": values})
    by_bootstrap = estimate(Quantity("x", lambda t: float(t["x"].mean())), {"x": values})
    assert by_bootstrap.value == pytest.approx(usual.value)
    assert by_bootstrap.standard_error == pytest.approx(usual.standard_error, rel=0.1)
    assert by_bootstrap.sd is None


@pytest.mark.parametrize(
    ("better", "value", "expected"),
    [
        ("lower", 10.9, "agrees"),
        ("lower", 11.1, "worse"),
        ("lower", 8.9, "better"),
        ("higher", 8.9, "worse"),
        ("higher", 11.1, "better"),
        (7.0, 4.5, "agrees"),
        (7.0, 2.9, "worse"),
        (7.0, 7.0, "better"),
    ],
)
def test_verdict(better: str | float, value: float, expected: str) -> None:
    quantity = Quantity("x", "x", better=better, reference=Reference(10.0))
    assert verdict(quantity, Estimate(value, 0.5, 5.0, 100)) == expected


def test_verdict_knows_the_error_of_the_reference() -> None:
    quantity = Quantity("x", "x", reference=Reference(10.0, repetitions=20))
    # 0.5 · √(1 + 100/20) = 1.22, so the margin is 2.45.
    assert verdict(quantity, Estimate(12.4, 0.5, 5.0, 100)) == "agrees"
    assert verdict(quantity, Estimate(12.5, 0.5, 5.0, 100)) == "worse"


def test_verdict_without_grounds() -> None:
    assert verdict(Quantity("x", "x"), Estimate(1.0, 0.1, 1.0, 9)) == "no reference"
    lone = Quantity("x", "x", reference=Reference(1.0))
    assert verdict(lone, estimate(lone, {"x": np.array([1.0])})) == "too few repetitions"


def test_run_and_report(tmp_path: Path) -> None:
    said: list[str] = []
    run = run_experiment(toy(), tmp_path, say=said.append)
    assert seeds_of(result_file(tmp_path, toy())) == [10, 11, 12, 13, 14, 15]
    assert said[0] == "toy 1/6"
    assert not partial_file(tmp_path, toy()).exists()
    page = experiment_page(toy(), run)
    assert "| x | 12.5 ± 0.76 | 1.871 | 12 (recalled) | 12.5 | agrees |" in page
    assert "| ratio | 0.5 ± 0 |" in page
    assert "What to conclude" not in page
    assert "**What to conclude.** Nothing." in experiment_page(toy(reading="Nothing."), run)
    other = toy(name="other")
    table = summary_table([toy(), other], tmp_path)
    assert "| [toy](results/toy.md) | x | 12.5 ± 0.76 |" in table
    assert "ratio" not in table
    assert "| other | not run yet |" in table
    marked = "a <!-- results: begin -->old<!-- results: end --> z"
    assert with_summary(marked, "new") == (
        "a <!-- results: begin -->\nnew\n<!-- results: end --> z"
    )


def test_failures_are_kept_and_do_not_stop_the_run(tmp_path: Path) -> None:
    def fails_once(seed: int) -> dict[str, float]:
        if seed == 12:
            raise RuntimeError("no such luck")
        return {"x": math.nan if seed == 13 else float(seed), "y": 1.0}

    run = run_experiment(toy(fails_once), tmp_path)
    errors = {r["seed"]: r["error"] for r in run["repetitions"] if "error" in r}
    assert errors == {12: "RuntimeError: no such luck", 13: "ValueError: not finite: x"}
    assert "; 2 failed |" in experiment_page(toy(), run)


def test_warnings_are_kept(tmp_path: Path) -> None:
    def warns(seed: int) -> dict[str, float]:
        if seed == 11:
            warnings.warn("not converged", RuntimeWarning, stacklevel=1)
        return {"x": 1.0, "y": 1.0}

    page = experiment_page(toy(), run_experiment(toy(warns), tmp_path))
    assert "1 repetitions warned, first: RuntimeWarning: not converged" in page


def test_interrupt_keeps_repetitions_and_the_old_result(tmp_path: Path) -> None:
    run_experiment(toy(), tmp_path)
    before = result_file(tmp_path, toy()).read_text()
    calls: list[int] = []

    def interrupted(seed: int) -> dict[str, float]:
        calls.append(seed)
        if seed == 13 and calls.count(13) == 1:
            raise KeyboardInterrupt
        return {"x": 0.0, "y": 1.0}

    with pytest.raises(KeyboardInterrupt):
        run_experiment(toy(interrupted), tmp_path)
    assert result_file(tmp_path, toy()).read_text() == before
    assert seeds_of(partial_file(tmp_path, toy())) == [10, 11, 12]

    run_experiment(toy(interrupted), tmp_path, resume=True)
    assert calls == [10, 11, 12, 13, 13, 14, 15]
    assert seeds_of(result_file(tmp_path, toy())) == [10, 11, 12, 13, 14, 15]
    assert not partial_file(tmp_path, toy()).exists()


def test_without_resume_everything_runs_again(tmp_path: Path) -> None:
    calls: list[int] = []

    def counted(seed: int) -> dict[str, float]:
        calls.append(seed)
        return {"x": 0.0, "y": 1.0}

    run_experiment(toy(counted), tmp_path, quick=True)
    run_experiment(toy(counted), tmp_path, quick=True)
    assert calls == [10, 11, 10, 11]


def test_resume_refuses_another_protocol(tmp_path: Path) -> None:
    run_experiment(toy(), tmp_path, quick=True)
    with pytest.raises(ValueError, match="another protocol"):
        run_experiment(toy(protocol="count twice"), tmp_path, resume=True)


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.json"
    write_atomically(path, "old")

    def no_replace(source: str, target: Path) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", no_replace)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.json"]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_dump_is_json(count: int) -> None:
    run = {"experiment": "toy", "versions": {}, "repetitions": [{"seed": i} for i in range(count)]}
    assert json.loads(dump(run)) == run


def test_missing_data_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEWER_DATA", str(tmp_path))
    experiment = toy(data=("boston.csv",))
    message = experiment.missing()
    assert message is not None
    assert "boston.csv" in message
    (tmp_path / "boston.csv").write_text("x,target\n")
    assert experiment.missing() is None


def test_every_experiment_is_declared_in_full() -> None:
    experiments = discover()
    assert "figueiredo2003-variable-selection" in experiments
    for experiment in experiments.values():
        assert len(experiment.seeds()) == experiment.repetitions > experiment.quick_repetitions > 1
        assert experiment.quantities
        assert experiment.protocol
    readme = (Path(command.__file__).parent / "README.md").read_text(encoding="utf-8")
    assert with_summary(readme, "table")


def test_rows_say_the_price_they_ran_with() -> None:
    """Kernels of one width in the tables of Tzikas et al. are not the paper's RVM, where c = 0."""
    experiments = discover()
    for name in ("regression", "classification", "image"):
        experiment = experiments[f"tzikas2009-{name}"]
        labels = [q.name for q in experiment.quantities if "γ by inner validation" in q.name]
        assert labels
        assert all("c = log(N)/2, γ" in label for label in labels)
        page = (command.RESULTS / f"{experiment.name}.md").read_text(encoding="utf-8")
        assert all(label in page for label in labels)


def test_orthogonal_rule() -> None:
    b = np.array([-5.0, -1.9, 0.0, 1.99, 2.0, 2.5])
    w = rule(b, 1.0)
    assert w[[1, 2, 3]].tolist() == [0, 0, 0]
    assert w[4] == 1.0
    kept = w != 0
    assert np.allclose(w[kept] ** 2 - b[kept] * w[kept] + 1, 0)


def test_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEWER_DATA", str(tmp_path))
    (tmp_path / "two.csv").write_text("a,b,target\n1,2.5,yes\n-3,4,no\n")
    X, y = read("two.csv")
    assert X.tolist() == [[1.0, 2.5], [-3.0, 4.0]]
    assert y.tolist() == ["yes", "no"]


def test_read_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEWER_DATA", str(tmp_path))
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress(b"a,target\n1,yes\n"))
    X, y = read("one.csv.gz")
    assert (X.tolist(), y.tolist()) == ([[1.0]], ["yes"])


def test_stratified_folds_spread_every_group() -> None:
    groups = np.repeat([0, 1], [20, 10])
    parts = list(stratified_folds(generator(0), groups, 5))
    assert sorted(row for _, test in parts for row in test) == list(range(30))
    assert all(np.bincount(groups[test]).tolist() == [4, 2] for _, test in parts)


def test_split_takes_as_many_of_each_group() -> None:
    groups = np.repeat([3, 1, 2], [5, 6, 7])
    train, test = split(generator(0), groups, 4)
    assert sorted([*train, *test]) == list(range(18))
    assert np.bincount(groups[train]).tolist() == [0, 4, 4, 4]
    assert not np.array_equal(train, split(generator(1), groups, 4)[0])


def test_folds_test_every_row_once() -> None:
    parts = list(folds(generator(0), 23, 5))
    assert sorted(row for _, test in parts for row in test) == list(range(23))
    assert all(sorted([*train, *test]) == list(range(23)) for train, test in parts)


def fit(terms: int, *, converged: bool = True, certificate: float = 1e-9, **more: Any) -> Any:
    values = {"n_terms_": terms, "converged_": converged, "certificate_": certificate}
    return SimpleNamespace(**({"variant": "exact"} | values | more))


def test_tally_counts_terms_of_converged_fits_only() -> None:
    first, second = Tally(), Tally()
    first.add("a", fit(3), 1.0)
    first.add("a", fit(99, converged=False, certificate=1.0), 2.0)
    second.add("a", fit(6, certificate=1e-8), 4.0)
    second.add("a", fit(6), 4.0)
    table = columns([{"values": first.values()}, {"values": second.values()}])
    assert table["a_loss"].tolist() == [1.5, 4.0]
    assert terms_of("a")(table) == 5.0
    assert table["not_converged"].tolist() == [1.0, 0.0]
    assert table["certificate"].tolist() == [1e-9, 1e-8]


def test_tally_counts_the_weights_of_all_classes() -> None:
    tally = Tally()
    weights = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    model = SimpleNamespace(coef_=weights, n_terms_=2, converged_=True, certificate_=1e-9)
    tally.add("a", model, 1.0)
    assert tally.values()["a_terms"] == 3.0
    assert tally.values()["certificate"] == 1e-9


def test_tally_leaves_out_weights_on_their_way_to_zero() -> None:
    tally = Tally()
    stopped = fit(3, variant="paper", coef_=np.array([2.0, 1e-5, -0.1]), certificate=0.1)
    tally.add("a", stopped, 1.0)
    assert tally.values()["a_terms"] == 2.0
    assert tally.values()["certificate"] == 0.0


def test_no_converged_fit_gives_no_count() -> None:
    tally = Tally()
    tally.add("a", fit(3, converged=False), 1.0)
    table = columns([{"values": tally.values()}] * 2)
    _, terms = loss_and_terms("a", "label", "errors", "terms", measured=(1.0, 2.0))
    assert verdict(terms, estimate(terms, table)) == "too few repetitions"


def test_two_gaussians() -> None:
    assert pytest.approx(0.158655, abs=1e-6) == BAYES
    assert error_of_linear_rule(3 * mean(5), 0.0) == pytest.approx(BAYES)
    assert error_of_linear_rule(np.zeros(5), 1.0) == 0.5
    weights, intercept = np.array([1.0, 0.2, -0.4]), 0.3
    X, y = sample(generator(0), 3, 100_000)
    measured = np.mean((X @ weights + intercept > 0) != (y == 1))
    assert error_of_linear_rule(weights, intercept) == pytest.approx(measured, abs=0.005)


def test_unknown_experiment() -> None:
    with pytest.raises(SystemExit, match="unknown experiment nonsense"):
        command.main(["--only", "nonsense"])


def _fewer_works() -> bool:
    if importlib.util.find_spec("fewer") is None:
        return False
    return hasattr(importlib.import_module("fewer"), "SparseRegressor")


@pytest.mark.skipif(not _fewer_works(), reason="fewer is not built here (maturin develop)")
@pytest.mark.parametrize("name", sorted(discover()))
def test_quick_run_of_an_experiment(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    experiment = discover()[name]
    if missing := experiment.missing():
        pytest.skip(missing)
    for module in ("figueiredo_jain2001_glass", *(f"krishnapuram2005_{k}" for k in KRISHNAPURAM)):
        monkeypatch.setattr(f"papers.experiments.{module}.FOLDS", 2)
    monkeypatch.setattr("papers.multinomial.WIDTHS", (2.0,))
    monkeypatch.setattr("papers.multinomial.PENALTIES", 4)
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    assert command.main(["--only", name, "--quick"]) == 0
    stored = json.loads((tmp_path / "quick" / f"{name}.json").read_text())
    assert len(stored["repetitions"]) == experiment.quick_repetitions
    assert all("values" in record for record in stored["repetitions"])
    assert f"# {name}" in capsys.readouterr().out

"""``--search optuna``: the same suggestions whatever stops the sweep or runs beside it."""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le
from sweep_helpers import Silent, regrets, tiny_plan, wait_for, words

from dglbench.cli import main
from dglbench.errors import SweepError
from dglbench.methods.dgl import DglEveryOptions
from dglbench.report.loading import load
from dglbench.report.tables.budget import budget
from dglbench.runs.store import run_folders
from dglbench.sweep import Plan, plan_sweep, read_request
from dglbench.sweep.driver import SweepEnd
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.request.space import Range, default_ranges, on_edge
from dglbench.sweep.search.proposals import Drawn

SEARCH = {
    "tasks": "matching-4",
    "seeds": "1",
    "methods": "two-stage,dgl-2",
    "search": "optuna",
    "trials": 9,
}


def searched(out: Path, **wishes: Any) -> SweepEnd:
    return run_sweep(tiny_plan(out, **{**SEARCH, **wishes}), Silent())


def tried(end: SweepEnd) -> list[list[str]]:
    """Run ids by method, in the order asked."""
    return [list(search.results) for search in end.searches]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SweepEnd]:
    out = tmp_path_factory.mktemp("alone")
    return out, searched(out)


def test_every_method_gets_the_same_number_of_configurations(
    alone: tuple[Path, SweepEnd],
) -> None:
    _, end = alone
    assert [search.budget()["configurations"] for search in end.searches] == [9, 9]
    assert [search.rounds for search in end.searches] == [[4, 4, 1, 4]] * 2, "the best four again"
    options = [record.identity.options for record in end.searches[1].results.values()]
    assert {option["form"] for option in options} == {"adjusted", "plain"}
    assert 0.0 in {option["alpha"] for option in options}
    assert all(0.001 <= option["lr"] <= 1 and 0.003 <= option["tau"] <= 10 for option in options)
    assert all(option["lr"] == float(f"{option['lr']:.3g}") for option in options)


def test_the_defaults_are_tried_first(alone: tuple[Path, SweepEnd], tmp_path: Path) -> None:
    _, end = alone
    plain = run_sweep(tiny_plan(tmp_path, **{**SEARCH, "search": "none", "trials": None}), Silent())
    for (first, *_), (default,) in zip(tried(end), tried(plain), strict=True):
        assert first == default


def test_two_at_once_try_the_same(alone: tuple[Path, SweepEnd], tmp_path: Path, start: Any) -> None:
    out, _ = alone
    process = start("sweep", *words(**SEARCH), "--jobs", 2, "--out", tmp_path)
    assert process.wait() == 0, process.stderr.read()
    assert regrets(tmp_path) == regrets(out)


def test_a_killed_search_goes_on_as_if_it_had_not_been(
    alone: tuple[Path, SweepEnd], tmp_path: Path, start: Any
) -> None:
    out, _ = alone
    process = start("sweep", *words(**SEARCH), "--out", tmp_path)
    wait_for(lambda: len(list(run_folders(tmp_path))) >= 5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = len(list(run_folders(tmp_path)))
    end = searched(tmp_path)
    assert end.counts == {"skipped": before, "done": 26 - before}
    assert before < 26
    assert regrets(tmp_path) == regrets(out)
    assert searched(tmp_path).counts == {"skipped": 26}


def test_more_trials_extend_a_search(alone: tuple[Path, SweepEnd], tmp_path: Path) -> None:
    _, end = alone
    for long, short in zip(end.searches, searched(tmp_path, trials=6).searches, strict=True):
        ids = [[r.run_id for trial in s.trials for r in trial.records] for s in (long, short)]
        assert ids[1] == ids[0][:6]


def test_the_plan_knows_what_is_there(alone: tuple[Path, SweepEnd]) -> None:
    out, _ = alone
    for row in tiny_plan(out, **SEARCH).rows(False):
        assert (row.total, row.to_run, row.counts) == (13, 0, {"done": 13})
    for row in tiny_plan(out, **{**SEARCH, "trials": 11}).rows(False):
        assert row.total == 15
        assert row.to_run >= 2, "and what is trained again, if it is another"
    for row in tiny_plan(out / "empty", **SEARCH).rows(False):
        assert (row.total, row.to_run, len(row.run_ids)) == (13, 13, 4)


def test_results_guide_what_comes_after_the_random_ones(tmp_path: Path) -> None:
    base = tiny_plan(tmp_path, **SEARCH).units[0][0].specs[0]
    guided = Drawn("optuna", base, {"lr": Range(0.001, 1.0)}, 60)
    asked: list[float] = []
    while batch := guided.ask():
        asked += [options.lr for options in batch]
        # The best rate is 0.01, the farther from it the worse.
        guided.tell([abs(math.log10(options.lr) + 2) for options in batch])
    assert len(asked) == 60
    near = [abs(math.log10(rate) + 2) < 0.5 for rate in asked]
    assert sum(near[20:]) / 40 > 0.6 > sum(near[:8]) / 8


def test_a_file_may_name_ranges_and_a_range_is_no_grid(tmp_path: Path) -> None:
    space = {"two-stage": {"lr": {"low": 0.1, "high": 0.2, "scale": "linear"}}}
    setting = {"task": "matching-4", "space": space}
    wishes = {"tasks": None, "setting": [setting], "methods": "two-stage", "trials": 5}
    (search,) = searched(tmp_path, **wishes).searches
    rates = {record.identity.options["lr"] for record in search.results.values()}
    assert len(rates) == 5
    assert min(rates) >= 0.1
    assert max(rates) <= 0.2
    with pytest.raises(SweepError, match="lr of two-stage is a range; give a list of values"):
        searched(tmp_path, **{**wishes, "trials": None, "search": "full"})


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"search": "full", "trials": 3}, "add one of them, or leave --trials out"),
        ({"trials": 0}, "trials must be a whole number or none ≥ 1"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, wishes: Any, message: str) -> None:
    with pytest.raises(SweepError, match=message):
        searched(tmp_path, **wishes)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"low": 1, "high": 0.1}, "low must be below high"),
        ({"low": 0, "high": 0.1}, "low must be above 0"),
        ({"low": 0.1}, "high"),
        (0.1, "needs a list of values for lr, or a range"),
    ],
)
def test_a_range_is_checked(tmp_path: Path, written: Any, message: str) -> None:
    setting = {"task": "matching-4", "space": {"two-stage": {"lr": written}}}
    with pytest.raises(SweepError, match=message):
        searched(tmp_path, tasks=None, setting=[setting], methods="two-stage")


@dataclass(frozen=True)
class PluginOptions:
    lr: Annotated[float, Gt(0)] = 0.01
    sigma: Annotated[float, Gt(0)] = 0.5
    ratio: Annotated[float, Gt(0), Le(1)] = 0.5
    kind: Literal["a", "b"] = "a"
    samples: Annotated[int, Ge(1)] = 3
    solve_ratio: Annotated[float, Gt(0), Le(1)] = 0.1
    weight: Annotated[float, Ge(0)] = 1.0


def test_a_plugins_options_have_ranges_too() -> None:
    assert default_ranges(PluginOptions, {}) == {
        "lr": {"low": 0.001, "high": 1.0},
        "sigma": {"low": 0.0167, "high": 15.0},
        "ratio": {"low": 0.0167, "high": 1.0},
    }
    assert default_ranges(PluginOptions, {"lr": [0.1, 0.2]})["lr"] == [0.1, 0.2]


@pytest.mark.parametrize(
    ("key", "axis", "value", "end"),
    [
        ("lr", Range(0.001, 1.0), 0.0011, "lower end of 0.001 … 1"),
        ("lr", Range(0.001, 1.0), 0.9, "upper end of 0.001 … 1"),
        ("lr", Range(0.001, 1.0), 0.03, None),
        ("alpha", Range(0.01, 1.0, also=(0.0,)), 0.0, None),
        ("alpha", [0.0, 0.5, 1.0], 0.0, None),  # it cannot go lower
        ("alpha", [0.0, 0.5, 1.0], 1.0, "upper end of 0 … 1"),
        ("tau", [0.1, 0.5, 1.0], 0.5, None),
        ("tau", [0.1, 0.5, 1.0], 0.1, "lower end of 0.1 … 1"),
        ("tau", [0.1], 0.1, None),
        ("form", ["adjusted", "plain"], "plain", None),
    ],
)
def test_a_value_on_the_edge_is_told(key: str, axis: Any, value: Any, end: str | None) -> None:
    said = on_edge(DglEveryOptions, key, axis, value)
    assert said == (None if end is None else f"{key} {value:g}, {end}")


def test_the_command_line_says_which_choice_is_on_an_edge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = words(tasks="matching-4", methods="two-stage", search="full", seeds=1, epochs=1)
    config = tmp_path / "space.toml"
    # Warm-started and trained at rates that are far too large, the smallest one wins.
    config.write_text("[[setting]]\ntask='matching-4'\nspace.two-stage.lr=[100.0, 300.0]\n")
    given = given[: given.index("--tasks")] + given[given.index("--tasks") + 2 :]
    out = ["--out", str(tmp_path / "out")]
    assert main(["sweep", *given, "--config", str(config), *out]) == 0
    assert "end of 100 … 300; a wider range may do better." in " ".join(
        capsys.readouterr().err.split()
    )


def test_what_was_chosen_is_timed_on_seeds_that_the_search_never_saw(
    alone: tuple[Path, SweepEnd], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, end = alone
    (config,) = out.glob("chosen-*.toml")
    timed = ["sweep", "--config", str(config), "--seeds", "2-3", "--out", str(tmp_path)]
    assert main(timed) == 0
    report = load(tmp_path)
    assert sorted({unit.seed for unit in report.units}) == [2, 3]
    for search in end.searches:
        runs = [run for run in report.chosen_runs() if run.method == search.group.method]
        assert search.chosen is not None
        assert [run.options for run in runs] == [search.chosen.identity.options] * 2
    capsys.readouterr()
    for table in ("budget", "selected"):
        assert main(["report", str(tmp_path), "--table", table]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "searched elsewhere" in shown
        assert "optuna" in shown
        assert "on data seed 1" in shown
    spent = end.searches[1].budget()["seconds"]
    rows = {row[1].value: row for row in budget(report).rows}
    assert rows["dgl-2"][2].value == 9
    assert rows["dgl-2"][5].value == pytest.approx(spent)


def test_what_a_command_changes_is_not_tuned_any_more(
    alone: tuple[Path, SweepEnd], tmp_path: Path
) -> None:
    (config,) = alone[0].glob("chosen-*.toml")
    flags = read_request({"seeds": "2", "option": {"dgl-2": {"lr": "0.5"}}}, "the test")
    (setting,) = plan_sweep(flags, preset=None, config=config, out=tmp_path).sweep.settings
    assert set(setting.tuned) == {"two-stage"}


def test_nothing_is_timed_with_other_duals_than_it_was_tuned_with(
    alone: tuple[Path, SweepEnd], tmp_path: Path
) -> None:
    (config,) = alone[0].glob("chosen-*.toml")
    rule = "dgl-2 on matching-4 was tuned with the duals of batched .* write --solver batched"
    with pytest.raises(SweepError, match=rule):
        planned(config, tmp_path, solver="ortools")
    assert planned(config, tmp_path, solver="ortools", methods="two-stage").units


def planned(config: Path, out: Path, **wishes: Any) -> Plan:
    return plan_sweep(read_request(wishes, "the test"), preset=None, config=config, out=out)

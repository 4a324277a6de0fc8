"""Which configurations run, which is chosen, and what that cost."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow.parquet as pq
from make_logs import make_run
from sweep_helpers import Silent, tiny_plan

from dglbench.cli import main
from dglbench.report import load
from dglbench.runs.record import (
    Environment,
    Regrets,
    RunOutput,
    RunRecord,
    Selected,
    Status,
    Summary,
)
from dglbench.runs.store import write_run
from dglbench.sweep.driver import SweepEnd
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.search.group_search import GroupSearch
from dglbench.training.spec import RunSpec

GRID = {"tasks": "matching-4", "seeds": "1", "methods": "two-stage,dgl-1", "epochs": 9}
SPACE = {"two-stage": {"lr": [0.01, 0.1, 1.0]}, "dgl-1": {"lr": [0.01, 0.1, 1.0], "tau": [0.1, 1]}}


def searched(out: Path, search: str) -> tuple[SweepEnd, Silent]:
    listener = Silent()
    setting = {"task": "matching-4", "space": SPACE}
    wishes = {**GRID, "tasks": None, "setting": [setting], "search": search}
    return run_sweep(tiny_plan(out, **wishes), listener), listener


def ended(spec: RunSpec, regret: float, state: str = "done") -> RunRecord:
    """Return the record of a run that ended with this validation regret."""
    regrets = Regrets(regret, regret, regret, 0.0)
    summary = Summary(
        epochs_run=spec.protocol.epochs,
        train_s=0.5,
        solves={"label": 1, "train": 2, "refresh": 3, "evaluate": 10},
        instances={},
        groups=1,
        options=1,
        label_scale=1.0,
        selected=Selected(1, 0.1, 6, regrets, regrets),
    )
    return RunRecord(spec.run_id, spec.identity, Environment(), Status(state), summary)


def grid_search(tmp_path: Path, kind: str) -> GroupSearch:
    setting = {"task": "matching-4", "space": SPACE}
    plan = tiny_plan(tmp_path, **{**GRID, "tasks": None, "setting": [setting], "search": "full"})
    return GroupSearch(plan.units[0][1], kind)


def test_the_lowest_validation_regret_is_chosen_and_every_run_is_paid_for(tmp_path: Path) -> None:
    search = grid_search(tmp_path, "full")
    ids = list(search.pending)
    assert len(ids) == search.total == 6
    regrets = [0.5, 0.2, math.nan, 0.2, 0.9, 0.1]
    for run_id, regret in zip(ids, regrets, strict=True):
        state = "failed" if regret == 0.1 else "done"
        search.settle(run_id, ended(search.pending[run_id], regret, state))
    assert search.finished
    assert search.chosen is not None
    assert search.chosen.run_id == ids[1], "the first of equals; failed and NaN never"
    assert search.budget() == {
        "configurations": 6,
        "runs": 6,
        "seconds": 3.0,
        "solver_calls": 36,
        "evaluation_calls": 60,
    }


def test_an_interrupted_search_decides_nothing(tmp_path: Path) -> None:
    search = grid_search(tmp_path, "full")
    for position, (run_id, spec) in enumerate(list(search.pending.items())):
        search.settle(run_id, ended(spec, 0.1, "interrupted" if position == 3 else "done"))
    assert not search.complete


def in_report(folder: Path, search: GroupSearch) -> str:
    """Return which of the search's runs the report takes."""
    tables = {file.stem: pq.read_table(file) for file in make_run(folder / "x").glob("*.parquet")}
    for record in search.results.values():
        write_run(RunOutput(record, tables), folder / "runs")
    (run,) = load(folder / "runs").chosen_runs()
    return run.run_id


def test_exact_ties_fall_alike_in_the_search_and_the_report(tmp_path: Path) -> None:
    search = grid_search(tmp_path, "full")
    for run_id, spec in list(search.pending.items()):
        search.settle(run_id, ended(spec, 0.2))
    assert search.chosen is not None
    assert search.chosen.identity.options["lr"] == 0.01, "the smallest options"
    assert in_report(tmp_path, search) == search.chosen.run_id


def test_a_finished_search_is_only_read_again(tmp_path: Path) -> None:
    full, _ = searched(tmp_path, "full")
    assert full.counts == {"done": 9}
    again, _ = searched(tmp_path, "full")
    assert again.counts == {"skipped": 9}
    budgets = [(a.budget(), b.budget()) for a, b in zip(again.searches, full.searches)]  # noqa: B905
    assert all(a == b for a, b in budgets)


def test_what_was_chosen_runs_again_alone(tmp_path: Path) -> None:
    outcome, _ = searched(tmp_path / "tuning", "full")
    (config,) = (tmp_path / "tuning").glob("chosen-*.toml")
    assert main(["sweep", "--config", str(config), "--out", str(tmp_path / "alone")]) == 0
    chosen = {each.chosen.run_id for each in outcome.searches if each.chosen}
    assert len(chosen) == 2
    assert {path.parent.name for path in (tmp_path / "alone").glob("*/run.json")} == chosen


def test_methods_take_turns(tmp_path: Path) -> None:
    _, listener = searched(tmp_path, "full")
    methods = ["dgl-1" if "dgl-1" in key else "two-stage" for key in listener.started_keys[1:]]
    # Three runs of one among six of the other: spread evenly, neither first nor last.
    positions = [i for i, m in enumerate(methods) if m == "two-stage"]
    assert positions[0] <= 2
    assert positions[-1] >= 6

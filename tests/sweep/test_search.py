"""Which configurations run, which is chosen, and what that cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
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
from dglbench.runs.selection import validation_regret
from dglbench.runs.store import write_run
from dglbench.sweep.driver import SweepEnd
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.outputs import group_entry
from dglbench.sweep.search import GroupSearch
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


def test_halving_keeps_a_third_each_time(tmp_path: Path) -> None:
    search = grid_search(tmp_path, "halving")
    assert search.total == 6 + 2 + 1
    for rung, (epochs, size) in enumerate([(1, 6), (3, 2), (9, 1)]):
        specs = dict(search.pending)
        assert len(specs) == size
        assert {spec.protocol.epochs for spec in specs.values()} == {epochs}
        for position, run_id in enumerate(specs):
            search.settle(run_id, ended(specs[run_id], 0.1 * (size - position)))
        assert len(search.rungs) == min(rung + 2, 3)
    assert search.finished
    assert search.budget()["configurations"] == 6
    assert search.rungs == [
        {"epochs": 1, "runs": 6},
        {"epochs": 3, "runs": 2},
        {"epochs": 9, "runs": 1},
    ]


def test_an_interrupted_rung_decides_nothing(tmp_path: Path) -> None:
    search = grid_search(tmp_path, "halving")
    for position, (run_id, spec) in enumerate(list(search.pending.items())):
        search.settle(run_id, ended(spec, 0.1, "interrupted" if position == 3 else "done"))
    assert len(search.rungs) == 1
    assert not search.complete


def halved(tmp_path: Path, last: Callable[[RunSpec], RunRecord]) -> GroupSearch:
    """Run a halving whose rungs all find 0.2, but for the last, which ends as told."""
    search = grid_search(tmp_path, "halving")
    while search.pending:
        run_id, spec = next(iter(search.pending.items()))
        full = spec.protocol.epochs == 9
        search.settle(run_id, last(spec) if full else ended(spec, 0.2))
    return search


def in_report(folder: Path, search: GroupSearch) -> str:
    """Return which of the search's runs the report takes."""
    tables = {file.stem: pq.read_table(file) for file in make_run(folder / "x").glob("*.parquet")}
    for record in search.results.values():
        write_run(RunOutput(record, tables), folder / "runs")
    (run,) = load(folder / "runs").chosen_runs()
    return run.run_id


def test_a_configuration_that_diverges_in_the_last_rung_keeps_its_shorter_run(
    tmp_path: Path,
) -> None:
    search = halved(tmp_path, lambda spec: ended(spec, 0.2, "diverged"))
    assert search.chosen is not None
    assert search.chosen.identity.protocol.epochs == 3
    assert group_entry(search)["epochs"] == 3, "shown with the epochs it had"
    assert in_report(tmp_path, search) == search.chosen.run_id


def test_exact_ties_fall_alike_in_the_search_and_the_report(tmp_path: Path) -> None:
    search = halved(tmp_path, lambda spec: ended(spec, 0.2))
    assert search.chosen is not None
    assert search.chosen.identity.protocol.epochs == 9, "the one that was given most"
    assert search.chosen.identity.options["lr"] == 0.01, "then the smallest options"
    assert in_report(tmp_path, search) == search.chosen.run_id


def test_full_and_halving_agree_where_they_tried_the_same(tmp_path: Path) -> None:
    full, _ = searched(tmp_path, "full")
    halving, listener = searched(tmp_path, "halving")
    assert full.counts == {"done": 9}
    # Rungs of 1, 3 and 9 epochs; those of 9 were there already from the full search.
    assert halving.counts == {"done": 3 + 1 + 6 + 2, "skipped": 2}
    assert listener.total == (3 + 1 + 1) + (6 + 2 + 1)
    for wide, narrow in zip(full.searches, halving.searches, strict=True):
        assert wide.chosen is not None
        assert narrow.chosen is not None
        best = validation_regret(narrow.chosen)
        assert validation_regret(wide.chosen) <= best
        assert best == min(map(validation_regret, narrow.results.values()))
        assert narrow.chosen.identity.protocol.epochs == 9, "a longer run is never worse"
    again, _ = searched(tmp_path, "halving")
    assert again.counts == {"skipped": 14}
    budgets = [(a.budget(), b.budget()) for a, b in zip(again.searches, halving.searches)]  # noqa: B905
    assert all(a == b for a, b in budgets)


@pytest.mark.parametrize("search", ["full", "halving"])
def test_what_was_chosen_runs_again_alone(tmp_path: Path, search: str) -> None:
    outcome, _ = searched(tmp_path / "tuning", search)
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


@pytest.mark.parametrize("epochs", [1, 2, 8])
def test_few_epochs_make_fewer_rungs(tmp_path: Path, epochs: int) -> None:
    setting = {"task": "matching-4", "space": SPACE}
    wishes = {**GRID, "tasks": None, "setting": [setting], "search": "halving", "epochs": epochs}
    search = tiny_plan(tmp_path, **wishes).searches()[0][0]
    steps = [search.rungs[0]["epochs"], *(epochs for epochs, _ in search.upcoming)]
    assert steps == sorted({math.ceil(epochs / 9), math.ceil(epochs / 3), epochs})

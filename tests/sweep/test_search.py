"""Which configurations run, which is chosen, and what that cost."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from sweep_helpers import Silent, tiny_plan

from dglbench.cli import main
from dglbench.sweep.driver import SweepEnd
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.search import GroupSearch

GRID = {"tasks": "matching-4", "seeds": "1", "methods": "two-stage,dgl-1", "epochs": 9}
SPACE = {"two-stage": {"lr": [0.01, 0.1, 1.0]}, "dgl-1": {"lr": [0.01, 0.1, 1.0], "tau": [0.1, 1]}}


def searched(out: Path, search: str) -> tuple[SweepEnd, Silent]:
    listener = Silent()
    setting = {"task": "matching-4", "space": SPACE}
    wishes = {**GRID, "tasks": None, "setting": [setting], "search": search}
    return run_sweep(tiny_plan(out, **wishes), listener), listener


def status(regret: float, state: str = "done") -> dict[str, Any]:
    solves = {"label": 1, "train": 2, "refresh": 3, "evaluate": 10}
    selected = {"val": {"relative_regret": regret}, "test": {"relative_regret": 0.0}}
    return {"status": state, "selected": selected, "train_s": 0.5, "solves": solves}


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
        search.settle(run_id, status(regret, "failed" if regret == 0.1 else "done"), 1)
    assert search.finished
    assert search.chosen is not None
    assert search.chosen.spec.run_id == ids[1], "the first of equals; failed and NaN never"
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
            search.settle(run_id, status(0.1 * (size - position)), 1)
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
    for position, run_id in enumerate(list(search.pending)):
        search.settle(run_id, status(0.1, "interrupted" if position == 3 else "done"), 1)
    assert len(search.rungs) == 1
    assert not search.complete


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
        assert wide.chosen.val_regret <= narrow.chosen.val_regret
        every = [result.val_regret for result in narrow.results.values()]
        assert narrow.chosen.val_regret == min(every), "a longer run is never worse"
    again, _ = searched(tmp_path, "halving")
    assert again.counts == {"skipped": 14}
    budgets = [(a.budget(), b.budget()) for a, b in zip(again.searches, halving.searches)]  # noqa: B905
    assert all(a == b for a, b in budgets)


@pytest.mark.parametrize("search", ["full", "halving"])
def test_what_was_chosen_runs_again_alone(tmp_path: Path, search: str) -> None:
    outcome, _ = searched(tmp_path / "tuning", search)
    (config,) = (tmp_path / "tuning").glob("chosen-*.toml")
    assert main(["sweep", "--config", str(config), "--out", str(tmp_path / "alone")]) == 0
    chosen = {each.chosen.spec.run_id for each in outcome.searches if each.chosen}
    assert len(chosen) == 2
    assert {path.parent.name for path in (tmp_path / "alone").glob("*/status.json")} == chosen


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

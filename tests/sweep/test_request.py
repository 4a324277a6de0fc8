"""What is asked for, from three places, becomes one sweep; every mistake is one sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from dglbench.errors import DglbenchError, SweepError
from dglbench.sweep import Sweep, plan_sweep, read_request, resolve
from dglbench.sweep.outputs import sweep_toml
from dglbench.sweep.request.request import Request, from_preset, nested_assignments

NOWHERE = Path("/nonexistent/results")


def resolved(*documents: dict[str, Any], preset: str = "paper") -> Sweep:
    wishes = [read_request(document, "a test") for document in documents]
    return resolve([from_preset(preset), *wishes])


def test_the_default_is_the_paper() -> None:
    sweep = resolved({})
    assert [(s.name, s.seeds) for s in sweep.settings] == [
        ("matching-10", (10, 25, 95)),
        ("matching-50", (10, 25, 95)),
        ("knapsack-24", (25,)),
        ("knapsack-48", (25,)),
    ]
    assert sweep.search == "none"
    dgl = next(p for p in sweep.settings[1].methods if p.name == "dgl-auto")
    assert (dgl.fixed["alpha"], dgl.fixed["tau"]) == (0.6, 1.0)


def test_the_grid_gives_each_method_what_it_has() -> None:
    sweep = resolved({}, preset="grid")
    spaces = {plan.name: set(plan.space) for plan in sweep.settings[0].methods}
    assert spaces["two-stage"] == spaces["spo"] == {"lr"}
    assert spaces["qptl"] == {"lr", "alpha"}
    assert spaces["dgl-5"] == {"lr", "alpha", "tau"}


def test_flags_win_over_the_file_and_the_file_over_the_preset() -> None:
    file = {"epochs": 7, "seeds": [3], "set": {"train": 50}, "tasks": ["matching-9"]}
    sweep = resolved(file, {"epochs": 5}, preset="quick")
    (setting,) = sweep.settings
    assert setting.protocol.epochs == 5
    assert setting.seeds == (3,)
    assert setting.settings.train == 50
    assert setting.settings.val == 100, "from the preset"
    assert sweep.solver == "batched", "from the preset"


def test_a_setting_wins_over_the_top_of_its_file_but_not_over_flags() -> None:
    entry = {"task": "matching-9", "seeds": [1], "protocol": {"epochs": 3}, "set": {"train": 9}}
    file = {"setting": [entry], "epochs": 4, "seeds": [2], "set": {"train": 8, "val": 8}}
    (setting,) = resolved(file, {}).settings
    assert (setting.protocol.epochs, setting.seeds) == (3, (1,))
    assert (setting.settings.train, setting.settings.val) == (9, 8)
    (setting,) = resolved(file, {"epochs": 6, "seeds": "7", "set": {"train": "5"}}).settings
    assert (setting.protocol.epochs, setting.seeds, setting.settings.train) == (6, (7,), 5)


def test_repeats_are_training_seeds_and_the_last_word_counts() -> None:
    file = read_request({"tasks": "matching-4", "methods": "spo", "repeats": 4}, "a file")
    assert resolve([file]).settings[0].train_seeds == (0, 1, 2, 3)
    flags = read_request({"train_seeds": "7,9"}, "flags")
    assert resolve([file, flags]).settings[0].train_seeds == (7, 9)
    with pytest.raises(SweepError, match="means the training seeds 0 to 3, and"):
        read_request({"repeats": 4, "train_seeds": "1"}, "flags")
    with pytest.raises(SweepError, match="repeats must be"):
        read_request({"repeats": 0}, "flags")


def test_settings_and_options_for_one_alone() -> None:
    flags = {
        "tasks": "matching-9,knapsack-24",
        "methods": "two-stage,dgl-1,dgl-auto",
        "set": nested_assignments(["train=20", "knapsack.capacity_fraction=0.25"], "--set"),
        "option": nested_assignments(["tau=0.5", "dgl-1.tau=0.7", "lr=0.3"], "--option"),
    }
    matching, knapsack = resolved(flags).settings
    assert matching.settings.train == knapsack.settings.train == 20
    assert knapsack.settings.capacity_fraction == 0.25
    options = {plan.name: plan.fixed for plan in matching.methods}
    assert options["two-stage"] == {"lr": 0.3}
    assert options["dgl-1"]["tau"] == 0.7
    assert options["dgl-auto"]["tau"] == 0.5


def test_a_given_option_leaves_the_search_space() -> None:
    flags = {"methods": "dgl-1", "option": {"tau": "0.5"}}
    plan = resolved(flags, preset="grid").settings[0].methods[0]
    assert set(plan.space) == {"lr", "alpha"}
    assert plan.fixed["tau"] == 0.5


def test_searching_nothing_is_a_wish_too() -> None:
    sweep = resolved({"search": "none"}, preset="grid")
    assert sweep.search == "none"
    assert not any(plan.space for plan in sweep.settings[0].methods)


@pytest.mark.parametrize("preset", ["paper", "quick", "grid"])
def test_a_saved_sweep_is_the_same_sweep(preset: str, tmp_path: Path) -> None:
    sweep = resolved({"time_limit": 60.5, "seeds": [5]}, preset=preset)
    file = tmp_path / "sweep.toml"
    file.write_text(sweep_toml(sweep))
    tasks = ["matching-10", "knapsack-24"]
    again = plan_sweep(Request(), preset=None, config=file, out=NOWHERE)
    assert again.sweep == sweep
    assert again.sweep.digest == sweep.digest
    assert tomllib.loads(file.read_text())["setting"][0]["set"]["capacities"] == "none"
    narrowed = plan_sweep(
        read_request({"tasks": tasks, "methods": ["spo"]}, "flags"),
        preset=None,
        config=file,
        out=NOWHERE,
    )
    wide = {s.run_id for unit in again.units for group in unit for s in group.specs}
    narrow = {s.run_id for unit in narrowed.units for group in unit for s in group.specs}
    assert narrow
    assert narrow < wide


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"methods": "two-stag"}, "Did you mean 'two-stage'"),
        ({"methods": ""}, "methods is empty"),
        ({"methods": ","}, "there is no method to run"),
        ({"methods": "dgl-U"}, "needs a number"),
        ({"tasks": "matchin-10"}, "Did you mean 'matching'"),
        ({"tasks": "matching-0"}, "n must be a whole number ≥ 1"),
        ({"tasks": "matching-10", "set": {"n": "20"}}, "has its size in its name"),
        ({"set": {"locations": "3"}}, "task knapsack has no option 'locations'"),
        ({"tasks": "matching-10", "set": {"knapsack": {"n": "3"}}}, "which is not in this sweep"),
        ({"option": {"nu": "3"}}, "no method here has an option 'nu'"),
        ({"option": {"lr": "fast"}}, "lr must be a number"),
        ({"methods": "spo", "option": {"qptl": {"mu": "1"}}}, "which is not in this sweep"),
        ({"methods": "dgl-5", "option": {"U": "3"}}, "fixes U by its name"),
        ({"seeds": "1,x"}, "seeds must be"),
        ({"seeds": "-1"}, "seeds must be"),
        ({"epochs": 0}, "epochs must be a whole number ≥ 1"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"search": "best"}, "search must be one of none, full, random, optuna"),
        ({"tune_seeds": "1"}, "there is none here; add --search random"),
        ({"solver": "gurobi"}, "there is no solver 'gurobi'"),
        ({"threads": 0}, "threads must be"),
        ({"colour": "red"}, "has the key 'colour'"),
        ({"methods": "spo", "search": "full", "option": {"lr": "1"}}, "nothing to search"),
        (
            {"tasks": "knapsack-24", "set": {"source": "semo", "train": "3000"}},
            "train \\+ val \\+ test must be no more",
        ),
    ],
)
def test_mistakes_are_found_while_planning(flags: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DglbenchError, match=sentence):
        plan_sweep(read_request(flags, "the command line"), preset=None, config=None, out=NOWHERE)


def test_missing_data_are_found_while_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DGLBENCH_SEMO_FILE", "/nonexistent/semo.npz")
    flags = read_request({"tasks": "knapsack-24", "set": {"source": "semo"}}, "flags")
    with pytest.raises(DglbenchError, match="DGLBENCH_SEMO_FILE"):
        plan_sweep(flags, preset=None, config=None, out=NOWHERE)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("methods = [", "not valid TOML"),
        ("methods = 3", "methods must be"),
        ("set = 3", "set must be a table"),
        ("setting = 3", r"\[\[setting\]\] table"),
        ("tasks = ['matching-10']\n[[setting]]\ntask = 'matching-10'", "keep one of them"),
        ("[[setting]]\nseeds = [1]", "with no task"),
        ("[[setting]]\ntask = 'matching-10'\nsede = 1", "the key 'sede'"),
        ("[[setting]]\ntask = 'matching-10'\nseeds = ['x']", "whole numbers"),
        ("preset = 'huge'", "preset must be"),
        (
            "search = 'full'\n[[setting]]\ntask = 'matching-10'\nspace = {dgl-1 = {tau = 3}}",
            "needs a list of values",
        ),
    ],
)
def test_mistakes_in_a_file(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    with pytest.raises(DglbenchError, match=sentence):
        plan_sweep(Request(), preset=None, config=file, out=NOWHERE)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(DglbenchError, match="cannot be read"):
        plan_sweep(Request(), preset=None, config=NOWHERE, out=NOWHERE)


def test_a_method_named_twice_is_refused(tmp_path: Path) -> None:
    for wrong in ({"methods": "dgl-1,spo,DGL-1"}, {"tasks": "matching-4,matching-4"}):
        request = read_request({"tasks": "matching-4", "methods": "spo", **wrong}, "a test")
        with pytest.raises(SweepError, match="is named twice"):
            resolve([request])


def test_code_that_a_file_runs_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dglbench.methods.two_stage import TwoStage\nclass Mine(TwoStage):\n    pass\n"
    )
    config = tmp_path / "sweep.toml"
    config.write_text('plugins = ["mine.py"]\nmethods = ["mine"]\ntasks = ["matching-3"]\n')
    told: list[str] = []
    plan_sweep(
        read_request({}, "a test"),
        preset=None,
        config=config,
        out=tmp_path / "out",
        tell=told.append,
    )
    assert len(told) == 1
    assert str(tmp_path / "mine.py") in told[0]

"""A search over data seeds: trials with training seeds of their own, the best four again."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import Any

import pytest
from sweep_helpers import Silent, regrets, tiny_plan, wait_for, words
from test_search import ended

from dglbench.cli import main
from dglbench.errors import SweepError
from dglbench.report import load
from dglbench.report.statistics.tuning import curve, searches
from dglbench.report.tables import build
from dglbench.runs.store import read_record, run_folders
from dglbench.sweep import plan_sweep, read_request
from dglbench.sweep.driver import SweepEnd
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.search.group_search import GroupSearch
from dglbench.training.spec import RunSpec

SEARCH = {
    "tasks": "matching-4",
    "seeds": "5",
    "tune_seeds": "1-2",
    "methods": "two-stage,spo",
    "search": "random",
    "trials": 6,
}
RUNS = 2 * (6 + 4) * 2
"""Methods, trials and those trained again, data seeds."""


def searched(out: Path, **wishes: Any) -> SweepEnd:
    return run_sweep(tiny_plan(out, **{**SEARCH, **wishes}), Silent())


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SweepEnd]:
    out = tmp_path_factory.mktemp("alone")
    return out, searched(out)


def by_hand(tmp_path: Path, regret: Any, **wishes: Any) -> GroupSearch:
    """Run a search whose runs end with what ``regret`` says of a spec; None: as failed."""
    plan = tiny_plan(tmp_path, **{**SEARCH, "methods": "spo", "trials": 8, **wishes})
    search = GroupSearch(plan.units[0][0], plan.sweep.search)
    while search.pending:
        for run_id, spec in list(search.pending.items()):
            found = regret(spec)
            state = "failed" if found is None else "done"
            search.settle(run_id, ended(spec, found or 0.0, state))
    return search


def trial_of(spec: RunSpec) -> tuple[int, bool]:
    """The number of the trial, and whether it is trained again."""
    return spec.train_seed % 1_000_000, spec.train_seed >= 1_000_000


def test_every_trial_trains_on_each_data_seed_with_a_training_seed_of_its_own(
    tmp_path: Path,
) -> None:
    asked: list[tuple[int, int]] = []

    def regret(spec: RunSpec) -> float:
        asked.append((spec.train_seed, spec.data.seed))
        return 1.0 + trial_of(spec)[0] / 10

    search = by_hand(tmp_path, regret)
    assert asked[:16] == [(trial, seed) for trial in range(8) for seed in (1, 2)]
    assert asked[16:] == [(1_000_000 + trial, seed) for trial in range(4) for seed in (1, 2)]
    rates = {trial.options.lr for trial in search.trials}
    assert len(rates) == 8, "random, from the first on"
    assert search.budget()["runs"] == search.total == 24
    assert search.budget()["seconds"] == 12.0, "every run is paid for"


def test_the_mean_of_the_new_runs_alone_decides(tmp_path: Path) -> None:
    """Trial 6 was lucky once; trial 3, fourth at first, is the best when trained again."""
    first = [0.9, 0.8, 0.7, 0.4, 0.3, 0.2, 0.1, 0.6]
    again = {6: 0.5, 5: 0.45, 4: 0.44, 3: 0.35}

    def regret(spec: RunSpec) -> float:
        trial, new = trial_of(spec)
        return (again[trial] if new else first[trial]) + (0.05 if spec.data.seed == 1 else -0.05)

    search = by_hand(tmp_path, regret)
    assert search.choice is not None
    assert search.choice.number == 3
    assert search.choice.regret_again == pytest.approx(0.35)
    assert [r.identity.seed for r in search.chosen_runs] == [1, 2]
    assert search.chosen is search.chosen_runs[0]


def test_failures_rank_last_and_a_mean_needs_every_data_seed(tmp_path: Path) -> None:
    def regret(spec: RunSpec) -> float | None:
        trial, _ = trial_of(spec)
        if trial < 5 and spec.data.seed == 2:
            return None
        return 0.5 + trial / 100 if trial >= 5 else 0.0

    search = by_hand(tmp_path, regret)
    assert [trial.number for trial in search.trials if trial.again] == [5, 6, 7]
    assert search.choice is not None
    assert search.choice.number == 5
    nothing = by_hand(tmp_path, lambda spec: None)
    assert nothing.choice is None
    assert nothing.chosen is None
    assert nothing.complete


def test_the_search_file_has_every_trial(alone: tuple[Path, SweepEnd]) -> None:
    out, end = alone
    assert end.counts == {"done": RUNS}
    (file,) = out.glob("sweep-*.json")
    for group in json.loads(file.read_text())["groups"]:
        assert (group["seeds"], len(group["trials"])) == ([1, 2], 6)
        again = [trial for trial in group["trials"] if trial["again"]]
        assert len(again) == 4
        assert group["chosen_trial"] == min(again, key=lambda t: t["again"]["regret"])["trial"]
        spent = 0.0
        for number, trial in enumerate(group["trials"]):
            assert trial["trial"] == trial["train_seed"] == number
            for part in (trial, trial["again"] or trial):
                found = [read_record(out / run) for run in part["runs"]]
                assert [record.identity.seed for record in found] == [1, 2]
                assert {r.identity.train_seed for r in found} == {part["train_seed"]}
                mean = sum(r.selected.val.relative_regret for r in found) / 2  # type: ignore[union-attr]
                assert part["regret"] == pytest.approx(mean)
            spent += trial["seconds"] + (trial["again"] or {"seconds": 0})["seconds"]
        assert group["seconds"] == pytest.approx(spent)


def test_the_report_has_the_choice_and_the_cost_of_the_whole_search(
    alone: tuple[Path, SweepEnd],
) -> None:
    """The tuning curve ends there, and no table counts a search once for each data seed."""
    out, end = alone
    report = load(out)
    curves = {found.method: curve(found).row(-1, named=True) for found in searches(report)}
    (budget, total) = (build(name, report).records() for name in ("budget", "total"))
    assert [row["method"] for row in budget] == ["two-stage", "spo"]
    for search in end.searches:
        method, spent = search.group.method, search.budget()["seconds"]
        assert {run.run_id for run in report.chosen_runs() if run.method == method} == {
            record.run_id for record in search.chosen_runs
        }
        tests = [r.selected.test.relative_regret for r in search.chosen_runs if r.selected]
        assert curves[method]["test_regret"] == pytest.approx(sum(tests) / 2)
        assert curves[method]["seconds"] == pytest.approx(spent)
        (row,) = (row for row in budget if row["method"] == method)
        assert (row["setting"], row["runs"]) == ("matching-4", 20)
        assert row["train_s"] == pytest.approx(spent)
        (row,) = (row for row in total if row["method"] == method)
        assert row["tuning_s"] == pytest.approx(spent)


def test_the_choice_is_for_seeds_that_tuning_never_saw(
    alone: tuple[Path, SweepEnd], tmp_path: Path
) -> None:
    out, end = alone
    (config,) = out.glob("chosen-*.toml")
    assert main(["sweep", "--config", str(config), "--repeats", "2", "--out", str(tmp_path)]) == 0
    found = [read_record(folder).identity for folder in run_folders(tmp_path)]
    assert sorted((i.method, i.seed, i.train_seed) for i in found) == [
        (method, 5, repeat) for method in ("spo", "two-stage") for repeat in (0, 1)
    ]
    chosen = {s.group.method: s.chosen.identity.options for s in end.searches if s.chosen}
    assert all(identity.options == chosen[identity.method] for identity in found)
    flags = read_request({}, "the test")
    (setting,) = plan_sweep(flags, preset=None, config=config, out=tmp_path).sweep.settings
    assert setting.tuned["spo"]["seeds"] == [1, 2]
    assert setting.tuned["spo"]["runs"] == 20


@pytest.mark.parametrize("kind", ["random", "optuna"])
def test_a_killed_search_goes_on_to_the_same_choice(kind: str, tmp_path: Path, start: Any) -> None:
    whole = searched(tmp_path / "whole", search=kind)
    process = start("sweep", *words(**{**SEARCH, "search": kind}), "--out", tmp_path / "killed")
    wait_for(lambda: len(list(run_folders(tmp_path / "killed"))) >= 15)
    process.send_signal(signal.SIGKILL)
    process.wait()
    end = searched(tmp_path / "killed", search=kind)
    assert end.counts["skipped"] < RUNS
    assert regrets(tmp_path / "killed") == regrets(tmp_path / "whole")
    choices = [[s.choice.number for s in e.searches if s.choice] for e in (whole, end)]
    assert choices[0] == choices[1]
    assert len(choices[0]) == 2


def test_killed_repeats_go_on_to_the_same_bits(tmp_path: Path, start: Any) -> None:
    wishes = {"tasks": "matching-4", "seeds": "1-2", "methods": "two-stage,spo", "repeats": 4}
    wishes["option"] = {"start": "fresh"}
    process = start("sweep", *words(**wishes), "--out", tmp_path / "killed")
    wait_for(lambda: len(list(run_folders(tmp_path / "killed"))) >= 5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    end = run_sweep(tiny_plan(tmp_path / "killed", **wishes), Silent())
    assert end.counts["skipped"] + end.counts["done"] == 16
    run_sweep(tiny_plan(tmp_path / "whole", **wishes), Silent())
    assert regrets(tmp_path / "killed") == regrets(tmp_path / "whole")


def test_two_at_once_choose_the_same(
    alone: tuple[Path, SweepEnd], tmp_path: Path, start: Any
) -> None:
    out, _ = alone
    process = start("sweep", *words(**SEARCH), "--jobs", 2, "--out", tmp_path)
    assert process.wait() == 0, process.stderr.read()
    assert regrets(tmp_path) == regrets(out)
    chosen = [next(folder.glob("chosen-*.toml")).read_text() for folder in (out, tmp_path)]
    rates = [[line for line in text.splitlines() if line.startswith("lr = ")] for text in chosen]
    assert rates[0] == rates[1]
    assert len(rates[0]) == 2


def test_a_grid_may_span_data_seeds_too(tmp_path: Path) -> None:
    setting = {"task": "matching-4", "seeds": [5], "space": {"spo": {"lr": [0.001, 0.01, 0.1]}}}
    wishes = {"tasks": None, "seeds": None, "setting": [setting], "methods": "spo"}
    end = searched(tmp_path, **wishes, search="full", trials=None)
    (search,) = end.searches
    assert [trial.options.lr for trial in search.trials] == [0.001, 0.01, 0.1]
    assert end.counts == {"done": 12}
    assert search.choice is not None
    assert math.isfinite(search.choice.regret_again)


def test_tuning_seeds_need_a_search(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="leave --tune-seeds out"):
        searched(tmp_path, search="none", trials=None)

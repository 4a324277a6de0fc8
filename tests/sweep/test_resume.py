"""The folder decides: what is there is skipped, what is stale is said, what failed waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from record_files import change_record, flip_bit
from sweep_helpers import Silent, leftovers, regrets, tiny_plan, words

from dglbench.cli import main
from dglbench.runs.store import read_record
from dglbench.sweep import outputs, plan_sweep, read_request
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.locks import Locks
from dglbench.sweep.plan.survey import read_state

ONE = {"tasks": "matching-4", "seeds": "1"}


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    run_sweep(tiny_plan(tmp_path, **ONE), Silent())
    return tmp_path


def test_the_same_command_again_does_nothing(swept: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in swept.rglob("*.parquet")}
    outcome = run_sweep(tiny_plan(swept, **ONE), Silent())
    assert outcome.counts == {"skipped": 4}
    assert {path: path.stat().st_mtime_ns for path in swept.rglob("*.parquet")} == before


def test_a_resolved_sweep_runs_again_to_the_same_runs(swept: Path, tmp_path: Path) -> None:
    (config,) = swept.glob("sweep-*.toml")
    again = tmp_path / "again"
    assert main(["sweep", "--config", str(config), "--out", str(again)]) == 0
    assert regrets(again) == regrets(swept)
    assert (again / config.name).read_text() == config.read_text()


def test_the_choices_are_kept_for_the_report(swept: Path) -> None:
    (file,) = swept.glob("sweep-*.json")
    document = json.loads(file.read_text())
    assert document["search"] == "none"
    assert [group["method"] for group in document["groups"]] == [
        "two-stage",
        "spo",
        "dgl-none",
        "dgl-auto",
    ]
    for group in document["groups"]:
        assert (swept / group["run_id"]).is_dir()
        assert (group["setting"], group["seed"], group["solver"]) == ("matching-4", 1, "batched")
        assert group["configurations"] == group["concurrency"] == 1
        assert group["seconds"] > 0
    spo = document["groups"][1]
    assert spo["solver_calls"] == 8 + 2 * 8, "labels once, then every instance in every epoch"


def test_the_choices_are_not_written_after_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    write = outputs.write_choices

    def count(*arguments: Any) -> None:
        written.append(arguments)
        write(*arguments)

    monkeypatch.setattr(outputs, "write_choices", count)
    monkeypatch.setattr("dglbench.sweep.driver._CHOICES_REST", 1e9)
    run_sweep(tiny_plan(tmp_path, **ONE), Silent())
    assert len(written) == 2, "after the first group, and all of them at the end"
    (choices,) = tmp_path.glob("sweep-*.json")
    assert len(json.loads(choices.read_text())["groups"]) == 4


def test_failed_runs_are_retried_only_when_asked(swept: Path) -> None:
    folder = next(swept.glob("*-spo-*"))
    change_record(
        folder, lambda record: record["status"].update(state="failed", message="it broke")
    )
    plan = tiny_plan(swept, **ONE)
    assert run_sweep(plan, Silent()).counts == {"skipped": 4}
    assert plan.rows(retry_failed=False)[1].to_run == 0
    assert plan.rows(retry_failed=True)[1].to_run == 1
    assert run_sweep(plan, Silent(), retry_failed=True).counts == {"skipped": 3, "done": 1}
    assert read_state(swept, folder.name).state == "done"


def test_a_flipped_bit_is_found_by_the_plan_and_run_again(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = regrets(swept)
    for folder, name in zip(
        sorted(swept.glob("matching-4-*")),
        ("regret.parquet", "run.json", "weights.pt", "decisions.parquet"),
        strict=True,
    ):
        flip_bit(folder / name, 300)
    assert main(["sweep", *words(**ONE, out=swept), "--plan"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "4 of 4 runs to make" in said
    for name in ("regret.parquet", "run.json", "weights.pt", "decisions.parquet"):
        assert f"its {name} is damaged" in said
    assert run_sweep(tiny_plan(swept, **ONE), Silent()).counts == {"done": 4}
    assert regrets(swept) == before


def test_resuming_after_an_upgrade_says_what_it_found(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in swept.glob("matching-4-*"):
        change_record(folder, lambda record: record["environment"]["versions"].update(torch="1.0"))
    listener = Silent()
    assert run_sweep(tiny_plan(swept, **ONE), listener).counts == {"skipped": 4}
    (told,) = listener.told
    assert told.startswith("some finished runs were made with torch 1.0 (now 2.")
    assert main(["sweep", *words(**ONE, out=swept), "--plan"]) == 0
    assert "4 were made with torch 1.0 (now 2." in " ".join(capsys.readouterr().err.split())


def test_runs_of_other_code_are_stale_and_never_reused(
    swept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dglbench.sweep.request import specs

    monkeypatch.setattr(specs, "source_hash", lambda *things: "other code 1")
    rows = tiny_plan(swept, **ONE).rows(retry_failed=False)
    assert [dict(row.counts) for row in rows] == [{"stale": 1}] * 4
    assert main(["sweep", *words(**ONE, out=swept), "--plan"]) == 0
    assert "4 were made by other code (stale)" in " ".join(capsys.readouterr().err.split())


def test_the_plan_estimates_from_finished_runs(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wishes = {**ONE, "seeds": "1,2", "methods": "spo,dgl-1", "out": swept}
    assert main(["sweep", *words(**wishes), "--plan", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["to_run"], document["done"]) == (4, 3, 1)
    seconds = {(g["method"], g["seed"]): g["seconds"] for g in document["groups"]}
    assert seconds["spo", 1] == 0
    assert seconds["spo", 2] > 0
    # Nothing here to go by: the reference runs tell.
    assert 0 < seconds["dgl-1", 2] != seconds["spo", 2]
    assert document["without_estimate"] == 0
    assert not list(swept.glob("*-s2-*")), "a plan runs nothing"


def test_variants_of_one_size_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "capacities.toml"
    setting = '[[setting]]\ntask = "knapsack-6"\nseeds = [1]\nset = {{ capacity_fraction = {} }}\n'
    config.write_text("".join(map(setting.format, (0.25, 0.5, 0.75))))
    asked = ["--config", str(config), "--methods", "two-stage", "--out", str(tmp_path)]
    assert main(["sweep", *asked, "--plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    tight, half, loose = (line.split()[:2] for line in lines if "knapsack-6" in line)
    assert tight == ["knapsack-6", "capacity_fraction=0.25"]
    assert half[0] == "knapsack-6", "the default needs no name"
    assert loose == ["knapsack-6", "capacity_fraction=0.75"]


def test_fail_fast_stops_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dglbench.methods.spo import SpoPlus

    def broken(self: Any, batch: Any) -> Any:
        raise RuntimeError("broken for now")

    monkeypatch.setattr(SpoPlus, "loss_and_gradient", broken)
    outcome = run_sweep(tiny_plan(tmp_path, **ONE), Silent(), fail_fast=True)
    assert outcome.counts == {"done": 1, "failed": 1}
    assert outcome.stopped_early
    monkeypatch.undo()
    outcome = run_sweep(tiny_plan(tmp_path, **ONE), Silent(), retry_failed=True)
    assert outcome.counts == {"skipped": 1, "done": 3}


def test_a_failing_warm_start_fails_its_runs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dglbench.sweep import jobs

    def broken(*arguments: Any) -> Any:
        raise RuntimeError("no predictor today")

    monkeypatch.setattr(jobs, "train_warm_start", broken)
    outcome = run_sweep(tiny_plan(tmp_path, **ONE), Silent())
    assert outcome.counts == {"done": 1, "failed": 3}
    status = read_record(next(tmp_path.glob("*-spo-*"))).status
    assert "no predictor today" in status.message
    assert "broken" in status.traceback


@pytest.mark.parametrize(
    ("option", "made"),
    [({"start": "fresh"}, 0), ({"start": "fresh", "spo": {"start": "warm"}}, 1), ({}, 1)],
)
def test_a_warm_start_is_trained_only_if_a_run_begins_at_it(
    tmp_path: Path, option: dict[str, Any], made: int
) -> None:
    listener = Silent()
    run_sweep(tiny_plan(tmp_path, **ONE, option=option), listener)
    assert sum(key.startswith("warm start ") for key in listener.started_keys) == made
    assert len(list(tmp_path.glob("warm-starts/*"))) == made
    records = [read_record(path.parent) for path in tmp_path.glob("*/run.json")]
    assert len(records) == 4
    for record in records:
        assert record.summary is not None
        begun = record.summary.warm_start is not None
        assert begun == (record.identity.options.get("start") == "warm")


def test_the_two_starts_of_a_grid_are_both_tried(tmp_path: Path) -> None:
    setting = {"task": "matching-4", "space": {"spo": {"start": ["fresh", "warm"]}}}
    wishes = {**ONE, "tasks": None, "methods": "spo", "setting": [setting], "search": "full"}
    end = run_sweep(tiny_plan(tmp_path, **wishes), Silent())
    (search,) = end.searches
    starts = {r.identity.options["start"]: r.summary for r in search.results.values()}
    assert starts["fresh"].warm_start is None
    assert starts["warm"].warm_start is not None


def test_diagnostics_are_made_on_request_and_change_no_regret(tmp_path: Path) -> None:
    wishes = {**ONE, "methods": "dgl-none,dgl-auto"}
    run_sweep(tiny_plan(tmp_path, **wishes), Silent())
    assert not list(tmp_path.glob("*/duals.parquet"))
    before = regrets(tmp_path)
    asked = tiny_plan(tmp_path, **wishes, diagnostics=True)
    assert sum(row.to_run for row in asked.rows(retry_failed=False)) == 2
    assert run_sweep(asked, Silent()).counts == {"done": 2}
    assert len(list(tmp_path.glob("*/duals.parquet"))) == 2
    assert regrets(tmp_path) == before
    again = run_sweep(tiny_plan(tmp_path, **wishes, diagnostics=True), Silent())
    assert again.counts == {"skipped": 2}
    without = run_sweep(tiny_plan(tmp_path, **wishes), Silent())
    assert without.counts == {"skipped": 2}, "what is there may have more than is asked for"


def test_the_papers_own_sweep_alone_asks_for_diagnostics() -> None:
    nowhere = Path("/nonexistent/results")

    def asks(preset: str | None = None, **wishes: Any) -> bool:
        flags = read_request(wishes, "flags")
        plan = plan_sweep(flags, preset=preset, config=None, out=nowhere)
        return plan.sweep.diagnostics

    assert asks()
    assert asks("paper", methods="spo")
    assert not asks(methods="spo")
    assert not asks(diagnostics=False)


def test_the_lock_goes_with_the_last_sweep(tmp_path: Path) -> None:
    with Locks(tmp_path) as locks:
        assert locks.take("a run")
        assert (tmp_path / ".lock").exists()
        locks.release("a run")
    assert leftovers(tmp_path) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["sweep", *words(**ONE, out=tmp_path / "file" / "out")]) == 2
    assert "choose another --out" in capsys.readouterr().err


def test_a_finished_record_is_read_once(swept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dglbench.packs import sources
    from dglbench.sweep.plan import survey

    read: list[str] = []

    def counted(folder: Path) -> Any:
        read.append(folder.name)
        return read_record(folder)

    for room in (sources, survey):  # the survey reads all, a run's state what is not known yet
        monkeypatch.setattr(room, "read_record", counted)
    end = run_sweep(tiny_plan(swept, **ONE), Silent())
    assert end.counts["skipped"] == len(read) == len(set(read)) > 0


def test_a_dataset_that_the_plan_has_made_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dglbench.data import loading

    made: list[tuple[str, int]] = []
    make = loading.make_dataset

    def counted(task: Any, settings: Any, seed: int) -> Any:
        made.append((task.name, seed))
        return make(task, settings, seed)

    monkeypatch.setattr(loading, "make_dataset", counted)
    loading._recent.clear()
    wishes = {"tasks": "matching-4", "methods": "two-stage", "seeds": "1-9", "epochs": 1}
    run_sweep(tiny_plan(tmp_path, **wishes), Silent())
    assert sorted(made) == [("matching", seed) for seed in range(1, 10)]

"""A sweep under attack: killed, interrupted, out of disk, with plugins that misbehave."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from record_files import change_record
from sweep_helpers import Silent, leftovers, regrets, states, tiny_plan, wait_for, words

from dglbench.errors import RunError
from dglbench.runs import store as runs
from dglbench.runs.store import read_record
from dglbench.sweep.execute import run_sweep

SEEDS = "1,2,3"
ONE = {"tasks": "matching-4", "seeds": "1"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("undisturbed")
    outcome = run_sweep(tiny_plan(out, seeds=SEEDS), Silent())
    assert outcome.counts == {"done": 24}
    assert leftovers(out) == []
    return regrets(out)


def _killed_and_resumed(start: Any, out: Path, kills: int, jobs: int) -> None:
    draw = random.Random(20)
    command = ("sweep", *words(seeds=SEEDS, out=out, jobs=jobs))
    for _ in range(kills):
        seen = len(list(out.glob("*/run.json"))) if out.exists() else 0
        process = start(*command)
        wait_for(lambda: len(list(out.glob("*/run.json"))) > seen or process.poll() is not None)  # noqa: B023
        time.sleep(draw.uniform(0, 0.15))
        process.kill()
        process.wait()
    final = start(*command)
    assert final.wait(120) == 0, final.stderr.read()


@pytest.mark.parametrize(
    ("kills", "jobs"),
    [
        (10, 1),
        pytest.param(3, 2, marks=pytest.mark.slow),
    ],
)
def test_a_driver_killed_at_random_moments_resumes_to_the_same_results(
    start: Any, tmp_path: Path, undisturbed: dict[str, Any], kills: int, jobs: int
) -> None:
    _killed_and_resumed(start, tmp_path / "out", kills, jobs)
    assert regrets(tmp_path / "out") == undisturbed
    assert leftovers(tmp_path / "out") == []


def test_plugins_that_misbehave_fail_alone(start: Any, tmp_path: Path) -> None:
    methods = "raises,two-stage,nans,hangs,spo"
    command = ("sweep", *words(**ONE, methods=methods, time_limit=1, out=tmp_path))
    process = start(*command, "--json")
    output, _ = process.communicate(timeout=60)
    document = json.loads(output)
    assert process.returncode == document["exit_code"] == 1
    expected = {
        "raises": "failed",
        "nans": "diverged",
        "hangs": "timeout",
        "two-stage": "done",
        "spo": "done",
    }
    assert states(tmp_path) == expected
    failed = next(tmp_path.glob("*-raises-*"))
    assert "the plugin is broken" in read_record(failed).status.traceback
    assert {entry["status"] for entry in document["not_done"]} == {"failed", "diverged", "timeout"}

    again = start(*command)
    _, errors = again.communicate(timeout=60)
    assert again.returncode == 1, "what failed earlier still lacks a result"
    assert "5 skipped" in errors
    assert failed.name in errors


def test_a_run_whose_worker_dies_is_tried_once_more(start: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("sweep", *words(**ONE, methods="dies,two-stage", out=out, jobs=2))
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 1, errors
    assert states(out) == {"dies": "failed", "two-stage": "done"}
    assert "its worker died 2 times" in errors
    assert leftovers(out) == []


@pytest.mark.slow
def test_workers_that_die_or_hang_are_replaced(start: Any, tmp_path: Path) -> None:
    methods = "dies,two-stage,dies-once,hangs,spo"
    out = tmp_path / "out"
    process = start("sweep", *words(**ONE, methods=methods, time_limit=1, out=out, jobs=2))
    _, errors = process.communicate(timeout=200)
    assert process.returncode == 1, errors
    expected = {
        "dies": "failed",
        "dies-once": "done",
        "hangs": "timeout",
        "two-stage": "done",
        "spo": "done",
    }
    assert states(out) == expected
    assert leftovers(out) == []


@pytest.mark.slow
def test_a_worker_killed_from_outside_costs_nothing(
    start: Any, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    import psutil

    out = tmp_path / "out"
    process = start("sweep", *words(seeds=SEEDS, out=out, jobs=2))
    wait_for(lambda: list(out.glob("*/run.json")))
    children = psutil.Process(process.pid).children(recursive=True)
    worker = max(children, key=lambda child: child.memory_info().rss)
    worker.kill()
    assert process.wait(100) == 0, process.stderr.read()
    assert regrets(out) == undisturbed


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_once_finishes_cleanly(start: Any, tmp_path: Path, jobs: int) -> None:
    out = tmp_path / "out"
    wishes = {**ONE, "methods": "two-stage,slow,spo", "epochs": 60, "jobs": jobs, "out": out}
    process = start("sweep", *words(**wishes))
    wait_for(lambda: list(out.glob("*-two-stage-*")))
    time.sleep(0.3)
    # As a terminal does: to every process of the group, workers too.
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert states(out)["slow"] == "interrupted"
    assert leftovers(out) == []
    resumed = run_sweep(tiny_plan(out, **{**ONE, "methods": "two-stage", "epochs": 60}), Silent())
    assert resumed.counts == {"skipped": 1}


def test_ctrl_c_is_heard_after_cp_sat_has_run(start: Any, tmp_path: Path) -> None:
    """CP-SAT's own signal handler used to replace Python's for the rest of the process."""
    out = tmp_path / "out"
    wishes = {
        "tasks": "multi-knapsack-16",
        "seeds": "1",
        "methods": "two-stage,slow",
        "solver": "ortools",
        "epochs": 60,
        "set": {"train": 10, "val": 6, "test": 6},
        "out": out,
    }
    process = start("sweep", *words(**wishes))
    wait_for(lambda: list(out.glob("*-two-stage-*")))
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert states(out)["slow"] == "interrupted"
    assert "interrupted" in errors


@pytest.mark.slow
def test_sigterm_to_all_processes_finishes_cleanly(start: Any, tmp_path: Path) -> None:
    """As `timeout` and batch systems send it; workers that died of it would begin anew."""
    out = tmp_path / "out"
    wishes = {**ONE, "methods": "two-stage,slow,spo", "epochs": 60, "jobs": 2, "out": out}
    process = start("sweep", *words(**wishes))
    wait_for(lambda: list(out.glob("*-two-stage-*")))
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert states(out)["slow"] == "interrupted"  # by itself: it was asked, not ended
    assert leftovers(out) == []


def test_what_does_not_end_when_asked_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dglbench.sweep import driver, execute

    closed, told = [], []

    class Deaf:
        slots = 1

        def __init__(self, context: Any) -> None:
            self.context = context

        def free(self) -> int:
            return 1

        def start(self, job: Any) -> None:
            self.context.interrupts.count = 1

        def wait(self, seconds: float, hear: Any) -> list[Any]:
            time.sleep(0.01)
            return []

        def finish_early(self) -> None: ...

        def close(self, *, now: bool) -> None:
            closed.append(now)

    class Told(Silent):
        def tell(self, sentence: str) -> None:
            told.append(sentence)

    monkeypatch.setattr(driver, "_FINISH_S", 0.1)
    monkeypatch.setattr(execute, "make_executor", lambda name, context: Deaf(context))
    end = run_sweep(tiny_plan(tmp_path / "out", **ONE), Told())
    assert (end.interrupted, end.abandoned, closed) == (True, True, [True])
    assert "the same command makes it again" in told[-1]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_twice_stops_now(start: Any, tmp_path: Path, jobs: int) -> None:
    out = tmp_path / "out"
    process = start("sweep", *words(**ONE, methods="stubborn", jobs=jobs, out=out))
    wait_for((tmp_path / "hung").exists)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 130, process.stderr.read()
    assert leftovers(out) == []


def test_a_writer_that_fails_stops_the_sweep_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: dict[str, Any]
) -> None:
    import errno

    import pyarrow.parquet as pq

    real, written = pq.write_table, []

    def write(table: Any, path: Path, **options: Any) -> None:
        written.append(path)
        if len(written) > 20:
            path.write_bytes(b"PAR1 half")
            raise OSError(errno.ENOSPC, "No space left on device")
        real(table, path, **options)

    monkeypatch.setattr(pq, "write_table", write)
    plan = tiny_plan(tmp_path, seeds=SEEDS)
    with pytest.raises(RunError, match="No space left on device; free some space"):
        run_sweep(plan, Silent())
    assert leftovers(tmp_path) == []
    monkeypatch.undo()
    assert run_sweep(plan, Silent()).counts["skipped"] > 0
    assert regrets(tmp_path) == undisturbed


def test_a_full_disk(start: Any, tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    try:
        process = start("sweep", *words(seeds=SEEDS, out=disk))
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 2, errors
        assert "No space left on device" in errors
        assert "Traceback" not in errors
        assert leftovers(disk) == []
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        run_sweep(tiny_plan(disk, seeds=SEEDS), Silent())
        assert regrets(disk) == undisturbed
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_damaged_runs_are_said_and_made_again(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, **ONE)
    run_sweep(plan, Silent())
    before = regrets(tmp_path)
    cut, garbage, missing, unfinished = sorted(tmp_path.glob("matching-4-*"))
    table = cut / "timing.parquet"
    table.write_bytes(table.read_bytes()[:-20])
    (garbage / "run.json").write_bytes(b"\x00{not json")
    (missing / "run.json").unlink()
    change_record(unfinished, lambda record: record["status"].update(state="interrupted"))
    dead = subprocess.Popen(["true"])
    dead.wait()
    orphan = tmp_path / f"{runs._PARTIAL}{runs.atomic._host()}-{dead.pid}_{cut.name}"
    orphan.mkdir()
    (tmp_path / f".sweep.json.{runs.atomic._host()}-{dead.pid}.abc.tmp").touch()

    rows = tiny_plan(tmp_path, **ONE).rows(retry_failed=False)
    assert sum((row.counts for row in rows[1:]), rows[0].counts) == {"damaged": 3, "unfinished": 1}
    listener = Silent()
    outcome = run_sweep(plan, listener)
    assert outcome.counts == {"done": 4}
    assert any("timing.parquet is damaged" in sentence for sentence in listener.told)
    assert any("run.json is damaged" in sentence for sentence in listener.told)
    assert regrets(tmp_path) == before
    assert leftovers(tmp_path) == []

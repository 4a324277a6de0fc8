"""The same runs on workers, on a cluster, and by two sweeps at once."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import psutil
import pytest
from plugin_writer import write_plugin
from sweep_helpers import Silent, leftovers, regrets, tiny_plan, wait_for, words

from dglbench.errors import SweepError
from dglbench.runs.store import read_record, run_folders
from dglbench.sweep.execute import run_sweep


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cluster(start: Any, tmp_path: Path, *worker_words: str, workers: int = 2, **env: object) -> str:
    """Start a scheduler and workers as separate processes."""
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rpartition(":")[2]
    dask = ("-m", "dask")
    start("scheduler", "--port", port, "--host", "127.0.0.1", "--no-dashboard", program=dask)
    for _ in range(workers):
        directory = ("--local-directory", tmp_path / "dask", "--no-dashboard")
        start("worker", address, *worker_words, *directory, program=dask, env=env)
    return address


def concurrencies(out: Path) -> set[int]:
    return {read_record(folder).environment.concurrency for folder in run_folders(out)}


def test_a_cluster_gives_the_same_regrets(start: Any, tmp_path: Path) -> None:
    address = cluster(start, tmp_path, "--nthreads", "1")
    alone, spread = tmp_path / "alone", tmp_path / "spread"
    run_sweep(tiny_plan(alone), Silent())
    wait_for(lambda: _reachable(address))
    process = start("sweep", *words(out=spread, scheduler=address))
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors
    assert regrets(spread) == regrets(alone)
    assert len(regrets(spread)) == 8
    assert concurrencies(alone) == {1}
    assert concurrencies(spread) <= {1, 2}
    assert leftovers(spread) == []


@pytest.mark.slow
def test_the_quick_preset_is_the_same_everywhere(start: Any, tmp_path: Path) -> None:
    address = cluster(start, tmp_path, "--nthreads", "1")
    ways = {"one": (), "two": ("--jobs", "2"), "cluster": ("--scheduler", address)}
    for name, way in ways.items():
        process = start("sweep", "--preset", "quick", "--out", tmp_path / name, *way)
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    one = regrets(tmp_path / "one")
    assert len(one) == 16
    assert regrets(tmp_path / "two") == one
    assert regrets(tmp_path / "cluster") == one
    assert concurrencies(tmp_path / "two") == {2}


@pytest.mark.slow
def test_workers_with_several_threads_are_refused(start: Any, tmp_path: Path) -> None:
    address = cluster(start, tmp_path, "--nthreads", "2", workers=1)
    wait_for(lambda: _reachable(address))
    process = start("sweep", *words(out=tmp_path / "out", scheduler=address))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "dask worker --nthreads 1" in errors


@pytest.mark.slow
def test_workers_are_sent_the_data_they_cannot_make(start: Any, tmp_path: Path) -> None:
    # Whoever has the variable draws other data under the same settings.
    task = "from dglbench_tasks.matching import Matching\nimport os\n"
    task += "class Odd(Matching):\n    name = 'odd'\n    def generate(self, settings, seed):\n"
    task += "        return super().generate(settings, seed + int(os.environ.get('ODD', 0)))\n"
    root = write_plugin(tmp_path / "odd", "odd", task, {"tasks": {"odd": "odd:Odd"}})
    address = cluster(start, tmp_path, "--nthreads", "1", workers=1, ODD="1", PYTHONPATH=root)
    wishes = {"tasks": "odd-4", "methods": "two-stage,spo", "seeds": "1"}
    alone, away = tmp_path / "alone", tmp_path / "away"
    for out, scheduler in ((alone, None), (away, address)):
        process = start(
            "sweep", *words(**wishes, out=out, scheduler=scheduler), env={"PYTHONPATH": root}
        )
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert regrets(away) == regrets(alone)

    # Its workers lack the plugin of the other tests: said before anything is spent.
    process = start("sweep", *words(methods="slow", out=tmp_path / "no", scheduler=address))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "there is no method 'slow'" in errors


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_one_sentence(start: Any, tmp_path: Path) -> None:
    address = cluster(start, tmp_path, "--nthreads", "1", workers=1)
    out = tmp_path / "out"
    wishes = {"tasks": "matching-4", "seeds": "1", "methods": "two-stage,slow", "epochs": 500}
    process = start("sweep", *words(**wishes, out=out, scheduler=address))
    wait_for(lambda: list(out.glob("*-two-stage-*")))
    port = int(address.rpartition(":")[2])
    for connection in psutil.net_connections("tcp"):
        if connection.laddr.port == port and connection.status == psutil.CONN_LISTEN:
            psutil.Process(connection.pid).kill()
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 2, errors
    assert f"the connection to {address} was lost" in errors
    assert "Traceback" not in errors
    assert leftovers(out) == []


def test_no_scheduler_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dglbench.sweep.executors import dask_workers as module

    monkeypatch.setattr(module, "_CONNECT_S", 0.5)
    with pytest.raises(SweepError, match="there is no Dask scheduler at tcp://127"):
        run_sweep(tiny_plan(tmp_path), Silent(), scheduler=f"tcp://127.0.0.1:{free_port()}")


def test_two_sweeps_in_one_folder_share_the_work(start: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    wishes = {"tasks": "matching-4", "methods": "slow,two-stage,spo", "seeds": "1,2,3,4"}
    command = ("sweep", *words(**wishes, out=out), "--json")
    both = [start(*command), start(*command)]
    counts = []
    for process in both:
        output, errors = process.communicate(timeout=90)
        assert process.returncode == 0, errors
        counts.append(json.loads(output)["counts"])
    assert sum(count.get("done", 0) for count in counts) == 12, "nothing twice"
    assert [sum(count.values()) for count in counts] == [12, 12], "each sees all"
    assert len(regrets(out)) == 12
    assert leftovers(out) == []


def _reachable(address: str) -> bool:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0

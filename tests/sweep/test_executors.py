"""Who does the work: the bundled executors by name, and one that somebody else registers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plugin_writer import write_plugin
from sweep_helpers import Silent, leftovers, regrets, tiny_plan, words

from dglbench.errors import PluginError, SweepError
from dglbench.sweep.execute import run_sweep

POOL = """
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from dglbench.sweep.jobs import Ended, do_job


def work(job, concurrency):
    return do_job(job, concurrency=concurrency)


class Pool:
    def __init__(self, context):
        self.slots = context.jobs
        self._pool = ProcessPoolExecutor(context.jobs, get_context("spawn"))
        self._out = {}
        context.tell(f"a pool of {context.jobs}")

    def free(self):
        return self.slots - len(self._out)

    def start(self, job):
        self._out[self._pool.submit(work, job, self.slots)] = job

    def wait(self, seconds, hear):
        done, _ = wait(self._out, seconds, FIRST_COMPLETED)
        return [Ended(self._out.pop(each), each.exception() or each.result()) for each in done]

    def finish_early(self):
        pass

    def close(self, *, now):
        self._pool.shutdown(cancel_futures=now)
"""


def test_a_third_executor_is_one_file_of_anyones(start: Any, tmp_path: Path) -> None:
    root = write_plugin(tmp_path / "pool", "pool", POOL, {"executors": {"pool": "pool:Pool"}})
    alone, pooled = tmp_path / "alone", tmp_path / "pooled"
    run_sweep(tiny_plan(alone), Silent())
    process = start("sweep", *words(out=pooled, executor="pool", jobs=2), env={"PYTHONPATH": root})
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "a pool of 2" in errors
    assert regrets(pooled) == regrets(alone)
    assert len(regrets(pooled)) == 8
    assert leftovers(pooled) == []


def test_an_unknown_executor_is_told_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        PluginError, match=r"there is no executor 'dusk'; there are dask, in-process\. Did you"
    ):
        run_sweep(tiny_plan(tmp_path), Silent(), executor="dusk")


@pytest.mark.parametrize("more", [{"jobs": 2}, {"scheduler": "tcp://127.0.0.1:1"}])
def test_one_process_makes_one_run_at_a_time(tmp_path: Path, more: Any) -> None:
    with pytest.raises(SweepError, match="leave out --jobs and --scheduler"):
        run_sweep(tiny_plan(tmp_path), Silent(), executor="in-process", **more)


def test_workers_are_started_here_or_found_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="--scheduler uses those of a cluster; give one"):
        run_sweep(tiny_plan(tmp_path), Silent(), jobs=2, scheduler="tcp://127.0.0.1:1")

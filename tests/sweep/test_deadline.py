"""A sweep that has a time to end by."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sweep_helpers import FAULTY, FAULTY_METHODS, Silent, leftovers, regrets, tiny_plan

from dglbench.runs.store import read_record, run_folders
from dglbench.sweep.execute import run_sweep
from dglbench.training.train import warm_process

SLOW = {"methods": "slow", "tasks": "matching-4", "seeds": "1,2,3", "epochs": 8}
"""A run takes 8 × 0.15 s at least."""


@pytest.fixture(autouse=True)
def _slow(installed: Callable[..., None]) -> None:
    installed("faulty", FAULTY, methods=FAULTY_METHODS)
    warm_process()  # its imports are not part of a run


def test_runs_that_are_not_ready_count_as_not_made(tmp_path: Path) -> None:
    plan, listener = tiny_plan(tmp_path, **SLOW), Silent()
    began = time.monotonic()
    end = run_sweep(plan, listener, deadline=began + 2)
    assert time.monotonic() - began < 10
    assert not end.interrupted
    assert "the time is up; what runs ends early." in listener.told
    records = [read_record(folder) for folder in run_folders(tmp_path)]
    assert {record.state for record in records} <= {"done"}
    made = len(records)
    assert made < 3

    again = run_sweep(tiny_plan(tmp_path, **SLOW), Silent())
    assert again.counts["skipped"] == made
    assert again.counts["done"] == 3 - made
    assert len(regrets(tmp_path)) == 3
    assert leftovers(tmp_path) == []


def test_a_limit_of_a_run_that_is_shorter_stays_a_limit(tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path, **{**SLOW, "seeds": "1", "time_limit": 0.3})
    end = run_sweep(plan, Silent(), deadline=time.monotonic() + 60)
    assert end.counts == {"timeout": 1}

"""What the sweep tests share: tiny sweeps, methods that misbehave, reading what is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dglbench.runs.store import read_record, run_folders
from dglbench.sweep import Plan, plan_sweep, read_request

TINY = {
    "tasks": "matching-4,knapsack-6",
    "methods": "two-stage,spo,dgl-none,dgl-auto",
    "solver": "batched",
    "epochs": 2,
    "set": {"train": 8, "val": 8, "test": 8},
}

FAULTY = """
import os, time
from dataclasses import dataclass
import torch
from dglbench.methods.two_stage import TwoStage

class Raises(TwoStage):
    summary = "raises"
    def loss(self, batch):
        raise RuntimeError("the plugin is broken")

class Nans(TwoStage):
    summary = "returns NaN"
    def loss(self, batch):
        return super().loss(batch) * float("nan")

class Hangs(TwoStage):
    summary = "never returns"
    def loss(self, batch):
        open(os.environ["HANGS"], "w").close()
        while True:
            try:
                time.sleep(0.05)
            except Exception:
                pass

class Stubborn(TwoStage):
    summary = "never returns, and does not hear the first Ctrl-C"
    def loss(self, batch):
        open(os.environ["HANGS"], "w").close()
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            time.sleep(60)

class Slow(TwoStage):
    summary = "takes its time"
    def loss(self, batch):
        time.sleep(0.15)
        return super().loss(batch)

class Dies(TwoStage):
    summary = "ends its process"
    def loss(self, batch):
        os._exit(9)

class DiesOnce(TwoStage):
    summary = "ends its process the first time"
    def loss(self, batch):
        mark = os.environ["DIES_ONCE"]
        if not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(9)
        return super().loss(batch)
"""

FAULTY_METHODS = {
    "raises": "faulty:Raises",
    "nans": "faulty:Nans",
    "hangs": "faulty:Hangs",
    "stubborn": "faulty:Stubborn",
    "slow": "faulty:Slow",
    "dies": "faulty:Dies",
    "dies-once": "faulty:DiesOnce",
}


def tiny_plan(out: Path, **wishes: Any) -> Plan:
    flags = read_request({**TINY, **wishes}, "the test")
    return plan_sweep(flags, preset=None, config=None, out=out)


def words(**wishes: Any) -> list[str]:
    """Write wishes as command-line words."""
    found = []
    for key, value in {**TINY, **wishes}.items():
        if isinstance(value, dict):
            found += [part for k, v in value.items() for part in (f"--{key}", f"{k}={v}")]
        elif value is True:
            found.append(f"--{key.replace('_', '-')}")
        elif value is not None:
            found += [f"--{key.replace('_', '-')}", str(value)]
    return found


class Silent:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.started_keys: list[str] = []
        self.ends: list[tuple[str, str]] = []

    def begin(self, total: int, left_s: float | None) -> None:
        self.total = total

    def started(self, job: Any) -> None:
        self.started_keys.append(job.key)

    def news(self, key: str, news: Any) -> None:
        pass

    def ended(self, spec: Any, state: str, status: Any) -> None:
        self.ends.append((spec.run_id, state))

    def left(self, seconds: float | None) -> None:
        pass

    def tell(self, sentence: str) -> None:
        self.told.append(sentence)


def regrets(out: Path) -> dict[str, Any]:
    """Every run's regrets to the last bit, epoch by epoch."""
    found = {}
    for folder in sorted(out.iterdir()):
        if (folder / "regret.parquet").is_file():
            table = pq.read_table(folder / "regret.parquet")
            found[folder.name] = table.drop_columns(["elapsed_s"]).to_pylist()
    return found


def states(out: Path) -> dict[str, str]:
    """Method to status; one seed and setting only."""
    found = {}
    for folder in run_folders(out):
        record = read_record(folder)
        found[record.identity.method] = record.state
    return found


def leftovers(out: Path) -> list[str]:
    """What a sweep should not leave behind."""
    return [str(path) for path in out.rglob(".*")]


def wait_for(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not happen")
        time.sleep(0.02)

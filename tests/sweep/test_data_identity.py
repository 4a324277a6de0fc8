"""A run belongs to the data it was trained on, wherever they came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SOURCE = """
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from dglbench.problem import Problem
from dglbench.task import Dataset, Task, TaskSpec, split_sizes_to_rows


@dataclass(frozen=True)
class FileSettings:
    n: int = 3


class FromFile(Task):
    name, summary, sizes, Settings = "from-file", "values from a file", (3,), FileSettings

    def generate(self, settings, seed):
        labels = np.load(Path(__file__).with_name("labels.npy"))
        split = split_sizes_to_rows((6, 3, 3), np.arange(12))
        features = np.random.default_rng(0).normal(size=(12, settings.n, 2))
        problem = self.problem(settings, {})
        return Dataset(TaskSpec(self.name, settings, seed), problem, {}, features, labels, split)

    def problem(self, settings, constants):
        return Problem.build(np.tile([0.0, 1.0], (1, settings.n, 1)), [1.0])

    def predictor(self, dataset):
        from torch import float64, nn

        return nn.Linear(2, 2, dtype=float64)
"""


def test_data_that_changed_are_trained_on_anew(
    start: Any, tmp_path: Path, make_plugin: Any
) -> None:
    root = make_plugin("filed", SOURCE, tasks={"from-file": "filed:FromFile"})
    labels = np.random.default_rng(1).normal(size=(12, 3, 2))
    np.save(root / "labels.npy", labels)
    out = tmp_path / "out"
    command = ("sweep", "--tasks", "from-file-3", "--methods", "two-stage,spo", "--epochs", "2",
               "--out", out, "--json")  # fmt: skip

    def counts() -> dict[str, int]:
        process = start(*command, env={"PYTHONPATH": root})
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        return dict(json.loads(output)["counts"])

    assert counts() == {"done": 2}
    assert counts() == {"skipped": 2}
    np.save(root / "labels.npy", labels + 1e-9)
    assert counts() == {"done": 2}, "other data, other runs"
    np.save(root / "labels.npy", labels)
    assert counts() == {"skipped": 2}, "the first data's runs are still there"
    assert len(list(out.glob("from-file-3-*"))) == 4


def test_data_that_change_between_plan_and_run_are_refused(tmp_path: Path) -> None:
    from dglbench.data import loading
    from dglbench.errors import DatasetError
    from dglbench.plugins import find_task
    from dglbench.sweep.request.defaults import resolve_data

    data = resolve_data(find_task("matching"), {"n": 3, "train": 2, "val": 2, "test": 2}, 1)
    with pytest.raises(DatasetError, match="not those that the run was planned with"):
        loading.load_dataset(data, "0" * 64)

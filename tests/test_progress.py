"""What Python callers see of runs and sweeps where a notebook cannot show bars."""

import sys
import warnings

import pytest
from rich.console import Console

import dglbench

SMALL = {"train": 10, "val": 6, "test": 6}


@pytest.fixture(autouse=True)
def notebook_without_widgets(monkeypatch):
    monkeypatch.setattr("rich._console", Console(force_jupyter=True))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # as if it were not installed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_a_run_prints_a_line_for_every_tenth_of_its_epochs(capsys, tmp_path):
    dglbench.train("matching-10", "dgl-2", set=SMALL, epochs=20, solver="batched", progress=True)
    lines = [line for line in capsys.readouterr().out.splitlines() if ": epoch " in line]
    assert len(lines) == 10
    assert ": epoch 2 of 20, validation regret 0." in lines[0]
    assert ": epoch 20 of 20" in lines[-1]


def test_a_sweep_prints_a_line_for_every_run(capsys, tmp_path):
    dglbench.run_many(
        tasks=["matching-10"], methods=["two-stage", "dgl-2"], set=SMALL, seeds=[1],
        epochs=2, solver="batched", out=tmp_path, progress=True,
    )  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[-2:]] == ["1 of 2 runs", "2 of 2 runs"]

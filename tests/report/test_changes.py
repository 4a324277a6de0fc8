"""What changed between two result sets."""

import numpy as np
import pytest
from make_logs import Options, make_folder, make_run

from dglbench.errors import ReportError
from dglbench.report import load
from dglbench.report.tables.changes import changes, epoch_ratio

SETTINGS = [("matching", 10, 25), ("matching", 50, 25)]


def folders(tmp_path, **after):
    for name, rest in (("before", {}), ("after", after)):
        make_folder(tmp_path / name, ["spo", "dgl-1"], SETTINGS, epochs=4, **rest)
    return load(tmp_path / "before"), load(tmp_path / "after")


def test_the_same_runs_are_the_same(tmp_path):
    sheet = changes(*folders(tmp_path))
    assert [row["verdict"] for row in sheet.records()] == ["the same"] * 4
    assert all(row["change"] == row["low"] == row["high"] == 0 for row in sheet.records())
    assert all(row["epoch"] == pytest.approx(1) for row in sheet.records())
    assert all(row["unlike"] == "—" for row in sheet.records())


def test_a_change_beyond_chance_is_called_so_with_what_was_not_alike(tmp_path):
    pair = folders(
        tmp_path, regret_factor=0.5, options=Options(lr=0.5), source="1" * 12,
        environment={"threads": 2, "versions": {"dglbench": "0.2.0"}},
    )  # fmt: skip
    for row in changes(*pair).records():
        assert row["verdict"] == "lower"
        assert row["low"] <= row["change"] <= row["high"] < 0
        assert row["unlike"] == "lr 0.01 → 0.5; code; threads 1 → 2; dglbench 0.1.0 → 0.2.0"
    assert all("†" in row[7].text for row in changes(*pair).rows)


def test_what_is_in_one_folder_only_is_counted(tmp_path):
    before, _ = folders(tmp_path)
    make_run(tmp_path / "after", "qptl", n=10, epochs=4)
    assert any("only in the second: 1 cell." in note
               for note in changes(before, load(tmp_path / "after")).notes)  # fmt: skip


def test_nothing_in_common_is_said(tmp_path):
    make_run(tmp_path / "a", "spo", epochs=2)
    make_run(tmp_path / "b", "qptl", epochs=2)
    with pytest.raises(ReportError, match="no setting and method in common"):
        changes(load(tmp_path / "a"), load(tmp_path / "b"))


def test_the_ratio_of_epochs_has_an_interval():
    before, after = np.full(40, 2.0), np.tile([0.9, 1.1], 20)
    ratio = epoch_ratio(before, after)
    assert ratio.times == pytest.approx(0.5)
    assert ratio.low < 0.5 < ratio.high
    assert ratio.high - ratio.low < 0.05
    assert epoch_ratio(None, after) is None

"""``choose=last``: the last epoch counts, with or without validation instances."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

import dglbench
from dglbench.errors import OptionError, SweepError
from dglbench.plugins import find_task
from dglbench.report.loading import load
from dglbench.report.statistics.curves import curves
from dglbench.runs.protocol import Protocol

SMALL = {"n": 3, "train": 20, "source": "published"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two methods on two published runs, without validation instances."""
    out = tmp_path_factory.mktemp("published")
    dglbench.run_many(
        tasks=["shortest-path"],
        methods=["two-stage", "spo", "dgl-1"],
        set=SMALL,
        seeds=[0, 1],
        solver="batched",
        epochs=4,
        evaluate_every=2,
        out=out,
    )
    return out


def test_the_last_epoch_counts_whatever_its_regret():
    asked = {"n": 5, "train": 24, "val": 8, "test": 8}
    trained = {
        choose: dglbench.train(
            "matching",
            "spo",
            set=asked,
            option={"lr": 0.5},
            solver="batched",
            epochs=6,
            evaluate_every=1,
            choose=choose,
        )
        for choose in ("best", "last")
    }
    logged = trained["best"].tables["regret"].filter(split="val")["relative_regret"].to_list()
    assert logged.index(min(logged)) < 6, "the last epoch is not the best here"
    assert trained["best"].selected.epoch == logged.index(min(logged))
    assert trained["last"].selected.epoch == 6
    assert trained["last"].selected.val.relative_regret == logged[-1]
    assert trained["last"].record.run_id != trained["best"].record.run_id
    assert trained["best"].weights != trained["last"].weights


def test_runs_without_validation_instances_are_done_and_have_their_test_figures(folder):
    report = load(folder)
    assert len(report.done) == 6
    for run in report.done:
        summary = run.record.summary
        assert summary.selected.epoch == 4
        assert summary.selected.val is None
        assert summary.instances == {"train": 20, "val": 0, "test": 1000}
        assert run.choose == "last"
        regret = report.table("regret", [run])
        assert set(regret["split"]) == {"test"}
        assert any("no validation instances" in remark for remark in summary.remarks)


def test_pooled_regret_has_the_published_denominator(folder):
    run = load(folder).done[0]
    decisions = load(folder).table("decisions", [run])
    expected = decisions["regret"].sum() / (decisions["optimal_value"].abs().sum() + 1e-3)
    test = run.record.selected.test
    assert test.pooled_regret == pytest.approx(expected, rel=1e-12)
    low, high = test.pooled_regret_ci
    assert low <= test.pooled_regret <= high


def test_curves_follow_every_epoch_where_the_last_counts(folder):
    frame = curves(load(folder))
    assert frame["epoch"].to_list() == [0, 2, 4] * 6
    assert (frame["best_epoch"] == frame["epoch"]).all()
    assert (frame["best_test_regret"] == frame["test_regret"]).all()


def test_frames_say_which_epoch_counts(folder):
    runs = dglbench.load(folder).runs
    assert runs["choose"].to_list() == ["last"] * 6
    assert runs["val_regret"].null_count() == 6
    assert runs["chosen"].all()


def test_the_report_is_made_without_validation_instances(folder, tmp_path):
    tables = ("--table", "all", "--format", "csv", "--out", str(tmp_path / "tables"))
    for asked in (tables, ("--html", str(tmp_path / "page.html"))):
        done = run("report", str(folder), *asked)
        assert done.returncode == 0, done.stderr
    for file in (tmp_path / "tables").iterdir():
        assert "nan" not in file.read_text().lower().replace("instan", "").split(","), file
    assert "the last epoch counts" in (tmp_path / "page.html").read_text()


def test_the_command_line_shows_the_last_epoch(tmp_path):
    settings = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    asked = ["train", "shortest-path", "--method", "spo", *settings, "--seed", "2"]
    asked += ["--solver", "batched", "--epochs", "2", "--out", str(tmp_path / "results")]
    shown = run(*asked)
    assert shown.returncode == 0, shown.stderr
    assert "last epoch" in shown.stdout
    assert "no validation instances" in shown.stdout
    document = json.loads(run(*asked, "--json").stdout)
    assert document["identity"]["protocol"]["choose"] == "last"
    assert math.isfinite(document["summary"]["selected"]["test"]["pooled_regret"])
    refused = run(*asked, "--choose", "best")
    assert refused.returncode != 0
    assert "has no validation instances" in refused.stderr
    assert "--choose last" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_best_needs_validation_instances():
    with pytest.raises(OptionError, match=r"has no validation instances.*write --choose last"):
        dglbench.train("shortest-path", "spo", set={"n": 3, "train": 9, "val": 0}, solver="batched")


def test_a_search_needs_validation_instances(tmp_path):
    with pytest.raises(SweepError, match="a search chooses by them"):
        dglbench.run_many(
            tasks=["shortest-path"], methods=["spo"], set=SMALL, seeds=[0], solver="batched",
            search="full", out=tmp_path,
        )  # fmt: skip
    assert not list(tmp_path.iterdir())


def test_a_fixed_number_of_epochs_has_no_patience():
    with pytest.raises(ValueError, match="patience must be none, got 3"):
        Protocol(choose="last", patience=3)


def test_published_data_imply_the_last_epoch():
    task = find_task("shortest-path")
    assert task.protocol(task.parse_settings({"source": "published"})) == {"choose": "last"}
    assert task.protocol(task.parse_settings({})) == {}


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "dglbench", *arguments], capture_output=True, text=True, check=False
    )

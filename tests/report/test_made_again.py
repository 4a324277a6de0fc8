"""Runs that can be made again: their commands, and whether their options are defaults."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from make_logs import make_run
from record_files import read_document

from dglbench.cli import main
from dglbench.methods.defaults import DEFAULTS_FOUND
from dglbench.report import load
from dglbench.report.commands import reproduce, retime
from dglbench.report.tables import build


def real_run(tmp_path: Path, method: str, **given) -> tuple[Path, str]:
    """Write a run with a true spec (invented numbers); return its folder and id."""
    from dglbench.runs.record import RunOutput, RunRecord
    from dglbench.runs.store import write_run
    from dglbench.sweep.request.specs import single_run

    spec = single_run(
        "matching",
        method,
        settings={"n": 4, "slack": 0.5, "train": 6, "val": 4, "test": 4},
        seed=95,
        options=given,
        solver="batched",
        epochs=2,
        warm_start_epochs=2,
    )
    donor = make_run(tmp_path / "donor", "spo", n=4)
    tables = {file.stem: pq.read_table(file) for file in donor.glob("*.parquet")}
    document = {**read_document(donor), "run_id": spec.run_id, "identity": spec.identity}
    out = tmp_path / "results"
    write_run(RunOutput(RunRecord.parse(document), tables), out)
    return out, spec.run_id


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("spo", {"oracle": "decide"}),
        ("dgl-5", {"tau": 0.7}),
        ("two-stage", {}),
        ("qptl", {"mu": 3}),
    ],
)
def test_the_command_behind_a_run_makes_the_same_run(tmp_path, monkeypatch, method, given):
    out, run_id = real_run(tmp_path, method, **given)
    monkeypatch.chdir(tmp_path)
    (command,) = reproduce(load(out))
    assert main(shlex.split(command)[1:]) == 0
    (again,) = load(tmp_path / "again").runs
    assert again.run_id == run_id


def test_like_takes_changes(tmp_path):
    out, run_id = real_run(tmp_path, "dgl-5", tau=0.7)
    again = ["train", "--like", str(out / run_id), "--out", str(tmp_path / "again")]
    assert main([*again, "--epochs", "1", "--lr", "0.5"]) == 0
    (changed,) = load(tmp_path / "again").runs
    assert changed.options == {**load(out).runs[0].options, "lr": 0.5}
    assert changed.protocol["epochs"] == 1
    assert changed.identity.settings["slack"] == 0.5


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["matching", "--like", "{run}"], "--like names the task already; leave out matching."),
        ([], "name a task, such as matching, a dataset file with --data, or a run to repeat"),
        (["--like", "{run}/nowhere"], "holds no run that can be read"),
    ],
)
def test_what_like_cannot_take_is_said(tmp_path, capfd, words, sentence):
    out, run_id = real_run(tmp_path, "spo")
    assert main(["train", *(word.format(run=out / run_id) for word in words)]) == 2
    assert sentence in " ".join(capfd.readouterr().err.split())


def test_the_retime_command_makes_the_same_runs_elsewhere(tmp_path):
    out, spo = real_run(tmp_path, "spo", lr=0.5)
    _, dgl = real_run(tmp_path, "dgl-1", tau=0.7)
    report = load(out)
    command = retime(report, report.units[:1]).replace("dglbench", f"{sys.executable} -m dglbench")
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    assert {run.run_id for run in load(tmp_path / "results-timed").runs} == {spo, dgl}


def test_a_sweep_is_reproduced_by_its_own_file_other_runs_by_theirs(tmp_path):
    swept = make_run(tmp_path, "spo")
    make_run(tmp_path, "dgl-1")
    (tmp_path / "sweep-abc.toml").write_text('methods = ["spo"]\n')
    (tmp_path / "sweep-abc.json").write_text(json.dumps({"groups": [{"run_id": swept.name}]}))
    first, second = reproduce(load(tmp_path))
    assert first == "dglbench sweep --config sweep-abc.toml --out again"
    assert second.startswith("dglbench train --like ")
    assert "-dgl-1-" in second


def test_tables_say_whose_options_are_defaults_and_how_these_were_found(tmp_path):
    out, _ = real_run(tmp_path, "spo")
    real_run(tmp_path, "dgl-5")
    for name in ("leaderboard", "selected"):
        (note,) = (note for note in build(name, load(out)).notes if DEFAULTS_FOUND in note)
        assert note.startswith("untuned: all methods (")
    real_run(tmp_path, "qptl", mu=3)
    (note,) = (n for n in build("leaderboard", load(out)).notes if DEFAULTS_FOUND in n)
    assert note.startswith("untuned: SPO+ and DGL-5 (")
    tuned, _ = real_run(tmp_path / "tuned", "spo", lr=0.5)
    assert not any(DEFAULTS_FOUND in n for n in build("leaderboard", load(tuned)).notes)

"""``dglbench train`` as users run it: a real process, its files and its exit codes."""

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
import torch
from record_files import read_document

SMALL = ["matching", "--n", "6", "--set", "train=24", "--set", "val=12", "--set", "test=12"]
COMMAND = [sys.executable, "-m", "dglbench"]


def dglbench(*arguments, cwd, **keywords):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        **keywords,
    )


def train(*arguments, cwd):
    return dglbench("train", *SMALL, "--solver", "batched", "--epochs", "3", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("train")
    first = train("--method", "dgl-5", "--lr", "0.01", "--tau", "0.1", "--diagnostics", cwd=path)
    assert first.returncode == 0, first.stderr
    return path, first


def test_it_ends_with_a_summary_and_a_run_folder(folder):
    path, first = folder
    assert "test relative regret" in first.stdout
    assert "instances solved" in first.stdout
    assert "warm start" in first.stdout
    (run,) = (path / "results").glob("matching-6-s25-dgl-5-*")
    names = {file.name for file in run.iterdir()}
    assert names == {
        "run.json", "timing.parquet", "regret.parquet",
        "decisions.parquet", "duals.parquet", "bound.parquet",
        "theorem2.parquet", "weights.pt",
    }  # fmt: skip
    record = read_document(run)
    assert record["status"]["state"] == "done"
    assert set(record["files"]) == names - {"run.json"}
    torch.load(run / "weights.pt", weights_only=True)
    assert pq.read_table(run / "decisions.parquet").num_rows == 12
    assert record["identity"]["options"] == {
        "lr": 0.01, "start": "warm", "tau": 0.1, "alpha": 0.0, "form": "adjusted", "U": 5,
    }  # fmt: skip
    assert {"versions", "cpu", "threads", "load_1min", "concurrency"} <= set(record["environment"])
    assert not list((path / "results").glob(".partial*"))


def test_repeats_are_runs_of_their_own_and_the_best_is_shown(tmp_path):
    words = ("--method", "spo", "--option", "start=fresh", "--repeats", "3")
    first = train(*words, "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert list(document) == ["runs"]
    assert [run["identity"]["train_seed"] for run in document["runs"]] == [0, 1, 2]
    val = [run["summary"]["selected"]["val"]["relative_regret"] for run in document["runs"]]
    assert len(set(val)) == 3
    best = document["runs"][val.index(min(val))]
    shown = train(*words, cwd=tmp_path)
    assert shown.returncode == 0
    assert f"the best by validation is repeat {best['identity']['train_seed']}" in shown.stderr
    assert best["run"] in shown.stderr
    assert shown.stderr.count("exists already") == 3
    alone = train(*words[:4], "--train-seed", "2", "--json", cwd=tmp_path)
    assert json.loads(alone.stdout)["existed"] is True, "repeat 2 is training seed 2"
    once = train(*words[:4], "--repeats", "1", "--json", cwd=tmp_path)
    assert json.loads(once.stdout)["run_id"] == document["runs"][0]["run_id"]


def test_repeats_and_a_training_seed_are_refused_together(tmp_path):
    outcome = train("--repeats", "3", "--train-seed", "1", cwd=tmp_path)
    assert outcome.returncode == 2
    assert "keep one of the two" in outcome.stderr
    assert not (tmp_path / "results").exists()


def test_ctrl_c_ends_all_repeats(tmp_path):
    command = [*COMMAND, "train", *SMALL, "--method", "spo", "--epochs", "100000",
               "--evaluate-every", "10", "--repeats", "3"]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while "epoch" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(list((tmp_path / "results").glob("*/run.json"))) == 1


def test_the_same_spec_is_shown_and_force_redoes_it(folder):
    path, _ = folder
    (run,) = (path / "results").glob("matching-6-s25-dgl-5-*")
    before = (run / "run.json").stat().st_mtime_ns
    options = ("--method", "dgl-5", "--lr", "0.01", "--tau", "0.1")
    again = train(*options, "--json", cwd=path)
    assert again.returncode == 0
    assert "exists already" in again.stderr
    document = json.loads(again.stdout)
    assert document["existed"] is True
    assert document["summary"]["selected"]["test"]["relative_regret"] >= 0
    assert (run / "run.json").stat().st_mtime_ns == before
    forced = train(*options, "--force", "--json", cwd=path)
    assert json.loads(forced.stdout)["existed"] is False
    assert (run / "run.json").stat().st_mtime_ns > before
    key = ("summary", "selected", "test", "relative_regret")
    values = []
    for text in (again.stdout, forced.stdout):
        value = json.loads(text)
        for part in key:
            value = value[part]
        values.append(value)
    assert values[0] == values[1]


def test_it_trains_on_a_dataset_file(tmp_path):
    made = dglbench("generate", "matching", "--n", "6", *SMALL[3:], "--out", "d.parquet",
                    cwd=tmp_path)  # fmt: skip
    assert made.returncode == 0, made.stderr
    run = dglbench("train", "matching", "--data", "d.parquet", "--method", "two-stage",
                   "--epochs", "2", "--json", cwd=tmp_path)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["identity"]["data_digest"]
    mixed = dglbench("train", "matching", "--data", "d.parquet", "--n", "6", cwd=tmp_path)
    assert mixed.returncode == 2
    wrong = dglbench("train", "knapsack", "--data", "d.parquet", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "holds matching-6 data" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--method", "spo", "--tau", "1"], "it has lr, start, oracle"),
        (["--method", "dgl-x"], "there is no method 'dgl-x'"),
        (["--method", "dgl-U"], "needs a number"),
        (["--method", "dgl-1", "--lr", "0"], "lr must be a number > 0, got 0.0"),
        (["--solver", "gurobi"], "there is no solver 'gurobi'; there are batched, ortools"),
        (["--epochs", "0"], "epochs must be a whole number ≥ 1"),
        (["--threads", "0"], "'--threads': Input should be greater"),
        (["--seed", "-1"], "'--seed': Input should be greater"),
        (["--data", "nowhere.parquet"], "leave out --n"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(tmp_path, cli, arguments, sentence):
    outcome = cli("train", *SMALL, *arguments)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert not outcome.out
    assert not list(tmp_path.iterdir())


def test_ctrl_c_writes_what_there_is_and_exits_130(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "train", *SMALL, "--solver", "batched", "--epochs", "100000", "--method",
         "dgl-1"],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    lines = iter(process.stderr.readline, "")  # the first progress line: training is under way
    assert any(line.startswith("epoch") or " epoch " in line for line in lines)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    (run,) = (tmp_path / "results").glob("matching-6-*")
    assert read_document(run)["status"]["state"] == "interrupted"
    assert pq.read_table(run / "timing.parquet").num_rows > 1
    assert "Traceback" not in errors

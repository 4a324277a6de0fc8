"""Own data train, sweep, resume, report and apply like a bundled task's."""

import json

import numpy as np
import polars as pl
import pytest
import torch

from dglbench.data.dataset_file import write_dataset
from dglbench.data.imported import Own
from dglbench.data.importing import import_arrays
from dglbench.errors import DatasetError, RunError
from dglbench.plugins import find_task
from dglbench.runs.selection import best_record, validation_regret
from dglbench.runs.store import read_record, run_folders
from dglbench.streams import stream
from dglbench.training.apply import load_predictor
from dglbench.training.warm_start import fresh_predictor

K = 40


def arrays(*, per, items=False):
    """Labels that the features tell nearly everything about, in whichever layout is asked for."""
    draws = stream(11, "own data tests", per)
    shape = {"instance": (K, 7), "group": (K, 4, 7), "option": (K, 4, 3, 7)}[per]
    features = draws.normal(size=shape)
    labels = {
        "instance": lambda: np.repeat(features[:, :4, None], 3, axis=2) * [1.0, 2.0, 3.0],
        "group": lambda: features[:, :, :3],
        "option": lambda: features[..., 0],
    }[per]()
    labels = 500 + 100 * labels + draws.normal(size=labels.shape)
    if items:
        return {"features": features, "labels": labels[:, :, 0], "A": np.ones((1, 4)), "b": [2.0]}
    return {"features": features, "labels": labels, "A": np.eye(3), "b": [2.0, 2.0, 2.0]}


@pytest.fixture
def own_file(tmp_path):
    """Write a dataset file of own data under data/."""

    def write(name="mine", **layout):
        path = tmp_path / "data" / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        write_dataset(import_arrays(arrays(**layout), name=name), path)
        return f"data/{name}.parquet"

    return write


@pytest.mark.parametrize("predictor", ["linear", "mlp", "mlp:hidden=5,layers=2"])
@pytest.mark.parametrize("items", [False, True])
@pytest.mark.parametrize("per", ["instance", "group", "option"])
def test_the_predictor_follows_the_shape_of_the_features(per, items, predictor):
    if items and per == "option":
        pytest.skip("an item has one value to predict")
    dataset = import_arrays(arrays(per=per, items=items))
    network = fresh_predictor(predictor, Own(), dataset)
    answer = network(torch.from_numpy(dataset.features)).detach().numpy()
    assert answer.shape == dataset.labels.shape
    # In label units from the start: around 500, not around 0.
    assert 200 < dataset.problem.pack(answer).mean() < 800


@pytest.mark.parametrize("given", ["hidden=5", "predictor=mlp"])
def test_what_was_a_setting_names_the_flag(cli, own_file, given):
    outcome = cli("train", "--data", own_file(per="group"), "--set", given)
    assert outcome.code == 2
    assert "write --predictor mlp" in outcome.err


def test_train_needs_no_task_and_learns(cli, own_file, tmp_path):
    file = own_file(per="group")
    words = ("train", "--data", file, "--method", "dgl-none", "--epochs", "2", "--json")
    first = json.loads(cli(*words).out)
    assert first["identity"]["task"] == "own"
    assert first["run_id"].startswith("mine-s0-dgl-none-")
    assert first["summary"]["selected"]["test"]["relative_regret"] < 0.02
    again = cli(*words)
    assert "this run exists already" in again.err
    like = cli("train", "--like", f"results/{first['run_id']}", "--data", file, "--json")
    assert json.loads(like.out)["run_id"] == first["run_id"]
    other = json.loads(cli(*words, "--predictor", "mlp").out)
    assert other["identity"]["data_digest"] == first["identity"]["data_digest"]
    assert other["run_id"] != first["run_id"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("train", "--data", "FILE", "--set", "n=3"),
            "so n cannot be set",
        ),
        (("train", "--data", "FILE", "--seed", "3"), "leave out --n and --seed"),
        (("train", "matching", "--data", "FILE"), "holds mine data; leave out matching"),
        (("train", "own"), "own data are not generated"),
        (("sweep", "--tasks", "own", "--plan"), "own data are not generated"),
        (("sweep", "--data", "FILE", "--seeds", "1", "--plan"), "write --train-seeds"),
        (("sweep", "--data", "nothing.parquet", "--plan"), "there is no dataset file"),
        (("sweep", "--data", "mine.npz", "--plan"), "arrays with dglbench import mine.npz."),
        (
            ("train", "--data", "."),
            "is not a dataset file; make one from your arrays with dglbench",
        ),
        (("sweep", "--data", "FILE", "--set", "yours.n=3", "--plan"), "'yours', which"),
        (("sweep", "--data", "FILE", "--train-seeds", "-1", "--plan"), "train_seeds must be"),
        (
            ("train", "--data", "FILE", "--train-seed", "-1"),
            "'--train-seed': Input should be greater",
        ),
    ],
)
def test_what_cannot_be_asked_of_own_data_is_said(cli, own_file, tmp_path, words, sentence):
    file = own_file(per="group")
    np.savez(tmp_path / "mine.npz", **arrays(per="group"))
    outcome = cli(*(file if word == "FILE" else word for word in words))
    assert outcome.code == 2
    assert sentence in outcome.err


def test_a_sweep_takes_several_files_and_resumes(cli, own_file):
    files = ("--data", own_file("one", per="group"), "--data", own_file("two", per="option"))
    few = ("--methods", "two-stage,dgl-1", "--epochs", "1", "--json", "--out", "out")
    words = ("sweep", *files, *few, "--predictor", "linear", "--predictor", "mlp:hidden=8")
    first = json.loads(cli(*words).out)
    assert first["counts"] == {"done": 8}
    assert {group["setting"] for group in first["groups"]} == {"one", "two"}
    predictors = {(group["setting"], group["predictor"]) for group in first["groups"]}
    assert predictors == {(s, p) for s in ("one", "two") for p in ("linear", "mlp:hidden=8")}
    assert json.loads(cli(*words).out)["counts"] == {"skipped": 8}
    saved = cli("sweep", "--config", first["config"], "--out", "out", "--json")
    assert json.loads(saved.out)["counts"] == {"skipped": 8}
    report = cli("report", "out")
    assert report.code == 0
    assert "one" in report.out


def test_a_sweep_of_a_file_that_changed_says_so(cli, own_file, tmp_path):
    file = own_file(per="group")
    words = ("sweep", "--methods", "two-stage", "--epochs", "1", "--out", "out", "--json")
    config = json.loads(cli(*words, "--data", file).out)["config"]
    write_dataset(import_arrays(arrays(per="option"), name="mine"), tmp_path / file)
    changed = cli("sweep", "--config", config, "--out", "out", "--plan")
    assert changed.code == 2
    assert "holds other data than this sweep was made with" in changed.err
    assert json.loads(cli(*words, "--data", file, "--plan").out)["to_run"] == 1


def test_a_search_works_as_for_a_bundled_task(cli, own_file):
    file = own_file(per="group", items=True)
    words = ("sweep", "--data", file, "--methods", "two-stage", "--search", "full")
    outcome = json.loads(cli(*words, "--epochs", "1", "--json").out)
    (group,) = outcome["groups"]
    assert group["configurations"] == 3


@pytest.mark.slow
def test_workers_are_sent_the_data_of_a_file(process, own_file):
    words = ("sweep", "--data", own_file(per="group"), "--methods", "two-stage,dgl-none")
    more = ("--epochs", "1", "--train-seeds", "0,1", "--executor", "dask", "--json")
    outcome = process(*words, *more)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["counts"] == {"done": 4}


def test_training_seeds_repeat_a_training_on_the_same_data(cli, tmp_path):
    words = ("sweep", "--tasks", "matching-6", "--seeds", "3", "--methods", "two-stage,dgl-none",
             "--set", "train=20", "--set", "val=10", "--set", "test=10", "--solver", "batched",
             "--epochs", "2", "--batch-size", "8", "--json")  # fmt: skip
    plain = json.loads(cli(*words, "--out", "plain").out)
    repeated = json.loads(cli(*words, "--out", "repeated", "--train-seeds", "0,1").out)
    runs = {(g["method"], g["train_seed"]): g["run_id"] for g in repeated["groups"]}
    assert {g["run_id"] for g in plain["groups"]} == {
        run_id for (_, train_seed), run_id in runs.items() if train_seed == 0
    }
    regrets = {
        key: pl.read_parquet(tmp_path / "repeated" / run_id / "regret.parquet").drop("elapsed_s")
        for key, run_id in runs.items()
    }
    for group in plain["groups"]:
        before = pl.read_parquet(tmp_path / "plain" / group["run_id"] / "regret.parquet")
        before = before.drop("elapsed_s")
        assert before.equals(regrets[group["method"], 0])
        assert not before["mse"].equals(regrets[group["method"], 1]["mse"])
    report = json.loads(cli("report", "repeated", "--json").out)
    board = report["tables"]["leaderboard"]["rows"]
    assert {row["setting"] for row in board} == {"matching-6"}, "a repeat is not a setting"


def test_what_a_run_learnt_is_applied(cli, own_file, tmp_path):
    file = own_file(per="group", items=True)
    trained = cli("train", "--data", file, "--method", "dgl-none", "--epochs", "1", "--json")
    run = f"results/{json.loads(trained.out)['run_id']}"
    new = stream(5, "new").normal(size=(3, 4, 7))
    np.savez(tmp_path / "new.npz", features=new)
    assert cli("apply", run, "--data", "new.npz", "--out", "plan.csv").code == 0
    plan = pl.read_csv(tmp_path / "plan.csv")
    assert plan.columns == ["instance", "item", "predicted", "chosen"]
    assert plan.height == 12
    # Exact for the problem: the two items that are predicted to be worth most.
    best = plan.sort("instance", "predicted", descending=[False, True])
    assert best.group_by("instance", maintain_order=True).head(2)["chosen"].all()
    assert plan["chosen"].sum() == 6
    python = load_predictor(tmp_path / run, tmp_path / file)
    assert np.allclose(python.predict(new)[:, :, 0].ravel(), plan["predicted"])
    with pytest.raises(DatasetError, match=r"trained on \(instances, 4, 7\)"):
        python.predict(new[:, :, :6])
    again = cli("apply", run, "--data", "new.npz", "--out", "plan.csv")
    assert again.code == 2
    assert "overwrite it with --force" in again.err
    (tmp_path / file).unlink()
    with pytest.raises(RunError, match="give it with --trained-on"):
        load_predictor(tmp_path / run)


def test_capacities_of_new_instances_are_theirs(cli, tmp_path):
    given = arrays(per="group", items=True)
    capacities = np.tile([[1.0], [3.0]], (K // 2, 1))
    np.savez(tmp_path / "mine.npz", **{**given, "b": capacities})
    cli("import", "mine.npz")
    words = ("train", "--data", "data/mine.parquet", "--method", "two-stage", "--epochs", "1")
    run = f"results/{json.loads(cli(*words, '--json').out)['run_id']}"
    np.savez(tmp_path / "bare.npz", features=given["features"][:2])
    refused = cli("apply", run, "--data", "bare.npz", "--out", "plan.csv")
    assert refused.code == 2
    assert "give b by instance: one entry for each of the 2 new instances" in refused.err
    np.savez(tmp_path / "new.npz", features=given["features"][:2], b=[[2.0], [4.0]])
    assert cli("apply", run, "--data", "new.npz", "--out", "plan.csv").code == 0
    plan = pl.read_csv(tmp_path / "plan.csv")
    assert plan.group_by("instance").agg(pl.col("chosen").sum()).sort("instance")["chosen"][0] == 2


def test_a_bundled_task_s_run_is_applied_without_its_file(cli, tmp_path):
    few = ("--set", "train=20", "--set", "val=10", "--set", "test=10", "--n", "6", "--seed", "3")
    trained = cli("train", "matching", *few, "--epochs", "1", "--json", "--solver", "batched")
    record = json.loads(trained.out)
    cli("generate", "matching", *few, "--out", "new.parquet")
    words = ("apply", f"results/{record['run_id']}", "--data", "new.parquet")
    applied = cli(*words, "--out", "plan.parquet", "--json")
    assert applied.code == 0, applied.err
    plan = pl.read_parquet(tmp_path / "plan.parquet")
    picked = plan.group_by("instance", "group").agg(pl.col("chosen").cast(int).sum())
    assert picked["chosen"].unique().to_list() == [1]
    # The same predictions that the run was judged by.
    achieved = pl.read_parquet(tmp_path / "results" / record["run_id"] / "decisions.parquet")
    dataset = find_task("matching").generate(
        find_task("matching").parse_settings({"n": 6, "train": 20, "val": 10, "test": 10}), 3
    )
    chosen = plan["chosen"].to_numpy().reshape(dataset.labels.shape)
    worth = (dataset.labels * chosen).sum(axis=(1, 2))
    assert np.allclose(worth[achieved["instance"].to_numpy()], achieved["achieved_value"])
    refused = cli("apply", "data", "--data", "new.parquet", "--out", "x.csv")
    assert refused.code == 2
    assert "holds no finished run" in refused.err


def test_the_best_run_of_a_sweep_is_applied(cli, own_file, tmp_path):
    words = ("sweep", "--data", own_file(per="group"), "--methods", "two-stage,dgl-none")
    assert cli(*words, "--epochs", "2", "--out", "mine").code == 0
    records = [read_record(folder) for folder in run_folders(tmp_path / "mine")]
    best = best_record(records)
    assert best is not None
    assert min(validation_regret(record) for record in records) == validation_regret(best)
    np.savez(tmp_path / "new.npz", features=stream(5, "new").normal(size=(3, 4, 7)))
    applied = cli("apply", "mine", "--data", "new.npz", "--out", "plan.csv")
    assert applied.code == 0, applied.err
    assert f"taking {best.run_id}" in applied.out
    other = ("sweep", "--tasks", "matching-6", "--methods", "two-stage", "--set", "train=20")
    few = ("--set", "val=10", "--set", "test=10", "--epochs", "1", "--seeds", "3")
    assert cli(*other, *few, "--out", "mine").code == 0
    refused = cli("apply", "mine", "--data", "new.npz", "--out", "x.csv")
    assert refused.code == 2
    assert "holds runs on different data" in refused.err

"""A prediction is the same to the last bit whoever asks, and however many are asked at once."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import dglbench
from dglbench.plugins import find_task
from dglbench.predictors.mlp import Mlp
from dglbench.training import predictor as module
from dglbench.training.apply import load_predictor
from dglbench.training.evaluation import load_data
from dglbench.training.predictor import fresh_predictor, predict, restore

FEW = {"n": 6, "train": 40, "val": 30, "test": 30}


@pytest.fixture
def normed(monkeypatch):
    """Put batch norm in front of mlp's last layer, behind its dropout."""
    plain = Mlp.network

    def network(self, layout):
        layers = list(plain(self, layout))
        flat = nn.BatchNorm1d(layout_rows(layout))
        return nn.Sequential(*layers[:-1], flat, layers[-1])

    monkeypatch.setattr(Mlp, "network", network)


def layout_rows(layout):
    return 6  # groups of an instance stand on the channels' axis


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_apply_gives_what_evaluation_gave(normed, tmp_path, dtype):
    trained = dglbench.train(
        "matching",
        "two-stage",
        predictor="mlp:hidden=8,dropout=0.3",
        set=FEW,
        epochs=3,
        dtype=dtype,
        out=tmp_path,
        solver="batched",
    )
    assert trained.state == "done", trained.record.status.traceback
    state = torch.load(io.BytesIO(trained.weights), weights_only=True)
    assert any("num_batches_tracked" in name for name in state), "buffers are saved too"
    loaded = load_predictor(trained.folder)
    task, dataset = find_task("matching"), loaded.dataset
    judge = load_data(dataset.spec).evaluator.splits["test"]
    network = fresh_predictor("mlp:hidden=8,dropout=0.3", task, dataset)
    restore(network, trained.weights)
    evaluated = judge.predict(network.to(getattr(torch, dtype)))
    mse = float(np.mean((evaluated - judge.labels) ** 2))
    assert mse == trained.selected.test.mse, "what evaluation logged"
    test = dataset.features[dataset.rows("test")]
    assert loaded.predict(test).tobytes() == evaluated.tobytes()
    # Elsewhere in a chunk, some processors round otherwise: their kernels go by alignment.
    rounding = 1e-12 if dtype == "float64" else 1e-5
    one_by_one = np.concatenate([loaded.predict(each[None]) for each in test])
    np.testing.assert_allclose(one_by_one, evaluated, rtol=rounding, atol=rounding)
    everything = loaded.predict(dataset.features)[dataset.rows("test")]
    np.testing.assert_allclose(everything, evaluated, rtol=rounding, atol=rounding)


@pytest.mark.parametrize("task", ["shortest-path", "knapsack"])
def test_many_are_asked_in_chunks_of_one_size(task, monkeypatch):
    plugin = find_task(task)
    settings = plugin.parse_settings({"train": 300, "val": 40, "test": 40})
    dataset = plugin.generate(settings, 1)
    network = fresh_predictor("mlp", plugin, dataset)
    asked = []
    network.register_forward_pre_hook(lambda _, given: asked.append(given[0].shape[0]))
    features = torch.from_numpy(dataset.features)
    whole = predict(network, features)
    assert set(asked) == {128}
    assert len(asked) == 3
    few = torch.cat([predict(network, part) for part in torch.split(features, 7)])
    torch.testing.assert_close(few, whole, rtol=1e-12, atol=1e-12)
    monkeypatch.setattr(module, "_CHUNK_NUMBERS", 3 * features[0].numel())
    asked.clear()
    torch.testing.assert_close(predict(network, features), whole)
    assert set(asked) == {3}


MANY = """
import resource, sys
from dglbench.plugins import find_task
from dglbench.training.predictor import fresh_predictor, predict
import torch
task, name, number = find_task(sys.argv[1]), sys.argv[2], int(sys.argv[3])
dataset = task.generate(task.parse_settings({"train": 8, "val": 4, "test": 4}), 1)
network = fresh_predictor(name, task, dataset)
one = torch.from_numpy(dataset.features[:1])
predict(network, one.expand(300, *one.shape[1:]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
answers = predict(network, one.expand(number, *one.shape[1:]))
grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
assert len(answers) == number
print(grown / (answers.numel() * answers.element_size()), grown)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "predictor", "number", "most"),
    [
        # Room for the answers twice: while the parts are joined.
        ("matching", "mlp", 100_000, 2.5),
        ("knapsack", "linear", 100_000, 2.5),
        # Answers are small beside images: what the network needs for 128 of them, once.
        ("terrain", "cnn:channels=4", 1_000, 100.0),
    ],
)
def test_memory_stays_bounded_by_the_answers(task, predictor, number, most):
    words = (sys.executable, "-c", MANY, task, predictor, str(number))
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    share, _ = map(float, done.stdout.split())
    assert share < most, done.stdout


ALONE = """
import sys
import numpy as np, torch
predict = torch.export.load("model.pt2").module()
for name in ("one", "all"):
    features = torch.from_numpy(np.load(f"{name}.npy"))
    np.save(f"{name}-predicted.npy", predict(features).detach().numpy())
assert "dglbench" not in sys.modules
"""


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_an_export_runs_without_dglbench(cli, tmp_path, dtype):
    words = ("matching-6", "--method", "two-stage", "--predictor", "mlp:hidden=4,dropout=0.2")
    few = ("--set", "train=20", "--set", "val=10", "--set", "test=10", "--epochs", "2")
    run = json.loads(cli("train", *words, *few, "--dtype", dtype, "--json").out)["run_id"]
    exported = cli("apply", f"results/{run}", "--export", "model.pt2")
    assert exported.code == 0, exported.err
    trained = load_predictor(tmp_path / "results" / run)
    features = trained.dataset.features
    np.save(tmp_path / "one.npy", features[:1])
    np.save(tmp_path / "all.npy", features)
    subprocess.run(
        [sys.executable, "-I", "-c", ALONE], cwd=tmp_path, check=True, capture_output=True
    )
    for name, asked in (("one", features[:1]), ("all", features)):
        answer = np.load(tmp_path / f"{name}-predicted.npy")
        close = 1e-12 if dtype == "float64" else 1e-5
        np.testing.assert_allclose(answer, trained.predict(asked), rtol=close, atol=close)
    again = cli("apply", f"results/{run}", "--export", "model.pt2")
    assert again.code == 2
    assert "model.pt2 exists; overwrite it with --force" in again.err
    assert "must end in .pt2" in cli("apply", f"results/{run}", "--export", "model.onnx").err
    assert "say what to do with the run" in cli("apply", f"results/{run}").err


def test_export_from_python(tmp_path):
    trained = dglbench.train("shortest-path", "two-stage", set={"train": 20, "val": 9}, epochs=1)
    trained.export(tmp_path / "model.pt2")
    features = torch.from_numpy(trained.dataset.features[:9])
    answer = torch.export.load(tmp_path / "model.pt2").module()(features)
    torch.testing.assert_close(answer, trained.predictor()(features))
    assert [path.name for path in Path(tmp_path).iterdir()] == ["model.pt2"]

"""What holds for every pair of predictor and task that `dglbench list --predictors` says fits."""

import io
from typing import Any

import numpy as np
import pytest
import torch
from image_task import Tiles

import dglbench
from dglbench.cli.catalogue import catalogue
from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.training.apply import load_predictor
from dglbench.training.evaluation import load_data
from dglbench.training.predictor import fresh_predictor, restore

from .helpers import FITTED, TASKS, fastest

LISTED = {each["name"]: each for each in catalogue()["predictors"]}
OPTIONS = {"mlp": "mlp:hidden=8", "cnn": "cnn:channels=4"}
PAIRS = [(OPTIONS.get(name, name), task) for name in LISTED for task in LISTED[name]["tasks"]]
# What a method fits itself has tests of its own (test_fitted.py).
PAIRS = [pair for pair in PAIRS if pair[1] in TASKS and pair[0] not in FITTED]
PAIRS += [("cnn:channels=4", "tiles")]
# One task for each way in which features lie; the others are like these.
USUAL = ("knapsack", "matching", "shortest-path", "transport", "tiles")


def marked(pairs):
    return [
        pytest.param(pair, marks=() if pair[1] in USUAL else pytest.mark.slow) for pair in pairs
    ]


@pytest.fixture(scope="module", params=marked(PAIRS), ids="-".join)
def ran(request, tmp_path_factory):
    """One run of every pair, and how to make it again."""
    predictor, name = request.param
    task: Any = Tiles() if name == "tiles" else name
    asked: dict[str, Any] = {
        "predictor": predictor,
        "set": {} if name == "tiles" else TASKS[name],
        "option": {"lr": 0.03},
        "solver": "batched" if name == "tiles" else fastest(name),
        "epochs": 4,
        "batch_size": 8,
    }

    def again(**changed):
        return dglbench.train(task, "two-stage", **{**asked, **changed})

    return again(out=tmp_path_factory.mktemp("runs")), again


def test_it_learns(ran):
    trained, _ = ran
    assert trained.state == "done", trained.record.status.traceback
    losses = trained.tables["timing"]["loss"].to_list()[1:]
    assert losses[-1] < losses[0]


def test_it_is_the_same_again_and_resumes(ran):
    trained, again = ran
    repeated = again()
    assert repeated.record.run_id == trained.record.run_id
    assert repeated.weights == trained.weights
    before = trained.folder.stat().st_mtime_ns
    assert again(out=trained.folder.parent).weights == trained.weights
    assert trained.folder.stat().st_mtime_ns == before


def test_it_trains_in_float32(ran):
    trained, again = ran
    single = again(dtype="float32", epochs=1)
    assert single.state == "done", single.record.status.traceback
    kinds = {value.dtype for value in state_of(single).values() if value.is_floating_point()}
    assert kinds == {torch.float32}
    assert single.record.run_id != trained.record.run_id


def test_applied_it_predicts_as_it_was_evaluated(ran):
    trained, _ = ran
    loaded = load_predictor(trained.folder)
    dataset = loaded.dataset
    judge = load_data(dataset.spec, trained.record.identity.data_digest).evaluator.splits["test"]
    text = trained.record.identity.predictor
    network = fresh_predictor(text, find_task(dataset.spec.task), dataset)
    restore(network, trained.weights)
    test = dataset.features[dataset.rows("test")]
    assert loaded.predict(test).tobytes() == judge.predict(network).tobytes()


def test_exported_it_predicts_the_same(ran, tmp_path):
    trained, _ = ran
    trained.export(tmp_path / "model.pt2")
    predict = torch.export.load(tmp_path / "model.pt2").module()
    features = torch.from_numpy(trained.dataset.features[:5])
    with torch.no_grad():
        expected = trained.predictor()(features)
        np.testing.assert_allclose(predict(features), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("predictor", "task"),
    [
        (OPTIONS.get(name, name), task)
        for name in LISTED
        for task in TASKS
        if task not in LISTED[name]["tasks"]
    ],
)
def test_any_other_pair_is_refused_in_a_sentence(predictor, task):
    with pytest.raises(OptionError, match=f"predictor {predictor} does not fit {task}") as refused:
        dglbench.train(task, "two-stage", predictor=predictor, set=TASKS[task], epochs=1)
    assert str(refused.value).count("\n") == 0


def state_of(trained):
    return torch.load(io.BytesIO(trained.weights), weights_only=True)

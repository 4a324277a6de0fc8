"""Training and evaluation mode, torch's generator, and what a run leaves changed in its process."""

from __future__ import annotations

import dataclasses
import io

import pytest
import torch

import dglbench
from dglbench.plugins import find_task
from dglbench.predictors.linear import Linear
from dglbench.training.evaluation import load_data
from dglbench.training.learner import Learner
from dglbench.training.predictor import evaluating, fresh_predictor, restore
from dglbench.training.warm_start import load_or_train

from .helpers import make_spec, run


class Noisy(torch.nn.Module):
    """The linear predictor between dropout and batch norm, with a record of its modes."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.drop = torch.nn.Dropout(0.3)
        self.norm = torch.nn.BatchNorm1d(1, dtype=torch.float64)
        self.seen = []

    def forward(self, features):
        self.seen.append((self.training, len(features)))
        predicted = self.drop(self.inner(features))
        return self.norm(predicted.reshape(-1, 1)).reshape(predicted.shape)


@pytest.fixture
def noisy(monkeypatch):
    """Make the linear predictor such a network; return all that were built."""
    built, plain = [], Linear.build

    def build(self, task, dataset):
        built.append(Noisy(plain(self, task, dataset)))
        return built[-1]

    monkeypatch.setattr(Linear, "build", build)
    return built


def test_only_training_steps_are_in_training_mode(noisy):
    spec = make_spec("matching", "dgl-1", epochs=2, warm_start_epochs=2)
    assert run(spec).record.state == "done"
    modes = [seen for built in noisy for seen in built.seen]
    assert {size for training, size in modes if training} == {16, 8}, "batches of 40 instances"
    assert {size for training, size in modes if not training} == {1, 128}, "chunks of one size"


def test_batch_norm_learns_from_training_instances_only(noisy):
    spec = make_spec("matching", "two-stage", epochs=1)
    loaded = load_data(spec.data)
    learner = Learner(spec, loaded.dataset, None)
    before = {name: value.clone() for name, value in learner.predictor.named_buffers()}
    learner.set_up()
    learner.predict()
    for judge in loaded.evaluator.splits.values():
        judge.predict(learner.predictor)
    after = dict(learner.predictor.named_buffers())
    assert all(torch.equal(before[name], after[name]) for name in before)
    learner.epoch()
    assert after["norm.num_batches_tracked"] == 3


def test_dropout_is_the_same_in_the_same_run_and_differs_by_train_seed(noisy):
    spec = make_spec("matching", "two-stage", epochs=3)
    torch.manual_seed(1)
    first = run(spec)
    torch.manual_seed(2)  # whatever the caller did in between
    again, other = run(spec), run(dataclasses.replace(spec, train_seed=1))
    losses = [ran.tables["timing"]["loss"].to_pylist()[1:] for ran in (first, again, other)]
    assert losses[0] == losses[1] != losses[2]
    assert first.weights == again.weights
    assert first.tables["regret"].drop("elapsed_s").equals(again.tables["regret"].drop("elapsed_s"))


def test_warm_starts_with_dropout_are_the_same(noisy):
    spec = make_spec("matching", "spo", warm_start_epochs=3)
    task, dataset = find_task("matching"), load_data(spec.data).dataset
    first, again = (load_or_train("linear", task, dataset, spec.protocol, None) for _ in range(2))
    assert first.weights == again.weights
    assert first.info["val_mse"] == again.info["val_mse"]


def test_buffers_are_saved_with_the_weights(noisy):
    spec = make_spec("matching", "dgl-1", epochs=3, warm_start_epochs=2)
    ran = run(spec)
    state = torch.load(io.BytesIO(ran.weights), weights_only=True)
    assert state["norm.num_batches_tracked"] > 0
    loaded = load_data(spec.data)
    predictor = fresh_predictor("linear", find_task("matching"), loaded.dataset)
    restore(predictor, ran.weights)
    judge = loaded.evaluator.splits["test"]
    outcome = judge.judge(judge.predict(predictor))
    assert outcome.metrics()["relative_regret"] == ran.record.selected.test.relative_regret


def test_asking_in_evaluation_mode_restores_the_mode():
    layer = torch.nn.Dropout(0.5)
    with evaluating(layer):
        assert not layer.training
        assert not torch.is_grad_enabled()
    assert layer.training
    with evaluating(layer.eval()):
        pass
    assert not layer.training


def test_train_gives_back_threads_and_generator():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    try:
        settings = {"n": 6, "train": 8, "val": 6, "test": 6}
        trained = dglbench.train("matching", "spo", set=settings, epochs=1)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.get_rng_state(), state)
        assert not trained.predictor().training
    finally:
        torch.set_num_threads(before)

"""`linear` follows the models of 0.2, whose weights were in raw units, at the paper's rates."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from dglbench.plugins import find_task
from dglbench.sweep.request.specs import single_run
from dglbench.training.evaluation import load_data
from dglbench.training.predictor import fresh_predictor, saved_state
from dglbench.training.train import train
from dglbench.training.warm_start import WarmStart


class SlotModel(nn.Module):
    """The knapsack's model of 0.2: ŷ = w·(x − mean)/std + c for *take*, 0 for *leave*."""

    def __init__(self, dataset):
        super().__init__()
        mean, spread = dataset.standardiser
        self.register_buffer("mean", torch.as_tensor(mean))
        self.register_buffer("spread", torch.as_tensor(spread))
        self.linear = nn.Linear(len(mean), 1, dtype=torch.float64)

    def forward(self, features):
        take = self.linear((features - self.mean) / self.spread)
        return nn.functional.pad(take, (0, 1))

    def start_like(self, new):
        unit = new.outputs.unit
        with torch.no_grad():
            self.linear.weight.copy_(unit * new.network.weight)
            self.linear.bias.copy_(new.outputs.level + unit * new.network.bias)


class PairwiseLogistic(nn.Module):
    """Matching's model of 0.2: û_ij = sigmoid(w·base_i + V_j·local_i + c_j)."""

    def __init__(self, dataset):
        super().__init__()
        mean, std = dataset.standardiser
        settings = dataset.spec.settings
        self.base_features = settings.base_features
        self.register_buffer("mean", torch.as_tensor(mean))
        self.register_buffer("std", torch.as_tensor(std))
        self.base = nn.Linear(self.base_features, 1, bias=False, dtype=torch.float64)
        local = len(mean) - self.base_features
        self.local = nn.Linear(local, settings.locations, dtype=torch.float64)

    def forward(self, features):
        inputs = (features - self.mean) / self.std
        base, local = inputs[..., : self.base_features], inputs[..., self.base_features :]
        return torch.sigmoid(self.base(base) + self.local(local))

    def start_like(self, new):
        with torch.no_grad():
            self.base.weight.copy_(new.network.shared.weight)
            self.local.weight.copy_(new.network.own.weight)
            self.local.bias.copy_(new.outputs.level + new.network.own.bias)


CASES = {"knapsack": (SlotModel, 1.0), "matching": (PairwiseLogistic, 0.05)}


@pytest.mark.parametrize("method", ["two-stage", "spo", "dgl-1"])
@pytest.mark.parametrize("task", CASES)
def test_linear_follows_the_runs_of_0_2(task, method, monkeypatch):
    """The same regret at every epoch, with the old rate over the unit of the labels.

    Adam does not see the scale of a gradient but for its ε of 1e-8, hence "up to rounding".
    """
    model, rate = CASES[task]
    few = {"n": 10, "train": 64, "val": 30, "test": 30}
    asked = {"settings": few, "solver": "batched", "epochs": 6, "batch_size": 16}
    spec = single_run(task, method, options={"lr": rate}, **asked)
    loaded = load_data(spec.data)
    new = fresh_predictor("linear", find_task(task), loaded.dataset)
    old = model(loaded.dataset)
    old.start_like(new)
    features = torch.from_numpy(loaded.dataset.features)
    torch.testing.assert_close(old(features), new(features), rtol=1e-12, atol=1e-12)

    def curve(network, lr):
        monkeypatch.setattr(
            "dglbench.training.learner.fresh_predictor", lambda *_: copy.deepcopy(network)
        )
        info = {"id": "given", "seconds": 0.0, "epochs": 0, "val_mse": 0.0}
        run = single_run(task, method, options={"lr": lr}, **asked)
        start = WarmStart(saved_state(network), info)
        output = train(run, loaded.dataset, start, evaluator=loaded.evaluator)
        assert output.record.state == "done", output.record.status.traceback
        return output.tables["regret"]["absolute_regret"].to_numpy()

    unit = float(new.outputs.unit)
    before, now = curve(old, rate), curve(new, rate / unit)
    assert len(set(before.round(9))) > 4, "the curve moves"
    np.testing.assert_allclose(now, before, rtol=1e-9, atol=1e-9 * unit)

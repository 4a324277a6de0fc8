"""Gradients that are handed over without autograd are those of the loss, and of no other loss."""

from __future__ import annotations

import pytest
import torch

from dglbench.losses.batch import goes_with
from dglbench.losses.dual_guided import DualGuidedLoss
from dglbench.losses.spo_plus import SPOPlus
from dglbench.methods import Batch
from dglbench.methods.dgl import DglNone
from dglbench.plugins import find_method
from dglbench.sweep.request.specs import single_run
from dglbench.training.evaluation import load_data
from dglbench.training.learner import Learner

from .helpers import PROBLEMS, prepared, values

GUIDED = ({"tau": 0.3, "alpha": 0.0}, {"tau": 0.3, "alpha": 0.4})
CASES = [
    *(
        ("dgl-none", {**options, "form": form})
        for options in GUIDED
        for form in ("adjusted", "plain")
    ),
    *((name, options) for options in GUIDED for name in ("rdgl-none", "rdgl-newton", "rdgl-step")),
    ("spo", {}),
]


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_what_is_handed_over_is_what_autograd_would_find(problem, name, options):
    labels, predictions = values(problem, 7, 1), values(problem, 7, 2)
    rows = torch.arange(7)
    one, other = (prepared(name, problem, labels, predictions, **options)[0] for _ in range(2))
    value, gradient = one.loss_and_gradient(Batch(rows, predictions, labels))
    inputs = predictions.clone().requires_grad_()
    loss = other.loss(Batch(rows, inputs, labels))
    (expected,) = torch.autograd.grad(loss, inputs)
    assert value == pytest.approx(float(loss.detach()), rel=1e-12)
    assert gradient.shape == predictions.shape
    assert torch.allclose(gradient, expected, rtol=1e-12, atol=1e-15)
    assert gradient.abs().max() > 0


class Twice(DglNone):
    """Twice the loss, and nothing said of its gradient."""

    def loss(self, batch):
        return 2 * super().loss(batch)


class Mixed:
    def loss(self, batch):
        return batch.predictions.sum()


class FromBeside(Mixed, DglNone):
    """A loss from a class that is no method."""


def test_a_loss_of_ones_own_is_trained_by_its_own_gradient():
    problem = PROBLEMS["matching"]
    labels = values(problem, 4, 1)
    batch = Batch(torch.arange(4), values(problem, 4, 2), labels)
    method = prepared("dgl-none", problem, labels, batch.predictions)[0]
    assert method.loss_and_gradient(batch) is not None
    assert goes_with(DglNone, "loss", "loss_and_gradient")
    for cls in (Twice, FromBeside):
        assert not goes_with(cls, "loss", "loss_and_gradient")

    class Other(DualGuidedLoss):
        def batch_loss(self, batch):
            return batch.predictions.sum()

    assert Other(problem).batch_gradient(batch) is None
    assert SPOPlus(problem).batch_gradient(batch) is not None


@pytest.mark.parametrize("name", ["dgl-none", "rdgl-newton", "spo"])
def test_training_is_the_same_with_and_without_autograd(monkeypatch, name):
    settings = {"n": 6, "train": 40, "val": 4, "test": 4}
    spec = single_run("matching", name, settings=settings, solver="batched")
    dataset = load_data(spec.data).dataset

    def weights_after(epochs):
        learner = Learner(spec, dataset, None)
        learner.set_up()
        losses = [learner.epoch()[0] for _ in range(epochs)]
        return losses, torch.cat([w.detach().flatten() for w in learner.predictor.parameters()])

    losses, weights = weights_after(3)
    monkeypatch.setattr(find_method(name).cls, "loss_and_gradient", lambda self, batch: None)
    expected_losses, expected = weights_after(3)
    assert losses == pytest.approx(expected_losses, rel=1e-9)
    assert torch.allclose(weights, expected, rtol=1e-9, atol=1e-12)

"""Optimisers, schedules and weight decay by torch's names."""

import math

import pytest
import torch

from dglbench.errors import OptionError
from dglbench.runs.protocol import Protocol
from dglbench.training.evaluation import load_data
from dglbench.training.learner import Learner
from dglbench.training.optimiser import make_optimiser

from .helpers import make_spec, run


def rates(schedule, regrets=(1.0,) * 8):
    """The rate of each of eight epochs, from 0.1."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimiser = make_optimiser([weight], Protocol(schedule=schedule), 0.1, epochs=8)
    seen = []
    for regret in regrets:
        seen.append(optimiser.rate)
        weight.grad = torch.ones(2)
        optimiser.torch.step()
        optimiser.end_epoch()
        optimiser.judged(regret)
    return seen


def test_schedules_are_what_they_are_called():
    assert rates("constant") == [0.1] * 8
    cosine = [0.1 * (1 + math.cos(math.pi * epoch / 8)) / 2 for epoch in range(8)]
    assert rates("cosine") == pytest.approx(cosine)
    assert rates("linear") == pytest.approx([0.1 * (1 - epoch / 8) for epoch in range(8)])
    assert rates("plateau") == pytest.approx([0.1] * 7 + [0.05])
    falling = [1 / (1 + epoch) for epoch in range(8)]
    assert rates("plateau", falling) == pytest.approx([0.1] * 8)


@pytest.mark.parametrize(
    ("name", "cls"),
    [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)],
)
def test_optimisers_are_torchs(name, cls):
    spec = make_spec("matching", "two-stage", epochs=1, optimizer=name, weight_decay=0.1)
    learner = Learner(spec, load_data(spec.data).dataset, None)
    learner.set_up()
    built = learner._optimiser.torch
    assert type(built) is cls
    assert built.param_groups[0]["weight_decay"] == 0.1
    assert built.param_groups[0]["lr"] == spec.options.lr


@pytest.mark.parametrize("schedule", ["cosine", "linear", "plateau"])
def test_a_schedule_changes_the_run_and_its_name(schedule):
    plain, other = make_spec("matching", "spo"), make_spec("matching", "spo", schedule=schedule)
    assert plain.run_id != other.run_id
    ran = run(other)
    assert ran.record.state == "done"
    assert ran.record.identity.protocol.schedule == schedule
    if schedule != "plateau":  # ten epochs may pass without a plateau
        losses = [one.tables["timing"]["loss"].to_pylist()[1:] for one in (ran, run(plain))]
        assert losses[0] != losses[1]


def test_defaults_are_adam_at_a_constant_rate():
    assert (
        make_spec("matching", "spo").run_id
        == make_spec(
            "matching", "spo", optimizer="adam", schedule="constant", weight_decay=0
        ).run_id
    )
    with pytest.raises(OptionError, match="optimizer must be one of adam, adamw, sgd"):
        make_spec("matching", "spo", optimizer="rmsprop")

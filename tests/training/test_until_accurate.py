"""Two-stage trains until validation MSE stops improving, whatever epochs the others have."""

import io

import numpy as np
import pytest
import torch

from dglbench.plugins import find_task
from dglbench.predictors.checks import build_predictor
from dglbench.predictors.choice import find_predictor
from dglbench.training.evaluation import load_data
from dglbench.training.patience import Patience

from .helpers import make_spec, run


def test_patience_ends_after_so_many_epochs_without_a_lower_error():
    patience = Patience(3)
    improved = [patience.improves(error) for error in (5.0, 4.0, 4.0, 3.0, 3.5, float("nan"))]
    assert improved == [True, True, False, True, False, False]
    assert not patience.ends
    assert patience.improves(3.0) is False
    assert patience.ends
    assert patience.lowest == 3.0


def test_its_epochs_are_its_own():
    few, many = (
        make_spec("matching", "two-stage", epochs=epochs, warm_start_epochs=90, patience=2)
        for epochs in (2, 60)
    )
    assert few.run_id == many.run_id
    assert make_spec("matching", "spo", epochs=2).protocol.epochs == 2
    ran = run(few)
    assert 2 < ran.record.summary.epochs_run <= 90
    assert ran.record.selected.epoch <= ran.record.summary.epochs_run


def test_it_ends_where_the_warm_starts_rule_says():
    spec = make_spec("knapsack", "two-stage", warm_start_epochs=200, warm_start_patience=4)
    ran = run(spec)
    last = ran.record.summary.epochs_run
    assert 5 < last < 200
    regret = ran.tables["regret"].to_pylist()
    assert regret[-1]["epoch"] == last, "the last epoch is evaluated"
    assert spec.protocol.evaluate_every == 2
    longer = run(make_spec("knapsack", "two-stage", warm_start_epochs=200, warm_start_patience=40))
    errors = {
        row["epoch"]: row["mse"]
        for row in longer.tables["regret"].to_pylist()
        if row["split"] == "val"
    }
    assert longer.record.summary.epochs_run > last
    own = [row["mse"] for row in regret if row["split"] == "val"]
    assert min(own) <= 1.05 * min(errors.values()), "little was left to gain"


def test_a_fixed_number_of_epochs_is_everyones():
    spec = make_spec("matching", "two-stage", epochs=3, choose="last", warm_start_epochs=90)
    ran = run(spec)
    assert ran.record.summary.epochs_run == ran.record.selected.epoch == 3


def test_long_enough_it_tends_to_least_squares():
    spec = make_spec(
        "knapsack",
        "two-stage",
        batch_size=1000,
        warm_start_epochs=1500,
        warm_start_patience=1500,
    )
    ran, fitted = run(spec), run(make_spec("knapsack", "least-squares"))
    task, data = find_task("knapsack"), load_data(spec.data).dataset
    network = build_predictor(find_predictor("least-squares"), task, data)
    network.load_state_dict(torch.load(io.BytesIO(fitted.weights), weights_only=True))
    with torch.no_grad():
        answers = network(torch.from_numpy(data.part(data.features, "train"))).numpy()
    counted = data.problem.counted
    error = (answers - data.part(data.labels, "train"))[:, counted] / task.label_scale(data)
    least = float(np.mean(np.square(error)))
    losses = [row["loss"] for row in ran.tables["timing"].to_pylist()]
    assert losses[-1] == pytest.approx(least, rel=1e-3)
    assert losses[-1] >= least * (1 - 1e-9)

"""CaVE: projections onto the cone of the true optimum, its loss and its gradient."""

import numpy as np
import pytest
import torch
from class_cases import INSTANCES
from class_cases import PROBLEMS as WHOLE_CLASS
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import dglbench
from dglbench import CaVE
from dglbench.errors import OptionError
from dglbench.losses.normal_cone import NormalCone, row_lengths
from dglbench.problem import Problem
from dglbench.solvers.ortools import OrtoolsSolver

from .helpers import PROBLEMS, finite_differences, loss_and_gradient, prepared, values

TRANSPORT = Problem.assignment(4, [2.0, 1.0, 1.0], exactly=True)
PATHS = Problem.paths([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2)], 0, 3)
TWO_ROWS = Problem.knapsack([[3.0, 5, 7, 3, 5], [4.0, 2, 3, 6, 5]], [11.0, 9.0])
TOP = Problem.top_k(6, 2)
EVERY = {**PROBLEMS, "transport": TRANSPORT, "paths": PATHS, "two-rows": TWO_ROWS, "top-k": TOP}


def normals(problem, x):
    """The coordinates of one instance, and a matrix with a generator of its cone per column.

    Written from the definition, with both signs of what may have either.
    """
    exists = np.broadcast_to(problem.mask.reshape(-1, *problem.shape)[0], problem.shape)
    known = exists & ~problem.predicted
    base = [int(np.argmax(row)) if row.any() else None for row in known]
    places = [(g, s) for g, s in zip(*np.nonzero(exists), strict=True) if s != base[g]]

    def measured(numbers):
        zero = [0.0 if s is None else numbers[g, s] for g, s in enumerate(base)]
        return np.array([numbers[g, s] - zero[g] for g, s in places])

    found = []
    use, b = problem.usage(x[None])[0], problem.b.reshape(-1, problem.rows)[0]
    for m in np.flatnonzero(problem.equality | (np.abs(b - use) < 1e-9)):
        row = measured(problem.A[m])
        found += [row, -row] if problem.equality[m] else [row]
    for g, s in enumerate(base):
        group = np.array([float(h == g) for h, _ in places])
        if s is None:
            found += [group, -group]
        elif x[g, s] < 1e-9:
            found.append(group)
    found += [-np.eye(len(places))[i] for i, place in enumerate(places) if x[place] < 1e-9]
    return places, measured, np.array(found).T.reshape(len(places), -1)


def nearest(problem, x, numbers):
    """Project one instance's values by scipy's non-negative least squares."""
    places, measured, generators = normals(problem, x)
    wanted = measured(numbers)
    if not generators.size:
        return places, np.zeros(len(places)), wanted
    weights, _ = nnls(generators, wanted, maxiter=100_000)
    return places, generators @ weights, wanted


@pytest.mark.parametrize("oracle", ["relax", "decide"])
@pytest.mark.parametrize("name", EVERY)
def test_projections_are_those_of_nnls(name, oracle):
    problem = EVERY[name]
    labels, predictions = values(problem, 20, 1).numpy(), values(problem, 20, 2).numpy()
    x = getattr(OrtoolsSolver(problem), oracle)(labels)
    found = NormalCone(problem, x).project(predictions)
    assert found.exact.all()
    for k in range(20):
        places, expected, wanted = nearest(problem, x[k], predictions[k])
        at = tuple(np.array(places).T)
        assert found.point[k][at] == pytest.approx(expected, abs=1e-8)
        assert (found.point + found.residual)[k][at] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("structure", WHOLE_CLASS)
@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_projections_serve_the_whole_class(structure, data, seed):
    """Ragged and varying masks, = rows, own capacities, own A."""
    problem = data.draw(WHOLE_CLASS[structure])
    rng, count = np.random.default_rng(seed), INSTANCES
    exists = np.broadcast_to(problem.mask & problem.predicted, (count, *problem.shape))
    labels, wanted = (np.where(exists, rng.normal(size=exists.shape), 0.0) for _ in range(2))
    x = OrtoolsSolver(problem).relax(labels, np.arange(count))
    cone = NormalCone(problem, x)
    found = cone.project(wanted)
    assert found.exact.all()
    crossed = (found.point * found.residual).sum(axis=(1, 2))
    assert crossed == pytest.approx(0.0, abs=1e-7), "the residual is at right angles to the point"
    own = cone.project(labels)
    assert np.abs(own.residual).max(initial=0.0) < 1e-7, "labels lie in the cone of their optimum"
    short = cone.project(wanted, most_steps=2)
    assert np.square(short.residual).sum() >= np.square(found.residual).sum() - 1e-9
    lengths = row_lengths(problem)
    inwards = cone.average(lengths) - np.where(cone.coordinates, found.point, 0.0)
    # No direction towards another point of the cone leads closer to the values.
    assert (inwards * found.residual).sum(axis=(1, 2)).max(initial=0.0) < 1e-7


@pytest.mark.parametrize("name", EVERY)
def test_exact_loss_has_the_gradient_of_finite_differences(name):
    problem = EVERY[name]
    labels, predictions = values(problem, 3, 1), values(problem, 3, 2)
    method, ledger = prepared("cave", problem, labels, predictions)
    _, gradient = loss_and_gradient(method, predictions, labels)
    expected = finite_differences(method, predictions, labels)
    free = torch.tensor(problem.predicted)
    assert torch.allclose(gradient[:, free], expected[:, free], atol=1e-6)
    assert gradient[:, free].abs().max() > 0
    assert ledger.total["label"] == 3
    assert ledger.total["train"] == 0


@pytest.mark.parametrize("name", EVERY)
def test_loss_is_one_less_the_cosine_to_the_nearest_point(name):
    problem = EVERY[name]
    labels, predictions = values(problem, 6, 1), values(problem, 6, 2)
    criterion = CaVE(problem, solver="ortools")
    sense = 1 if problem.sense == "maximise" else -1
    whole = problem.value_map.matrix is None
    perfect = torch.randn(6, *problem.label_shape, dtype=torch.float64)
    inputs = (predictions, labels) if whole else (perfect, perfect)
    loss = float(criterion(*inputs, range(6)))
    if not whole:
        assert loss == pytest.approx(0.0, abs=1e-7)
        return
    x = OrtoolsSolver(problem).relax(sense * labels.numpy())
    cosines = []
    for k in range(6):
        _, point, wanted = nearest(problem, x[k], predictions[k].numpy())
        size = np.linalg.norm(point) * np.linalg.norm(wanted)
        cosines.append(point @ wanted / size if size > 0 else 0.0)
    assert loss == pytest.approx(1 - np.mean(cosines), abs=1e-7)


@pytest.mark.parametrize("name", EVERY)
def test_perfect_predictions_are_stationary_up_to_a_factor(name):
    problem = EVERY[name]
    labels = values(problem, 6, 3)
    method, _ = prepared("cave", problem, labels, labels)
    value, gradient = loss_and_gradient(method, 7.0 * labels, labels)
    assert value == pytest.approx(0.0, abs=1e-6)
    assert gradient.abs().max() < 1e-6


def test_points_of_cave_plus_lie_inside():
    labels, predictions = values(TOP, 30, 1), values(TOP, 30, 2)
    method, _ = prepared("cave-plus", TOP, labels, predictions)
    before, gradient = loss_and_gradient(method, predictions, labels)
    after, _ = loss_and_gradient(method, predictions - 0.5 * gradient * 30, labels)
    assert after < before
    assert projections(method) == 60


def test_without_projections_the_hybrid_turns_predictions_towards_the_mean_normal():
    # Not always to a lower loss: its q follows the predictions, and the angle between them is
    # largest halfway.
    labels, predictions = values(TOP, 30, 1), values(TOP, 30, 2)
    method, _ = prepared("cave-hybrid", TOP, labels, predictions, solve_ratio=0.0)
    _, gradient = loss_and_gradient(method, predictions, labels)
    cone = NormalCone(TOP, OrtoolsSolver(TOP).relax(labels.numpy()))
    mean = cone.average(row_lengths(TOP))

    def cosines(values):
        wanted = cone.differences(values.numpy())
        along = (wanted * mean).sum(axis=(1, 2))
        return along / np.linalg.norm(wanted, axis=(1, 2)) / np.linalg.norm(mean, axis=(1, 2))

    assert (cosines(predictions - 0.5 * gradient * 30) > cosines(predictions)).all()
    assert projections(method) == 0


def projections(method):
    counted = {phase.name: phase.count for phase in method._criterion.solver.meter.lap()}
    return counted.get("projections", 0)


def test_the_mean_normal_is_that_of_bounds_and_binding_rows():
    x = np.zeros((1, 6, 2))
    x[0, :, 1] = 1.0
    x[0, :2] = [1.0, 0.0]
    at_most = Problem.top_k(6, 2, exactly=False)
    mean = NormalCone(at_most, x).average(row_lengths(at_most))[0, :, 0]
    row = np.ones(6) / np.sqrt(6)
    assert mean == pytest.approx((np.array([1, 1, -1, -1, -1, -1]) + row) / 7)
    exactly = Problem.top_k(6, 2)  # the row binds from both sides: its normals cancel, and count
    mean = NormalCone(exactly, x).average(row_lengths(exactly))[0, :, 0]
    assert mean == pytest.approx(np.array([1, 1, -1, -1, -1, -1]) / 8)


@pytest.mark.parametrize("method", ["cave", "cave-plus", "cave-hybrid"])
def test_training_lowers_regret_where_rates_suit(method):
    trained = dglbench.train(
        "shortest-path",
        method,
        set={"n": 4, "train": 200, "val": 100, "test": 100, "degree": 4},
        option={"start": "fresh", "lr": 0.02},
        solver="batched",
        epochs=10,
    )
    regret = trained.tables["regret"].filter(split="test").sort("epoch")["relative_regret"]
    assert regret[-1] < 0.6 * regret[0]
    assert "inexact_projections" not in trained.record.notes
    assert "projections" in set(trained.tables["phases"]["name"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"steps": 0}, "steps must be a whole number ≥ 1, or None, got 0"),
        ({"inner": 1.5}, "inner must be a number from 0 to 1, got 1.5"),
        ({"solve_ratio": -1}, "solve_ratio must be a number from 0 to 1, got -1"),
        ({"oracle": "none"}, "oracle must be relax or decide, got 'none'"),
    ],
)
def test_options_out_of_range_are_refused(given, sentence):
    with pytest.raises(OptionError, match=sentence):
        CaVE(TOP, **given)

"""Top-k, transport, offers and scheduling: the numbers are what their docstrings say."""

import itertools

import numpy as np
import pytest

from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.solvers import evaluation_solver, make_solver
from dglbench_tasks.scheduling import options_of
from dglbench_tasks.scheduling_loads import SURVEY, drawn_load


def dataset(name, seed=25, **settings):
    task = find_task(name)
    small = {"train": 12, "val": 4, "test": 4, **settings}
    return task.generate(task.parse_settings(small), seed)


def decisions(data, labels=None):
    values = data.problem.values(data.labels if labels is None else labels)
    solver = evaluation_solver(find_task(data.spec.task), data.problem)
    return values, solver.decide(values)


def test_top_k_picks_the_k_highest_scores():
    data = dataset("top-k", n=9, k=3)
    x = data.features[..., 0]
    assert np.allclose(data.labels, 10 * (x**3 - 0.65 * x))
    assert np.abs(x).max() <= 1
    values, chosen = decisions(data)
    worth = data.problem.objective(values, chosen)
    assert np.allclose(worth, np.sort(data.labels, axis=1)[:, -3:].sum(axis=1))


def test_least_squares_on_top_k_gives_a_line_that_falls_and_picks_the_worst():
    """Accuracy and decisions part: the better fit decides worse."""
    data = dataset("top-k", n=50, train=200)
    x, y = data.features[..., 0], data.labels
    slope = (x * y).sum() / (x * x).sum()
    assert slope < 0
    regret = {}
    best = data.problem.objective(*decisions(data))
    for name, line in (("falls", slope * x), ("rises", -slope * x)):
        _, chosen = decisions(data, line)
        regret[name] = (best - data.problem.objective(data.problem.values(y), chosen)).mean()
    assert regret["rises"] < 0.2 * regret["falls"]
    assert np.square(y - slope * x).mean() < np.square(y + slope * x).mean()


def test_k_must_leave_something_out():
    with pytest.raises(OptionError, match="k must be less than the 5 items, got 5"):
        dataset("top-k", n=5, k=5)


@pytest.mark.parametrize("demand", ["even", "drawn", "one"])
def test_transport_meets_every_demand_at_least_cost(demand):
    data = dataset("transport", n=6, destinations=3, demand=demand)
    asked = np.array(data.constants["demand"])
    assert asked.sum() == 6
    assert asked.min() >= 1
    assert len(asked) == (6 if demand == "one" else 3)
    values, chosen = decisions(data)
    assert (data.problem.usage(chosen) == asked).all()
    places = np.repeat(np.arange(len(asked)), asked.astype(int))
    ways = set(itertools.permutations(places.tolist()))
    for costs, found in zip(data.labels, data.problem.objective(values, chosen), strict=True):
        cheapest = min(sum(costs[i, j] for i, j in enumerate(way)) for way in ways)
        assert found == pytest.approx(cheapest)


def test_more_destinations_than_units_are_refused():
    with pytest.raises(OptionError, match="destinations must be at most n = 3, got 5"):
        dataset("transport", n=3)


def test_offers_are_the_best_within_the_budget():
    data = dataset("offers", n=4, costs="1,3", budget_fraction=0.5)
    assert data.constants["budget"] == 6
    assert ((data.labels[..., 1:] > 0) & (data.labels[..., 1:] < 1)).all()
    assert (data.labels[..., 0] == 0).all()
    values, chosen = decisions(data)
    for response, found in zip(data.labels, data.problem.objective(values, chosen), strict=True):
        best = max(
            sum(response[i, s] for i, s in enumerate(plan))
            for plan in itertools.product(range(3), repeat=4)
            if sum((0, 1, 3)[s] for s in plan) <= 6
        )
        assert found == pytest.approx(best)


@pytest.mark.parametrize(("n", "options"), [(10, 411), (15, 888), (20, 1545)])
def test_the_surveys_loads_have_their_options(n, options):
    data = dataset("scheduling", n=n)
    load = SURVEY[n]
    assert sum(len(options_of(load, job)) for job in load.jobs) == options
    assert data.problem.mask.sum() == options
    assert data.problem.rows == 48 * len(load.machines)
    assert data.labels.shape == (20, 48)


@pytest.mark.parametrize(("jobs", "slots", "machines"), [(3, 6, 2), (10, 48, 1)])
def test_machines_hold_twice_the_mean_use_of_a_drawn_load(jobs, slots, machines):
    for seed in range(30):
        load = drawn_load(jobs, slots, machines, seed)
        mean = sum(job.duration * job.use for job in load.jobs) / (slots * machines)
        assert min(load.machines) >= 2 * mean


def test_a_schedule_costs_what_its_jobs_draw_and_overloads_no_machine():
    data = dataset("scheduling", n=10)
    load = SURVEY[10]
    values, chosen = decisions(data)
    for prices, x, cost in zip(
        data.labels, chosen, data.problem.objective(values, chosen), strict=True
    ):
        busy, spent = np.zeros((3, 48)), 0.0
        for job, picked in zip(load.jobs, x, strict=True):
            machine, start = options_of(load, job)[int(picked.argmax())]
            assert job.earliest <= start <= job.latest - job.duration
            busy[machine, start : start + job.duration] += job.use
            spent += job.power * prices[start : start + job.duration].sum()
        assert (busy <= np.array(load.machines)[:, None]).all()
        assert spent == pytest.approx(cost)


def test_noise_is_added_to_simulated_prices_alone():
    calm, noisy = (dataset("scheduling", train=200, noise=noise) for noise in (0.0, 10.0))
    assert (calm.features == noisy.features).all()
    assert (noisy.labels - calm.labels).std() == pytest.approx(10.0, rel=0.05)
    assert noisy.labels.min() >= 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_small_schedules_are_the_best_there_are(seed):
    data = dataset("scheduling", seed, n=3, load="drawn", machines=2, slots=6)
    problem = data.problem
    values, chosen = decisions(data)
    ways = [np.flatnonzero(group) for group in problem.mask]
    plans = np.array(list(itertools.product(*ways)))
    x = np.zeros((len(plans), *problem.shape))
    x[np.arange(len(plans))[:, None], np.arange(3), plans] = 1.0
    possible = x[(problem.usage(x) <= problem.b).all(axis=1)]
    for one, found in zip(values, (values * chosen).sum(axis=(1, 2)), strict=True):
        assert found == pytest.approx((possible * one).sum(axis=(1, 2)).max())


def test_no_schedule_beats_the_relaxation():
    data = dataset("scheduling", n=15)
    values, chosen = decisions(data)
    solver = make_solver("ortools", find_task("scheduling"), data.problem)
    relaxed = (values * solver.relax(values)).sum(axis=(1, 2))
    gap = relaxed - (values * chosen).sum(axis=(1, 2))
    assert (gap >= -1e-6 * np.abs(relaxed)).all()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n": 12}, "the survey has loads of 10, 15, 20 jobs, got n = 12; use load=drawn"),
        ({"n": 10, "machines": 2}, "so machines and slots cannot be set; use load=drawn"),
        ({"load_number": 2}, "load_number and day belong to load=icon"),
        ({"n": 12, "load": "icon"}, "load 1 of load=icon has 10 jobs, got n = 12"),
        ({"source": "icon", "noise": 1.0}, "real prices with the noise that they have"),
    ],
)
def test_schedules_that_do_not_exist_are_refused(settings, sentence):
    with pytest.raises(OptionError, match=sentence):
        dataset("scheduling", **settings)

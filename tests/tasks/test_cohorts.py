"""Matching in cohorts: individuals and places that differ by week."""

import json

import numpy as np
import pytest

from dglbench import options
from dglbench.data.dataset_file import read_dataset, write_dataset
from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.solvers import make_solver
from dglbench.sweep.request.defaults import resolve_data

TASK = find_task("matching")
WEEKS = {"n": 7, "train": 20, "val": 10, "test": 10, "fewest": 3, "room": "drawn"}


def make(seed=25, **given):
    return TASK.generate(TASK.parse_settings({**WEEKS, **given}), seed)


def test_an_absent_individual_has_one_option_worth_nothing_that_uses_nothing():
    dataset = make()
    problem = dataset.problem
    absent = problem.mask[:, :, -1]
    heads = (~absent).sum(axis=1)
    assert set(heads) == {3, 4, 5, 6, 7}, "every size of cohort in 40 weeks"
    assert (problem.mask.sum(axis=2) == np.where(absent, 1, 3)).all()
    assert (dataset.labels[absent] == 0).all()
    assert (dataset.labels[~absent][:, :3] > 0).all()
    away = np.zeros((1, *problem.shape))
    away[:, :, -1] = 1
    assert (problem.usage(away) == 0).all()
    assert not problem.counted[:, :, -1].any(), "nothing is predicted for the absent"


def test_places_differ_by_week_and_hold_those_present():
    dataset = make()
    places, heads = dataset.problem.b, (~dataset.problem.mask[:, :, -1]).sum(axis=1)
    assert len(np.unique(places, axis=0)) > 10
    assert (places.sum(axis=1) == 3 * np.ceil(heads / 3)).all()
    even = make(room="even")
    assert (even.problem.b == np.ceil(heads / 3)[:, None]).all(), "the same cohorts"
    whole = make(fewest=None)
    assert whole.problem.mask.all()
    assert (whole.problem.b.sum(axis=1) == 9).all()


def test_individuals_who_are_present_are_those_of_the_full_cohort():
    full, weeks = make(fewest=None, room="even"), make()
    present = ~weeks.problem.mask[:, :, -1]
    assert np.array_equal(weeks.features, full.features)
    assert np.array_equal(weeks.labels[present][:, :3], full.labels[present])


def test_solver_families_agree_on_every_week():
    dataset = make()
    values, rows = dataset.problem.values(dataset.labels), np.arange(len(dataset.labels))
    worth = {}
    for family in ("batched", "ortools"):
        solver = make_solver(family, TASK, dataset.problem)
        x = solver.decide(values, rows=rows)
        assert (x[~dataset.problem.mask] == 0).all()
        assert (dataset.problem.usage(x) <= dataset.problem.b + 1e-9).all()
        worth[family] = dataset.problem.objective(values, x)
    assert worth["batched"] == pytest.approx(worth["ortools"])


def test_files_keep_weeks(tmp_path):
    dataset = make()
    write_dataset(dataset, tmp_path / "weeks.parquet")
    read = read_dataset(tmp_path / "weeks.parquet")
    assert read.spec == dataset.spec
    assert np.array_equal(read.problem.b, dataset.problem.b)
    assert np.array_equal(read.problem.mask, dataset.problem.mask)
    assert np.array_equal(read.labels, dataset.labels)


@pytest.mark.parametrize("solver", ["batched", "ortools"])
def test_generate_then_train_learns(solver, cli):
    words = [f"--set={name}={value}" for name, value in WEEKS.items()]
    assert cli("generate", "matching", *words, "--out", "weeks.parquet").code == 0
    outcome = cli(
        "train", "--data", "weeks.parquet", "--method", "dgl-5", "--epochs", "3",
        "--solver", solver, "--option", "start=fresh", "--out", "runs", "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    regret = json.loads(outcome.out)["summary"]["selected"]["test"]["relative_regret"]
    assert 0 <= regret < 0.5


def test_settings_of_cohorts_are_left_out_at_their_default():
    """So that a run's name does not change where nobody asked for cohorts."""
    asked = resolve_data(TASK, {"n": 50}, 25)
    assert set(options.as_dict(asked.settings)).isdisjoint({"fewest", "room"})
    assert options.as_dict(resolve_data(TASK, {"fewest": 9}, 25).settings)["fewest"] == 9


def test_cohorts_larger_than_n_are_refused():
    with pytest.raises(OptionError, match=r"fewest must be at most n = 7, got 8"):
        make(fewest=8)
    with pytest.raises(OptionError, match=r"capacities and room=drawn both say"):
        make(capacities=(3, 3, 3))

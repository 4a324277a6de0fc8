"""What ``generate --plot`` draws is the optimum of the first test instance, task by task."""

import re
from importlib import import_module

import numpy as np
import pytest

from dglbench.data.plot import comparison_of, first_test_instance, picture_of, plot_dataset
from dglbench.plugins import find_task, plugins
from dglbench.solvers.ortools import OrtoolsSolver

GIVEN = {
    "cora": {"source": "made"},
    "scheduling": {"n": 4, "load": "drawn", "slots": 12, "machines": 2},
    "top-k": {"n": 9, "k": 3},
    "transport": {"n": 9, "destinations": 3},
    "multi-knapsack": {"n": 8, "dimensions": 3},
    "matching": {"n": 8, "fewest": 3, "room": "drawn"},
}
TASKS = sorted(plugin.name for plugin in plugins("dglbench.tasks") if plugin.name != "own")


@pytest.fixture
def shown_of(small_data):
    """Return a small dataset of a task, its first test instance and the module that draws it."""

    def make(task, **given):
        dataset = small_data(task, **GIVEN.get(task, {}), **given)
        module = import_module(f"dglbench_tasks.pictures.{task.replace('-', '_')}")
        return dataset, first_test_instance(find_task(task), dataset), module

    return make


@pytest.mark.parametrize("task", TASKS)
def test_the_instance_is_the_first_of_test_and_its_optimum_is_right(task, shown_of):
    dataset, shown, _ = shown_of(task)
    assert shown.row == dataset.rows("test")[0]
    values = dataset.problem.values(dataset.labels[[shown.row]])
    other = OrtoolsSolver(dataset.problem).decide(values, rows=[shown.row])
    assert shown.optimum == pytest.approx(dataset.problem.objective(values, other)[0], rel=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_every_bundled_task_has_a_picture(task, shown_of, tmp_path):
    dataset, _, module = shown_of(task)
    assert picture_of(find_task(task)) is module.picture
    plot_dataset(find_task(task), dataset, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_bytes().startswith(b"<?xml")


def test_the_path_drawn_leads_from_corner_to_corner_at_the_optimal_cost(shown_of):
    dataset, shown, module = shown_of("shortest-path", width=4)
    taken = module.edges(dataset, shown).query("taken").sort_values("tail")
    assert taken["tail"].iloc[0] == 0
    assert taken["head"].iloc[-1] == 6 * 4 - 1
    assert (taken["head"].to_numpy()[:-1] == taken["tail"].to_numpy()[1:]).all(), "connected"
    assert taken["cost"].sum() == pytest.approx(shown.optimum)


def test_bars_keep_windows_and_capacities_and_cost_the_optimum(shown_of):
    dataset, shown, module = shown_of("scheduling")
    frame = module.schedule(dataset, shown)
    assert sorted(frame["job"]) == [1, 2, 3, 4]
    cost, load = 0.0, np.zeros((2, 12))
    for bar in frame.itertuples():
        duration, earliest, latest, power, use = dataset.constants["jobs"][bar.job - 1]
        assert bar.end - bar.start == duration
        assert earliest <= bar.start
        assert bar.end <= latest
        load[bar.machine, bar.start : bar.end] += use
        cost += power * shown.labels[bar.start : bar.end].sum()
    assert (load.max(axis=1) <= dataset.constants["machines"]).all()
    assert cost == pytest.approx(shown.optimum)
    for _, lane in frame.groupby(["machine", "track"]):
        assert (lane["end"].to_numpy()[:-1] <= lane["start"].to_numpy()[1:]).all(), "no overlap"


def test_those_present_go_to_one_location_each_within_its_room(shown_of):
    dataset, shown, module = shown_of("matching")
    frame = module.pairs(dataset, shown)
    present = dataset.problem.mask[shown.row, :, 0]
    assert set(frame["individual"]) == set(np.flatnonzero(present) + 1)
    assert (frame.groupby("individual")["picked"].sum() == 1).all()
    heads = frame.groupby("location")["picked"].sum()
    assert (heads.to_numpy() <= dataset.problem.b[shown.row]).all()
    assert frame.loc[frame["picked"], "utility"].sum() == pytest.approx(shown.optimum)


def test_ways_meet_the_demand_at_the_optimal_cost(shown_of):
    dataset, shown, module = shown_of("transport")
    frame = module.ways(dataset, shown)
    arrivals = np.bincount(frame["destination"], minlength=3)
    assert arrivals.tolist() == dataset.constants["demand"]
    assert frame["cost"].sum() == pytest.approx(shown.optimum)


@pytest.mark.parametrize(
    ("task", "table", "value"),
    [("knapsack", "slots", "value"), ("top-k", "items", "score"), ("offers", "offers", "response")],
)
def test_what_is_marked_as_picked_is_worth_the_optimum(task, table, value, shown_of):
    dataset, shown, module = shown_of(task)
    picked = getattr(module, table)(dataset, shown).query("picked")
    assert picked[value].sum() == pytest.approx(shown.optimum)
    if task == "knapsack":
        assert picked["weight"].sum() <= dataset.constants["capacity"]
    if task == "offers":
        assert picked["cost"].sum() <= dataset.constants["budget"]
        assert picked["customer"].is_unique
    if task == "top-k":
        assert len(picked) == 3


def test_items_in_every_dimension_are_the_optimum_within_its_capacity(shown_of):
    dataset, shown, module = shown_of("multi-knapsack")
    picked = module.items(dataset, shown).query("picked").groupby("dimension")
    assert (picked["weight"].sum() <= dataset.spec.settings.capacity).all()
    assert picked["value"].sum().to_numpy() == pytest.approx(np.full(3, shown.optimum))


def test_the_way_drawn_costs_the_optimum_and_moves_to_neighbours(shown_of):
    dataset, shown, module = shown_of("terrain")
    tiles = np.array(module.path(dataset, shown))
    assert (tiles[0], tiles[-1]) == (0, 35)
    steps = np.abs(np.diff(np.stack(np.divmod(tiles, 6)), axis=1))
    assert (steps.max(axis=0) == 1).all()
    assert shown.labels[tiles].sum() == pytest.approx(shown.optimum)


def test_matched_papers_are_drawn_with_their_citations(shown_of):
    dataset, shown, module = shown_of("cora")
    frame = module.pairs(dataset, shown)
    matched = frame[frame["matched"]]
    assert matched["linked"].sum() == pytest.approx(shown.optimum)
    assert matched["y"].is_unique
    assert matched["y_end"].is_unique
    assert frame["linked"].sum() == shown.labels.sum()
    assert 0.25 * len(matched) <= matched["one_field"].sum() <= 0.75 * len(matched)


@pytest.mark.parametrize(("task", "given"), [("terrain", {}), ("shortest-path", {"width": 4})])
def test_a_comparison_draws_both_paths_in_a_few_kilobytes(task, given, shown_of):
    dataset, shown, module = shown_of(task, **given)
    assert comparison_of(find_task(task)) is module.comparison
    worst = OrtoolsSolver(dataset.problem).decide(
        dataset.problem.values(dataset.labels[[shown.row]].max() + 1 - dataset.labels[[shown.row]])
    )
    drawn = module.comparison(dataset, shown, shown._replace(decision=worst[0]))
    same = module.comparison(dataset, shown, shown)
    assert len(drawn) < 20_000
    lines = [re.findall(r'points="([^"]+)"', each) for each in (drawn, same)]
    assert [len(each) for each in lines] == [4, 4], "each path with its rim"
    assert lines[0][0] != lines[0][3], "the path taken is another one"
    assert lines[1][0] == lines[1][3]
    ends = {(each[0].split()[0], each[0].split()[-1]) for each in lines}
    assert len(ends) == 1, "both lead from corner to corner"


def test_most_tasks_draw_no_decision_on_another():
    assert comparison_of(find_task("matching")) is None

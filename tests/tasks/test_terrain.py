"""Maps and ways across them: made, and read from arrays of the published form."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from dglbench.errors import DatasetError
from dglbench.plugins import find_task
from dglbench.solvers import evaluation_solver
from dglbench.solvers.batched_ways import BatchedWays
from dglbench.solvers.ortools import OrtoolsSolver
from dglbench_tasks import terrain_maps
from dglbench_tasks.terrain import moves

FEW = {"n": 6, "train": 6, "val": 3, "test": 3}


def dataset(seed=1, **settings):
    task = find_task("terrain")
    return task.generate(task.parse_settings({**FEW, **settings}), seed)


def test_a_map_of_twelve_has_the_published_number_of_moves():
    assert len(moves(12)) == 1012
    assert len(np.unique(moves(12), axis=0)) == 1012


def test_optima_are_shortest_paths_with_both_ends_counted():
    data = dataset(n=9, label_noise=0.3)
    solver = evaluation_solver(find_task("terrain"), data.problem)
    assert isinstance(solver, BatchedWays)
    values = data.problem.values(data.labels)
    worth = data.problem.objective(values, solver.decide(values))
    tail, head = moves(9).T
    for costs, found in zip(data.labels, worth, strict=True):
        graph = coo_array((costs[head], (tail, head)), shape=(81, 81)).tocsr()
        assert found == pytest.approx(costs[0] + dijkstra(graph, indices=0)[80])


def test_negative_costs_are_decided_by_flow_and_the_others_as_before():
    data = dataset()
    draws = np.random.default_rng(4)
    costs = data.labels.copy()
    costs[::2] -= draws.uniform(0, 6, size=costs[::2].shape)  # going round some cycles pays
    values = data.problem.values(costs)
    ours, flow = BatchedWays(data.problem), OrtoolsSolver(data.problem)
    best = (values * flow.decide(values)).sum(axis=(1, 2))
    assert (values * ours.decide(values)).sum(axis=(1, 2)) == pytest.approx(best)
    assert ours.decide(values)[1::2].tobytes() == ours.decide(values[1::2]).tobytes()


def test_more_maps_of_a_seed_begin_with_the_same():
    few, more = dataset(), dataset(test=9)
    assert np.array_equal(more.features[:12], few.features)
    assert np.array_equal(more.labels[:12], few.labels)
    assert few.features.min() >= 0.0
    assert few.features.max() <= 1.0
    assert set(np.unique(few.labels)) == set(terrain_maps.COSTS)


def tile_means(data):
    """(maps, tiles, channels): the mean colour of each tile."""
    size = terrain_maps.TILE
    parts = data.features.reshape(len(data.features), 3, 6, size, 6, size)
    return parts.mean(axis=(3, 5)).reshape(len(data.features), 3, 36).transpose(0, 2, 1)


@pytest.mark.parametrize(("alike", "told_apart"), [(0.0, True), (1.0, False)])
def test_two_kinds_may_look_alike(alike, told_apart):
    data = dataset(train=60, light=0.0, alike=alike)
    grass, forest = (tile_means(data)[data.labels == cost] for cost in (2.0, 4.0))
    apart = np.abs(grass.mean(axis=0) - forest.mean(axis=0)).max()
    assert (apart > 0.1) == told_apart
    if not told_apart:  # only their textures differ by chance
        plain = dataset(train=60, light=0.0, alike=1.0, texture=0.0)
        grass, forest = (tile_means(plain)[plain.labels == cost] for cost in (2.0, 4.0))
        assert np.abs(grass.mean(axis=0) - forest.mean(axis=0)).max() < 0.01


def test_labels_may_be_noisy_around_the_same_mean():
    data = dataset(train=300, label_noise=0.4)
    ratio = data.labels[:, :, None] / np.array(terrain_maps.COSTS)
    nearest = np.abs(np.log(ratio)).argmin(axis=2)
    assert len(np.unique(data.labels)) > 1000
    assert data.labels.mean() == pytest.approx(np.mean(terrain_maps.COSTS), rel=0.05)
    assert nearest.shape == data.labels.shape


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A tiny folder of the published form, written here."""
    draws = np.random.default_rng(2)
    for split, count in (("train", 5), ("val", 2), ("test", 3)):
        maps = draws.integers(0, 256, size=(count, 48, 48, 3), dtype=np.uint8)
        np.save(tmp_path / f"{split}_maps.npy", maps)
        weights = draws.uniform(0.8, 9.2, size=(count, 6, 6)).astype(np.float16)
        np.save(tmp_path / f"{split}_vertex_weights.npy", weights)
        np.save(tmp_path / f"{split}_shortest_paths.npy", np.zeros((count, 6, 6), np.uint8))
    monkeypatch.setenv("DGLBENCH_WARCRAFT_DIR", str(tmp_path))
    return tmp_path


def test_published_arrays_are_read_from_a_folder(folder):
    data = dataset(source="warcraft", train=4, val=2, test=3)
    maps = np.load(folder / "val_maps.npy")
    assert np.array_equal(data.features[4], maps[0].transpose(2, 0, 1) / 255.0)
    weights = np.load(folder / "test_vertex_weights.npy")
    assert np.array_equal(data.labels[-1], weights[2].ravel().astype(float))
    assert data.split.tolist() == [0] * 4 + [1] * 2 + [2] * 3


def test_published_arrays_train(folder, cli):
    sizes = ("--set", "train=4", "--set", "val=2", "--set", "test=3", "--n", "6")
    words = ("--predictor", "cnn:channels=2", "--epochs", "1", "--method", "spo")
    ran = cli("train", "terrain", "--set", "source=warcraft", *sizes, *words)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"train": 9}, "has 5 maps of train, asked for were 9"),
        ({"train": 4, "n": 8}, r"wanted \(maps, height, width, 3\) and \(maps, 8, 8\)"),
    ],
)
def test_published_arrays_that_do_not_fit_are_refused(folder, settings, says):
    with pytest.raises(DatasetError, match=says):
        dataset(**{"source": "warcraft", "val": 2, "test": 3, "train": 4, **settings})


def test_without_the_folder_it_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.delenv("DGLBENCH_WARCRAFT_DIR", raising=False)
    with pytest.raises(DatasetError, match="set DGLBENCH_WARCRAFT_DIR"):
        dataset(source="warcraft")
    monkeypatch.setenv("DGLBENCH_WARCRAFT_DIR", str(tmp_path / "nothing"))
    with pytest.raises(DatasetError, match=r"train_maps\.npy cannot be read"):
        dataset(source="warcraft")

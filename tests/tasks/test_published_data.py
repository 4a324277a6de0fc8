"""``source=…`` is the data, the split and the figure of published runs."""
# ruff: noqa: NPY002 - the published data came from numpy's global generator

import numpy as np
import pytest

from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.training.evaluation import Evaluator

# Their test figures of least squares, noise 0.5 and degree 6, by training instances and run.
PATHS = {
    (100, 0): 0.1391451110865677,
    (100, 2): 0.15800677737366764,
    (1000, 0): 0.1348236610936752,
    (1000, 1): 0.13566823309441906,
}
KNAPSACKS = {(100, 0): 0.15591588557473354, (1000, 1): 0.12812067362352425}


def published(name, seed, **settings):
    task = find_task(name)
    return task.generate(task.parse_settings({"source": "published", **settings}), seed)


def global_recipe(runs, n, degree, noise, d, knapsack=False, p=5):
    """Return (weights, x, c, test, train) of each run, drawn as the authors did: globally."""
    before, found = np.random.get_state(), []
    try:
        np.random.seed(135)
        for _ in range(runs):
            seed = np.random.randint(999)
            np.random.seed(seed)
            weights = np.random.choice(range(300, 800), size=(2, d)) / 100 if knapsack else None
            B = np.random.binomial(1, 0.5, (d, p))
            x = np.random.normal(0, 1, (n + 1000, p))
            c = (np.dot(x, B.T) / np.sqrt(p) + 3) ** degree + 1
            c = (c * 5 if knapsack else c) / 3.5**degree
            c *= np.random.uniform(1 - noise, 1 + noise, (n + 1000, d))
            order = np.random.RandomState(seed).permutation(n + 1000)
            found.append((weights, x, np.ceil(c) if knapsack else c, order[:1000], order[1000:]))
    finally:
        np.random.set_state(before)
    return found


@pytest.mark.parametrize(
    ("grid", "n", "degree", "noise"), [(5, 100, 6, 0.5), (3, 40, 1, 0.0), (10, 60, 4, 0.5)]
)
def test_paths_are_those_of_the_published_run(grid, n, degree, noise):
    edges = 2 * grid * (grid - 1)
    for run, (_, x, c, test, train) in enumerate(global_recipe(10, n, degree, noise, edges)):
        if run not in (0, 1, 9):
            continue
        ours = published("shortest-path", run, n=grid, train=n, degree=degree, noise=noise)
        assert ours.features.tobytes() == x.tobytes()
        assert ours.labels.tobytes() == c.tobytes()
        assert ours.rows("test").tolist() == sorted(test.tolist())
        assert ours.rows("train").tolist() == sorted(train.tolist())
        assert ours.rows("val").size == 0


@pytest.mark.parametrize("run", [0, 3, 9])
def test_knapsacks_are_those_of_the_published_run(run):
    weights, x, c, test, _ = global_recipe(run + 1, 100, 4, 0.5, 32, knapsack=True)[-1]
    ours = published("multi-knapsack", run, train=100, degree=4)
    assert np.array_equal(ours.constants["weights"], weights)
    assert ours.features.tobytes() == x.tobytes()
    assert ours.labels.tobytes() == c.tobytes()
    assert ours.rows("test").tolist() == sorted(test.tolist())


def test_numpys_global_generator_is_left_as_it_was():
    np.random.seed(7)
    expected = np.random.RandomState(7).randint(10**9)
    published("shortest-path", 4, train=10)
    assert np.random.randint(10**9) == expected


def least_squares(name, train, run):
    """Return the pooled test regret of least squares in closed form, as a run would log it."""
    data = published(name, run, train=train, degree=6)
    inputs = np.c_[data.features, np.ones(len(data.features))]
    rows = data.rows("train")
    weights = np.linalg.lstsq(inputs[rows], data.labels[rows], rcond=None)[0]
    judge = Evaluator(find_task(name), data).splits["test"]
    return judge.judge(inputs[data.rows("test")] @ weights).metrics()["pooled_regret"]


@pytest.mark.parametrize(("train", "run"), PATHS)
def test_least_squares_has_the_published_figure_on_paths(train, run):
    assert least_squares("shortest-path", train, run) == pytest.approx(PATHS[train, run], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("train", "run"), KNAPSACKS)
def test_least_squares_has_the_published_figure_on_knapsacks(train, run):
    # Gurobi's optima are right to 1e-6 each, so its sums differ from ours by that.
    assert least_squares("multi-knapsack", train, run) == pytest.approx(
        KNAPSACKS[train, run], abs=1e-7
    )


@pytest.mark.parametrize(("source", "seed", "split"), [("cave", 44, 135), ("notebook", 42, 42)])
def test_later_experiments_draw_from_the_data_seed_and_split_by_a_seed_of_their_own(
    source, seed, split
):
    draws = np.random.RandomState(seed)
    B = draws.binomial(1, 0.5, (40, 5))
    x = draws.normal(0, 1, (1070, 5))
    c = ((np.dot(x, B.T) / np.sqrt(5) + 3) ** 4 + 1) / 3.5**4
    c *= draws.uniform(0.5, 1.5, (1070, 40))
    ours = published("shortest-path", seed, train=70, degree=4, source=source)
    assert ours.features.tobytes() == x.tobytes()
    assert ours.labels.tobytes() == c.tobytes()
    # scikit-learn's train_test_split takes the first of a permutation for the test set.
    order = np.random.RandomState(split).permutation(1070)
    assert ours.rows("test").tolist() == sorted(order[:1000])
    task = find_task("shortest-path")
    assert task.label_scale(ours) == 1.0, "perturbations there are in the unit of the labels"
    assert task.protocol(ours.spec.settings) == {"choose": "last"}
    assert task.added_to_optima(ours.spec.settings) == 1e-7


@pytest.mark.parametrize("name", ["shortest-path", "multi-knapsack"])
def test_sizes_are_implied_and_others_refused(name):
    task = find_task(name)
    settings = task.parse_settings({"source": "published"})
    assert (settings.val, settings.test) == (0, 1000)
    assert task.parse_settings({"source": "published", "val": 0, "test": 1000}) == settings
    for size in ({"val": 10}, {"test": 300}):
        (key,) = size
        with pytest.raises(OptionError, match=f"{key} must be"):
            task.parse_settings({"source": "published", **size})


@pytest.mark.parametrize("name", ["shortest-path", "multi-knapsack"])
def test_other_seeds_are_refused(name):
    with pytest.raises(OptionError, match=r"has the data seeds 0 to 9, .*, got 10;"):
        published(name, 10, train=5)
    if name == "shortest-path":
        with pytest.raises(OptionError, match=r"source=cave has the data seeds 42 to 51, .* got 0"):
            published(name, 0, train=5, source="cave")
        with pytest.raises(
            OptionError, match=r"has the data seed 42 alone, got 7; write --seed 42"
        ):
            published(name, 7, train=5, source="notebook")


def test_recorded_settings_of_other_data_do_not_mention_the_source():
    from dglbench import options

    task = find_task("shortest-path")
    assert "source" not in options.as_dict(task.parse_settings({}))
    assert options.as_dict(task.parse_settings({"source": "published"}))["source"] == "published"

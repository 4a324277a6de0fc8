"""How features lie, what is built for them, and where outputs go."""

import numpy as np
import pytest
import torch
from image_task import Tiles

from dglbench.data.importing import import_arrays
from dglbench.errors import OptionError, PluginError
from dglbench.layout import Layout
from dglbench.plugins import find_task
from dglbench.predictors.choice import (
    check_predictor,
    default_predictor,
    find_predictor,
    predictor_text,
)
from dglbench.problem import Problem
from dglbench.training.predictor import fresh_predictor

K = 12


def made(task, **settings):
    plugin = find_task(task)
    sizes = {"train": 8, "val": 2, "test": 2, **settings}
    return plugin, plugin.generate(plugin.parse_settings(sizes), 3)


def test_each_bundled_task_says_how_its_features_lie():
    found = {}
    for task in ("knapsack", "matching", "multi-knapsack", "offers", "scheduling", "shortest-path"):
        plugin, dataset = made(task)
        found[task] = plugin.layout(dataset)
    assert found["knapsack"] == Layout("item", (8,), 1)
    assert found["matching"] == Layout("pair", (15,), 3, "sigmoid", shared=10)
    assert found["multi-knapsack"] == Layout("instance", (5,), 32)
    assert found["offers"] == Layout("item", (5,), 3, "sigmoid")
    assert found["scheduling"] == Layout("item", (8,), 1)
    assert found["shortest-path"] == Layout("instance", (5,), 40)
    assert default_predictor(find_task("transport")) == "task"
    assert default_predictor(find_task("matching")) == "linear"
    assert default_predictor(Tiles()) == "cnn"


def outputs_of(network, features):
    """What the network alone says, before its outputs are placed."""
    with torch.no_grad():
        return network.outputs(network.network(network.inputs(torch.from_numpy(features)))).numpy()


@pytest.mark.parametrize("text", ["linear", "mlp:hidden=4", "linear:units=raw"])
def test_outputs_of_offers_stand_behind_no_offer(text):
    task, dataset = made("offers", n=4)
    network = fresh_predictor(text, task, dataset)
    answer = network(torch.from_numpy(dataset.features)).detach().numpy()
    assert (answer[..., 0] == 0).all()
    np.testing.assert_array_equal(answer[..., 1:], outputs_of(network, dataset.features))
    assert ((answer[..., 1:] > 0) & (answer[..., 1:] < 1)).all()


def test_outputs_of_a_whole_instance_go_to_what_is_predicted():
    draws = np.random.default_rng(1)
    mask = np.ones((4, 3), dtype=bool)
    mask[1, 2] = mask[3, 0] = False
    labels = np.where(mask, draws.normal(5, 2, (K, 4, 3)), 0.0)
    dataset = import_arrays(
        {
            "features": draws.normal(size=(K, 6)),
            "labels": labels,
            "A": np.eye(3),
            "b": [4.0] * 3,
            "mask": mask,
        }
    )
    task = find_task("own")
    assert task.layout(dataset) == Layout("instance", (6,), 10)
    network = fresh_predictor("mlp:hidden=5", task, dataset)
    answer = network(torch.from_numpy(dataset.features)).detach().numpy()
    assert (answer[:, ~mask] == 0).all()
    np.testing.assert_array_equal(answer[:, mask], outputs_of(network, dataset.features))


def test_outputs_are_in_units_of_the_labels_whatever_these_are():
    """Labels times 1000 plus 7: the same start, times 1000 plus 7."""
    draws = np.random.default_rng(2)
    features, labels = draws.normal(size=(K, 4, 6)), draws.normal(5, 2, (K, 4))
    given = {"features": features, "A": np.ones((1, 4)), "b": [2.0]}
    task, answers = find_task("own"), []
    for scale, shift in ((1.0, 0.0), (1000.0, 7.0)):
        dataset = import_arrays({**given, "labels": scale * labels + shift})
        network = fresh_predictor("linear", task, dataset)
        answers.append(network(torch.from_numpy(features)).detach().numpy()[..., 0])
    np.testing.assert_allclose(answers[1], 1000 * answers[0] + 7, rtol=1e-9)
    assert abs(answers[0].mean() - labels.mean()) < labels.std()


def test_raw_units_are_torchs_plain_layer():
    task, dataset = made("multi-knapsack")
    network = fresh_predictor("linear:units=raw", task, dataset)
    layer, features = network.network, torch.from_numpy(dataset.features)
    assert isinstance(layer, torch.nn.Linear)
    assert layer.bias.abs().max() > 0, "torch's own start, not 0"
    torch.testing.assert_close(network(features), layer(features), rtol=0, atol=0)


def test_softplus_keeps_predictions_above_0_and_starts_at_the_labels_mean():
    task = Tiles()
    dataset = task.generate(task.parse_settings({}), 1)
    network = fresh_predictor("cnn:channels=4", task, dataset)
    labels = dataset.part(dataset.labels, "train")
    with torch.no_grad():
        silent = network.outputs(torch.zeros(1, 4, dtype=torch.float64)).numpy()
        answer = network(torch.from_numpy(dataset.features)).numpy()
    np.testing.assert_allclose(silent[0], labels.mean(axis=0))
    assert answer.shape == dataset.labels.shape
    assert (answer > 0).all()


def test_one_text_for_one_configuration():
    def text(given):
        return predictor_text(find_predictor(given))

    assert text("mlp") == text("MLP: hidden=64 , layers=1") == "mlp"
    assert text("mlp:layers=2,hidden=16") == "mlp:hidden=16,layers=2"
    assert text("mlp:dropout=0.25") == "mlp:dropout=0.25"
    assert text("linear:units=labels") == "linear"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "forest",
            "there is no predictor 'forest'; there are boosted-trees, cnn, least-squares, linear",
        ),
        ("mlp:hidden=0", "hidden must be a whole number ≥ 1, got '0'"),
        ("mlp:width=3", "predictor mlp has no option 'width'; it has hidden, layers"),
        ("mlp:16", "--predictor takes key=value, got '16'; write for example mlp:hidden=16"),
    ],
)
def test_what_names_no_predictor_is_said(text, sentence):
    with pytest.raises((OptionError, PluginError)) as refused:
        find_predictor(text)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("task", "text", "reason"),
    [
        ("knapsack", "cnn", "its features are one vector per item, and cnn needs one image per"),
        ("knapsack", "task", "it has no model of its own"),
    ],
)
def test_a_predictor_that_does_not_fit_is_refused_when_runs_are_planned(cli, task, text, reason):
    for words in (("train", task), ("sweep", "--tasks", task, "--methods", "spo", "--plan")):
        outcome = cli(*words, "--set", "train=5", "--predictor", text, "--epochs", "1")
        assert outcome.code == 2
        assert f"predictor {text} does not fit {task}-48: {reason}" in outcome.err
        assert "Traceback" not in outcome.err


def test_a_task_of_images_takes_no_vectors_model_and_tiles_must_fit():
    task = Tiles()
    dataset = task.generate(task.parse_settings({}), 1)
    with pytest.raises(OptionError, match="its features are one image per instance"):
        check_predictor("mlp", task, dataset, "tiles-2")
    layout = Layout("image", (3, 16, 16), 5)
    assert "5 outputs are no grid of tiles" in str(find_predictor("cnn").refuses_layout(layout))


def test_features_that_lie_in_no_known_way_are_refused():
    problem = Problem.top_k(4, 1)
    assert Layout.of((K, 5, 3), problem) is None
    assert Layout.of((K, 4, 3), problem) == Layout("item", (3,), 1)
    assert Layout.of((K, 3), problem) == Layout("instance", (3,), 4)

"""The matching task: the paper's numbers, its claims, and its predictor."""

import numpy as np
import pytest
import torch

from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.solvers.batched_matching import BatchedMatching
from dglbench.training.predictor import fresh_predictor
from dglbench_tasks import matching as module
from dglbench_tasks.matching import MatchingSettings

TASK = find_task("matching")


def make(seed=25, **given):
    return TASK.generate(
        TASK.parse_settings({"n": 9, "train": 20, "val": 10, "test": 10, **given}), seed
    )


def logits(dataset):
    return np.log(dataset.labels) - np.log1p(-dataset.labels)


def test_defaults_are_the_papers():
    settings = MatchingSettings()
    assert (settings.locations, settings.train, settings.val, settings.test) == (3, 400, 400, 200)
    assert (settings.base_features, settings.location_features) == (10, 5)
    assert (settings.max_std, settings.base_coefficient, settings.location_coefficient) == (5, 4, 5)
    assert (settings.location_weight, settings.noise, settings.slack) == (1, 0, 0)
    assert TASK.sizes == (10, 50)
    paper = TASK.paper()["settings"]
    assert {name: entry["n"] for name, entry in paper.items()} == {
        "matching-10": 10,
        "matching-50": 50,
    }
    assert all(entry["seeds"] == [10, 25, 95] for entry in paper.values())


def test_shapes_and_splits():
    dataset = make()
    assert dataset.features.shape == (40, 9, 15)
    assert dataset.labels.shape == (40, 9, 3)
    assert [len(dataset.rows(name)) for name in ("train", "val", "test")] == [20, 10, 10]
    assert ((dataset.labels > 0) & (dataset.labels < 1)).all()


def test_features_are_zero_mean_with_one_spread_each():
    features = make(n=50, train=400).features.reshape(-1, 15)
    spread = features.std(axis=0)
    assert (spread > 0).all()
    assert (spread < 5.2).all()
    assert len(set(spread.round(2))) > 10  # drawn for each feature
    assert (np.abs(features.mean(axis=0)) < 5 * spread / np.sqrt(len(features))).all()


def test_the_base_term_is_standardised():
    base = logits(make(location_weight=0))
    assert np.allclose(base, base[:, :, :1])  # the same at every location
    assert base[:, :, 0].mean() == pytest.approx(0, abs=1e-9)
    assert base[:, :, 0].std() == pytest.approx(1)


def test_the_base_term_is_linear_in_base_features_with_whole_coefficients():
    dataset = make(location_weight=0, n=50)
    inputs = np.column_stack([dataset.features.reshape(-1, 15), np.ones(40 * 50)])
    fitted, residual, *_ = np.linalg.lstsq(inputs, logits(dataset)[:, :, 0].ravel(), rcond=None)
    assert residual[0] < 1e-15
    assert np.abs(fitted[10:15]).max() < 1e-9
    coefficients = module.stream(25, "matching", "base coefficients").integers(1, 5, 10)
    assert set(coefficients.tolist()) <= {1, 2, 3, 4}
    assert np.allclose(fitted[:10] / fitted[0], coefficients / coefficients[0])


def test_the_location_term_is_standardised_over_all_pairs():
    local = logits(make()) - logits(make(location_weight=0))
    assert local.mean() == pytest.approx(0, abs=1e-9)
    assert local.std() == pytest.approx(1)
    assert np.abs(local - local[:, :, :1]).max() > 0.1
    weighted = logits(make(location_weight=2.5)) - logits(make(location_weight=0))
    assert np.allclose(weighted, 2.5 * local)


def test_the_location_term_is_what_the_paper_says():
    dataset = make(n=50)
    local = (logits(dataset) - logits(make(n=50, location_weight=0))).reshape(-1, 3)
    features = dataset.features.reshape(-1, 15)[:, 10:]
    inputs = np.column_stack(
        [np.abs(features), features[:, 0] * features[:, 1], np.ones(len(features))]
    )
    fitted, residual, *_ = np.linalg.lstsq(inputs, local, rcond=None)
    assert residual.max() < 1e-12
    # One common scale turns all coefficients into whole numbers within -5 … 5.
    largest = np.abs(fitted[:6]).max()
    fits = [
        np.abs(fitted[:6] * top / largest - np.rint(fitted[:6] * top / largest)).max()
        for top in range(1, 6)
    ]
    assert min(fits) < 1e-6


@pytest.mark.parametrize(
    ("given", "room"),
    [
        ({"n": 9}, [3, 3, 3]),
        ({"n": 10}, [4, 4, 4]),  # not divisible: rounded up
        ({"n": 50}, [17, 17, 17]),
        ({"n": 9, "slack": 0.2}, [4, 4, 4]),
        ({"n": 9, "slack": 1}, [6, 6, 6]),
        ({"n": 7, "locations": 1}, [7]),
        ({"n": 2, "locations": 5}, [1, 1, 1, 1, 1]),
        ({"n": 9, "capacities": "0,4,5"}, [0, 4, 5]),
        ({"n": 9, "capacities": "9,9,9", "slack": 3}, [9, 9, 9]),
    ],
)
def test_capacities(given, room):
    dataset = make(**given)
    assert dataset.constants == {"capacities": room}
    assert dataset.problem.b.tolist() == room
    assert dataset.problem.is_assignment


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"capacities": "3,3"}, "one number for each of the 3 locations, got 2"),
        ({"capacities": "3,3,2"}, "hold all 9 individuals, got 3, 3, 2"),
        ({"capacities": "-1,9,9"}, "must be ≥ 0"),
        ({"n": 0}, "n must be a whole number ≥ 1"),
        ({"locations": 0}, "locations must be"),
        ({"noise": -1}, "noise must be a number ≥ 0"),
        ({"max_std": 0}, "max_std must be a number > 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given, says):
    with pytest.raises(OptionError, match=says):
        make(**given)


def test_same_seed_same_bits_and_other_seed_other_data():
    one, two, other = make(), make(), make(seed=10)
    for name in ("features", "labels", "split"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    assert not np.array_equal(one.features, other.features)


@pytest.mark.parametrize(
    "change", [{"slack": 0.5}, {"capacities": "9,9,9"}, {"noise": 0.5}, {"location_weight": 2}]
)
def test_one_stream_never_moves_another(change):
    plain, changed = make(), make(**change)
    assert np.array_equal(plain.features, changed.features)
    same_labels = "slack" in change or "capacities" in change
    assert np.array_equal(plain.labels, changed.labels) == same_labels


def test_noise_is_on_the_logit():
    noise = logits(make(noise=0.5, n=50, train=200)) - logits(make(n=50, train=200))
    assert noise.std() == pytest.approx(0.5, rel=0.02)
    assert abs(noise.mean()) < 0.01
    assert np.abs(np.corrcoef(noise.reshape(-1, 3).T) - np.eye(3)).max() < 0.05


def test_one_location_leaves_nothing_to_decide():
    dataset = make(locations=1)
    assert dataset.labels.shape == (40, 9, 1)
    assert BatchedMatching(dataset.problem).decide(dataset.labels).min() == 1


def test_the_predictor_is_logistic_regression_on_pair_inputs():
    dataset = make()
    model = fresh_predictor("linear", TASK, dataset)
    mean, std = dataset.standardiser
    inputs = (dataset.features - mean) / std
    base, local = inputs[..., :10], inputs[..., 10:]
    weights = np.concatenate(
        [
            model.network.shared.weight.detach().numpy().ravel(),
            model.network.own.weight.detach().numpy().ravel(),
            (model.network.own.bias + model.outputs.level).detach().numpy(),
        ]
    )
    expected = np.empty((40, 9, 3))
    for j in range(3):
        switched = np.zeros((40, 9, 3, 5))
        switched[:, :, j] = local
        indicator = np.broadcast_to(np.eye(3)[j], (40, 9, 3))
        pair = np.concatenate([base, switched.reshape(40, 9, 15), indicator], axis=-1)
        expected[:, :, j] = 1 / (1 + np.exp(-(pair @ weights)))
    predicted = model(torch.from_numpy(dataset.features)).detach().numpy()
    assert np.allclose(predicted, expected)


def test_the_predictor_standardises_on_train_only():
    dataset = make()
    train = dataset.features[dataset.rows("train")].reshape(-1, 15)
    mean, std = dataset.standardiser
    assert np.allclose(mean, train.mean(axis=0))
    assert np.allclose(std, train.std(axis=0))


def test_labels_by_location():
    dataset = make(locations=4)
    axis = TASK.label_axis(dataset.spec.settings)
    packed = dataset.problem.pack(dataset.labels)
    assert np.array_equal(packed[:, axis.positions == 2], dataset.labels[:, :, 1])


def test_labels_need_no_scale():
    assert TASK.label_scale(make()) == 1.0

"""Named random streams never move each other."""

import numpy as np
import pytest

from dglbench.streams import stream, torch_seed


def test_same_names_same_draws():
    assert np.array_equal(stream(3, "data", "x").random(5), stream(3, "data", "x").random(5))
    assert torch_seed(3, "init") == torch_seed(3, "init")


def test_draws_are_fixed_for_ever():
    # Datasets are named by seed: a change here changes every published number.
    assert stream(25, "data").integers(0, 2**32, 3).tolist() == [444656845, 2582179447, 4163791098]
    assert torch_seed(25, "init") == 2642528684189350727


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, "a"), (1, "a")),
        ((0, "a"), (0, "b")),
        ((0, "a", "b"), (0, "b", "a")),
        ((0, "a"), (0, "a", "a")),
    ],
)
def test_other_names_or_seeds_other_draws(one, other):
    assert not np.array_equal(stream(*one).random(4), stream(*other).random(4))
    assert torch_seed(*one) != torch_seed(*other)


def test_torch_seeds_fit_torch():
    assert all(0 <= torch_seed(seed, "init") < 2**63 for seed in range(200))

"""Numbers as people read them."""

import pytest

from dglbench.words import ratio, rough_seconds, seconds, size


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.000033, "33.0 µs"), (0.0613, "61.3 ms"), (0.27, "0.270 s"), (200, "3 min 20 s")],
)
def test_seconds_read_well(value, text):
    assert seconds(value).replace("\u00a0", " ") == text


@pytest.mark.parametrize(("value", "text"), [(0.2, "0.20×"), (5.11, "5.1×"), (1234, "1,200×")])
def test_ratios_read_well(value, text):
    assert ratio(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.04, "0.0 s"),
        (12.3, "12 s"),
        (59.9, "60 s"),
        (61, "1 min 1 s"),
        (3599.7, "1 h 0 min"),
        (7260, "2 h 1 min"),
    ],
)
def test_estimates_read_well(value, text):
    assert rough_seconds(value) == text


@pytest.mark.parametrize(("count", "text"), [(7, "7 B"), (1500, "1.5 kB"), (2_500_000, "2.5 MB")])
def test_sizes_read_well(count, text):
    assert size(count) == text

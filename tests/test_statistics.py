"""Intervals: the same draws in any chunks, in bounded memory; which optima are divided by."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dglbench import statistics
from dglbench.statistics import (
    bootstrap_interval,
    has_relative_regret,
    percentile_interval,
    resampled_means,
)
from dglbench.streams import stream

VALUES = np.random.default_rng(3).normal(1.0, 0.5, 101)


@pytest.mark.parametrize("at_once", [1, 250, 10_000, 1 << 22])
def test_chunks_change_no_interval(monkeypatch, at_once):
    drawn = stream(0, "bootstrap").integers(0, len(VALUES), (2000, len(VALUES)))
    whole = percentile_interval(VALUES[drawn].mean(axis=1))
    monkeypatch.setattr(statistics, "_DRAWN_AT_ONCE", at_once)
    assert bootstrap_interval(VALUES) == whole


def test_kept_weights_and_chunks_give_the_same_means(monkeypatch):
    kept = resampled_means(VALUES)
    monkeypatch.setattr(statistics, "_KEPT_WEIGHTS", 0)
    monkeypatch.setattr(statistics, "_DRAWN_AT_ONCE", 999)
    assert resampled_means(VALUES) == pytest.approx(kept, rel=1e-12)


@pytest.mark.parametrize("means", [bootstrap_interval, resampled_means])
def test_many_instances_take_bounded_memory(monkeypatch, means):
    monkeypatch.setattr(statistics, "RESAMPLES", 200)  # at 2,000 it takes as much, for longer
    values = np.random.default_rng(0).random(100_000)
    tracemalloc.start()
    means(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6, "drawn whole, 200 × 100,000 numbers take 160 MB twice"


def test_an_interval_of_a_ratio_resamples_both_of_its_sums():
    sizes = VALUES * 4
    low, high = bootstrap_interval(VALUES, sizes)
    assert low == pytest.approx(0.25)
    assert high == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("optimal", "expected"),
    [
        ([10.0, -8.0, 0.5], [True, True, True]),
        ([10.0, 8.0, 0.0, 1e-9, -0.005], [True, True, False, False, True]),
        ([0.0, 0.0, 0.0, 5.0], [False, False, False, True]),
        ([0.0, 0.0], [False, False]),
    ],
)
def test_an_optimum_near_zero_has_no_relative_regret(optimal, expected):
    assert has_relative_regret(np.array(optimal)).tolist() == expected

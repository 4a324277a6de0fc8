"""Data for `fit.py`: three kinds as users have them, and two on which the verdict is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Arrays = dict[str, Any]
COUNT, FRESH = 600, 1000
"""Instances to fit, and instances that no fit sees."""


def market(count: int, draws: np.random.Generator) -> Arrays:
    """Take hours of a day to buy in: skewed prices, forecasts that are off, one capacity row."""
    hours = 24
    clock = 2 * np.pi * np.arange(hours) / hours
    load = 1 - 0.4 * np.cos(clock) + 0.15 * draws.normal(size=(count, 1))
    load = load + 0.1 * draws.normal(size=(count, hours))
    wind = np.abs(draws.normal(size=(count, 1)) + 0.4 * draws.normal(size=(count, hours)))
    scarce = np.maximum(load - 0.35 * wind - 0.6, 0.0)
    price = 30 + 25 * load - 8 * wind + 60 * scarce**2
    price = price + 6 * draws.standard_t(3, size=(count, 1)) + 5 * draws.normal(size=price.shape)
    seen = [
        load + 0.1 * draws.normal(size=load.shape),
        wind + 0.3 * draws.normal(size=wind.shape),
        np.broadcast_to(np.sin(clock), load.shape),
        np.broadcast_to(np.cos(clock), load.shape),
        np.roll(price.mean(axis=1), 1)[:, None] + np.zeros(hours),
        draws.normal(size=load.shape),
    ]
    hours_of_work = np.random.default_rng(5).integers(2, 8, size=hours)
    return {
        "features": np.stack(seen, axis=-1),
        "labels": price,
        "A": hours_of_work,
        "b": np.array([0.4 * hours_of_work.sum()]),
    }


def matching(count: int, draws: np.random.Generator) -> Arrays:
    """Send each of 12 people to one of 4 places with few seats; the truth is no line."""
    people, places, inputs = 12, 4, 5
    truth = np.random.default_rng(6)
    inner, outer = truth.normal(size=(inputs, 8)), truth.normal(size=(8, places))
    features = draws.normal(size=(count, people, inputs))
    value = (
        10
        + 3 * (np.tanh(features @ inner) @ outer)
        + (features**2) @ truth.normal(size=(inputs, places))
    )
    return {
        "features": features,
        "labels": value + 0.5 * draws.normal(size=value.shape),
        "A": np.repeat(np.eye(places)[:, None], people, axis=1),
        "b": np.array([2.0, 3.0, 4.0, 5.0]),
    }


def ragged(count: int, draws: np.random.Generator) -> Arrays:
    """Give 12 jobs to two to five of 5 people or outside, at the least cost; hours are limited."""
    jobs, people, inputs = 12, 5, 4
    truth = np.random.default_rng(7)
    able = truth.random((jobs, people)).argsort(axis=1) < truth.integers(2, 6, size=(jobs, 1))
    hours = truth.integers(1, 5, size=jobs)
    weights = truth.integers(0, 2, size=(inputs, people + 1)) + 0.2
    features = draws.normal(size=(count, jobs, inputs))
    cost = (features @ weights / np.sqrt(inputs) + 3) ** 4 / 3.5**4 + 1
    cost = 10 * hours[:, None] * cost * draws.uniform(0.5, 1.5, size=cost.shape)
    cost[..., people] *= 2  # outside: always there, uses nobody's hours
    A = np.zeros((people, jobs, people + 1))
    for person in range(people):
        A[person, :, person] = hours
    return {
        "features": features,
        "labels": cost,
        "A": A,
        "b": np.full(people, np.ceil(0.8 * hours.sum() / people)),
        "mask": np.concatenate([able, np.ones((jobs, 1), dtype=bool)], axis=1),
        "sense": "minimise",
    }


def shared_shock(count: int, draws: np.random.Generator) -> Arrays:
    """Choose one of 6 offers for each of 4 people: what moves all six hides what decides."""
    clear = one_of_six(count, draws)
    shock = 40 * draws.normal(size=(count, 4, 1))
    noise = draws.normal(size=clear["labels"].shape)
    return clear | {"labels": clear["labels"] + shock + noise}


def one_of_six(count: int, draws: np.random.Generator) -> Arrays:
    """Choose one of 6 offers for each of 4 people: values are exactly linear in the features."""
    features = draws.normal(size=(count, 4, 6, 5))
    return {
        "features": features,
        "labels": 100 + features @ np.array([4.0, -3.0, 2.0, 1.0, -0.5]),
        "A": np.ones((1, 4, 6)),
        "b": np.array([4.0]),
    }


class Kind(NamedTuple):
    """A kind of data."""

    name: str
    draw: Callable[[int, np.random.Generator], Arrays]
    pays: bool | None = None
    """Whether training for decisions pays, where the data are built for it."""

    def make(self, seed: int) -> tuple[Arrays, Arrays]:
        """Return the arrays to fit, and features and labels of fresh instances."""
        arrays = self.draw(COUNT + FRESH, np.random.default_rng([seed, 24]))
        drawn = {key: arrays[key] for key in ("features", "labels")}
        seen = arrays | {key: array[:COUNT] for key, array in drawn.items()}
        return seen, {key: array[COUNT:] for key, array in drawn.items()}


KINDS = {
    kind.name: kind
    for kind in (
        Kind("market", market),
        Kind("matching", matching),
        Kind("ragged", ragged),
        Kind("pays", shared_shock, pays=True),
        Kind("pays-not", one_of_six, pays=False),
    )
}

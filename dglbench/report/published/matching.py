"""Which runs of a folder are counterparts of published ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dglbench.report.loading import Run
from dglbench.report.published.figures import Counterpart, Published, counterparts, published
from dglbench.statistics import Numbers

__all__ = ["Match", "matches"]

_NOISE = 0.5
_FEATURES = 5


class Match(NamedTuple):
    """Published runs and ours on the same data seeds."""

    published: Published
    method: str
    """What ours is called."""
    seeds: tuple[int, ...]
    repeats: tuple[Numbers, ...]
    """By seed: pooled test regrets, one for each training seed."""
    epochs: int | None
    """Of our runs; None for a closed form."""
    seconds: float

    @property
    def theirs(self) -> Numbers:
        """(seeds,): the published test regrets."""
        entry = self.published
        return entry.regrets[[entry.seeds.index(seed) for seed in self.seeds]]

    @property
    def ours(self) -> Numbers:
        """(seeds,): our test regrets, the mean over repeats."""
        return np.array([each.mean() for each in self.repeats])

    @property
    def differences(self) -> Numbers:
        """(seeds,): ours less theirs."""
        return self.ours - self.theirs


def matches(runs: Iterable[Run]) -> list[Match]:
    """Return what the runs re-make of the published figures, in their order."""
    ours = [run for run in runs if run.identity.settings.get("source") in _SOURCES]
    found = (
        _match(entry, each.name, [run for run in ours if _remakes(run, entry, each)])
        for entry in published()
        for each in counterparts(entry)
    )
    return [match for match in found if match is not None]


_SOURCES = frozenset(entry.source for entry in published())


def _match(entry: Published, name: str, runs: Sequence[Run]) -> Match | None:
    """Compare the runs that were trained for the published number of epochs, or nearest to it."""
    if not runs:
        return None
    epochs = None
    if entry.epochs is not None:
        wanted = entry.epochs
        epochs = min((_epochs(run) for run in runs), key=lambda number: abs(number - wanted))
        runs = [run for run in runs if _epochs(run) == epochs]
    seeds = tuple(sorted({run.identity.seed for run in runs}))
    repeats = tuple(
        np.array([_pooled(run) for run in runs if run.identity.seed == seed]) for seed in seeds
    )
    seconds = float(np.mean([run.train_s or 0.0 for run in runs]))
    return Match(entry, name, seeds, repeats, epochs, seconds)


def _remakes(run: Run, entry: Published, ours: Counterpart) -> bool:
    """Whether a run is of the same data, method and split."""
    settings = run.identity.settings
    return (
        settings["source"] == entry.source
        and run.identity.setting == entry.setting
        and run.identity.seed in entry.seeds
        and (settings["train"], settings["degree"]) == (entry.train, entry.degree)
        and (settings["noise"], settings["features"]) == (_NOISE, _FEATURES)
        and run.identity.method == ours.method
        and all(run.options.get(key, False) == value for key, value in ours.options.items())
    )


def _epochs(run: Run) -> int:
    return run.identity.protocol.epochs or 0


def _pooled(run: Run) -> float:
    selected = run.record.selected
    return float("nan") if selected is None else selected.test.pooled_regret

"""Which runs `fit` makes, round by round: first every kind, then more of what does best.

The first round has every kind with its defaults. Every later round has `ROUND` places, a third of
them for the kinds that train for accuracy, so that neither side is the better searched one. Of a
side's places one goes to any of its kinds, the others to those that are best so far: the best
with twice the chance of the second, and so on. A place is, each in a third of the cases, another
configuration drawn from the search ranges, one near the kind's best, or the kind's best with
another training seed. What a round asks for depends on results and a named stream alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dglbench.fitting.kinds import Kind
from dglbench.runs.record import RunRecord
from dglbench.runs.selection import validation_regret
from dglbench.streams import stream
from dglbench.sweep.request.space import Axis, Range
from dglbench.training.spec import RunSpec

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ROUND", "FitRounds"]

_PLACES = (
    ("decision-focused", "best"),
    ("accurate", "best"),
    ("decision-focused", "best"),
    ("decision-focused", "best"),
    ("accurate", "any"),
    ("decision-focused", "any"),
)
ROUND = len(_PLACES)
"""Runs in every round after the first."""
_NEAR = 0.5
"""How far a configuration near another one is from it, in powers of ten."""


class _Result(NamedTuple):
    regret: float
    spec: RunSpec


class FitRounds:
    """The rounds of one fit; without a number of ``runs`` they do not end."""

    def __init__(self, kinds: Sequence[Kind], seed: int, runs: int | None = None) -> None:
        self._kinds, self._seed, self._runs = list(kinds), seed, runs
        self._best: dict[int, _Result] = {}
        """By position of the kind: its best run so far, infinitely bad if all failed."""
        self._open: list[tuple[int, RunSpec]] = []
        self._asked = self._number = 0

    @property
    def upcoming(self) -> int:
        """How many runs of later rounds were not asked for yet; unknown ones do not count."""
        return 0 if self._runs is None else self._runs - self._asked

    def first(self) -> list[RunSpec]:
        """Return every kind with its defaults."""
        return self._ask([(index, kind.spec) for index, kind in enumerate(self._kinds)])

    def after(self, ended: Sequence[RunRecord]) -> list[RunSpec]:
        """Learn from a round's ends and return the next one, [] if there are runs enough."""
        for (index, spec), record in zip(self._open, ended, strict=True):
            result = _Result(validation_regret(record), spec)
            known = self._best.get(index)
            if known is None or result.regret < known.regret:
                self._best[index] = result
        if self._runs is not None and self._asked >= self._runs:
            return []
        self._number += 1
        return self._ask(self._next())

    def _ask(self, wanted: Sequence[tuple[int, RunSpec]]) -> list[RunSpec]:
        left = len(wanted) if self._runs is None else self._runs - self._asked
        self._open = list(wanted)[:left]
        self._asked += len(self._open)
        return [spec for _, spec in self._open]

    def _next(self) -> list[tuple[int, RunSpec]]:
        draws = stream(self._seed, "fit", f"round {self._number}")
        alive = [
            index
            for index, result in self._best.items()
            if self._kinds[index].varies and math.isfinite(result.regret)
        ]
        wanted = []
        for position, (side, which) in enumerate(_PLACES):
            of_side = [index for index in alive if self._kinds[index].side == side] or alive
            if not of_side:
                return []
            ranked = sorted(of_side, key=lambda index: (self._best[index].regret, index))
            weights = [0.5**rank if which == "best" else 1.0 for rank in range(len(ranked))]
            chances = [weight / sum(weights) for weight in weights]
            index = ranked[int(draws.choice(len(ranked), p=chances))]
            number = self._asked + position
            wanted.append((index, self._another(index, number, draws)))
        return wanted

    def _another(self, index: int, number: int, draws: np.random.Generator) -> RunSpec:
        """Return a further run of a kind, the ``number``-th of all."""
        kind, best = self._kinds[index], self._best[index].spec
        seed = number if kind.seeded else 0
        way = int(draws.integers(3))
        if way == 0 and kind.seeded:
            return dataclasses.replace(best, train_seed=seed)
        near = best.options if way == 1 else None
        drawn = {key: _drawn(axis, draws, near, key) for key, axis in kind.space.items()}
        predictor = best.predictor
        if kind.predictors and way == 2:
            predictor = kind.predictors[int(draws.integers(len(kind.predictors)))]
        return dataclasses.replace(
            best,
            options=dataclasses.replace(best.options, **drawn),
            predictor=predictor,
            train_seed=seed,
        )


def _drawn(axis: Axis, draws: np.random.Generator, near: Any, key: str) -> Any:
    """Draw a value: anywhere on the axis, or near that of the options ``near``."""
    if not isinstance(axis, Range):
        position = int(draws.integers(len(axis)))
        return axis[position] if near is None else getattr(near, key)
    share = float(draws.uniform())
    beside = int(draws.integers(1 + len(axis.also)))
    if near is not None:
        value = getattr(near, key)
        if value in axis.also:
            return value
        shift = 10.0 ** (_NEAR * (2 * share - 1))
        return axis.rounded(value * shift)
    if beside:
        return axis.also[beside - 1]
    if axis.scale == "linear":
        return axis.rounded(axis.low + share * (axis.high - axis.low))
    return axis.rounded(axis.low * (axis.high / axis.low) ** share)

"""In which rounds a search tries configurations, and what each round learns from the last.

``full`` tries the whole grid in one round; ``halving`` tries it for E/9 epochs, the best third
for E/3 and the best third of those for E (successive halving, Jamieson and Talwalkar 2016).
``optuna`` is in `dglbench.sweep.tpe`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Protocol

from dglbench.runs.record import RunRecord
from dglbench.runs.selection import ranked
from dglbench.training.spec import RunSpec

__all__ = ["Grid", "Halving", "Rounds"]

_KEEP = 3  # halving keeps a third
_RUNGS = 3


class Rounds(Protocol):
    """What a search asks for, round by round."""

    @property
    def total(self) -> int:
        """How many runs the search makes in all."""

    @property
    def upcoming(self) -> list[tuple[int, int]]:
        """Epochs and number of runs of the rounds that were not asked for yet."""

    def first(self) -> list[RunSpec]:
        """Return the runs of the first round."""

    def after(self, ended: Sequence[RunRecord]) -> list[RunSpec]:
        """Take a round's ends, in the order asked; return the next round, [] if there is none."""


class Grid:
    """Every configuration, in one round."""

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        self._specs = list(specs)
        self.total = len(specs)
        self.upcoming: list[tuple[int, int]] = []

    def first(self) -> list[RunSpec]:
        """Return every configuration."""
        return self._specs

    def after(self, ended: Sequence[RunRecord]) -> list[RunSpec]:
        """There is one round."""
        return []


class Halving:
    """Every configuration for a few epochs, the best for more."""

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        epochs = specs[0].protocol.epochs
        many = len(specs) > 1
        steps = [math.ceil(epochs / _KEEP**k) for k in reversed(range(_RUNGS))] if many else []
        self._steps = sorted({*steps, epochs})
        self._rung = list(specs)
        self._opened = 0

    @property
    def total(self) -> int:
        """Runs of all rungs."""
        return len(self._rung) + sum(runs for _, runs in self.upcoming)

    @property
    def upcoming(self) -> list[tuple[int, int]]:
        """The rungs that are not open yet."""
        rest = self._steps[max(self._opened, 1) :]
        sizes = [len(self._rung)]
        for _ in rest:
            sizes.append(math.ceil(sizes[-1] / _KEEP))
        return list(zip(rest, sizes[1:], strict=True))

    def first(self) -> list[RunSpec]:
        """Return every configuration, for the fewest epochs."""
        return self._open(self._rung)

    def after(self, ended: Sequence[RunRecord]) -> list[RunSpec]:
        """Return the best third, for more epochs."""
        if self._opened == len(self._steps):
            return []
        kept = {record.run_id for record in ranked(ended)[: math.ceil(len(ended) / _KEEP)]}
        alive = [
            spec for spec, record in zip(self._rung, ended, strict=True) if record.run_id in kept
        ]
        return self._open(alive) if alive else []

    def _open(self, specs: Sequence[RunSpec]) -> list[RunSpec]:
        epochs = self._steps[self._opened]
        self._opened += 1
        self._rung = [
            dataclasses.replace(s, protocol=dataclasses.replace(s.protocol, epochs=epochs))
            for s in specs
        ]
        return self._rung

"""In which rounds a search tries configurations, and what each round learns from the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dglbench.runs.record import RunRecord
from dglbench.training.spec import RunSpec

__all__ = ["OneRound", "Rounds"]


class Rounds(Protocol):
    """What a search asks for, round by round."""

    @property
    def upcoming(self) -> int:
        """How many runs of later rounds were not asked for yet."""

    def first(self) -> list[RunSpec]:
        """Return the runs of the first round."""

    def after(self, ended: Sequence[RunRecord]) -> list[RunSpec]:
        """Take a round's ends, in the order asked; return the next round, [] if there is none."""


class OneRound:
    """Every configuration at once: a grid, or a single run."""

    upcoming = 0

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        self._specs = list(specs)

    def first(self) -> list[RunSpec]:
        """Return every configuration."""
        return self._specs

    def after(self, ended: Sequence[RunRecord]) -> list[RunSpec]:
        """There is one round."""
        return []

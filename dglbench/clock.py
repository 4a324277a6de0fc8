"""The clock: where training seconds go, and how often the solver was called.

The clock runs only between `Clock.start` and `Clock.stop`, around training
work; evaluation and logging happen while it is stopped. At any moment exactly one of the six
phases is charged, so the phases add up to the total. Seconds are whole microseconds: the digits
below are noise, which would be half of what a published log weighs. What a method times and counts
for itself (`Meter`) is recorded in addition and changes none of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

__all__ = ["PHASES", "PURPOSES", "Clock", "Ledger", "Meter", "OwnPhase"]

PHASES = ("predict", "solve", "refresh", "differentiate", "backward", "other")
"""Where an epoch's seconds go; they add up to the epoch."""

PURPOSES = ("label", "train", "refresh", "evaluate")
"""Why the solver was called; each instance solved counts once."""


class Clock:
    """A stopwatch with named phases; a disabled one measures only the total."""

    def __init__(
        self, *, enabled: bool = True, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self.enabled, self.now = enabled, now
        self.running = False
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._phase = "other"
        self._mark = 0.0

    def start(self) -> None:
        """Begin a lap with every phase at zero."""
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._phase = "other"
        self.running = True
        self._mark = self.now()

    def stop(self) -> float:
        """End the lap and return its length in seconds."""
        now = self.now()
        self.running = False
        self.seconds[self._phase] += now - self._mark
        self.seconds = {name: round(spent, 6) for name, spent in self.seconds.items()}
        return sum(self.seconds.values())

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Charge the block to a phase, then go back to the phase it interrupted."""
        return _Charged(self, name)

    def _switch(self, name: str) -> str:
        now = self.now()
        before = self._phase
        self.seconds[before] += now - self._mark
        self._phase, self._mark = name, now
        return before


class _Charged(AbstractContextManager[None]):
    """A block that is charged to a phase; a generator would cost twice as much."""

    __slots__ = ("_clock", "_interrupted", "_name")

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock, self._name = clock, name

    def __enter__(self) -> None:
        clock = self._clock
        running = clock.enabled and clock.running
        self._interrupted = clock._switch(self._name) if running else None

    def __exit__(self, *raised: object) -> None:
        if self._interrupted is not None:
            self._clock._switch(self._interrupted)


class Ledger:
    """Counts solved instances by purpose, in total and since the last lap."""

    def __init__(self) -> None:
        self.total = dict.fromkeys(PURPOSES, 0)
        self._lap = dict.fromkeys(PURPOSES, 0)

    def count(self, purpose: str, instances: int) -> None:
        """Count ``instances`` solves."""
        self.total[purpose] += instances
        self._lap[purpose] += instances

    def lap(self) -> dict[str, int]:
        """Return the counts since the last lap and begin a new one."""
        lap, self._lap = self._lap, dict.fromkeys(PURPOSES, 0)
        return lap


@dataclass(frozen=True)
class OwnPhase:
    """What a method timed and counted under one name of its own, in one lap."""

    name: str
    seconds: float
    count: int


class Meter:
    """Lets a method time and count anything it does; its solver and layers use it too.

    The six phases and four purposes of every run go to its clock and ledger. Any other name is
    the method's own: its seconds run from entering the block to leaving it, and are also charged
    to the phases they fall in.
    """

    def __init__(self, clock: Clock, ledger: Ledger) -> None:
        self._clock, self._ledger = clock, ledger
        self._seconds: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._open: set[str] = set()

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Time a block, as one of the six phases or under a name of the method's own."""
        return self._clock.phase(name) if name in PHASES else self._own_phase(name)

    def count(self, name: str, instances: int = 1) -> None:
        """Count solved instances by one of the four purposes, or anything by another name."""
        if name in PURPOSES:
            self._ledger.count(name, instances)
        else:
            self._counts[name] = self._counts.get(name, 0) + instances

    def lap(self) -> list[OwnPhase]:
        """Return what the method timed and counted since the last lap, in order of first use."""
        names = dict.fromkeys([*self._seconds, *self._counts])
        lap = [
            OwnPhase(name, self._seconds.get(name, 0.0), self._counts.get(name, 0))
            for name in names
        ]
        self._seconds, self._counts = {}, {}
        return lap

    @contextmanager
    def _own_phase(self, name: str) -> Iterator[None]:
        # A block inside a block of the same name is already counted.
        if not self._clock.running or name in self._open:
            yield
            return
        self._open.add(name)
        began = self._clock.now()
        try:
            yield
        finally:
            self._open.remove(name)
            self._seconds[name] = self._seconds.get(name, 0.0) + self._clock.now() - began

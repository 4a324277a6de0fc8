"""The survey's three loads, and loads of other sizes drawn in their manner.

Reference: Simonis et al., CSPLib problem 059 (energy-cost aware scheduling); the instances
that Mandi et al. (2024), Decision-Focused Learning: foundations, state of the art, benchmark
and future opportunities, use.
"""

import math
from typing import NamedTuple

import numpy as np

from dglbench.streams import stream

__all__ = ["ICON_JOBS", "SURVEY", "Job", "Load", "drawn_load"]

ICON_JOBS = (10, 15, 20, 25, 30, 20, 30, 50)
"""Jobs of the ICON challenge's loads 1 to 8; see `dglbench_tasks.icon`."""


class Job(NamedTuple):
    """Runs for ``duration`` slots from a start in [earliest, latest - duration]."""

    duration: int
    earliest: int
    latest: int
    """The slot by which it must have ended."""
    power: float
    use: int
    """Of the resource of the machine it runs on, in every slot it covers."""

    @property
    def starts(self) -> range:
        """The slots in which it may start."""
        return range(self.earliest, self.latest - self.duration + 1)


class Load(NamedTuple):
    """Machines, by their capacity, and the jobs they have to run."""

    machines: tuple[int, ...]
    jobs: tuple[Job, ...]


def _read(machines: str, jobs: str) -> Load:
    rows = [row.split() for row in jobs.strip().splitlines()]
    return Load(
        tuple(map(int, machines.split())),
        tuple(Job(int(d), int(e), int(x), float(p), int(u)) for d, e, x, p, u in rows),
    )


# Jobs: duration, earliest start, latest end, power, use.
SURVEY = {
    10: _read(
        "5481 5583 5547",
        """10 1 25 471.40 2610
           23 8 47 426.43 2361
           25 20 47 389.04 2154
           7 4 42 200.66 1111
           19 19 47 104.39 578
           19 19 48 744.67 4123
           11 1 14 468.51 2594
           30 5 48 292.05 1617
           13 4 22 505.36 2798
           10 2 37 227.03 1257""",
    ),
    15: _read(
        "5433 5639 5595",
        """8 4 48 64.10 356
           6 7 48 207.59 1153
           13 14 47 475.85 2643
           10 16 45 191.57 1064
           25 14 47 18.36 102
           3 3 26 34.21 190
           26 0 33 3.78 21
           13 2 21 390.33 2168
           9 12 48 8.64 48
           7 7 16 185.26 1029
           26 7 47 393.75 2187
           3 0 31 240.36 1335
           4 2 44 606.56 3369
           26 14 47 737.09 4094
           26 7 47 200.03 1111""",
    ),
    20: _read(
        "5644 5433 5533 5429 5530",
        """22 22 48 507.56 2798
           2 0 17 495.95 2734
           17 2 30 336.32 1854
           25 10 47 523.70 2887
           23 10 46 474.54 2616
           19 27 47 85.08 469
           1 0 5 303.12 1671
           19 0 33 381.48 2103
           9 38 48 377.86 2083
           22 12 47 392.73 2165
           1 1 47 109.93 606
           20 0 34 208.79 1151
           25 2 43 74.74 412
           1 0 23 323.98 1786
           11 6 21 230.92 1273
           11 4 47 211.69 1167
           45 0 47 401.80 2215
           8 15 48 78.36 432
           5 30 47 388.38 2141
           18 1 48 224.03 1235""",
    ),
}
"""Loads 1, 2 and 3, by their number of jobs."""


def drawn_load(jobs: int, slots: int, machines: int, seed: int) -> Load:
    """Draw a load that the machines can always run.

    Durations are 1 … half a day, windows are the duration and a random part of the rest of
    the day, uses 200 … 2,800, power 0.18 of the use as in the survey's loads. Every machine
    can hold twice what its share of the jobs uses on average, and never less than the most that
    a machine needs when jobs go to machines in turn and each starts as early as it can.
    """
    draws = stream(seed, "scheduling", "load")
    found = []
    for _ in range(jobs):
        duration = int(draws.integers(1, max(slots // 2, 1), endpoint=True))
        spare = int(draws.integers(0, slots - duration, endpoint=True))
        earliest = int(draws.integers(0, slots - duration - spare, endpoint=True))
        use = int(draws.integers(200, 2800, endpoint=True))
        found.append(Job(duration, earliest, earliest + duration + spare, 0.18 * use, use))
    busy = np.zeros((machines, slots), dtype=np.int64)
    for index, job in enumerate(found):
        busy[index % machines, job.earliest : job.earliest + job.duration] += job.use
    capacity = max(int(busy.max()), math.ceil(2 * busy.mean()))
    return Load((capacity,) * machines, tuple(found))

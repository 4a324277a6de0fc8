"""Settings that were run with several seeds, and which of these a comparison may pool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dglbench.report.loading import Report, Unit
from dglbench.report.statistics.complete_blocks import blocks
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, without_seed

__all__ = ["BAND_SEEDS", "SharedSeeds", "families", "grouped", "shared_seeds"]

BAND_SEEDS = 3
"""From this many seeds on a figure draws mean and range instead of one seed."""


def grouped(units: Iterable[Unit]) -> list[list[Unit]]:
    """Group the units that differ by nothing but their seed, in order."""
    found: dict[str, list[Unit]] = {}
    for unit in units:
        found.setdefault(unit.family, []).append(unit)
    return list(found.values())


def families(report: Report) -> list[list[Unit]]:
    """Group the units that have results, as `grouped` does."""
    return grouped(unit for unit in report.units if report.chosen_runs(unit))


class SharedSeeds(NamedTuple):
    """The seeds of one setting over which its methods can be averaged."""

    units: tuple[Unit, ...]
    methods: tuple[str, ...]
    """Those with a result for every one of the seeds."""
    left_out: str
    """A sentence that names the other methods and seeds; empty if there are none."""


def shared_seeds(report: Report, units: Sequence[Unit]) -> SharedSeeds:
    """Return the seeds and methods of a setting that make a complete comparison.

    A mean over one seed and a mean over three would differ for the seeds alone.
    """
    part = blocks(report.only(units=units))
    counts: dict[str, int] = {}
    for unit in units:
        for run in report.chosen_runs(unit):
            counts[run.method] = counts.get(run.method, 0) + 1
    missing = [
        f"{style(method).label} ({count} of {len(units)} seeds)"
        for method, count in counts.items()
        if method not in part.methods
    ]
    missing += [f"seed {unit.seed_words}" for unit in units if unit not in part.units]
    note = f"left out of {without_seed(units[0])}: {listing(missing)}" if missing else ""
    return SharedSeeds(part.units, part.methods, note)

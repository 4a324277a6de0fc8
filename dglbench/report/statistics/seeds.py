"""Settings that were run with several seeds."""

from __future__ import annotations

from dglbench.report.loading import Report, Unit

__all__ = ["BAND_SEEDS", "families"]

BAND_SEEDS = 3
"""From this many seeds on a figure draws mean and range instead of one seed."""


def families(report: Report) -> list[list[Unit]]:
    """Group the units that differ by nothing but their seed, in order."""
    found: dict[str, list[Unit]] = {}
    for unit in report.units:
        if report.chosen_runs(unit):
            found.setdefault(unit.family, []).append(unit)
    return list(found.values())

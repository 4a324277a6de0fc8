"""What is compared with what: settings, the data seeds that their methods share, their results.

A *comparison* is one setting with the data seeds and the methods for which nothing is missing: a
mean over one seed and a mean over three would differ for the seeds alone. Methods that have few of
the seeds are left out as long as that leaves more results to compare, and are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dglbench.report.cells import Result
from dglbench.report.loading import Report, Unit
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, plural, title, without_seed

__all__ = [
    "BAND_SEEDS",
    "Comparison",
    "by_seed",
    "by_setting",
    "compare",
    "complete_part",
    "families",
    "grouped",
]

BAND_SEEDS = 3
"""From this many data seeds on an interval says something of further data."""

Key = TypeVar("Key")


@dataclass(frozen=True, eq=False)
class Comparison:
    """A setting, with results of its methods on the data seeds that they share."""

    units: tuple[Unit, ...]
    """The data seeds."""
    results: tuple[Result, ...]
    """In display order."""
    left_out: str = ""
    """A sentence that names the other methods and seeds; empty if there are none."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods with a result on every one of the data seeds."""
        return tuple(result.method for result in self.results)

    @property
    def label(self) -> str:
        """The setting's exact name in files."""
        unit = self.units[0]
        if len(self.units) == 1:
            return unit.label
        return ", ".join(p for p in unit.label.split(", ") if p != f"seed {unit.seed}")

    @property
    def title(self) -> str:
        """The setting in words."""
        return title(self.units[0]) if len(self.units) == 1 else without_seed(self.units[0])

    @property
    def repeats(self) -> int:
        """The least number of repeats that a method has on a data seed.

        What draws nothing has one run and no use for more: it does not count.
        """
        return min((result.repeats for result in self._drawn), default=0)

    @property
    def over(self) -> str:
        """Say what is averaged: ``3 data seeds × 8 repeats``."""
        counts = sorted({cell.repeats for result in self._drawn for cell in result.cells})
        repeats = " to ".join(dict.fromkeys(f"{count}" for count in (counts[0], counts[-1])))
        word = "repeat" if repeats == "1" else "repeats"
        return f"{plural(len(self.units), 'data seed')} × {repeats} {word}"

    @property
    def _drawn(self) -> list[Result]:
        return [each for each in self.results if each.draws] or list(self.results)

    def result(self, method: str) -> Result | None:
        """Return a method's result, None if it has none on some data seed."""
        return next((each for each in self.results if each.method == method), None)


def grouped(units: Iterable[Unit]) -> list[list[Unit]]:
    """Group the units that differ by nothing but their data seed, in order."""
    found: dict[str, list[Unit]] = {}
    for unit in units:
        found.setdefault(unit.family, []).append(unit)
    return list(found.values())


def families(report: Report) -> list[list[Unit]]:
    """Group the units that have results, as `grouped` does."""
    with_results = {key for key, _ in report.chosen}
    return grouped(unit for unit in report.units if unit.key in with_results)


def by_setting(report: Report, *, empty: bool = False) -> list[Comparison]:
    """Return the comparison of every setting that has results, or also of those without."""
    found = grouped(report.units) if empty else families(report)
    return [compare(report, units) for units in found]


def by_seed(report: Report) -> list[Comparison]:
    """Return a comparison for every data seed of every setting that has results."""
    return [compare(report, [unit]) for units in families(report) for unit in units]


def compare(report: Report, units: Sequence[Unit]) -> Comparison:
    """Return the data seeds and methods of a setting that make a complete comparison."""
    methods = [m for m in report.methods if any((unit.key, m) in report.chosen for unit in units)]
    kept, shared = complete_part(methods, units, lambda m, unit: (unit.key, m) in report.chosen)
    results = tuple(
        Result(method, tuple(report.chosen[unit.key, method] for unit in shared)) for method in kept
    )
    missing = []
    for method in methods:
        if method not in kept:
            count = sum((unit.key, method) in report.chosen for unit in units)
            missing.append(f"{style(method).label} ({count} of {len(units)} seeds)")
    missing += [f"seed {unit.seed}" for unit in units if unit not in shared]
    note = f"left out of {without_seed(units[0])}: {listing(missing)}" if missing else ""
    return Comparison(tuple(shared or units), results, note)


def complete_part(
    methods: Sequence[str], keys: Sequence[Key], present: Callable[[str, Key], bool]
) -> tuple[list[str], list[Key]]:
    """Return the largest part of methods × keys in which nothing is missing.

    Methods are left out by how few keys they have; of equally large parts the one with more keys
    is taken, because comparisons gain from their number.
    """
    count = {name: sum(present(name, key) for key in keys) for name in methods}
    parts: list[tuple[list[str], list[Key]]] = []
    for least in set(count.values()) - {0}:
        names = [name for name in methods if count[name] >= least]
        parts.append((names, [key for key in keys if all(present(name, key) for name in names)]))
    # One method alone is no comparison, however many keys it has.
    return max(
        parts,
        key=lambda part: (
            len(part[0]) > 1 and bool(part[1]), len(part[0]) * len(part[1]), len(part[1])
        ),
        default=([], []),
    )  # fmt: skip

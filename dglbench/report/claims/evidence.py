"""What claims are checked on, what a check finds, and the base of the kinds of check.

A check never decides a claim. It says its ``rule`` in words, with the thresholds,
and returns one `Finding` per setting, with the numbers: ``holds``, ``fails``,
``open`` (the runs are there but do not decide it) or ``absent`` (the methods of the
claim were not run there).
"""

from __future__ import annotations

import fnmatch
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from dglbench.plugins import AFTER
from dglbench.report.loading import Report, Run, Unit
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.time_to_regret import Reach
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, title

__all__ = [
    "Evidence",
    "Finding",
    "Outcome",
    "SettingCheck",
    "large",
    "matching_runs",
    "most",
    "name",
    "names",
    "sizes_words",
]

_PATTERNS = {"dgl-*": "DGL", "qptl-after-dgl-*": "QPTL after a short DGL phase"}
"""What families are called."""

Outcome = Literal["holds", "fails", "open", "absent"]


@dataclass(frozen=True)
class Finding:
    """What one setting has to say about a claim."""

    setting: str
    outcome: Outcome
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


class Evidence:
    """The report with its curves and paired differences worked out once."""

    def __init__(
        self, report: Report, reach: Reach | None = None, pairs: Pairs | None = None
    ) -> None:
        self.report = report
        self.reach = reach or Reach(report)
        self.pairs = pairs or Pairs(report)
        self.found: dict[str, list[Finding]] = {}
        """What other claims have found so far, by their id."""

    def run(self, unit: Unit, method: str) -> Run | None:
        """Return the run that stands for a method, None if it has no result there."""
        return self.report.chosen.get((unit.key, method))

    def missing(self, unit: Unit, method: str) -> Finding:
        """Explain why a method has no result: never run, or run in vain."""
        states = sorted(
            {
                run.state
                for run in self.report.runs
                if run.unit.key == unit.key and _fits(run.method, method)
            }
        )
        if states:
            # Leaving out what failed would let survivors decide.
            return Finding(title(unit), "open", f"{name(method)} has no result ({states[0]})")
        return Finding(title(unit), "absent", f"{name(method)} was not run")


def matching_runs(evidence: Evidence, unit: Unit, patterns: Sequence[str]) -> list[Run]:
    """Return the unit's chosen runs whose method fits one of the patterns."""
    return [
        run
        for run in evidence.report.chosen_runs(unit)
        if any(_fits(run.method, pattern) for pattern in patterns)
    ]


def _fits(method: str, pattern: str) -> bool:
    """Say whether a pattern means a method; with a lead-in it is another, meant only by name."""
    return fnmatch.fnmatchcase(method, pattern) and (AFTER in pattern or AFTER not in method)


def most(outcomes: Sequence[bool]) -> bool:
    """Say whether more than half are true."""
    return sum(outcomes) * 2 > len(outcomes)


class SettingCheck(ABC):
    """A check that looks at every setting, or at those of the sizes that count."""

    sizes: Mapping[str, int] = MappingProxyType({})

    def findings(self, evidence: Evidence) -> list[Finding]:
        """Return what each setting has to say."""
        units = evidence.report.units
        return [self._of(evidence, unit) for unit in units if large(unit, self.sizes)]

    @abstractmethod
    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        """Look at one setting."""


def large(unit: Unit, sizes: Mapping[str, int]) -> bool:
    """Say whether a unit is of a size that counts; without ``sizes`` all are."""
    return not sizes or (unit.task in sizes and unit.n >= sizes[unit.task])


def name(method: str) -> str:
    """Return what a method, or a pattern for a family, is called."""
    return _PATTERNS.get(method) or style(method).label


def names(methods: Sequence[str]) -> str:
    """Return what several methods or patterns are called."""
    return listing(["the DGL variants" if each == "dgl-*" else name(each) for each in methods])


def sizes_words(sizes: Mapping[str, int]) -> str:
    """Say which settings count."""
    if not sizes:
        return ""
    parts = [f"{task} from {smallest}" for task, smallest in sizes.items()]
    return f" Looked at: {listing(parts)}."

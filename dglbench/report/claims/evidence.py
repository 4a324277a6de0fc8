"""What claims are checked on, what a check finds, and the base of the kinds of check.

A check never decides a claim. It says its ``rule`` in words, with the thresholds,
and returns one `Finding` per setting, with the numbers: ``holds``, ``fails``,
``open`` (the runs are there but do not decide it) or ``absent`` (the methods of the
claim were not run there).
"""

from __future__ import annotations

import fnmatch
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from dglbench.plugins import AFTER
from dglbench.report.cells import Result
from dglbench.report.loading import Comparability, Report, Unit
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.time_to_regret import Reach
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing

__all__ = [
    "Evidence",
    "Finding",
    "Outcome",
    "SettingCheck",
    "large",
    "matching",
    "most",
    "name",
    "names",
    "sizes_words",
    "standing_for",
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
        self.settings = by_setting(report, empty=True)
        self.checks: dict[str, Any] = {}
        """The checks of all claims, by their id."""

    def lost_seeds(self, setting: Comparison, methods: Sequence[str]) -> str:
        """Name the methods that failed on a data seed of the setting; empty if none did."""
        family = setting.units[0].family
        whole = len(setting.units) > 1 or setting in self.settings
        keys = {u.key for u in self.report.units if u.family == family} if whole else set()
        found = dict.fromkeys(
            f"{style(run.method).label} has no result on data seed {run.unit.seed} ({run.state})"
            for run in self.report.runs
            if run.unit.key in keys
            and run.state != "done"
            and (run.unit.key, run.method) not in self.report.chosen
            and any(_fits(run.identity.method, pattern) for pattern in methods)
        )
        return "; ".join(found)

    def comparable(self, setting: Comparison) -> Comparability:
        """Say whether the seconds of a setting may be ranked."""
        runs = [run for result in setting.results for run in result.runs]
        return Comparability.of(setting.label, runs)

    def missing(self, setting: Comparison, method: str) -> Finding:
        """Explain why a method has no result: never run, or run in vain."""
        keys = {unit.key for unit in setting.units}
        states = sorted(
            {
                run.state
                for run in self.report.runs
                if run.unit.key in keys and _fits(run.identity.method, method)
            }
        )
        lost = [state for state in states if state != "done"]
        if lost:
            # Leaving out what failed would let survivors decide.
            return Finding(setting.title, "open", f"{name(method)} has no result ({lost[0]})")
        if states:
            return Finding(setting.title, "open", f"{name(method)} lacks some data seeds")
        return Finding(setting.title, "absent", f"{name(method)} was not run")


def matching(setting: Comparison, patterns: Sequence[str]) -> list[Result]:
    """Return the setting's results whose method fits one of the patterns, one for each method.

    Of a method that was run with several predictors or starts, the linear predictor counts, as in
    the paper, and of several starts the one with the lowest validation regret.
    """
    found: dict[str, list[Result]] = {}
    for result in setting.results:
        method = result.first.identity.method
        if any(_fits(method, pattern) for pattern in patterns):
            found.setdefault(method, []).append(result)
    return [min(several, key=_as_in_the_paper) for several in found.values()]


def _as_in_the_paper(result: Result) -> tuple[bool, float]:
    return result.first.predictor != "linear", result.val_regret


def standing_for(setting: Comparison, method: str) -> Result | None:
    """Return the result of one method, None if it has none in the setting."""
    return next(iter(matching(setting, [method])), None)


def _fits(method: str, pattern: str) -> bool:
    """Say whether a pattern means a method; with a lead-in it is another, meant only by name."""
    return fnmatch.fnmatchcase(method, pattern) and (AFTER in pattern or AFTER not in method)


def most(outcomes: Sequence[bool]) -> bool:
    """Say whether more than half are true."""
    return sum(outcomes) * 2 > len(outcomes)


class SettingCheck(ABC):
    """A check that looks at every setting, or at those of the sizes that count.

    A setting is looked at once, over all its data seeds and repeats.
    """

    sizes: Mapping[str, int] = MappingProxyType({})

    def findings(self, evidence: Evidence) -> list[Finding]:
        """Return what each setting has to say."""
        return self.of(evidence, evidence.settings)

    def of(self, evidence: Evidence, settings: Iterable[Comparison]) -> list[Finding]:
        """Return what these have to say: settings, or single data seeds of them."""
        found = []
        for each in settings:
            if large(each.units[0], self.sizes):
                finding = self._of(evidence, each)
                lost = evidence.lost_seeds(each, self._methods)
                if lost and finding.outcome in ("holds", "fails"):
                    # Leaving out the data seeds on which a method failed would let others decide.
                    finding = Finding(each.title, "open", f"{lost}; {finding.text}")
                found.append(finding)
        return found

    @property
    def _methods(self) -> list[str]:
        """The methods and patterns that the check names."""
        named: list[str] = []
        for field_name in ("method", "methods", "against"):
            value = getattr(self, field_name, ())
            named += [value] if isinstance(value, str) else list(value)
        return named

    @abstractmethod
    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
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

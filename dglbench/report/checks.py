"""The kinds of check a claim can ask for: each looks at every setting and says what it found.

A check never decides a claim. It returns one `Finding` a setting, with the
numbers: ``holds``, ``fails``, ``open`` (the runs are there but do not tell) or
``absent`` (what the claim speaks of was not run there).
"""

from __future__ import annotations

import fnmatch
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Literal

from annotated_types import Gt
from typing_extensions import Doc

from dglbench.report.load import Report, Run, Unit
from dglbench.report.pairwise import Difference, Pairs
from dglbench.report.palette import style
from dglbench.report.time_to_regret import NEAR, Reach, Speedup
from dglbench.words import percent, ratio, seconds

__all__ = [
    "Cost",
    "EpochRatio",
    "Evidence",
    "Finding",
    "Improves",
    "Lowest",
    "Outcome",
    "Sooner",
    "matching_runs",
    "most",
]

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
                if run.unit.key == unit.key and fnmatch.fnmatchcase(run.method, method)
            }
        )
        if states:
            # Leaving out what failed would let survivors decide.
            return Finding(unit.label, "open", f"{_name(method)} has no result ({states[0]})")
        return Finding(unit.label, "absent", f"{_name(method)} was not run")


def matching_runs(evidence: Evidence, unit: Unit, patterns: Sequence[str]) -> list[Run]:
    """Return the unit's chosen runs whose method fits one of the patterns."""
    return [
        run
        for run in evidence.report.chosen_runs(unit)
        if any(fnmatch.fnmatchcase(run.method, pattern) for pattern in patterns)
    ]


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


@dataclass(frozen=True)
class Sooner(SettingCheck):
    """More than half of ``methods`` reach the test regret of ``against`` in less training time."""

    methods: Annotated[tuple[str, ...], Doc("methods or patterns such as dgl-*")]
    against: Annotated[str, Doc("the method whose regret is the target")]
    min_speedup: Annotated[float, Gt(0), Doc("how many times sooner it must be")] = 1.0

    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        baseline = evidence.run(unit, self.against)
        if baseline is None:
            return evidence.missing(unit, self.against)
        runs = matching_runs(evidence, unit, self.methods)
        if not runs:
            return evidence.missing(unit, self.methods[0])
        found = {run.method: evidence.reach.speedup(run, baseline) for run in runs}
        words = ", ".join(f"{_name(name)} {_speedup(found[name])}" for name in found)
        target = f"to {_name(self.against)}'s {percent(baseline.test_regret)}"
        numbers = {name: speedup.times for name, speedup in found.items()}
        if any(speedup.why == "start" for speedup in found.values()):
            why = f"{_name(self.against)} ended no better than the warm start"
            return Finding(unit.label, "open", why, numbers)
        if any(speedup.why == "clock" for speedup in found.values()):
            reason = evidence.report.comparability(unit).reason
            return Finding(unit.label, "open", f"times cannot be compared: {reason}", numbers)
        sooner = [(speedup.times or 0.0) > self.min_speedup for speedup in found.values()]
        outcome: Outcome = "holds" if most(sooner) else "fails"
        own = evidence.reach.time_to(baseline, baseline.test_regret)
        took = f" (it took {seconds(own)})" if own is not None else ""
        return Finding(unit.label, outcome, f"{target}{took}: {words}", numbers)


@dataclass(frozen=True)
class Lowest(SettingCheck):
    """``method`` has the lowest test regret, beyond the bootstrap interval, on large instances."""

    method: Annotated[str, Doc("the method said to be lowest")]
    sizes: Annotated[
        dict[str, int], Doc("smallest size that counts, by task; other tasks are left out")
    ] = field(default_factory=dict)

    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        run = evidence.run(unit, self.method)
        if run is None:
            return evidence.missing(unit, self.method)
        others = [other for other in evidence.report.chosen_runs(unit) if other is not run]
        if not others:
            return Finding(unit.label, "absent", "nothing to compare with was run")
        rival = min(others, key=lambda other: other.test_regret)
        difference = evidence.pairs.difference(run, rival)
        words = (
            f"{_name(self.method)} {percent(run.test_regret)}, "
            f"best other {_name(rival.method)} {percent(rival.test_regret)}"
            f"{_difference(difference)}"
        )
        verdicts: dict[str, Outcome] = {"lower": "holds", "higher": "fails", "open": "open"}
        outcome = verdicts[difference.verdict] if difference else "open"
        numbers = {self.method: run.test_regret, rival.method: rival.test_regret}
        return Finding(unit.label, outcome, words, numbers)


@dataclass(frozen=True)
class Cost(SettingCheck):
    """``method`` needs ``min_ratio`` times the time in which the best of ``methods`` levels off.

    Levelling off: within 5 % of its own final test regret.
    """

    method: Annotated[str, Doc("the method said to be costly")]
    methods: Annotated[tuple[str, ...], Doc("the methods it is compared with")]
    min_ratio: Annotated[float, Gt(0), Doc("how many times the time it must take")]
    sizes: Annotated[dict[str, int], Doc("smallest size that counts, by task")] = field(
        default_factory=dict
    )

    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        run = evidence.run(unit, self.method)
        if run is None:
            return evidence.missing(unit, self.method)
        rivals = matching_runs(evidence, unit, self.methods)
        if not rivals:
            return evidence.missing(unit, self.methods[0])
        rival = min(rivals, key=lambda other: other.test_regret)
        if rival.conditions != run.conditions:
            reason = evidence.report.comparability(unit).reason
            return Finding(unit.label, "open", f"times cannot be compared: {reason}")
        level = evidence.reach.time_to(rival, (1 + NEAR) * rival.test_regret)
        own = evidence.reach.selected(run)[0]
        if not level:
            return Finding(unit.label, "open", f"{_name(rival.method)} never levelled off")
        words = (
            f"{_name(self.method)} {seconds(own)} to {percent(run.test_regret)}, "
            f"{_name(rival.method)} {seconds(level)} to within 5 % of its "
            f"{percent(rival.test_regret)}: {ratio(own / level)}"
        )
        outcome: Outcome = "holds" if own / level >= self.min_ratio else "fails"
        if run.test_regret >= rival.test_regret:
            outcome, words = "open", f"{words}, but there is no edge to pay for"
        return Finding(unit.label, outcome, words, {"ratio": own / level})


@dataclass(frozen=True)
class EpochRatio(SettingCheck):
    """A training epoch of ``method`` takes at most ``max_ratio`` times one of ``against``."""

    method: Annotated[str, Doc("the method said to be fast")]
    against: Annotated[str, Doc("the method it is measured by")]
    max_ratio: Annotated[float, Gt(0), Doc("what still counts as near")]

    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        run, other = evidence.run(unit, self.method), evidence.run(unit, self.against)
        if run is None or other is None:
            return evidence.missing(unit, self.method if run is None else self.against)
        if run.conditions != other.conditions:
            reason = evidence.report.comparability(unit).reason
            return Finding(unit.label, "open", f"times cannot be compared: {reason}")
        own, base = evidence.reach.epoch_s(run), evidence.reach.epoch_s(other)
        if not own or not base:
            return Finding(unit.label, "open", "no epoch was timed")
        words = (
            f"{_name(self.method)} {seconds(own)} an epoch, {_name(self.against)} "
            f"{seconds(base)}: {ratio(own / base)}"
        )
        outcome: Outcome = "holds" if own / base <= self.max_ratio else "fails"
        return Finding(unit.label, outcome, words, {"ratio": own / base})


@dataclass(frozen=True)
class Improves(SettingCheck):
    """Some of ``methods`` have a lower test regret than ``against``, and none a higher one.

    Lower and higher beyond the bootstrap interval of the paired difference.
    """

    methods: Annotated[tuple[str, ...], Doc("the methods said to be better")]
    against: Annotated[str, Doc("the method they improve on")]

    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        base = evidence.run(unit, self.against)
        if base is None:
            return evidence.missing(unit, self.against)
        runs = matching_runs(evidence, unit, self.methods)
        if not runs:
            return evidence.missing(unit, self.methods[0])
        found = {run.method: evidence.pairs.difference(run, base) for run in runs}
        words = f"{_name(self.against)} {percent(base.test_regret)}; " + ", ".join(
            f"{_name(run.method)} {percent(run.test_regret)}{_difference(found[run.method])}"
            for run in runs
        )
        verdicts = {difference.verdict for difference in found.values() if difference}
        outcome: Outcome = "open"
        if verdicts and "higher" not in verdicts and "lower" in verdicts:
            outcome = "holds"
        elif "higher" in verdicts and "lower" not in verdicts:
            outcome = "fails"
        numbers = {name: difference and difference.mean for name, difference in found.items()}
        return Finding(unit.label, outcome, words, numbers)


def large(unit: Unit, sizes: Mapping[str, int]) -> bool:
    """Say whether a unit is of a size that counts; without ``sizes`` all are."""
    return not sizes or (unit.task in sizes and unit.n >= sizes[unit.task])


def _name(method: str) -> str:
    return "DGL" if method == "dgl-*" else style(method).label


def _speedup(speedup: Speedup) -> str:
    return "never" if speedup.times is None else ratio(speedup.times)


def _difference(difference: Difference | None) -> str:
    if difference is None:
        return ""
    low, high = 100 * difference.low, 100 * difference.high
    return f" ({low:+.2f} to {high:+.2f} points)".replace("-", "−")

"""Checks of regret: lowest, improved, not worse."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated

import numpy as np
from annotated_types import Gt
from typing_extensions import Doc

from dglbench.plugins import AFTER
from dglbench.report.cells import Result
from dglbench.report.claims.evidence import (
    Evidence,
    Finding,
    Outcome,
    SettingCheck,
    matching,
    name,
    names,
    sizes_words,
    standing_for,
)
from dglbench.report.statistics.comparisons import Comparison
from dglbench.report.statistics.paired import Difference
from dglbench.words import percent

__all__ = ["Improves", "Lowest", "NotWorse", "SmallSpread"]

_FEWEST_REPEATS, _FEWEST_METHODS = 4, 3


@dataclass(frozen=True)
class Lowest(SettingCheck):
    """``method`` has the lowest test regret, beyond the bootstrap interval, on large instances."""

    method: Annotated[str, Doc("the method said to be lowest")]
    sizes: Annotated[
        dict[str, int], Doc("smallest size that counts, by task; other tasks are left out")
    ] = field(default_factory=dict)

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        return (
            f"{name(self.method)}'s test regret is below that of the best other method, and the "
            f"95 % interval of the difference excludes 0."
            f"{sizes_words(self.sizes)}"
        )

    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
        run = standing_for(setting, self.method)
        if run is None:
            return evidence.missing(setting, self.method)
        others = [each for each in setting.results if each is not run and AFTER not in each.method]
        if not others:
            return Finding(setting.title, "absent", "nothing to compare with was run")
        rival = min(others, key=lambda other: other.regret())
        difference = evidence.pairs.difference(run, rival)
        words = (
            f"{name(self.method)} {_readings(evidence, run)}, "
            f"best other {name(rival.method)} {_readings(evidence, rival)}"
            f"{_difference(difference)}"
        )
        verdicts: dict[str, Outcome] = {"lower": "holds", "higher": "fails", "open": "open"}
        outcome = verdicts[difference.verdict] if difference else "open"
        numbers = {self.method: run.regret(), rival.method: rival.regret()}
        return Finding(setting.title, outcome, words, numbers)


@dataclass(frozen=True)
class Improves(SettingCheck):
    """Some of ``methods`` have a lower test regret than ``against``, and none a higher one.

    Lower and higher beyond the bootstrap interval of the paired difference.
    """

    methods: Annotated[tuple[str, ...], Doc("the methods said to be better")]
    against: Annotated[str, Doc("the method they improve on")]

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        return (
            f"at least one of {names(self.methods)} is below {name(self.against)}'s test regret "
            "and none above it, by 95 % intervals of the difference."
        )

    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
        base = standing_for(setting, self.against)
        if base is None:
            return evidence.missing(setting, self.against)
        runs = matching(setting, self.methods)
        if not runs:
            return evidence.missing(setting, self.methods[0])
        found = {run.method: evidence.pairs.difference(run, base) for run in runs}
        words = f"{name(self.against)} {_readings(evidence, base)}; " + ", ".join(
            f"{name(run.method)} {_readings(evidence, run)}{_difference(found[run.method])}"
            for run in runs
        )
        verdicts = {difference.verdict for difference in found.values() if difference}
        outcome: Outcome = "open"
        if verdicts and "higher" not in verdicts and "lower" in verdicts:
            outcome = "holds"
        elif "higher" in verdicts and "lower" not in verdicts:
            outcome = "fails"
        numbers = {each: difference and difference.mean for each, difference in found.items()}
        return Finding(setting.title, outcome, words, numbers)


@dataclass(frozen=True)
class NotWorse(SettingCheck):
    """The one of ``methods`` that validation chooses has no higher test regret than ``against``.

    A non-inferiority test: an interval that holds 0 only because it is wide shows nothing, so its
    upper end must stay within ``margin``.
    """

    methods: Annotated[tuple[str, ...], Doc("the methods, of which validation chooses one")]
    against: Annotated[str, Doc("the method that it matches")]
    margin: Annotated[float, Gt(0), Doc("what still counts as matched, beside its regret")] = 0.1

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        return (
            f"the one of {names(self.methods)} with the least validation regret has no higher test "
            f"regret than {name(self.against)}: the 95 % interval of the difference on the same "
            f"test instances is not above 0 and ends within {100 * self.margin:g} % of "
            f"{name(self.against)}'s regret; open if it holds 0 but is wider."
        )

    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
        base = standing_for(setting, self.against)
        if base is None:
            return evidence.missing(setting, self.against)
        results = matching(setting, self.methods)
        if not results:
            return evidence.missing(setting, self.methods[0])
        run = min(results, key=lambda result: result.val_regret)
        difference = evidence.pairs.difference(run, base)
        words = (
            f"{name(run.method)} {_readings(evidence, run)}, {name(self.against)} "
            f"{_readings(evidence, base)}{_difference(difference)}"
        )
        outcome: Outcome = "open"
        allowed = self.margin * base.regret()
        if difference and difference.verdict == "higher":
            outcome = "fails"
        elif difference and difference.high <= allowed:
            outcome = "holds"
        elif difference:
            words += f"; too wide to tell, needs an end of at most {100 * allowed:+.2f}"
        numbers = {run.method: run.regret(), self.against: base.regret()}
        return Finding(setting.title, outcome, words, numbers)


@dataclass(frozen=True)
class SmallSpread(SettingCheck):
    """Between training seeds a method varies little, measured by the gaps between methods.

    With s the standard deviation over repeats of one data seed (root mean square over data seeds
    and methods that began from a warm start) and g the median gap between the mean regrets of
    methods: s / g is at most ``share_of_gap``, even at the upper end of its interval (χ² for s; g
    is taken as it is).
    """

    share_of_gap: Annotated[float, Gt(0), Doc("how small it must be")] = 0.25
    methods: Annotated[tuple[str, ...], Doc("methods or patterns; all by default")] = ("*",)

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        return (
            "the standard deviation of test regret over repeats, root mean square over methods "
            f"that began from a warm start, is at most {100 * self.share_of_gap:g} % of the median "
            "gap between the mean regrets of two methods, at the upper end of its 95 % interval; "
            f"not so if it is above at the lower end. Over methods with {_FEWEST_REPEATS} repeats "
            f"or more on each data seed; needs {_FEWEST_METHODS} methods."
        )

    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
        from scipy.stats import chi2

        results = matching(setting, self.methods)
        warm = [each for each in results if each.warm_start_regret is not None]
        if len(results) < _FEWEST_METHODS or not warm:
            why = f"fewer than {_FEWEST_METHODS} methods, or none that began from a warm start"
            return Finding(setting.title, "absent", why)
        # A slow method with few repeats says little of its spread, and keeps no other from it.
        repeats = {result: min(len(cell.runs) for cell in result.cells) for result in warm}
        if max(repeats.values()) < 2:
            return Finding(setting.title, "absent", "was not run with repeats")
        if max(repeats.values()) < _FEWEST_REPEATS:
            return Finding(setting.title, "open", f"fewer than {_FEWEST_REPEATS} repeats")
        cells = [
            cell
            for result, number in repeats.items()
            if number >= _FEWEST_REPEATS
            for cell in result.cells
        ]
        free = sum(len(cell.runs) - 1 for cell in cells)
        squares = sum(float(cell.regrets.var(ddof=1)) * (len(cell.runs) - 1) for cell in cells)
        spread = math.sqrt(squares / free)
        low, high = (math.sqrt(squares / float(chi2.ppf(p, free))) for p in (0.975, 0.025))
        means = [result.regret() for result in results]
        gap = float(np.median([abs(a - b) for a, b in combinations(means, 2)]))
        words = (
            f"over repeats {percent(spread)} ({100 * low:.2f}–{100 * high:.2f}), median gap "
            f"between methods {percent(gap)}; {setting.over}"
        )
        outcome: Outcome = "open"
        if high <= self.share_of_gap * gap:
            outcome = "holds"
        elif low > self.share_of_gap * gap:
            outcome = "fails"
        return Finding(setting.title, outcome, words, {"spread": spread, "gap": gap})


def _readings(evidence: Evidence, result: Result) -> str:
    """Write the regret of one run, and of best of r where there are repeats enough."""
    r = evidence.report.best_of
    best = f" (best of {r}: {percent(result.regret(r))})" if 1 < r <= result.most else ""
    return percent(result.regret()) + best


def _difference(difference: Difference | None) -> str:
    if difference is None:
        return ""
    low, high = 100 * difference.low, 100 * difference.high
    return f" ({low:+.2f} to {high:+.2f} points)".replace("-", "−")

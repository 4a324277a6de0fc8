"""Checks of training time: sooner to a regret, costlier to an edge, as fast an epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Gt
from typing_extensions import Doc

from dglbench.report.claims.evidence import (
    Evidence,
    Finding,
    Outcome,
    SettingCheck,
    matching,
    most,
    name,
    names,
    sizes_words,
    standing_for,
)
from dglbench.report.statistics.comparisons import Comparison
from dglbench.report.statistics.time_to_regret import NEAR, Speedup
from dglbench.words import percent, ratio, seconds

__all__ = ["Cost", "EpochRatio", "LeadInPays", "Sooner"]


@dataclass(frozen=True)
class Sooner(SettingCheck):
    """More than half of ``methods`` reach the test regret of ``against`` in less training time."""

    methods: Annotated[tuple[str, ...], Doc("methods or patterns such as dgl-*")]
    against: Annotated[str, Doc("the method whose regret is the target")]
    min_speedup: Annotated[float, Gt(0), Doc("how many times sooner it must be")] = 1.0
    sizes: Annotated[dict[str, int], Doc("smallest size that counts, by task")] = field(
        default_factory=dict
    )

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        sooner = "sooner" if self.min_speedup == 1 else f"{self.min_speedup:g} times sooner"
        return (
            f"more than half of {names(self.methods)} have {name(self.against)}'s final test "
            f"regret {sooner} than {name(self.against)} itself, in training seconds; one that "
            f"never has it counts against.{sizes_words(self.sizes)}"
        )

    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
        baseline = standing_for(setting, self.against)
        if baseline is None:
            return evidence.missing(setting, self.against)
        runs = matching(setting, self.methods)
        if not runs:
            return evidence.missing(setting, self.methods[0])
        found = {run.method: evidence.reach.speedup(run, baseline) for run in runs}
        words = ", ".join(f"{name(each)} {_speedup(found[each])}" for each in found)
        numbers = {each: speedup.times for each, speedup in found.items()}
        if any(speedup.why == "start" for speedup in found.values()):
            why = f"{name(self.against)} ended no better than the warm start"
            return Finding(setting.title, "open", why, numbers)
        if any(speedup.why == "clock" for speedup in found.values()):
            reason = evidence.comparable(setting).reason
            return Finding(setting.title, "open", f"times cannot be compared: {reason}", numbers)
        sooner = [(speedup.times or 0.0) > self.min_speedup for speedup in found.values()]
        outcome: Outcome = "holds" if most(sooner) else "fails"
        own = evidence.reach.time_to(baseline, baseline.by_seed().tolist())
        took = f" (reached in {seconds(own)})" if own is not None else ""
        enough = "sooner" if self.min_speedup == 1 else f"{self.min_speedup:g} times sooner"
        text = (
            f"{sum(sooner)} of {len(sooner)} had {name(self.against)}'s "
            f"{percent(baseline.regret())}{took} {enough}, needs {len(sooner) // 2 + 1}: {words}"
        )
        return Finding(setting.title, outcome, text, numbers)


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

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        return (
            f"{name(self.method)} takes at least {self.min_ratio:g} times the training seconds in "
            f"which the best of {names(self.methods)} came within 5 % of its own final test "
            f"regret.{sizes_words(self.sizes)}"
        )

    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
        run = standing_for(setting, self.method)
        if run is None:
            return evidence.missing(setting, self.method)
        rivals = matching(setting, self.methods)
        if not rivals:
            return evidence.missing(setting, self.methods[0])
        rival = min(rivals, key=lambda other: other.regret())
        if rival.conditions != run.conditions:
            reason = evidence.comparable(setting).reason
            return Finding(setting.title, "open", f"times cannot be compared: {reason}")
        level = evidence.reach.time_to(rival, ((1 + NEAR) * rival.by_seed()).tolist())
        own = evidence.reach.selected(run)[0]
        if not level:
            return Finding(setting.title, "open", f"{name(rival.method)} never levelled off")
        words = (
            f"{name(self.method)} {seconds(own)} to {percent(run.regret())}, "
            f"{name(rival.method)} {seconds(level)} to within 5 % of its "
            f"{percent(rival.regret())}: {ratio(own / level)}, needs {self.min_ratio:.0f}×"
        )
        outcome: Outcome = "holds" if own / level >= self.min_ratio else "fails"
        if run.regret() >= rival.regret():
            outcome, words = "open", f"{words}, but there is no edge to pay for"
        return Finding(setting.title, outcome, words, {"ratio": own / level})


@dataclass(frozen=True)
class LeadInPays(SettingCheck):
    """The best of ``methods`` by validation: the regret of ``against`` sooner, and no higher."""

    methods: Annotated[tuple[str, ...], Doc("methods with a lead-in, such as qptl-after-dgl-*")]
    against: Annotated[str, Doc("the same method without one")]

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        other = name(self.against)
        return (
            f"{names(self.methods)}, of several lead-ins the one of lowest validation regret, "
            f"has {other}'s final test regret sooner than {other} itself, "
            "the lead-in's seconds included, and its own final test regret is not above "
            f"{other}'s, by the 95 % interval of the difference on the same test instances."
        )

    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
        base = standing_for(setting, self.against)
        if base is None:
            return evidence.missing(setting, self.against)
        runs = matching(setting, self.methods)
        if not runs:
            return evidence.missing(setting, self.methods[0])
        # The one that validation takes, as a user would: of many lead-ins one may be lucky.
        run = min(runs, key=lambda led: led.val_regret)
        speedup = evidence.reach.speedup(run, base)
        difference = evidence.pairs.difference(run, base)
        taken = f" (taken of {len(runs)} by validation)" if len(runs) > 1 else ""
        text = (
            f"{name(self.against)} {percent(base.regret())}; {name(run.method)}{taken} "
            f"{percent(run.regret())}, {_speedup(speedup)}"
        )
        numbers = {self.against: base.regret(), run.method: run.regret()}
        outcome: Outcome = "open"
        if difference is not None and speedup.why not in ("clock", "start"):
            sooner = speedup.times is not None and speedup.times > 1
            outcome = "holds" if sooner and difference.verdict != "higher" else "fails"
        return Finding(setting.title, outcome, text, numbers)


@dataclass(frozen=True)
class EpochRatio(SettingCheck):
    """A training epoch of ``method`` takes at most ``max_ratio`` times one of ``against``."""

    method: Annotated[str, Doc("the method said to be fast")]
    against: Annotated[str, Doc("the method it is measured by")]
    max_ratio: Annotated[float, Gt(0), Doc("what still counts as near")]

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        return (
            f"an epoch of {name(self.method)} takes at most {self.max_ratio:g} times one of "
            f"{name(self.against)}."
        )

    def _of(self, evidence: Evidence, setting: Comparison) -> Finding:
        run, other = standing_for(setting, self.method), standing_for(setting, self.against)
        if run is None or other is None:
            return evidence.missing(setting, self.method if run is None else self.against)
        if run.conditions != other.conditions:
            reason = evidence.comparable(setting).reason
            return Finding(setting.title, "open", f"times cannot be compared: {reason}")
        own, base = evidence.reach.epoch_s(run), evidence.reach.epoch_s(other)
        if not own or not base:
            return Finding(setting.title, "open", "no epoch was timed")
        words = (
            f"{name(self.method)} {seconds(own)} an epoch, {name(self.against)} "
            f"{seconds(base)}: {own / base:.2f}×, allowed {self.max_ratio:g}×"
        )
        outcome: Outcome = "holds" if own / base <= self.max_ratio else "fails"
        return Finding(setting.title, outcome, words, {"ratio": own / base})


def _speedup(speedup: Speedup) -> str:
    return "never" if speedup.times is None else ratio(speedup.times)

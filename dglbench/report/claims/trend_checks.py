"""Checks that compare settings with each other: across sizes, and across data seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from typing_extensions import Doc

from dglbench.errors import ReportError
from dglbench.report.cells import Result
from dglbench.report.claims.evidence import (
    Evidence,
    Finding,
    Outcome,
    SettingCheck,
    matching,
    most,
    name,
    names,
    standing_for,
)
from dglbench.report.loading import Unit
from dglbench.report.statistics.comparisons import Comparison, compare, grouped
from dglbench.report.style.palette import style
from dglbench.report.style.titles import without_seed
from dglbench.words import ratio

__all__ = ["SeedsAgree", "Widens"]


@dataclass(frozen=True)
class Widens:
    """The lead of more than half of ``methods`` over ``against`` is larger at the larger size.

    The lead is the speed-up to the baseline's regret (``reach``; never reaching it
    counts as 0) or the ratio of seconds per epoch (``epoch``).
    """

    methods: Annotated[tuple[str, ...], Doc("methods or patterns such as dgl-*")]
    against: Annotated[tuple[str, ...], Doc("the baselines, each looked at by itself")]
    measure: Annotated[Literal["reach", "epoch"], Doc("what the lead is measured by")] = "reach"

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        lead = "in time to its regret" if self.measure == "reach" else "in seconds per epoch"
        baselines = " and ".join(name(each) for each in self.against)
        return (
            f"for each of {baselines}: the lead {lead} of more than half of {names(self.methods)} "
            "is larger at the larger of two neighbouring sizes; one that never got there "
            "leads by 0."
        )

    def findings(self, evidence: Evidence) -> list[Finding]:
        """Look at every two neighbouring sizes of a task, all else equal."""
        return [
            self._of(evidence, baseline, small, big)
            for baseline in self.against
            for small, big in _neighbours(evidence.settings)
        ]

    def _of(self, evidence: Evidence, baseline: str, small: Comparison, big: Comparison) -> Finding:
        where = f"{small.title} → {big.units[0].n}, against {style(baseline).label}"
        leads = []
        for setting in (small, big):
            base = standing_for(setting, baseline)
            if base is None:
                missing = evidence.missing(setting, baseline)
                return Finding(where, missing.outcome, f"{setting.title}: {missing.text}")
            lead = self._leads(evidence, setting, base)
            if isinstance(lead, str):
                return Finding(where, "open", lead)
            leads.append(lead)
        shared = [method for method in leads[0] if method in leads[1]]
        if not shared:
            return Finding(where, "absent", "no method of the claim was run at both sizes")
        words = ", ".join(
            f"{style(method).label} {_lead(leads[0][method])} → {_lead(leads[1][method])}"
            for method in shared
        )
        wider = [leads[1][each] > leads[0][each] for each in shared]
        outcome: Outcome = "holds" if most(wider) else "fails"
        tally = f"{sum(wider)} of {len(wider)} wider, needs {len(wider) // 2 + 1}"
        numbers = {each: [lead[each] for lead in leads] for each in shared}
        return Finding(where, outcome, f"{words}; {tally}", numbers)

    def _leads(
        self, evidence: Evidence, setting: Comparison, base: Result
    ) -> dict[str, float] | str:
        """Return each method's lead, or the reason why there is none to speak of."""
        leads: dict[str, float] = {}
        for result in matching(setting, self.methods):
            if result.conditions != base.conditions:
                return f"times cannot be compared: {evidence.comparable(setting).reason}"
            if self.measure == "epoch":
                own, other = evidence.reach.epoch_s(result), evidence.reach.epoch_s(base)
                if own and other:
                    leads[result.method] = other / own
                continue
            speedup = evidence.reach.speedup(result, base)
            if speedup.why == "start":
                ended = style(base.method).label
                return f"{setting.title}: {ended} ended no better than the warm start"
            leads[result.method] = speedup.times or 0.0
        return leads


@dataclass(frozen=True)
class SeedsAgree:
    """What other claims find in a setting is the same for every data seed of it."""

    claims: Annotated[tuple[str, ...], Doc("ids of the claims whose findings are compared")]

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        return (
            f"what {', '.join(self.claims)} find is the same for all data seeds of the setting, "
            "each looked at by itself."
        )

    def findings(self, evidence: Evidence) -> list[Finding]:
        """Look at every setting that was run with several seeds, once for each claim."""
        several = [units for units in grouped(evidence.report.units) if len(units) > 1]
        found = []
        for claim in self.claims:
            check = evidence.checks.get(claim)
            if not isinstance(check, SettingCheck):
                able = [
                    id for id, each in evidence.checks.items() if isinstance(each, SettingCheck)
                ]
                raise ReportError(
                    f"a claim compares the findings of {claim!r} for single data seeds; there are "
                    f"{', '.join(able)}."
                )
            for units in several:
                seeds = [compare(evidence.report, [unit]) for unit in units]
                found.append(_agreement(claim, units, [check.of(evidence, [s]) for s in seeds]))
        return found


def _agreement(claim: str, units: Sequence[Unit], found: Sequence[Sequence[Finding]]) -> Finding:
    where = f"{without_seed(units[0])}, {claim}"
    seen: dict[str, list[str]] = {}
    for unit, findings in zip(units, found, strict=True):
        outcome = findings[0].outcome if findings else "absent"
        seen.setdefault(outcome, []).append(f"{unit.seed}")
    words = "; ".join(f"{outcome} with seed {', '.join(seeds)}" for outcome, seeds in seen.items())
    numbers = dict(seen)
    decided = {"holds", "fails"} & set(seen)
    if len(decided) == 2:
        return Finding(where, "fails", words, numbers)
    if not decided and set(seen) == {"absent"}:
        return Finding(where, "absent", "what the claim speaks of was not run", numbers)
    if len(seen) > 1 or not decided:
        return Finding(where, "open", words, numbers)
    return Finding(where, "holds", f"{words}, all {len(units)} seeds alike", numbers)


def _neighbours(settings: Sequence[Comparison]) -> Iterator[tuple[Comparison, Comparison]]:
    """Yield pairs of settings that differ by their size alone, next to each other in size."""
    ladders: dict[str, list[Comparison]] = {}
    for setting in settings:
        unit = setting.units[0]
        others = sorted((name, repr(value)) for name, value in unit.settings.items() if name != "n")
        ladders.setdefault(repr((unit.task, others, unit.solver)), []).append(setting)
    for ladder in ladders.values():
        yield from pairwise(sorted(ladder, key=lambda setting: setting.units[0].n))


def _lead(value: float) -> str:
    return "never" if value == 0 else ratio(value)

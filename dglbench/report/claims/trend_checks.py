"""Checks that compare settings with each other: across sizes, and across data seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from typing_extensions import Doc

from dglbench.errors import ReportError
from dglbench.report.claims.evidence import (
    Evidence,
    Finding,
    Outcome,
    matching_runs,
    most,
    name,
    names,
)
from dglbench.report.loading import Run, Unit
from dglbench.report.statistics.seeds import grouped
from dglbench.report.style.palette import style
from dglbench.report.style.titles import title, without_seed
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
            finding
            for baseline in self.against
            for small, big in _neighbours(evidence.report.units)
            if (finding := self._of(evidence, baseline, small, big)) is not None
        ]

    def _of(self, evidence: Evidence, baseline: str, small: Unit, big: Unit) -> Finding | None:
        against = style(baseline).label
        where = f"{without_seed(small)} → {big.n}, seed {big.seed_words}, against {against}"
        leads = []
        for unit in (small, big):
            base = evidence.run(unit, baseline)
            if base is None:
                missing = evidence.missing(unit, baseline)
                return Finding(where, missing.outcome, f"{title(unit)}: {missing.text}")
            lead = self._leads(evidence, unit, base)
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

    def _leads(self, evidence: Evidence, unit: Unit, base: Run) -> dict[str, float] | str:
        """Return each method's lead, or the reason why there is none to speak of."""
        leads: dict[str, float] = {}
        for run in matching_runs(evidence, unit, self.methods):
            if run.conditions != base.conditions:
                return f"times cannot be compared: {evidence.report.comparability(unit).reason}"
            if self.measure == "epoch":
                own, other = evidence.reach.epoch_s(run), evidence.reach.epoch_s(base)
                if own and other:
                    leads[run.method] = other / own
                continue
            speedup = evidence.reach.speedup(run, base)
            if speedup.why == "start":
                ended = style(base.method).label
                return f"{title(unit)}: {ended} ended no better than the warm start"
            leads[run.method] = speedup.times or 0.0
        return leads


@dataclass(frozen=True)
class SeedsAgree:
    """What other claims find in a setting is the same for every data seed of it."""

    claims: Annotated[tuple[str, ...], Doc("ids of the claims whose findings are compared")]

    @property
    def rule(self) -> str:
        """What must be true in a setting."""
        return (
            f"what {', '.join(self.claims)} find in a setting is the same for all its data seeds."
        )

    def findings(self, evidence: Evidence) -> list[Finding]:
        """Look at every setting that was run with several seeds, once for each claim."""
        several = [units for units in grouped(evidence.report.units) if len(units) > 1]
        found = []
        for claim in self.claims:
            if claim not in evidence.found:
                known = ", ".join(evidence.found)
                raise ReportError(f"a claim compares the findings of {claim!r}; there are {known}.")
            outcomes = {item.setting: item.outcome for item in evidence.found[claim]}
            found += [_agreement(claim, units, outcomes) for units in several]
        return found


def _agreement(claim: str, units: Sequence[Unit], outcomes: dict[str, Outcome]) -> Finding:
    where = f"{without_seed(units[0])}, {claim}"
    seen: dict[str, list[str]] = {}
    for unit in units:
        seen.setdefault(outcomes.get(title(unit), "absent"), []).append(unit.seed_words)
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


def _neighbours(units: Sequence[Unit]) -> Iterator[tuple[Unit, Unit]]:
    """Yield pairs of units that differ by their size alone, next to each other in size."""
    ladders: dict[str, list[Unit]] = {}
    for unit in units:
        settings = sorted(
            (name, repr(value)) for name, value in unit.settings.items() if name != "n"
        )
        key = repr((unit.task, settings, unit.seed, unit.train_seed, unit.solver))
        ladders.setdefault(key, []).append(unit)
    for ladder in ladders.values():
        yield from pairwise(sorted(ladder, key=lambda unit: unit.n))


def _lead(value: float) -> str:
    return "never" if value == 0 else ratio(value)

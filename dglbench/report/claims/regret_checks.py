"""Checks of regret: lowest, improved, not worse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Gt
from typing_extensions import Doc

from dglbench.plugins import AFTER
from dglbench.report.claims.evidence import (
    Evidence,
    Finding,
    Outcome,
    SettingCheck,
    matching_runs,
    name,
    names,
    sizes_words,
)
from dglbench.report.loading import Unit
from dglbench.report.statistics.paired import Difference
from dglbench.report.style.titles import title
from dglbench.runs.selection import ranked
from dglbench.words import percent

__all__ = ["Improves", "Lowest", "NotWorse"]


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
            f"95 % interval of the difference on the same test instances excludes 0."
            f"{sizes_words(self.sizes)}"
        )

    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        run = evidence.run(unit, self.method)
        if run is None:
            return evidence.missing(unit, self.method)
        chosen = evidence.report.chosen_runs(unit)
        others = [run_ for run_ in chosen if run_ is not run and AFTER not in run_.method]
        if not others:
            return Finding(title(unit), "absent", "nothing to compare with was run")
        rival = min(others, key=lambda other: other.test_regret)
        difference = evidence.pairs.difference(run, rival)
        words = (
            f"{name(self.method)} {percent(run.test_regret)}, "
            f"best other {name(rival.method)} {percent(rival.test_regret)}"
            f"{_difference(difference)}"
        )
        verdicts: dict[str, Outcome] = {"lower": "holds", "higher": "fails", "open": "open"}
        outcome = verdicts[difference.verdict] if difference else "open"
        numbers = {self.method: run.test_regret, rival.method: rival.test_regret}
        return Finding(title(unit), outcome, words, numbers)


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
            "and none above it, by 95 % intervals of the difference on the same test instances."
        )

    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        base = evidence.run(unit, self.against)
        if base is None:
            return evidence.missing(unit, self.against)
        runs = matching_runs(evidence, unit, self.methods)
        if not runs:
            return evidence.missing(unit, self.methods[0])
        found = {run.method: evidence.pairs.difference(run, base) for run in runs}
        words = f"{name(self.against)} {percent(base.test_regret)}; " + ", ".join(
            f"{name(run.method)} {percent(run.test_regret)}{_difference(found[run.method])}"
            for run in runs
        )
        verdicts = {difference.verdict for difference in found.values() if difference}
        outcome: Outcome = "open"
        if verdicts and "higher" not in verdicts and "lower" in verdicts:
            outcome = "holds"
        elif "higher" in verdicts and "lower" not in verdicts:
            outcome = "fails"
        numbers = {each: difference and difference.mean for each, difference in found.items()}
        return Finding(title(unit), outcome, words, numbers)


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

    def _of(self, evidence: Evidence, unit: Unit) -> Finding:
        base = evidence.run(unit, self.against)
        if base is None:
            return evidence.missing(unit, self.against)
        runs = {run.run_id: run for run in matching_runs(evidence, unit, self.methods)}
        if not runs:
            return evidence.missing(unit, self.methods[0])
        run = runs[ranked(run.record for run in runs.values())[0].run_id]
        difference = evidence.pairs.difference(run, base)
        words = (
            f"{name(run.method)} {percent(run.test_regret)}, {name(self.against)} "
            f"{percent(base.test_regret)}{_difference(difference)}"
        )
        outcome: Outcome = "open"
        allowed = self.margin * base.test_regret
        if difference and difference.verdict == "higher":
            outcome = "fails"
        elif difference and difference.high <= allowed:
            outcome = "holds"
        elif difference:
            words += f"; too wide to tell, needs an end of at most {100 * allowed:+.2f}"
        numbers = {run.method: run.test_regret, self.against: base.test_regret}
        return Finding(title(unit), outcome, words, numbers)


def _difference(difference: Difference | None) -> str:
    if difference is None:
        return ""
    low, high = 100 * difference.low, 100 * difference.high
    return f" ({low:+.2f} to {high:+.2f} points)".replace("-", "−")

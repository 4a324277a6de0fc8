"""The verdict of a fit: what was chosen, whether training for decisions pays, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dglbench.fitting.progress import configuration
from dglbench.fitting.statistics import POWER, Comparison, Estimate
from dglbench.report.statistics.rivals import SMALL
from dglbench.report.style.titles import listing
from dglbench.runs.record import RunRecord
from dglbench.training.calibration import Calibration, Expected
from dglbench.words import percent, rough_seconds

__all__ = ["Finalist", "Sureness", "Verdict"]


class Finalist(NamedTuple):
    """A run that validation chose for one of the roles, judged on test."""

    role: str
    """``best decision-focused``, ``best accurate``, ``least-squares`` or ``boosted-trees``."""
    record: RunRecord
    regret: Estimate
    absolute: float
    """Mean regret per test instance in the labels' unit."""

    @property
    def name(self) -> str:
        """What was trained."""
        return configuration(self.record.identity)

    def document(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        identity = self.record.identity
        return {
            "role": self.role,
            "run": self.record.run_id,
            "method": identity.method,
            "predictor": identity.predictor,
            "start": identity.options.get("start"),
            "test_regret": self.regret._asdict(),
            "test_absolute_regret": self.absolute,
        }


class Sureness(NamedTuple):
    """How often resampled validation instances would have chosen otherwise."""

    another_run: float
    another_side: float
    runs: int
    """How many runs took part: the best by validation."""


@dataclass(frozen=True)
class Verdict:
    """All that a fit has to say."""

    chosen: Finalist
    accurate: Finalist | None
    focused: Finalist | None
    baselines: tuple[Finalist, ...]
    comparison: Comparison | None
    """None where one of the sides has no run."""
    sureness: Sureness | None
    calibration: Calibration | None
    expected: Expected | None
    """What the plans of the test instances are worth by validation's line."""
    realised: float | None
    """What they were worth."""
    judged_by: str
    runs: int
    test_instances: int
    minimise: bool = False
    """Whether labels are costs."""
    untried: tuple[str, ...] = ()
    """Methods, with their predictor, of which there was no run yet."""
    looks: int = 1
    """Verdicts of this folder so far that looked at the test instances."""
    seconds: float = 0.0
    """All that the fit took, choosing and judging included; known last."""

    @property
    def pays(self) -> bool | None:
        """Whether training for decisions pays; None if these data cannot tell."""
        return self.comparison.pays if self.comparison else None

    @property
    def instead(self) -> Finalist | None:
        """The accurate model, where validation chose the other side and that does not pay."""
        other_side = self.focused is not None and self.chosen.record is self.focused.record
        return self.accurate if self.pays is False and other_side else None

    @property
    def headline(self) -> str:
        """The answer in a few words."""
        if self.comparison is None:
            return "Whether training for decisions pays is open"
        gain = f"{_points(self.comparison.difference.value)} points of regret"
        answer = {
            True: f"Training for decisions pays: it saves {gain}",
            False: "Training for decisions does not pay",
            None: "These data cannot tell whether training for decisions pays",
        }[self.pays]
        return f"{answer} (early: not all kinds were tried)" if self.untried else answer

    def document(self) -> dict[str, Any]:
        """Return ``verdict.json``."""
        comparison = self.comparison
        return {
            "pays": self.pays,
            "chosen": self.chosen.document(),
            "test_regret": self.chosen.regret._asdict(),
            "accurate_test_regret": self.accurate.regret._asdict() if self.accurate else None,
            "decision_focused_test_regret": self.focused.regret._asdict() if self.focused else None,
            "difference": comparison.difference._asdict() if comparison else None,
            "more_test_instances": comparison.more if comparison else None,
            "test_instances": self.test_instances,
            "judged_by": self.judged_by,
            "compared": [each.document() for each in self.compared],
            "sureness": self.sureness._asdict() if self.sureness else None,
            "calibration": self.calibration._asdict() if self.calibration else None,
            "runs": self.runs,
            "untried": list(self.untried),
            "looks_at_test": self.looks,
            "seconds": self.seconds,
        }

    @property
    def compared(self) -> list[Finalist]:
        """All that were judged on test, each run once."""
        found = [self.focused, self.accurate, *self.others]
        return [each for each in found if each is not None]

    @property
    def others(self) -> list[Finalist]:
        """The baselines beside the best accurate model, which may be one of them."""
        best = self.accurate.record if self.accurate else None
        return [each for each in self.baselines if each.record is not best]

    def sentences(self) -> list[str]:
        """Return the verdict in words."""
        said = [
            f"Chosen by validation: {self.chosen.name} (run {self.chosen.record.run_id}), "
            f"{_regret(self.chosen.regret)} on {self.test_instances} test instances.",
            self._pays_words(),
        ]
        if self.untried:
            said.append(
                "Too early to rely on: there is no run yet of "
                f"{listing(list(self.untried), 4)}. Grant more time or runs."
            )
        if self.others:
            said.append(
                "Beside it: "
                + "; ".join(
                    f"{each.role.replace('-', ' ')} {_interval(each.regret)}"
                    for each in self.others
                )
                + "."
            )
        if self.sureness:
            said.append(
                "How sure the choice is: with other validation instances the other way of "
                "training (for accuracy or for decisions) would have been chosen in "
                f"{percent(self.sureness.another_side, 0)} of the cases, and another of the best "
                f"{self.sureness.runs} runs, often much like it, in "
                f"{percent(self.sureness.another_run, 0)}."
            )
        if self.expected is not None and self.realised is not None:
            said.append(
                f"What a plan {'costs' if self.minimise else 'is worth'}: {self.expected.words}; "
                f"on the test instances it was {self.realised:.6g}."
            )
        said.append(f"Cost: {self.runs} runs in {rough_seconds(self.seconds)}.")
        return said

    def _pays_words(self) -> str:
        if self.comparison is None or self.focused is None or self.accurate is None:
            missing = "decision-focused" if self.focused is None else "accurate"
            return f"Whether training for decisions pays is open: no {missing} run was finished."
        gained = self.comparison.difference
        with_ = f"{_regret(self.focused.regret)} ({self.focused.name})"
        without = (
            f"{_interval(self.accurate.regret)} with the best accurate model ({self.accurate.name})"
        )
        ends = f"{_points(gained.low)} to {_points(gained.high)}"
        points = f"{_points(gained.value)} points ({ends})"
        if self.pays:
            return (
                f"Training for decisions pays here: {with_} instead of {without}; it gains "
                f"{points}."
            )
        if self.pays is False:
            return (
                f"Training for decisions does not pay here: {with_} against {without}, a gain of "
                f"{points}; gains up to {_points(SMALL)} count as none."
            )
        if self.comparison.more is None:
            tells = "the two models decide alike on all of them"
        else:
            tells = (
                f"about {self.comparison.more:,} more could, with a chance of {percent(POWER, 0)} "
                "if the difference stays what it is"
            )
        return (
            f"These {self.test_instances} test instances cannot tell whether training for "
            f"decisions pays: {with_} against {without}, a gain of {points}; {tells}."
        )


def _regret(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} regret ({_points(estimate.low)}–{_points(estimate.high)})"


def _interval(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} ({_points(estimate.low)}–{_points(estimate.high)})"


def _points(share: float) -> str:
    return f"{100 * share:z.2f}"

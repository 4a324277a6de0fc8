"""A run, and the conditions under which it was timed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dglbench.methods.pyepo.border import TESTED
from dglbench.report.units import Unit
from dglbench.runs.provenance import extras, libraries
from dglbench.runs.record import Environment, Identity, RunRecord

__all__ = ["Comparability", "Conditions", "Run", "Unreadable"]

_NOT_SMALL = 0.01
"""Regrets below are small by any measure."""


class Unreadable(NamedTuple):
    """A folder that looks like a run but could not be read."""

    run_id: str
    reason: str


@dataclass(frozen=True)
class Run:
    """One run's record, with names for what the report needs of it."""

    folder: Path
    unit: Unit
    record: RunRecord = field(repr=False)
    name: str = ""
    """What its method is called here: ``spo``, or ``spo · fresh`` beside ``spo · warm``."""

    @cached_property
    def run_id(self) -> str:
        """The name of its folder, unique within a report."""
        return self.folder.name

    @property
    def identity(self) -> Identity:
        """What the run was."""
        return self.record.identity

    @property
    def environment(self) -> Environment:
        """Where the run was made."""
        return self.record.environment

    @property
    def method(self) -> str:
        """The method's name in this report, such as ``dgl-5``."""
        return self.name or self.identity.method

    @property
    def predictor(self) -> str:
        """What was trained, such as ``mlp:hidden=16``."""
        return self.identity.predictor

    @property
    def repeat(self) -> int:
        """Which initial weights and batches: the training seed."""
        return self.identity.train_seed

    @property
    def options(self) -> Mapping[str, Any]:
        """The method's hyperparameters, learning rate included."""
        return self.identity.options

    @property
    def protocol(self) -> Mapping[str, Any]:
        """How the run was trained and evaluated."""
        return asdict(self.identity.protocol)

    @property
    def state(self) -> str:
        """One of `dglbench.runs.record.FINAL_STATES`."""
        return self.record.state

    @property
    def message(self) -> str | None:
        """Why the run did not finish, in a sentence."""
        return self.record.status.message

    @property
    def finished(self) -> str:
        """When the run ended, as text that sorts; empty if unknown."""
        return self.record.status.finished or ""

    @property
    def selected_epoch(self) -> int | None:
        """The epoch that counts, by ``choose``; None if the run did not get that far."""
        return self.record.selected.epoch if self.record.selected else None

    @property
    def choose(self) -> str:
        """Which epoch counts: ``best`` by validation, or the ``last``."""
        return self.identity.protocol.choose

    @property
    def judged_by(self) -> str:
        """``relative`` (mean of regret/|optimum|) or ``pooled`` (Σ regret / Σ |optimum|).

        A run is judged by its pooled regret where too many optima are near 0 to divide by.
        """
        return str(getattr(self.record.summary, "judged_by", "relative"))

    @property
    def measure(self) -> str:
        """The regret it is judged by: a column of the regret log, and a field of `Regrets`."""
        return f"{self.judged_by}_regret"

    @property
    def val_regret(self) -> float:
        """Validation regret at the selected epoch: what a run is chosen by; NaN without one."""
        val = self.record.selected.val if self.record.selected else None
        return float(getattr(val, self.measure)) if val else math.nan

    @property
    def test_regret(self) -> float:
        """Test regret at the selected epoch, by the measure that the run is judged by."""
        selected = self.record.selected
        return float(getattr(selected.test, self.measure)) if selected else math.nan

    @property
    def absolute_regret(self) -> float:
        """Mean test regret per instance at the selected epoch, in the unit of the labels."""
        return self.record.selected.test.absolute_regret if self.record.selected else math.nan

    @property
    def around_zero(self) -> bool:
        """Whether optima lie so close to 0 that the mean of regret / |optimum| misleads.

        It is then far from Σ regret / Σ |optimum|; both are small where decisions are good.
        """
        if self.record.selected is None or self.judged_by != "relative":
            return False
        test = self.record.selected.test
        less, more = sorted((test.relative_regret, test.pooled_regret))
        return more > _NOT_SMALL and more > 2 * less

    @property
    def test_interval(self) -> tuple[float, float] | None:
        """The bootstrap interval that the run logged, which is of its relative regret."""
        if self.record.selected is None or self.judged_by != "relative":
            return None
        return self.record.selected.test.relative_regret_ci

    @property
    def warm_start_regret(self) -> float | None:
        """Test regret of the shared predictor the run started from, None if it was not logged."""
        summary = self.record.summary
        if summary is None or summary.warm_start is None:
            return None
        return getattr(summary.warm_start, f"test_{self.measure}", None)

    @property
    def train_instances(self) -> int | None:
        """K, the instances an epoch goes through."""
        return self.record.summary.instances.get("train") if self.record.summary else None

    @property
    def test_instances(self) -> int:
        """How many instances the selected epoch was tested on."""
        return self.record.summary.instances.get("test", 0) if self.record.summary else 0

    @property
    def bounded_tests(self) -> int:
        """Test instances whose optimum is only bounded: their regrets are against that bound."""
        return self.record.summary.bounds.get("test", 0) if self.record.summary else 0

    @property
    def epochs_run(self) -> int | None:
        """How many epochs were trained."""
        return self.record.summary.epochs_run if self.record.summary else None

    @property
    def train_s(self) -> float | None:
        """Training seconds in all."""
        return self.record.summary.train_s if self.record.summary else None

    @property
    def training_solves(self) -> int:
        """Instances solved on the clock."""
        return self.record.summary.training_solves if self.record.summary else 0

    @property
    def peak_memory_mb(self) -> float | None:
        """The most memory the run's process held, in megabytes; None where not logged."""
        return self.record.summary.peak_memory_mb if self.record.summary else None

    @property
    def outside_s(self) -> float | None:
        """Wall seconds outside training (evaluating, logging), or wall less training time."""
        summary = self.record.summary
        if summary and summary.outside_s is not None:
            return summary.outside_s
        wall, train = self.record.status.wall_s, self.train_s
        return max(wall - train, 0.0) if wall and train is not None else None

    @cached_property
    def conditions(self) -> Conditions:
        """What the run's seconds depend on besides its own work."""
        seen = self.environment
        # PyEPO's losses compare with other methods only in the version that was tested.
        unlike = {name: made for name, made in extras(self.record).items() if made != TESTED}
        versions = {**libraries(seen), **unlike}
        return Conditions(
            str(seen.machine),
            seen.threads,
            seen.concurrency,
            ", ".join(f"{name} {version}" for name, version in versions.items()),
        )


class Conditions(NamedTuple):
    """Runs with equal conditions have seconds that may be ranked against each other."""

    machine: str
    threads: int | None
    concurrency: int | None
    libraries: str
    """Versions of what computes; regrets may differ with them too, in the last bits."""


@dataclass(frozen=True)
class Comparability:
    """Whether the seconds of some runs may be ranked, with the runs by conditions."""

    comparable: bool
    reason: str
    """Empty, or a sentence that says what differs and for which methods."""
    groups: Mapping[Conditions, tuple[Run, ...]]

    @classmethod
    def of(cls, label: str, runs: Iterable[Run]) -> Comparability:
        """Group the runs by their conditions."""
        groups: dict[Conditions, tuple[Run, ...]] = {}
        for run in runs:
            groups[run.conditions] = (*groups.get(run.conditions, ()), run)
        if len(groups) <= 1:
            return cls(True, "", groups)
        differing = [
            name for name in Conditions._fields if len({getattr(c, name) for c in groups}) > 1
        ]
        described = _describe(groups, differing)
        made = "; ".join(
            f"{described[conditions]}: {', '.join(dict.fromkeys(run.method for run in runs))}"
            for conditions, runs in groups.items()
        )
        what = " and ".join(differing)
        reason = (
            f"the seconds of {label} were measured under different {what} ({made}), so they "
            "are not ranked; regrets and solver calls are."
        )
        return cls(False, reason, groups)

    @property
    def unlike_libraries(self) -> frozenset[str]:
        """Ids of the runs made with other library versions than most; their regrets are marked."""
        made: dict[str, list[Run]] = {}
        for conditions, runs in self.groups.items():
            made.setdefault(conditions.libraries, []).extend(runs)
        most = max(made.values(), key=len, default=[])
        return frozenset(run.run_id for runs in made.values() if runs is not most for run in runs)


def _describe(groups: Iterable[Conditions], differing: Iterable[str]) -> dict[Conditions, str]:
    """Say of each what differs; of the libraries only those that do."""
    parts = {c: set(c.libraries.split(", ")) for c in groups}
    shared = set.intersection(*parts.values()) if parts else set()
    return {
        c: ", ".join(
            ", ".join(sorted(parts[c] - shared)) or "fewer libraries"
            if name == "libraries"
            else f"{name} {getattr(c, name)}"
            for name in differing
        )
        for c in parts
    }

"""Choosing hyperparameters: which runs a method gets, and which of them stands for it.

A `GroupSearch` is one method on one dataset. ``none`` has one configuration,
``full`` tries the whole grid, ``halving`` tries it for E/9 epochs, the best third
for E/3 and the best third of those for E (successive halving, Jamieson and
Talwalkar 2016). Survivors and the chosen run have the lowest validation relative
regret (`dglbench.runs.selection`); test is never looked at. As runs are deterministic
and keep their best epoch, a longer run is never worse on validation than the same one
cut short, unless it fails: then its shorter run stands.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dglbench.data.source import identify
from dglbench.errors import OptionError
from dglbench.runs.record import RunRecord, digest
from dglbench.runs.selection import best_record, ranked
from dglbench.sweep.resolved import MethodPlan, Setting, Sweep
from dglbench.task import TaskSpec
from dglbench.training.resolve import resolve_run
from dglbench.training.spec import RunSpec

__all__ = ["Group", "GroupSearch", "make_groups"]

_KEEP = 3  # halving keeps a third
_RUNGS = 3


@dataclass(frozen=True)
class Group:
    """One method on one dataset, with every configuration it may be given."""

    data: TaskSpec
    method: str
    solver: str
    specs: tuple[RunSpec, ...]
    train_seed: int = 0


@dataclass
class GroupSearch:
    """The state of one group's search: what may run now, what has ended, what was chosen."""

    group: Group
    kind: str
    pending: dict[str, RunSpec] = field(default_factory=dict)
    """By run id: what may be started now, in grid order."""
    running: dict[str, RunSpec] = field(default_factory=dict)
    results: dict[str, RunRecord] = field(default_factory=dict)
    """By run id: what has ended, here or earlier, in all rungs."""
    rungs: list[dict[str, int]] = field(default_factory=list)
    """What each rung tried so far: its epochs and number of runs."""

    def __post_init__(self) -> None:
        epochs = self.group.specs[0].protocol.epochs
        many = self.kind == "halving" and len(self.group.specs) > 1
        steps = [math.ceil(epochs / _KEEP**k) for k in reversed(range(_RUNGS))] if many else []
        self._steps = sorted({*steps, epochs})
        self._rung: dict[str, RunSpec] = {}
        self._open_rung(self.group.specs)

    @property
    def total(self) -> int:
        """How many runs the search makes in all."""
        sizes = [len(self.group.specs)]
        for _ in self._steps[1:]:
            sizes.append(math.ceil(sizes[-1] / _KEEP))
        return sum(sizes)

    @property
    def upcoming(self) -> list[tuple[int, int]]:
        """Epochs and number of runs of the rungs that are not open yet."""
        size, rest = len(self._rung), self._steps[len(self.rungs) :]
        sizes = [math.ceil(size / _KEEP ** (k + 1)) for k in range(len(rest))]
        return list(zip(rest, sizes, strict=True))

    @property
    def progress(self) -> float:
        """Share of the open rung that is under way; groups of a unit advance evenly by it."""
        return (len(self._rung) - len(self.pending) + 0.5) / len(self._rung)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run."""
        return not self.pending and not self.running

    @property
    def complete(self) -> bool:
        """Whether every run has ended by itself, so that the choice stands."""
        states = [record.state for record in self.results.values()]
        return self.finished and bool(states) and "interrupted" not in states

    @property
    def chosen(self) -> RunRecord | None:
        """The run that stands for the method, by the one rule of `dglbench.runs.selection`."""
        return best_record(self.results.values())

    def start(self, run_id: str) -> None:
        """Note that a pending run has begun."""
        self.running[run_id] = self.pending.pop(run_id)

    def settle(self, run_id: str, record: RunRecord) -> None:
        """Take a run's end, and open the next rung when this one is complete."""
        self.running.pop(run_id, None)
        self.pending.pop(run_id, None)
        self.results[run_id] = record
        if not self.finished or len(self.rungs) == len(self._steps):
            return
        rung = [self.results[run_id] for run_id in self._rung]
        if any(record.state == "interrupted" for record in rung):
            return  # the sweep is being stopped; what is missing is not known to be worse
        kept = {record.run_id for record in ranked(rung)[: math.ceil(len(rung) / _KEEP)]}
        alive = [spec for run_id, spec in self._rung.items() if run_id in kept]
        if alive:
            self._open_rung(alive)

    def budget(self) -> dict[str, Any]:
        """Return what the search cost: every run counts, chosen or not."""
        summaries = [record.summary for record in self.results.values() if record.summary]
        return {
            "configurations": len(
                {digest(record.identity.options) for record in self.results.values()}
            ),
            "runs": len(self.results),
            "seconds": sum(summary.train_s for summary in summaries),
            "solver_calls": sum(summary.training_solves for summary in summaries),
            "evaluation_calls": sum(summary.solves.get("evaluate", 0) for summary in summaries),
        }

    def _open_rung(self, specs: Sequence[RunSpec]) -> None:
        epochs = self._steps[len(self.rungs)]
        rung = [
            dataclasses.replace(s, protocol=dataclasses.replace(s.protocol, epochs=epochs))
            for s in specs
        ]
        self._rung = {spec.run_id: spec for spec in rung}
        self.rungs.append({"epochs": epochs, "runs": len(rung)})
        self.pending = dict(self._rung)


def make_groups(sweep: Sweep) -> list[list[Group]]:
    """Spell out every configuration; the groups of one dataset stand together."""
    units: list[list[Group]] = []
    seen: set[str] = set()
    for setting in sweep.settings:
        bases = [(plan, _configurations(sweep, setting, plan)) for plan in setting.methods]
        for seed in setting.seeds:
            data = TaskSpec(setting.task, setting.settings, seed)
            content = setting.data_digest or identify(data)
            for train_seed in setting.train_seeds:
                unit = []
                for plan, specs in bases:
                    here = [
                        dataclasses.replace(
                            spec, data=data, data_digest=content, train_seed=train_seed
                        )
                        for spec in specs
                    ]
                    fresh = tuple(spec for spec in here if spec.run_id not in seen)
                    seen |= {spec.run_id for spec in fresh}
                    if fresh:
                        unit.append(Group(data, plan.name, sweep.solver, fresh, train_seed))
                if unit:
                    units.append(unit)
    return units


def _configurations(sweep: Sweep, setting: Setting, plan: MethodPlan) -> list[RunSpec]:
    first = {key: values[0] for key, values in plan.space.items()}
    base = resolve_run(
        TaskSpec(setting.task, setting.settings, setting.seeds[0]),
        plan.name,
        given_options={**plan.fixed, **first},
        protocol=setting.protocol,
        solver=sweep.solver,
        threads=sweep.threads,
        lead_in_options=plan.lead_in,
    )
    specs = []
    for values in itertools.product(*plan.space.values()):
        chosen = dict(zip(plan.space, values, strict=True))
        try:
            changed = dataclasses.replace(base.options, **chosen)
        except ValueError as error:  # a rule across options
            raise OptionError(f"method {plan.name} with {chosen}: {error}") from error
        specs.append(dataclasses.replace(base, options=changed))
    return specs

"""Choosing hyperparameters: which runs a method gets, and which of them stands for it.

A `GroupSearch` is one method on one dataset. ``none`` has one configuration,
``full`` tries the whole grid, ``halving`` tries it for E/9 epochs, the best third
for E/3 and the best third of those for E (successive halving, Jamieson and
Talwalkar 2016). Survivors and the chosen run have the lowest validation relative
regret; test is never looked at. As runs are deterministic and keep their best
epoch, a longer run is never worse on validation than the same one cut short, so
the best run of all rungs is in the last.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dglbench.errors import OptionError
from dglbench.runs.store import RunSpec
from dglbench.sweep.resolved import MethodPlan, Setting, Sweep
from dglbench.task import TaskSpec
from dglbench.training.resolve import resolve_run

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


@dataclass(frozen=True)
class Result:
    """A run of the group that has ended, here or earlier."""

    spec: RunSpec
    status: Mapping[str, Any]
    concurrency: int | None

    @property
    def val_regret(self) -> float:
        """The figure all choices are made by; infinite if the run has no result."""
        if self.status.get("status") != "done":
            return math.inf
        value = float(self.status["selected"]["val"]["relative_regret"])
        return value if math.isfinite(value) else math.inf


@dataclass
class GroupSearch:
    """The state of one group's search: what may run now, what has ended, what was chosen."""

    group: Group
    kind: str
    pending: dict[str, RunSpec] = field(default_factory=dict)
    """By run id: what may be started now, in grid order."""
    running: dict[str, RunSpec] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
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
        states = [result.status.get("status") for result in self.results.values()]
        return self.finished and bool(states) and "interrupted" not in states

    @property
    def chosen(self) -> Result | None:
        """The run that stands for the method: lowest validation regret, earliest of equals."""
        last = [self.results[run_id] for run_id in self._rung if run_id in self.results]
        done = [result for result in last if math.isfinite(result.val_regret)]
        return min(done, key=lambda result: result.val_regret) if done else None

    def start(self, run_id: str) -> None:
        """Note that a pending run has begun."""
        self.running[run_id] = self.pending.pop(run_id)

    def settle(self, run_id: str, status: Mapping[str, Any], concurrency: int | None) -> None:
        """Take a run's end, and open the next rung when this one is complete."""
        self.running.pop(run_id, None)
        self.pending.pop(run_id, None)
        self.results[run_id] = Result(self._rung[run_id], status, concurrency)
        if not self.finished or len(self.rungs) == len(self._steps):
            return
        rung = [self.results[run_id] for run_id in self._rung]
        if any(result.status.get("status") == "interrupted" for result in rung):
            return  # the sweep is being stopped; what is missing is not known to be worse
        ranked = sorted(self._rung, key=lambda run_id: self.results[run_id].val_regret)
        kept = set(ranked[: math.ceil(len(ranked) / _KEEP)])
        alive = [self._rung[run_id] for run_id in self._rung if run_id in kept]
        alive = [s for s in alive if math.isfinite(self.results[s.run_id].val_regret)]
        if alive:
            self._open_rung(alive)

    def budget(self) -> dict[str, Any]:
        """Return what the search cost: every run counts, chosen or not."""
        results = list(self.results.values())
        solves = [result.status.get("solves") or {} for result in results]
        return {
            "configurations": len({_configuration(result.spec) for result in results}),
            "runs": len(results),
            "seconds": sum(float(result.status.get("train_s") or 0.0) for result in results),
            "solver_calls": sum(
                int(count.get(name, 0))
                for count in solves
                for name in ("label", "train", "refresh")
            ),
            "evaluation_calls": sum(int(count.get("evaluate", 0)) for count in solves),
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
            unit = []
            for plan, specs in bases:
                here = [dataclasses.replace(spec, data=data) for spec in specs]
                fresh = tuple(spec for spec in here if spec.run_id not in seen)
                seen |= {spec.run_id for spec in fresh}
                if fresh:
                    unit.append(Group(data, plan.name, sweep.solver, fresh))
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


def _configuration(spec: RunSpec) -> str:
    return repr(spec.options)

"""Choosing hyperparameters: which runs a method gets, and which of them stands for it.

A `GroupSearch` is one method on one dataset. ``none`` has one configuration; ``full``, ``halving``
and ``optuna`` try several, in the rounds of `dglbench.sweep.rounds` and `dglbench.sweep.tpe`.
Survivors and the chosen run have the lowest validation relative regret
(`dglbench.runs.selection`); test is never looked at. As runs are deterministic and keep their best
epoch, a longer run is never worse on validation than the same one cut short, unless it fails: then
its shorter run stands.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dglbench.data.loading import identify
from dglbench.errors import OptionError
from dglbench.runs.record import RunRecord, digest
from dglbench.runs.selection import best_record
from dglbench.sweep.resolve import MethodPlan, Setting, Sweep
from dglbench.sweep.rounds import Grid, Halving, Rounds
from dglbench.sweep.space import Axis, Range, on_edge
from dglbench.task import TaskSpec
from dglbench.training.resolve import resolve_run
from dglbench.training.spec import RunSpec

__all__ = ["Group", "GroupSearch", "make_groups"]


@dataclass(frozen=True)
class Group:
    """One method on one dataset, with the configurations that are known before anything runs."""

    data: TaskSpec
    method: str
    solver: str
    specs: tuple[RunSpec, ...]
    train_seed: int = 0
    space: Mapping[str, Axis] = field(default_factory=dict)
    """What is searched."""
    trials: int = 0
    """How many configurations ``optuna`` tries."""
    tuned: Mapping[str, Any] | None = None
    """What the search that chose the configuration said of itself, where it was made elsewhere."""


@dataclass
class GroupSearch:
    """The state of one group's search: what may run now, what has ended, what was chosen."""

    group: Group
    kind: str
    pending: dict[str, RunSpec] = field(default_factory=dict)
    """By run id: what may be started now, in the order asked."""
    running: dict[str, RunSpec] = field(default_factory=dict)
    results: dict[str, RunRecord] = field(default_factory=dict)
    """By run id: what has ended, here or earlier, in all rounds."""
    rungs: list[dict[str, int]] = field(default_factory=list)
    """What each round tried so far: its epochs and number of runs."""

    def __post_init__(self) -> None:
        self._rounds = _rounds(self.group, self.kind)
        self._round: list[RunSpec] = []
        self._open(self._rounds.first())

    @property
    def total(self) -> int:
        """How many runs the search makes in all."""
        return sum(rung["runs"] for rung in self.rungs) + sum(runs for _, runs in self.upcoming)

    @property
    def upcoming(self) -> list[tuple[int, int]]:
        """Epochs and number of runs of the rounds that are not open yet."""
        return self._rounds.upcoming

    @property
    def progress(self) -> float:
        """Share of the search that is under way; groups of a unit advance evenly by it."""
        return (sum(rung["runs"] for rung in self.rungs) - len(self.pending) + 0.5) / self.total

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
        """Take a run's end, and open the next round when this one is complete."""
        self.running.pop(run_id, None)
        self.pending.pop(run_id, None)
        self.results[run_id] = record
        while self.finished and self._round:
            ended = [self.results[spec.run_id] for spec in self._round]
            if any(record.state == "interrupted" for record in ended):
                return  # the sweep is being stopped; what is missing is not known to be worse
            self._open(self._rounds.after(ended))

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

    def edges(self) -> list[str]:
        """Say which chosen values sit on the edge of what was searched."""
        chosen = self.chosen
        if chosen is None:
            return []
        cls = type(self.group.specs[0].options)
        said = (
            on_edge(cls, key, axis, chosen.identity.options[key])
            for key, axis in self.group.space.items()
        )
        return [sentence for sentence in said if sentence]

    def _open(self, specs: Sequence[RunSpec]) -> None:
        self._round = list(specs)
        if specs:
            self.rungs.append({"epochs": specs[0].protocol.epochs, "runs": len(specs)})
        # A search may come back to a configuration: it has its result already.
        asked = {spec.run_id: spec for spec in specs}
        self.pending = {key: spec for key, spec in asked.items() if key not in self.results}


def _rounds(group: Group, kind: str) -> Rounds:
    if kind == "halving":
        return Halving(group.specs)
    if kind == "optuna" and group.space:
        from dglbench.sweep.tpe import Tpe

        return Tpe(group.specs[0], group.space, group.trials)
    return Grid(group.specs)


def make_groups(sweep: Sweep) -> list[list[Group]]:
    """Spell out every configuration; the groups of one dataset stand together."""
    units: list[list[Group]] = []
    seen: set[str] = set()
    trials = sweep.trials or 0
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
                        tuned = setting.tuned.get(plan.name)
                        rest = (fresh, train_seed, plan.space, trials, tuned)
                        unit.append(Group(data, plan.name, sweep.solver, *rest))
                if unit:
                    units.append(unit)
    return units


def _configurations(sweep: Sweep, setting: Setting, plan: MethodPlan) -> list[RunSpec]:
    # A grid says all its values; optuna begins with the method's own and finds the others.
    grid = {
        key: axis
        for key, axis in plan.space.items()
        if sweep.search != "optuna" and not isinstance(axis, Range)
    }
    base = resolve_run(
        TaskSpec(setting.task, setting.settings, setting.seeds[0]),
        plan.name,
        given_options={**plan.fixed, **{key: values[0] for key, values in grid.items()}},
        protocol=setting.protocol,
        solver=sweep.solver,
        threads=sweep.threads,
        lead_in_options=plan.lead_in,
    )
    specs = []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        try:
            changed = dataclasses.replace(base.options, **chosen)
        except ValueError as error:  # a rule across options
            raise OptionError(f"method {plan.name} with {chosen}: {error}") from error
        specs.append(dataclasses.replace(base, options=changed))
    return specs

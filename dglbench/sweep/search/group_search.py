"""Choosing hyperparameters: which runs a method gets, and which of them represents it.

A `GroupSearch` is one method on one dataset, or on several tuning data seeds. On one dataset,
``none`` has one configuration and ``full`` tries a whole grid in one round; the chosen run has the
lowest validation regret (`dglbench.runs.selection`). Over tuning data seeds, as ``random`` and
``optuna`` always search, `dglbench.sweep.search.trials` chooses. Test results are never used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dglbench.runs.record import RunRecord, digest
from dglbench.runs.selection import best_record
from dglbench.sweep.request.space import on_edge
from dglbench.sweep.request.specs import Group
from dglbench.sweep.search.proposals import Drawn, Listed
from dglbench.sweep.search.rounds import OneRound, Rounds
from dglbench.sweep.search.trials import Trial, Trials
from dglbench.training.spec import RunSpec

__all__ = ["GroupSearch"]


@dataclass
class GroupSearch:
    """The state of one group's search: what may run now, what has ended, what was chosen."""

    group: Group
    kind: str
    rounds_of: Callable[[], Rounds] | None = None
    """Makes the rounds, where they are not those of a ``kind`` of search."""
    pending: dict[str, RunSpec] = field(default_factory=dict)
    """By run id: what may be started now, in the order asked."""
    running: dict[str, RunSpec] = field(default_factory=dict)
    results: dict[str, RunRecord] = field(default_factory=dict)
    """By run id: what has ended, here or earlier, in all rounds."""
    rounds: list[int] = field(default_factory=list)
    """How many runs each round so far asked for."""

    def __post_init__(self) -> None:
        self._rounds = self.rounds_of() if self.rounds_of else _rounds(self.group, self.kind)
        self._round: list[RunSpec] = []
        self._open(self._rounds.first())

    @property
    def total(self) -> int:
        """How many runs the search makes in all."""
        return sum(self.rounds) + self.upcoming

    @property
    def upcoming(self) -> int:
        """How many runs are in rounds that are not open yet."""
        return self._rounds.upcoming

    @property
    def progress(self) -> float:
        """Share of the search that is under way; groups of a unit advance evenly by it."""
        return (sum(self.rounds) - len(self.pending) + 0.5) / self.total

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
        """The run that represents the method, by the one rule of `dglbench.runs.selection`.

        Of a search over data seeds: of the chosen trial's runs, that on the first data seed.
        """
        if not isinstance(self._rounds, Trials):
            return best_record(self.results.values())
        return next(iter(self.chosen_runs), None)

    @property
    def chosen_runs(self) -> Sequence[RunRecord]:
        """The runs by which the configuration was chosen: one per data seed."""
        choice = self.choice
        if choice is not None:
            return choice.again or choice.records
        if isinstance(self._rounds, Trials) or self.chosen is None:
            return ()
        return (self.chosen,)

    @property
    def trials(self) -> Sequence[Trial]:
        """The trials of a search over data seeds, in order."""
        return self._rounds.trials if isinstance(self._rounds, Trials) else ()

    @property
    def choice(self) -> Trial | None:
        """The trial that a search over data seeds chose, once it has ended."""
        return self._rounds.choice if isinstance(self._rounds, Trials) else None

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
            self.rounds.append(len(specs))
        # A search may come back to a configuration: it has its result already.
        asked = {spec.run_id: spec for spec in specs}
        self.pending = {key: spec for key, spec in asked.items() if key not in self.results}


def _rounds(group: Group, kind: str) -> Rounds:
    if not group.tuning_data:
        return OneRound(group.specs)
    base = group.specs[0]
    if kind == "full" or not group.space:
        return Trials(base, group.tuning_data, Listed([spec.options for spec in group.specs]))
    drawn = Drawn(kind, base, group.space, group.trials)
    return Trials(base, group.tuning_data, drawn)

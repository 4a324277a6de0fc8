"""Choosing a configuration over several tuning data seeds, so that no seed's luck is chosen.

Every trial trains its configuration on each tuning data seed, with a training seed of its own. The
four trials with the lowest mean validation regret are trained again on each data seed with new
training seeds, and the lowest mean of these runs alone is the choice: the first ones won partly by
luck. A trial with a run that did not finish ranks last. Every run counts in what the search cost.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from dglbench.runs.record import RunRecord
from dglbench.runs.selection import validation_regret
from dglbench.sweep.search.proposals import Proposals
from dglbench.task import TaskSpec
from dglbench.training.spec import RunSpec

__all__ = ["FINALISTS", "Trial", "Trials"]

FINALISTS = 4
"""How many trials are trained again."""

_NEW_SEEDS = 1_000_000
"""Trial t has the training seed t, and t + this where it is trained again."""


@dataclass
class Trial:
    """One configuration, with its runs on the tuning data seeds, in their order."""

    number: int
    options: Any
    records: Sequence[RunRecord] = ()
    again: Sequence[RunRecord] = ()
    """The runs with a new training seed, if it was among the best."""

    @property
    def regret(self) -> float:
        """Mean validation regret over the data seeds; infinite if a run has none."""
        return _mean_regret(self.records)

    @property
    def regret_again(self) -> float:
        """The same of the runs with the new training seed."""
        return _mean_regret(self.again)


class Trials:
    """The rounds of a search over data seeds: batches of trials, then the best ones again."""

    def __init__(
        self,
        base: RunSpec,
        datasets: Sequence[tuple[TaskSpec, str | None]],
        proposals: Proposals,
    ) -> None:
        self._base, self._datasets, self._proposals = base, datasets, proposals
        self._most = min(FINALISTS, proposals.left)
        self._open: list[Trial] = []
        self._finals = self._ended = False
        self.trials: list[Trial] = []

    @property
    def upcoming(self) -> int:
        """How many runs were not asked for yet."""
        again = 0 if self._finals or self._ended or self._is_alone else self._most
        return (self._proposals.left + again) * len(self._datasets)

    @property
    def choice(self) -> Trial | None:
        """The trial that was chosen, None before the end or if none has a result."""
        if not self._ended:
            return None
        if self._is_alone:
            (alone,) = self.trials
            return alone if math.isfinite(alone.regret) else None
        return min(
            (trial for trial in self._open if math.isfinite(trial.regret_again)),
            key=lambda trial: (trial.regret_again, trial.number),
            default=None,
        )

    def first(self) -> list[RunSpec]:
        """Return the runs of the first trials."""
        return self._next()

    def after(self, ended: Sequence[RunRecord]) -> list[RunSpec]:
        """Take the ends of a round, in the order asked; return the runs of the next one."""
        seeds = len(self._datasets)
        by_trial = [ended[i : i + seeds] for i in range(0, len(ended), seeds)]
        for trial, records in zip(self._open, by_trial, strict=True):
            if self._finals:
                trial.again = records
            else:
                trial.records = records
        if self._finals:
            self._ended = True
            return []
        self._proposals.tell([trial.regret for trial in self._open])
        return self._next()

    @property
    def _is_alone(self) -> bool:
        """Whether there was one configuration, so that nothing is to be chosen."""
        return len(self.trials) + self._proposals.left == 1

    def _next(self) -> list[RunSpec]:
        asked = self._proposals.ask()
        if asked:
            first = len(self.trials)
            self._open = [Trial(first + i, options) for i, options in enumerate(asked)]
            self.trials += self._open
            return self._runs(self._open, 0)
        if self._is_alone:
            self._ended = True
            return []
        ranked = sorted(self.trials, key=lambda trial: (trial.regret, trial.number))
        self._open = [trial for trial in ranked[:FINALISTS] if math.isfinite(trial.regret)]
        self._finals, self._ended = bool(self._open), not self._open
        return self._runs(self._open, _NEW_SEEDS)

    def _runs(self, trials: Sequence[Trial], shift: int) -> list[RunSpec]:
        return [
            dataclasses.replace(
                self._base,
                data=data,
                data_digest=digest,
                options=trial.options,
                train_seed=trial.number + shift,
            )
            for trial in trials
            for data, digest in self._datasets
        ]


def _mean_regret(records: Sequence[RunRecord]) -> float:
    return fmean(map(validation_regret, records)) if records else math.inf

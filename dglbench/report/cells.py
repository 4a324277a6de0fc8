"""Configuration, repeat, cell and result: how runs are grouped before anything is compared.

- A *configuration* is a method with its options, its predictor and its start: everything in a
  run's identity but the setting, the data seed and the repeat.
- A *repeat* draws other initial weights and batches (the training seed of a record).
- A *cell* holds the repeats of one configuration on one data seed of one setting.
- A *result* holds a method's cells over the data seeds of a setting.

A repeat is never a setting and never a seed. One method may stand for several configurations: of
those that differ in their options, validation takes one (`choose`); those that differ in predictor
or start stand side by side, with names that tell them apart (`names_of`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dglbench.plugins import WITH
from dglbench.report.best_of import best_of, chances
from dglbench.report.model import Conditions, Run
from dglbench.report.units import Unit
from dglbench.runs.record import Identity, digest, without_defaults
from dglbench.runs.selection import ranked, validation_regret
from dglbench.statistics import Numbers

__all__ = ["Cell", "Result", "choose", "configuration", "names_of"]

_NOT_CONFIGURATION = frozenset(
    {"task", "settings", "seed", "train_seed", "solver", "data_digest", "source", "format"}
)


def configuration(identity: Identity) -> str:
    """Return the text that all runs of one configuration share, whatever the data and repeat."""
    whole = without_defaults(identity)
    return digest({name: value for name, value in whole.items() if name not in _NOT_CONFIGURATION})


def start_of(identity: Identity) -> str | None:
    """Return ``warm`` or ``fresh``; None for a method that has no start to choose."""
    start = identity.options.get("start")
    return None if start is None else str(start)


def names_of(
    identities: Iterable[Identity], searched: Collection[str] = ()
) -> Callable[[Identity], str]:
    """Return how each run's method is called in this report.

    Where the runs of a task have several predictors, the name says which; where a method was run
    with several starts, likewise: ``spo · mlp:hidden=16 · fresh``. A start that was searched
    (``searched`` names the methods) is an option like any other.
    """
    predictors: dict[str, set[str]] = {}
    starts: dict[str, set[str]] = {}
    for identity in identities:
        if not identity.has_own_predictor:
            predictors.setdefault(identity.task, set()).add(identity.predictor)
        start = start_of(identity)
        if start is not None and identity.method not in searched:
            starts.setdefault(identity.method, set()).add(start)

    def name(identity: Identity) -> str:
        parts = [identity.method]
        if not identity.has_own_predictor and len(predictors.get(identity.task, ())) > 1:
            parts.append(identity.predictor)
        start = start_of(identity)
        if start is not None and len(starts.get(identity.method, ())) > 1:
            parts.append(start)
        return WITH.join(parts)

    return name


@dataclass(frozen=True, eq=False)
class Cell:
    """The repeats of one configuration on one data seed of one setting."""

    unit: Unit
    method: str
    runs: tuple[Run, ...]
    """The finished repeats, by training seed; at least one."""
    lost: int = 0
    """Repeats that failed: they rank last and count among the repeats."""

    @property
    def repeats(self) -> int:
        """R, the failed ones included."""
        return len(self.runs) + self.lost

    @property
    def first(self) -> Run:
        """The first repeat, for what all of them share."""
        return self.runs[0]

    @cached_property
    def validation(self) -> Numbers:
        """(R,) validation regrets; infinite for those that failed."""
        return np.array(
            [validation_regret(run.record) for run in self.runs] + [math.inf] * self.lost
        )

    def expected(self, values: Iterable[float], r: int = 1) -> float:
        """Return what to expect of a quantity of the runs, in their order, for best of r."""
        known = list(values)
        if r == 1:  # every finished repeat is as likely
            return float(np.mean(known))
        padded = np.array([*known, *[math.nan] * self.lost], dtype=float)
        return float(best_of(self.validation, padded, r)) if r <= self.repeats else math.nan

    @cached_property
    def regrets(self) -> Numbers:
        """Test regrets of the finished repeats."""
        return np.array([run.test_regret for run in self.runs])

    def regret(self, r: int = 1) -> float:
        """Return the expected test regret of best of r: with r = 1 that of one run."""
        return self.expected(self.regrets, r)

    def certain(self, r: int = 1) -> float:
        """Return the chance that at least one of r repeats leaves a result."""
        kept: Numbers = chances(self.validation, r)[: len(self.runs)]
        return float(kept.sum())

    @property
    def val_regret(self) -> float:
        """Mean validation regret of the finished repeats: what configurations are chosen by.

        Without validation instances it is 0 for all.
        """
        return float(self.validation[: len(self.runs)].mean())

    @property
    def train_s(self) -> float:
        """Mean training seconds of a repeat."""
        return float(np.mean([run.train_s or 0.0 for run in self.runs]))


@dataclass(frozen=True, eq=False)
class Result:
    """A method in a setting: its cells, one for each data seed."""

    method: str
    cells: tuple[Cell, ...]

    @property
    def units(self) -> tuple[Unit, ...]:
        """The data seeds."""
        return tuple(cell.unit for cell in self.cells)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All finished repeats."""
        return tuple(run for cell in self.cells for run in cell.runs)

    @property
    def first(self) -> Run:
        """One of the runs, for what all of them share."""
        return self.cells[0].first

    @property
    def repeats(self) -> int:
        """The least number of repeats that a data seed has."""
        return min(cell.repeats for cell in self.cells)

    @property
    def draws(self) -> bool:
        """Whether another training seed would make another run."""
        return not self.first.identity.has_own_predictor

    @property
    def most(self) -> int:
        """The largest r of which best of r may be shown: half the repeats, at least one."""
        return max(1, self.repeats // 2)

    def by_seed(self, r: int = 1) -> Numbers:
        """(data seeds,): expected test regrets of best of r."""
        return np.array([cell.regret(r) for cell in self.cells])

    def regret(self, r: int = 1) -> float:
        """Return the mean over data seeds of the expected test regret of best of r."""
        return float(self.by_seed(r).mean())

    def absolute(self, r: int = 1) -> float:
        """Return the same in the unit of the labels, per instance."""
        each = [cell.expected([run.absolute_regret for run in cell.runs], r) for cell in self.cells]
        return float(np.mean(each))

    @property
    def val_regret(self) -> float:
        """Mean validation regret."""
        return float(np.mean([cell.val_regret for cell in self.cells]))

    @property
    def warm_start_regret(self) -> float | None:
        """Mean test regret of the warm starts; None if some run had none."""
        levels = [run.warm_start_regret for run in self.runs]
        known = [level for level in levels if level is not None]
        return float(np.mean(known)) if len(known) == len(levels) else None

    @property
    def conditions(self) -> frozenset[Conditions]:
        """Under which conditions its seconds were measured."""
        return frozenset(run.conditions for run in self.runs)


class _Candidate(NamedTuple):
    """A configuration of a method, with its cells by unit."""

    cells: Mapping[str, Cell]


def choose(runs: Iterable[Run], lost: Iterable[Run] = ()) -> dict[tuple[str, str], Cell]:
    """Pick, by validation, the configuration that stands for each method: (unit key, name) to cell.

    In a setting, configurations that were run on all of the method's data seeds are compared by
    their mean validation regret over repeats and seeds; where there is none, each data seed has a
    choice of its own. One with fewer repeats gives way, because a single run may be lucky.
    """
    grouped: dict[tuple[str, str], dict[str, dict[str, list[Run]]]] = {}
    failed: dict[tuple[str, str], set[int]] = {}

    def fail(run: Run) -> None:
        key = run.unit.key, configuration(run.identity)
        failed.setdefault(key, set()).add(run.identity.train_seed)

    for run in lost:
        fail(run)
    for run in runs:
        if not math.isfinite(validation_regret(run.record)):  # nothing that validation could choose
            fail(run)
            continue
        configurations = grouped.setdefault((run.unit.family, run.method), {})
        units = configurations.setdefault(configuration(run.identity), {})
        units.setdefault(run.unit.key, []).append(run)
    chosen: dict[tuple[str, str], Cell] = {}
    for (_, method), configurations in grouped.items():
        candidates = [
            _Candidate({key: _cell(method, name, found, failed) for key, found in units.items()})
            for name, units in configurations.items()
        ]
        wanted = {key for candidate in candidates for key in candidate.cells}
        whole = [candidate for candidate in candidates if candidate.cells.keys() == wanted]
        if whole:
            best = _best(whole)
            chosen |= {(key, method): cell for key, cell in best.cells.items()}
            continue
        for key in wanted:
            there = [_Candidate({key: c.cells[key]}) for c in candidates if key in c.cells]
            chosen[key, method] = _best(there).cells[key]
    return chosen


def _cell(
    method: str, name: str, runs: list[Run], failed: Mapping[tuple[str, str], set[int]]
) -> Cell:
    listed = sorted(runs, key=lambda run: (run.identity.train_seed, run.run_id))
    made = {run.identity.train_seed for run in listed}
    lost = failed.get((listed[0].unit.key, name), set()) - made
    return Cell(listed[0].unit, method, tuple(listed), len(lost))


def _best(candidates: list[_Candidate]) -> _Candidate:
    """Return the one with most repeats, and of these the lowest mean validation regret."""
    firsts = [next(iter(candidate.cells.values())).first.record for candidate in candidates]
    order = {id(record): place for place, record in enumerate(ranked(firsts))}

    def place(at: int) -> tuple[float, float, int]:
        cells = candidates[at].cells.values()
        mean = float(np.mean([cell.val_regret for cell in cells]))
        return -min(len(cell.runs) for cell in cells), mean, order[id(firsts[at])]

    return candidates[min(range(len(candidates)), key=place)]

"""Read runs from folders and packs: the only place where the report reads the logs.

::

    report = load(Path("results"))     # ReportError in one sentence if there is nothing to show
    report.runs                        # every readable run, whatever its state, in name order
    report.unreadable                  # (run_id, reason) of every run that could not be read
    report.units                       # the comparisons, sorted; unit.label is "matching-50", or
                                       # "matching-50, seed 25" where that distinguishes two units
    report.cells(unit)                 # the cell that stands for each method, in display order:
                                       # the repeats of one configuration on this data seed
    report.chosen[unit.key, "spo"]     # the same by name
    report.chosen_runs(unit)           # the runs of these cells, all repeats
    report.table("regret")             # Polars frame of the chosen runs: run_id, setting, task, n,
                                       # seed, repeat, method, then those of `dglbench.runs.schemas`
    report.table("timing", report.done)  # the same for any runs
    report.comparability(unit)         # may the unit's seconds be ranked? if not, why not
    report.only(units=…, methods=…)    # the same report, narrowed
    report.sweeps                      # the documents of sweep-*.json

`dglbench.report.units` says what a unit is, `dglbench.report.cells` what a configuration and a cell
are and how validation chooses one of several configurations (test is never looked at;
`dglbench.runs.selection` has the rule for epochs and ties). When the same run was asked twice under
different code, only the one that finished last stands.

Every byte of every run is checked against the checksums in its record; the tables
are read only when asked for, in bulk. A run that cannot be read or was changed is
listed with its reason and never stops the report; a newer format does, because
leaving those runs out in silence would draw a wrong picture.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dglbench.errors import ReportError
from dglbench.packs.finding import find_runs
from dglbench.packs.run_set import RunSet
from dglbench.report.cells import Cell, choose, names_of
from dglbench.report.method_names import method_order
from dglbench.report.model import Comparability, Conditions, Run, Unreadable
from dglbench.report.units import Unit, label_units

__all__ = ["Cell", "Comparability", "Conditions", "Report", "Run", "Unit", "Unreadable", "load"]


@dataclass(frozen=True)
class Report:
    """The runs of some folders and packs, and which of them stand for their method."""

    folder: Path
    runs: tuple[Run, ...]
    units: tuple[Unit, ...]
    chosen: Mapping[tuple[str, str], Cell]
    """(unit key, method) to the cell that stands for the method there."""
    sweeps: tuple[Mapping[str, Any], ...]
    unreadable: list[Unreadable]
    """Grows when a table turns out damaged while it is read."""
    source: RunSet
    """Where the runs are read from: folders, packs or both."""
    asked_best_of: int | None = None
    """The r of the reading *best of r* that was asked for."""
    _tables: dict[tuple[str, tuple[str, ...]], pl.DataFrame] = field(default_factory=dict)

    @property
    def best_of(self) -> int:
        """The r of *best of r*: as asked, else half the repeats that most cells have."""
        if self.asked_best_of is not None:
            return self.asked_best_of
        drawn = (cell for cell in self.chosen.values() if not cell.first.identity.has_own_predictor)
        repeats = Counter(cell.repeats for cell in drawn)
        return max(1, max(repeats, key=lambda count: (repeats[count], count), default=1) // 2)

    @property
    def done(self) -> tuple[Run, ...]:
        """Every finished run, chosen or not."""
        return tuple(run for run in self.runs if run.state == "done")

    @property
    def current(self) -> tuple[Run, ...]:
        """The finished runs without those that other code made again later, in name order."""
        last = {run.identity.asked: run for run in sorted(self.done, key=lambda run: run.finished)}
        return tuple(run for run in self.done if last[run.identity.asked] is run)

    @property
    def methods(self) -> list[str]:
        """The methods that have a chosen run anywhere, in display order."""
        return sorted({method for _, method in self.chosen}, key=method_order)

    def cells(self, unit: Unit | None = None) -> list[Cell]:
        """Return the chosen cells of one unit, or of all, by unit and then display order."""
        rank = {each.key: position for position, each in enumerate(self.units)}
        cells = [cell for (key, _), cell in self.chosen.items() if unit is None or key == unit.key]
        return sorted(cells, key=lambda cell: (rank[cell.unit.key], method_order(cell.method)))

    def chosen_runs(self, unit: Unit | None = None) -> list[Run]:
        """Return the runs of the chosen cells, in the same order, repeats ascending."""
        return [run for cell in self.cells(unit) for run in cell.runs]

    def comparability(self, unit: Unit) -> Comparability:
        """Say whether the seconds of the unit's chosen runs may be ranked."""
        return Comparability.of(unit.label, self.chosen_runs(unit))

    def table(self, name: str, runs: Iterable[Run] | None = None) -> pl.DataFrame:
        """Read one table of the chosen runs (or of ``runs``), each row with its run's name."""
        wanted = self.chosen_runs() if runs is None else list(runs)
        key = (name, tuple(run.run_id for run in wanted))
        if key not in self._tables:
            self._tables[key] = _read_tables(name, wanted, self.source, self.unreadable)
        return self._tables[key]

    def only(
        self, *, units: Iterable[Unit] | None = None, methods: Iterable[str] | None = None
    ) -> Report:
        """Narrow to some units or methods; labels stay as they are."""
        keys = {unit.key for unit in (self.units if units is None else units)}
        names = None if methods is None else set(methods)

        def keep(run: Run) -> bool:
            return run.unit.key in keys and (names is None or run.method in names)

        return dataclasses.replace(
            self,
            runs=tuple(run for run in self.runs if keep(run)),
            units=tuple(unit for unit in self.units if unit.key in keys),
            chosen={key: cell for key, cell in self.chosen.items() if keep(cell.first)},
            _tables={},
        )


def load(*given: Path, require_done: bool = True) -> Report:
    """Read every run; ``require_done=False`` also takes those without a result.

    `dglbench.packs.finding` says which runs are meant by the paths given.
    """
    found = find_runs(given)
    source, folder = found.runs, found.places[0]
    records = source.records
    unreadable = [Unreadable(name, reason) for name, reason in source.unreadable.items()]
    units = label_units(record.identity for record in records.values())
    sweeps = _read_sweeps(source)
    finished = (record.identity for record in records.values() if record.state == "done")
    name = names_of(finished, _searched(sweeps))
    runs = tuple(
        Run(
            source.place(run_id), units[Unit.key_of(record.identity)], record, name(record.identity)
        )
        for run_id, record in records.items()
    )
    present = sorted(units.values(), key=lambda unit: unit.order)
    report = Report(folder, runs, tuple(present), {}, sweeps, unreadable, source)
    chosen = _choose(report)
    if not chosen and require_done:
        raise ReportError(_nothing_finished(report))
    return dataclasses.replace(report, chosen=chosen)


def _read_sweeps(source: RunSet) -> tuple[Mapping[str, Any], ...]:
    """Read the sweeps' own documents; a damaged one only costs the budget table its rows."""
    sweeps = []
    for name, text in source.documents("sweep-*.json"):
        try:
            document = json.loads(text)
        except ValueError:
            continue
        if isinstance(document, dict):
            sweeps.append({"file": name, **document})
    return tuple(sweeps)


def _searched(sweeps: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the methods whose options a search chose, here or before: a start is one of them."""
    return {
        str(group.get("method"))
        for sweep in sweeps
        for group in sweep.get("groups") or []
        if isinstance(group, Mapping)
        and (sweep.get("search") not in (None, "none") or group.get("tuned"))
    }


def _choose(report: Report) -> dict[tuple[str, str], Cell]:
    """Pick each method's cells by validation regret, passing over damaged runs."""
    passed = _tried_first(report.sweeps)
    lost = [
        run
        for run in report.runs
        if run.state not in ("done", "interrupted") and run.run_id not in passed
    ]
    while True:
        chosen = choose((run for run in report.current if run.run_id not in passed), lost)
        runs = sorted(
            (run for cell in chosen.values() for run in cell.runs), key=lambda run: run.run_id
        )
        for name in ("regret", "timing", "decisions"):
            # Read now, so that a damaged first choice hands over to the next best.
            report.table(name, runs)
        found = {run_id for run_id, _ in report.unreadable} & {run.run_id for run in runs}
        if not found:
            return chosen
        passed |= found


def _tried_first(sweeps: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the runs of trials where the best were trained again: those runs alone decide.

    The search itself chooses by them, so that a lucky first try is not what stands for a method.
    """
    groups = [group for sweep in sweeps for group in sweep.get("groups") or []]
    trials = [
        [trial for trial in group.get("trials") or [] if isinstance(trial, Mapping)]
        for group in groups
        if isinstance(group, Mapping)
    ]
    return {
        str(run)
        for group in trials
        if any(trial.get("again") for trial in group)
        for trial in group
        for run in trial.get("runs") or []
    }


def _read_tables(
    name: str, runs: list[Run], source: RunSet, unreadable: list[Unreadable]
) -> pl.DataFrame:
    """Read one table, each row with its run's name; an empty frame if no run has it."""
    found = source.tables(name, [run.run_id for run in runs])
    known = {item.run_id for item in unreadable}
    by_name = {run.run_id: run for run in runs}
    for run_id, reason in found.problems.items():
        if run_id not in known:
            unreadable.append(Unreadable(run_id, reason))
    if found.rows.is_empty():
        return pl.DataFrame()
    keys = pl.DataFrame([_row_name(by_name[run_id]) for run_id in found.counts])
    owner = np.repeat(np.arange(len(keys)), list(found.counts.values()))
    return keys[owner].hstack(found.rows)


def _row_name(run: Run) -> dict[str, Any]:
    unit = run.unit
    return {
        "run_id": run.run_id,
        "setting": unit.label,
        "task": unit.task,
        "n": unit.n,
        "seed": unit.seed,
        "repeat": run.repeat,
        "method": run.method,
    }


def _nothing_finished(report: Report) -> str:
    states = Counter(run.state for run in report.runs if run.state != "done")
    parts = [f"{count} {state}" for state, count in states.most_common()]
    if report.unreadable:
        parts.append(f"{len(report.unreadable)} unreadable")
    first = next(
        (f"{run.run_id}: {run.message}" for run in report.runs if run.message),
        None,
    ) or next((f"{run_id}: {reason}" for run_id, reason in report.unreadable), "no message")
    total = len(report.runs) + len(report.unreadable)
    return (
        f"none of the {total} runs in {report.folder} finished ({', '.join(parts)}); "
        f"the first says: {first.splitlines()[0].rstrip('.')}. "
        "Fix that and run the same `dglbench` command again; it resumes."
    )

"""Folders of runs and packs as Polars frames: what ``dglbench.load`` returns."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from dglbench.errors import ReportError
from dglbench.report.loading import Report, Run, Unreadable
from dglbench.report.loading import load as load_report
from dglbench.runs.tables import empty_table

if TYPE_CHECKING:
    from dglbench.training.apply import TrainedPredictor

__all__ = ["RUN_COLUMNS", "Results", "load"]

RUN_COLUMNS: dict[str, tuple[Any, str]] = {
    "run_id": (pl.String, "name of the run and of its folder"),
    "setting": (pl.String, "what it may be compared within, such as matching-50"),
    "task": (pl.String, "the task"),
    "n": (pl.Int64, "size of each instance"),
    "seed": (pl.Int64, "data seed"),
    "method": (pl.String, "the method, such as dgl-5"),
    "options": (pl.String, "the method's options, lr among them, as JSON"),
    "solver": (pl.String, "solver family"),
    "state": (pl.String, "done, failed, timeout, interrupted or diverged"),
    "chosen": (
        pl.Boolean,
        "whether its configuration stands for the method there: lowest mean val_regret",
    ),
    "choose": (pl.String, "which epoch counts: best (lowest validation regret) or last"),
    "epoch": (pl.Int64, "the selected epoch"),
    "elapsed_s": (pl.Float64, "training seconds up to the selected epoch, set-up included"),
    "solves": (pl.Int64, "instances solved in training up to the selected epoch"),
    "judged_by": (pl.String, "which regret the next three columns hold: relative or pooled"),
    "val_regret": (pl.Float64, "validation regret at the selected epoch"),
    "test_regret": (pl.Float64, "test regret at the selected epoch"),
    "start_regret": (pl.Float64, "test regret of the warm start, null without one"),
    "test_regret_low": (pl.Float64, "lower end of its logged 95 % interval over instances"),
    "test_regret_high": (pl.Float64, "upper end of that interval"),
    "test_absolute_regret": (pl.Float64, "mean test regret per instance, in label units"),
    "test_mse": (pl.Float64, "test mean squared error at the selected epoch, in label units"),
    "epochs_run": (pl.Int64, "epochs trained in all"),
    "train_s": (pl.Float64, "training seconds in all"),
    "message": (pl.String, "why it did not finish, null if it did"),
    "folder": (pl.String, "where the run is"),
}
"""Column of `Results.runs` to its type and meaning."""


class Results:
    """The runs of some folders and packs. Frames are read when first asked for.

    `runs` has one row per run (`RUN_COLUMNS`); the others are the tables that runs write
    (`dglbench.runs.schemas`, docs/logs.md), of all readable runs, each row with ``run_id``,
    ``setting``, ``task``, ``n``, ``seed`` and ``method`` in front.
    """

    def __init__(self, report: Report) -> None:
        self._report = report
        self.folder = report.folder

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}, {len(self._report.runs)} runs)"

    @property
    def unreadable(self) -> list[Unreadable]:
        """(run_id, reason) of every run that could not be read or was changed."""
        return self._report.unreadable

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run, whatever its state."""
        chosen = {run.run_id for run in self._report.chosen_runs()}
        rows = [_row(run, run.run_id in chosen) for run in self._report.runs]
        return pl.DataFrame(rows, schema={name: kind for name, (kind, _) in RUN_COLUMNS.items()})

    @cached_property
    def timing(self) -> pl.DataFrame:
        """Seconds and solver calls of every epoch."""
        return self._table("timing")

    @cached_property
    def regret(self) -> pl.DataFrame:
        """Regret on validation and test at every evaluation."""
        return self._table("regret")

    @cached_property
    def decisions(self) -> pl.DataFrame:
        """What each test instance's decision was worth, at the selected epoch."""
        return self._table("decisions")

    @cached_property
    def duals(self) -> pl.DataFrame:
        """How stale the duals in use were, for methods that have any."""
        return self._table("duals")

    @cached_property
    def bound(self) -> pl.DataFrame:
        """The regret bound of the paper's Theorem 1, for methods that log it."""
        return self._table("bound")

    @cached_property
    def phases(self) -> pl.DataFrame:
        """What methods timed and counted under names of their own."""
        return self._table("phases")

    def predictor(self, run_id: str) -> TrainedPredictor:
        """Return what a run learnt: its predictor with the selected weights, which also decides."""
        from dglbench.training.apply import load_predictor

        folder = next((run.folder for run in self._report.runs if run.run_id == run_id), None)
        if folder is None:
            raise ReportError(
                f"there is no run '{run_id}' in {self.folder}; `runs` lists those that are."
            )
        return load_predictor(folder)

    def _table(self, name: str) -> pl.DataFrame:
        rows = self._report.table(name, self._report.runs)
        if rows.width:
            return rows
        keys = {key: RUN_COLUMNS[key][0] for key in _KEYS}
        return pl.DataFrame(schema={**keys, **empty_table(name).schema})


_KEYS = ("run_id", "setting", "task", "n", "seed", "method")


def load(place: str | Path, *more: str | Path) -> Results:
    """Read every run of a folder or pack, or of several as one set, checked byte by byte."""
    return Results(load_report(*map(Path, (place, *more)), require_done=False))


def _row(run: Run, chosen: bool) -> dict[str, Any]:
    selected = run.record.selected
    low, high = run.test_interval or (None, None)
    return {
        "run_id": run.run_id,
        "setting": run.unit.label,
        "task": run.unit.task,
        "n": run.unit.n,
        "seed": run.unit.seed,
        "method": run.method,
        "options": json.dumps(dict(run.options), sort_keys=True),
        "solver": run.identity.solver,
        "state": run.state,
        "chosen": chosen,
        "choose": run.choose,
        "epoch": run.selected_epoch,
        "elapsed_s": selected.elapsed_s if selected else None,
        "solves": selected.solves if selected else None,
        "judged_by": run.judged_by,
        "val_regret": run.val_regret if selected and selected.val else None,
        "test_regret": run.test_regret if selected else None,
        "test_regret_low": low,
        "test_regret_high": high,
        "test_absolute_regret": run.absolute_regret if selected else None,
        "test_mse": selected.test.mse if selected else None,
        "start_regret": run.warm_start_regret,
        "epochs_run": run.epochs_run,
        "train_s": run.train_s,
        "message": run.message,
        "folder": str(run.folder),
    }

"""What a run took besides training: wall time outside it, and memory, where they were logged."""

from __future__ import annotations

from dglbench.report.loading import Report, Run
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import METHOD, NOTHING, SETTING, Cell, Column, Sheet, setting_cell
from dglbench.words import seconds

__all__ = ["resources"]


def resources(report: Report) -> Sheet:
    """List training time, time outside it and peak memory of every chosen run."""
    rows = tuple(_row(run) for run in report.chosen_runs())
    notes = [
        "outside training: evaluation and logging, which do not count as training time; the shared "
        "warm start is not included."
    ]
    if all(run.peak_memory_mb is None for run in report.chosen_runs()):
        notes.append("These runs did not log their memory.")
    return Sheet("resources", "Time outside training, and memory", _COLUMNS, rows, tuple(notes),
                 by="setting")  # fmt: skip


_COLUMNS = (
    SETTING,
    METHOD,
    Column("train_s", "training", "training seconds of the whole run", numeric=True),
    Column("outside_s", "outside training", "wall seconds outside training", numeric=True),
    Column("peak_memory_mb", "peak memory", "most memory the process held", numeric=True),
)


def _row(run: Run) -> tuple[Cell, ...]:
    memory = run.peak_memory_mb
    return (
        setting_cell(run.unit),
        Cell(style(run.method).label, run.method),
        _time(run.train_s),
        _time(run.outside_s),
        NOTHING if memory is None else Cell(f"{memory:,.0f}\u00a0MB", memory),
    )


def _time(value: float | None) -> Cell:
    return NOTHING if value is None else Cell(seconds(value), value)

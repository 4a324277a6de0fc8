"""What a run took besides training: wall time outside it, and memory, where they were logged."""

from __future__ import annotations

from collections.abc import Sequence

from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import METHOD, NOTHING, SETTING, Cell, Column, Sheet
from dglbench.words import seconds

__all__ = ["resources"]


def resources(report: Report) -> Sheet:
    """List training time, time outside it and peak memory of every method and setting."""
    rows = tuple(_row(each, result) for each in by_setting(report) for result in each.results)
    notes = [
        "outside training: evaluation and logging, which do not count as training time; the shared "
        "warm start is not included. Times are means over runs, memory is their largest."
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


def _row(comparison: Comparison, result: Result) -> tuple[Cell, ...]:
    memory = [run.peak_memory_mb for run in result.runs if run.peak_memory_mb is not None]
    return (
        Cell(comparison.title, comparison.label),
        Cell(style(result.method).label, result.method),
        _mean_time([run.train_s for run in result.runs]),
        _mean_time([run.outside_s for run in result.runs]),
        Cell(f"{max(memory):,.0f}\u00a0MB", max(memory)) if memory else NOTHING,
    )


def _mean_time(values: Sequence[float | None]) -> Cell:
    known = [value for value in values if value is not None]
    if not known:
        return NOTHING
    mean = sum(known) / len(known)
    return Cell(seconds(mean), mean)

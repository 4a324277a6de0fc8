"""Every run that was made, finished or not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from dglbench.report.loading import Report, Run, Unreadable
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import (
    METHOD,
    NOTHING,
    SETTING,
    Cell,
    Column,
    Sheet,
    Tone,
    count,
    setting_cell,
    text,
)
from dglbench.words import percent, seconds

__all__ = ["runs"]


def runs(report: Report) -> Sheet:
    """List all runs with their state and, where there is one, the reason."""
    chosen = {run.run_id for run in report.chosen_runs()}
    stale = {run.run_id for run in report.done} - {run.run_id for run in report.current}
    damaged = {item.run_id: item for item in report.unreadable}
    rows = []
    for run in report.runs:
        if run.run_id not in damaged:
            state = "stale" if run.run_id in stale else run.state
            rows.append(_run_row(run, "chosen" if run.run_id in chosen else state))
    rows += [_unreadable_row(item) for item in damaged.values()]
    states = Counter(str(row[3].value) for row in rows)
    parts = ", ".join(f"{number} {state}" for state, number in states.most_common())
    notes = (
        f"{len(rows)} runs: {parts}. chosen: represents its method; stale: the same run "
        "was made again later with other code.",
    )
    return Sheet("runs", "Every run", _RUNS, tuple(rows), notes)


_RUNS = (
    Column("run_id", "run", "the run's folder"),
    SETTING,
    METHOD,
    Column("state", "state", "chosen, done, stale, or why there is no result"),
    Column("val_regret", "validation regret", "at the selected epoch", numeric=True),
    Column("test_regret", "test regret", "at the selected epoch", numeric=True, files_only=True),
    Column("choose", "epoch that counts", "best by validation, or the last", files_only=True),
    Column("epochs", "epochs", "epochs trained", numeric=True),
    Column("train_s", "training time", "training seconds", numeric=True),
    Column("reason", "reason", "what the run or its reader said"),
)

_TONES: Mapping[str, Tone] = {"chosen": "best", "done": "", "stale": "muted"}


def _run_row(run: Run, state: str) -> tuple[Cell, ...]:
    # Test is looked at for the chosen configuration only.
    test = run.test_regret if state == "chosen" else math.nan
    return (
        text(run.run_id),
        setting_cell(run.unit),
        Cell(style(run.method).label, run.method),
        Cell(state, state, _TONES.get(state, "bad")),
        _regret(run.val_regret),
        _regret(test),
        text(run.choose),
        count(run.epochs_run),
        NOTHING if run.train_s is None else Cell(seconds(run.train_s), run.train_s),
        text((run.message or "").strip().partition("\n")[0]),
    )


def _unreadable_row(item: Unreadable) -> tuple[Cell, ...]:
    return (
        text(item.run_id),
        NOTHING,
        NOTHING,
        Cell("unreadable", "unreadable", "bad"),
        *(NOTHING,) * 5,
        text(item.reason),
    )


def _regret(value: float) -> Cell:
    return Cell(percent(value), value) if math.isfinite(value) else NOTHING

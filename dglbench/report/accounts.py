"""What the results cost, and every run that was made for them, finished or not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from dglbench.report.load import Report, Run, Unreadable
from dglbench.report.palette import style
from dglbench.report.sheet import NOTHING, Cell, Column, Sheet, Tone, count, percent, seconds, text
from dglbench.runs import asked_hash

__all__ = ["budget", "every_run", "stale_runs"]


def budget(report: Report) -> Sheet:
    """Add up what finding each method's configuration took: every run in the folder counts."""
    groups: dict[tuple[str, str], list[Run]] = {}
    rank = {unit.key: position for position, unit in enumerate(report.units)}
    order = {method: at for at, method in enumerate(report.methods)}
    for run in report.runs:
        groups.setdefault((run.unit.key, run.method), []).append(run)
    ordered = sorted(groups, key=lambda key: (rank[key[0]], order.get(key[1], len(order)), key[1]))
    notes = [
        "every run of the method in this folder counts, also those that failed or were not chosen; "
        "warm starts are shared by all methods and not counted."
    ]
    searches = sorted({str(sweep["search"]) for sweep in report.sweeps if sweep.get("search")})
    if searches:
        notes.append(f"searched by: {', '.join(searches)}.")
    if len({run.conditions for run in report.runs}) > 1:
        notes.append(
            "† runs of one method were timed under different conditions (machine, threads or "
            "concurrency), so these seconds are what was spent and not to be ranked."
        )
    rows = tuple(_budget_row(groups[key]) for key in ordered)
    return Sheet("budget", "Tuning budget", _BUDGET, rows, tuple(notes), by="setting")


_BUDGET = (
    Column("setting", "setting", "task, size and what else tells it apart"),
    Column("method", "method", "the method"),
    Column("configurations", "configurations", "sets of hyperparameters tried", numeric=True),
    Column("runs", "runs", "runs made for them", numeric=True),
    Column("unfinished", "without result", "runs that failed or were stopped", numeric=True),
    Column("train_s", "training time", "training seconds of all of them", numeric=True),
    Column("solves", "solver calls", "instances solved in training", numeric=True),
)


def _budget_row(runs: Sequence[Run]) -> tuple[Cell, ...]:
    spent = sum(_seconds(run) or 0.0 for run in runs)
    alike = len({run.conditions for run in runs}) == 1
    return (
        text(runs[0].unit.label),
        Cell(style(runs[0].method).label, runs[0].method),
        count(len({repr(sorted(run.options.items())) for run in runs})),
        count(len(runs)),
        count(sum(run.state != "done" for run in runs)),
        Cell(seconds(spent) if alike else f"{seconds(spent)} †", spent),
        count(sum(_solves(run) for run in runs)),
    )


def stale_runs(report: Report) -> set[str]:
    """Return the ids of runs that were made again later by other code."""
    versions: dict[str, list[Run]] = {}
    for run in report.done:
        versions.setdefault(asked_hash(run.identity), []).append(run)
    stale = set()
    for same in versions.values():
        # As in load: sorted by when they finished, the last one stands.
        ordered = sorted(same, key=lambda run: str(run.status.get("finished", "")))
        stale |= {run.run_id for run in ordered[:-1]}
    return stale


def every_run(report: Report) -> Sheet:
    """List all runs with their state and, where there is one, the reason."""
    chosen = {run.run_id for run in report.chosen.values()}
    stale = stale_runs(report)
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
        f"{len(rows)} runs: {parts}. chosen: done, and stands for its method; stale: the same run "
        "was made again later by other code.",
    )
    return Sheet("runs", "Every run", _RUNS, tuple(rows), notes)


_RUNS = (
    Column("run_id", "run", "the run's folder"),
    Column("setting", "setting", "task, size and what else tells it apart"),
    Column("method", "method", "the method"),
    Column("state", "state", "chosen, done, stale, or why there is no result"),
    Column("val_regret", "validation regret", "at the selected epoch", numeric=True),
    Column("test_regret", "test regret", "at the selected epoch", numeric=True, files_only=True),
    Column("epochs", "epochs", "epochs trained", numeric=True),
    Column("train_s", "training time", "training seconds", numeric=True),
    Column("reason", "reason", "what the run or its reader said"),
)

_TONES: Mapping[str, Tone] = {"chosen": "best", "done": "", "stale": "muted"}


def _run_row(run: Run, state: str) -> tuple[Cell, ...]:
    spent, epochs = _seconds(run), run.status.get("epochs_run")
    # Test is looked at for the chosen configuration only.
    test = run.test_regret if state == "chosen" else math.nan
    return (
        text(run.run_id),
        text(run.unit.label),
        Cell(style(run.method).label, run.method),
        Cell(state, state, _TONES.get(state, "bad")),
        _regret(run.val_regret),
        _regret(test),
        count(epochs if isinstance(epochs, int) else None),
        NOTHING if spent is None else Cell(seconds(spent), spent),
        text((run.message or "").strip().partition("\n")[0]),
    )


def _unreadable_row(item: Unreadable) -> tuple[Cell, ...]:
    return (
        text(item.run_id),
        NOTHING,
        NOTHING,
        Cell("unreadable", "unreadable", "bad"),
        *(NOTHING,) * 4,
        text(item.reason),
    )


def _regret(value: float) -> Cell:
    return Cell(percent(value), value) if math.isfinite(value) else NOTHING


def _seconds(run: Run) -> float | None:
    value = run.status.get("train_s")
    return float(value) if isinstance(value, int | float) else None


def _solves(run: Run) -> int:
    counts = run.status.get("solves")
    if not isinstance(counts, Mapping):
        return 0
    return sum(int(value) for name, value in counts.items() if name != "evaluate")

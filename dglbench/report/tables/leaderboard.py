"""The leaderboard: per setting, how good each method's decisions are and what they cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from dglbench.report.commands import retime
from dglbench.report.loading import Comparability, Report, Run, Unit
from dglbench.report.statistics.standings import BASELINES, Standing, standings
from dglbench.report.statistics.time_to_regret import NEAR
from dglbench.report.style.palette import style
from dglbench.report.style.titles import title
from dglbench.report.tables.sheet import (
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
from dglbench.words import percent, ratio, seconds

__all__ = ["leaderboard", "unfinished"]


def leaderboard(report: Report, board: Mapping[str, list[Standing]] | None = None) -> Sheet:
    """Lay the standings out as a table."""
    board = standings(report) if board is None else board
    rows, notes = [], [*_LEGEND]
    for unit in report.units:
        if unit.label not in board:
            continue
        runs = [standing.run for standing in board[unit.label]]
        verdict = Comparability.of(unit, runs)
        unlike = verdict.unlike_libraries
        setting = setting_cell(unit)
        rows += [
            _row(setting, standing, verdict.comparable, standing.run.run_id in unlike)
            for standing in board[unit.label]
        ]
        if unlike:
            notes.append(
                f"‡ {title(unit)}: made with other versions of the numerical libraries than most "
                "rows; that alone may change the regret."
            )
        if not verdict.comparable:
            notes.append(
                f"† {verdict.reason} To time them under equal conditions: {retime(report, unit)}"
            )
        notes += _unequal_protocols(unit, runs)
        if {run.choose for run in runs} == {"last"}:
            notes.append(f"{title(unit)}: the last epoch counts (choose=last), none is chosen.")
    columns = tuple(
        dataclasses.replace(column, files_only=True)
        if column.key in {f"speedup_{name}" for name in BASELINES if name not in report.methods}
        else column
        for column in _COLUMNS
    )
    return Sheet("leaderboard", "Leaderboard", columns, tuple(rows), tuple(notes), by="setting")


def unfinished(report: Report) -> list[str]:
    """Return one sentence for every run that left no result, unreadable ones included."""
    sentences = [
        f"{title(run.unit)}, {style(run.method).label}: {run.state}"
        + (f" ({run.message.splitlines()[0]})" if run.message else "")
        for run in report.runs
        if run.state != "done"
    ]
    return sentences + [f"{run_id}: unreadable, {why}" for run_id, why in report.unreadable]


def _unequal_protocols(unit: Unit, runs: Sequence[Run]) -> list[str]:
    """Note differences of protocol between methods; the warm start is a method's own choice."""
    differing = sorted(
        name
        for name in ("epochs", "batch_size", "patience", "evaluate_every", "choose")
        if len({repr(run.protocol.get(name)) for run in runs}) > 1
    )
    if not differing:
        return []
    made: dict[str, list[str]] = {}
    for run in runs:
        words = ", ".join(
            f"{name.replace('_', ' ')} {run.protocol.get(name)}" for name in differing
        )
        made.setdefault(words, []).append(style(run.method).label)
    parts = "; ".join(f"{words}: {', '.join(methods)}" for words, methods in made.items())
    return [f"{title(unit)}: the methods were trained with different protocols ({parts})."]


def _row(
    setting: Cell, standing: Standing, comparable: bool, unlike_libraries: bool
) -> tuple[Cell, ...]:
    run, interval = standing.run, standing.interval
    mark = " ★" if standing.is_best else " ≈" if standing.ties_best else ""
    regret = percent(run.test_regret)
    if interval is not None:
        regret += f" ({100 * interval[0]:.2f}–{100 * interval[1]:.2f})"
    regret += " ‡" if unlike_libraries else ""
    tone: Tone = "best" if standing.is_best else "near" if standing.ties_best else ""
    low, high = interval or (None, None)
    return (
        setting,
        Cell(style(run.method).label + mark, run.method, tone),
        Cell(regret, run.test_regret, tone),
        Cell("", low),
        Cell("", high),
        text("best" if standing.is_best else "tied" if standing.ties_best else "behind"),
        Cell(f"{run.absolute_regret:.3g}", run.absolute_regret),
        _time(standing.reach_s, comparable),
        _time(standing.near_s, comparable),
        count(standing.solves),
        *(_speedup(standing, name) for name in BASELINES),
        text(run.run_id),
    )


def _time(value: float | None, comparable: bool) -> Cell:
    """Seconds that may not be ranked are shown, marked, and carry no value to sort by."""
    if value is None:
        return NOTHING
    return Cell(seconds(value), value) if comparable else Cell(f"{seconds(value)} †", None, "muted")


def _speedup(standing: Standing, baseline: str) -> Cell:
    speedup = standing.speedups.get(baseline)
    if speedup is None or standing.run.method == baseline:
        return NOTHING
    if speedup.times is not None:
        return Cell(ratio(speedup.times), speedup.times)
    words = {"clock": "†", "start": "at start"}
    return Cell(words.get(speedup.why, "—"), None, "muted")


_COLUMNS = (
    SETTING,
    Column("method", "method", "★ lowest test regret; ≈ not distinguishable from it"),
    Column(
        "test_regret",
        "test regret (95 %)",
        "test relative regret at the epoch with the lowest validation regret",
        numeric=True,
    ),
    Column("regret_low", "from", "lower end of the interval", numeric=True, files_only=True),
    Column("regret_high", "to", "upper end of the interval", numeric=True, files_only=True),
    Column("standing", "standing", "best, tied with it, or behind", files_only=True),
    Column(
        "absolute_regret",
        "absolute",
        "mean test regret per instance, in the unit of the labels",
        numeric=True,
    ),
    Column("reach_s", "time", "training time to the selected epoch", numeric=True),
    Column(
        "near_best_s",
        f"to best + {NEAR:.0%}".replace("%", " %"),
        "training time until within 5 % of the best method's test regret",
        numeric=True,
    ),
    Column("solves", "solver calls", "instances solved up to the selected epoch", numeric=True),
    Column(
        "speedup_qptl", "vs QPTL", "how many times sooner it had QPTL's test regret", numeric=True
    ),
    Column("speedup_spo", "vs SPO+", "how many times sooner it had SPO+'s regret", numeric=True),
    Column("run_id", "run", "the run that stands for the method", files_only=True),
)

_LEGEND = (
    "★ lowest test regret; ≈ not distinguishable from ★: the 95 % bootstrap interval of the "
    "difference on the same test instances contains 0. absolute: mean test regret per instance, in "
    "the "
    "unit of the labels.",
    "time: training seconds to the epoch chosen on validation, without evaluation and without the "
    "shared warm start. to best + 5 %: until the regret was within 5 % of the lowest in the "
    "setting. vs: time the baseline needed for its own regret, over the time this method needed "
    "for the same; — the method never reached it; at start: the warm start had already reached it.",
)

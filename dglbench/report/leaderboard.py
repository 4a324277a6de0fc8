"""The leaderboard: per setting, how good each method's decisions are and what they cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dglbench.report.commands import retime
from dglbench.report.load import Comparability, Report, Run, Unit
from dglbench.report.pairwise import Difference, Pairs
from dglbench.report.palette import style
from dglbench.report.sheet import NOTHING, Cell, Column, Sheet, Tone, count, text
from dglbench.report.time_to_regret import NEAR, Reach, Speedup, best_run
from dglbench.report.titles import setting_cell, title
from dglbench.words import percent, ratio, seconds

__all__ = ["BASELINES", "Standing", "leaderboard", "standings", "unfinished"]

BASELINES = ("qptl", "spo")
"""What speed-ups are measured against, where they were run."""


@dataclass(frozen=True)
class Standing:
    """One method's place in one setting."""

    run: Run
    interval: tuple[float, float] | None
    behind: Difference | None
    """This method minus the best; None for the best, or if instances differ."""
    is_best: bool
    reach_s: float
    """Training seconds to the selected epoch."""
    near_s: float | None
    """Training seconds until within `NEAR` of the best method's regret."""
    solves: int
    speedups: Mapping[str, Speedup]
    """By baseline; those that were not run are absent."""

    @property
    def ties_best(self) -> bool:
        """The interval of the difference to the best method holds 0."""
        return self.behind is not None and self.behind.verdict == "open"


def standings(
    report: Report, reach: Reach | None = None, pairs: Pairs | None = None
) -> dict[str, list[Standing]]:
    """Return each unit's methods by its label, lowest test regret first."""
    reach, pairs = reach or Reach(report), pairs or Pairs(report)
    runs: dict[str, list[Run]] = {}
    for run in report.chosen_runs():
        runs.setdefault(run.unit.label, []).append(run)
    return {label: _of_unit(found, reach, pairs) for label, found in runs.items()}


def _of_unit(runs: Sequence[Run], reach: Reach, pairs: Pairs) -> list[Standing]:
    best = best_run(runs)
    baselines = {run.method: run for run in runs if run.method in BASELINES}
    behind = pairs.differences([(run, best) for run in runs])
    found = []
    for run, difference in zip(runs, behind, strict=True):
        reach_s, solves = reach.selected(run)
        found.append(
            Standing(
                run=run,
                interval=pairs.interval(run),
                behind=None if run is best else difference,
                is_best=run is best,
                reach_s=reach_s,
                near_s=reach.time_to(run, (1 + NEAR) * best.test_regret),
                solves=solves,
                speedups={name: reach.speedup(run, other) for name, other in baselines.items()},
            )
        )
    return sorted(found, key=lambda standing: standing.run.test_regret)


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
                "of its rows; the regret may differ for that alone."
            )
        if not verdict.comparable:
            notes.append(f"† {verdict.reason} To time them alike: {retime(report, unit)}")
        notes += _unequal_protocols(unit, runs)
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
    """Say so if methods were not trained alike; the warm start is a method's own matter."""
    differing = sorted(
        name
        for name in ("epochs", "batch_size", "patience", "evaluate_every")
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
    return [f"{title(unit)}: the methods were not trained alike ({parts})."]


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
    Column("setting", "setting", "task, size and what else tells it apart"),
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
    "★ lowest test regret; ≈ its difference to ★ on the same test instances has a 95 % bootstrap "
    "interval that holds 0, so it may be as good.",
    "time: training seconds to the epoch chosen on validation, without evaluation and without the "
    "shared warm start. to best + 5 %: until the regret was within 5 % of the lowest in the "
    "setting. vs: time the baseline needed for its own regret, over the time this method needed "
    "for the same; — never got there; at start: the warm start had it already.",
)

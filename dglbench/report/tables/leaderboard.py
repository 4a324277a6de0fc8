"""The leaderboard: per setting, how good each method's decisions are and what they cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from statistics import fmean

from dglbench.report.cells import Result
from dglbench.report.commands import retime
from dglbench.report.defaults import defaults_note
from dglbench.report.loading import Report
from dglbench.report.method_names import ACCURATE
from dglbench.report.statistics.best_known import BestKnowns
from dglbench.report.statistics.intervals import FEWEST_SEEDS
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.standings import BASELINES, Board, Standing, Start, standings
from dglbench.report.statistics.time_to_regret import NEAR, Reach
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, title
from dglbench.report.tables.sheet import (
    NOTHING,
    SETTING,
    Cell,
    Column,
    Sheet,
    Tone,
    count,
    points,
    share,
    text,
    with_interval,
)
from dglbench.words import ratio, seconds

__all__ = ["leaderboard", "unfinished"]


def leaderboard(
    report: Report,
    boards: Sequence[Board] | None = None,
    reach: Reach | None = None,
    pairs: Pairs | None = None,
) -> Sheet:
    """Lay the standings out as a table."""
    reach, pairs = reach or Reach(report), pairs or Pairs(report)
    boards = standings(report, reach, pairs) if boards is None else boards
    rows, notes = [], []
    known = BestKnowns(report)
    for board in boards:
        placed = [
            (each.result.regret(), _row(report, board, each, reach, pairs, known))
            for each in board.standings
        ]
        placed += [(start.regret, _start(board, start)) for start in board.starts]
        rows += [row for _, row in sorted(placed, key=lambda each: each[0])]
        notes += _notes(report, board)
    return Sheet(
        "leaderboard",
        "Leaderboard",
        _columns(report, boards),
        tuple(rows),
        (*_legend(report, boards), *defaults_note(report), *_averaged(boards), *notes),
        by="setting",
        lead=tuple(_unimproved(boards)),
    )


def unfinished(report: Report) -> list[str]:
    """Return one sentence for every run that left no result, unreadable ones included."""
    sentences = [
        f"{title(run.unit)}, {style(run.method).label}: {run.state}"
        + (f" ({run.message.splitlines()[0]})" if run.message else "")
        for run in report.runs
        if run.state != "done"
    ]
    return sentences + [f"{run_id}: unreadable, {why}" for run_id, why in report.unreadable]


def _row(
    report: Report,
    board: Board,
    standing: Standing,
    reach: Reach,
    pairs: Pairs,
    known: BestKnowns,
) -> tuple[Cell, ...]:
    result, interval = standing.result, standing.interval
    verdict, gap = board.comparability, known.gap(result)
    mark = " ★" if standing.is_best else " ≈" if standing.ties_best else ""
    unlike = any(run.run_id in verdict.unlike_libraries for run in result.runs)
    tone: Tone = "best" if standing.is_best else "near" if standing.ties_best else ""
    lost = sum(cell.lost for cell in result.cells)
    repeats = Cell(f"{result.repeats}" + (f" ({lost} failed)" if lost else ""), result.repeats)
    return (
        Cell(board.comparison.title, board.comparison.label),
        Cell(style(result.method).label + mark, result.method, tone),
        *with_interval(result.regret(), interval, tone, " ‡" if unlike else ""),
        *_range(result),
        *_best_of(report, result, pairs),
        text("best" if standing.is_best else "tied" if standing.ties_best else "behind"),
        NOTHING if gap is None else points(gap),
        share(reach.last_regret(result)),
        Cell(f"{result.absolute():.3g}", result.absolute()),
        _time(standing.reach_s, verdict.comparable),
        _time(standing.near_s, verdict.comparable),
        count(round(standing.solves)),
        _epochs(result),
        *(_speedup(standing, name) for name in BASELINES),
        count(len(result.cells)),
        repeats,
        text(result.first.run_id if len(result.runs) == 1 else None),
    )


def _start(board: Board, start: Start) -> tuple[Cell, ...]:
    """The row of a warm start: it is no method, and is neither ranked nor compared."""
    regret, low, high = with_interval(start.regret, start.interval, "muted")
    known: dict[str, Cell] = {
        "setting": Cell(board.comparison.title, board.comparison.label),
        "method": Cell(f"{start.label} ({start.epochs:.3g} epochs)", "warm-start", "muted"),
        "test_regret": regret,
        "regret_low": low,
        "regret_high": high,
        "standing": text("start"),
        "reach_s": _time(start.seconds, board.comparability.comparable),
        "epochs": Cell(f"{start.epochs:.3g}", start.epochs),
        "seeds": count(len(board.comparison.units)),
    }
    return tuple(known.get(column.key, NOTHING) for column in _COLUMNS)


def _range(result: Result) -> tuple[Cell, Cell, Cell]:
    regrets = [run.test_regret for run in result.runs]
    low, high = min(regrets), max(regrets)
    words = f"{100 * low:.2f}–{100 * high:.2f}"
    return Cell(words if len(regrets) > 1 else "—", None), Cell("", low), Cell("", high)


def _best_of(report: Report, result: Result, pairs: Pairs) -> tuple[Cell, ...]:
    """Return the reading best of r, with its interval and what the r repeats cost together."""
    r = report.best_of
    if r > result.most or r == 1:
        return NOTHING, Cell("", None), Cell("", None), NOTHING, Cell("", None)
    spent = r * sum(cell.train_s for cell in result.cells) / len(result.cells)
    return (
        *with_interval(result.regret(r), pairs.interval(result, r)),
        Cell(seconds(spent), spent),
        Cell("", result.absolute(r)),
    )


def _epochs(result: Result) -> Cell:
    trained = [run.epochs_run for run in result.runs if run.epochs_run is not None]
    return Cell(f"{fmean(trained):.3g}", fmean(trained)) if trained else NOTHING


def _time(value: float | None, comparable: bool) -> Cell:
    """Seconds that may not be ranked are shown, marked, and carry no value to sort by."""
    if value is None:
        return NOTHING
    return Cell(seconds(value), value) if comparable else Cell(f"{seconds(value)} †", None, "muted")


def _speedup(standing: Standing, baseline: str) -> Cell:
    speedup = standing.speedups.get(baseline)
    if speedup is None or standing.result.first.identity.method == baseline:
        return NOTHING
    if speedup.times is not None:
        return Cell(ratio(speedup.times), speedup.times)
    if speedup.why == "start" and standing.result.warm_start_regret is None:
        return NOTHING  # it did not begin from the warm start
    words = {"clock": "†", "start": "at start"}
    return Cell(words.get(speedup.why, "—"), None, "muted")


def _columns(report: Report, boards: Sequence[Board]) -> tuple[Column, ...]:
    """Return the columns; those that say nothing here are kept for files alone."""
    results = [each.result for board in boards for each in board.standings]
    known = {result.first.identity.method for result in results}
    hidden = {f"speedup_{name}" for name in BASELINES if name not in known}
    if all(len(result.runs) == 1 for result in results):
        hidden |= {"range"}
    if report.best_of == 1:
        hidden |= {"best_of", "best_of_s"}
    if not any(cell.lost for result in results for cell in result.cells):
        hidden |= {"repeats"}  # a note under the table says how many
    titled = {"best_of": f"best of {report.best_of} (95 %)", "best_of_s": f"{report.best_of} runs"}
    return tuple(
        dataclasses.replace(
            column,
            files_only=column.files_only or column.key in hidden,
            title=titled.get(column.key, column.title),
        )
        for column in _COLUMNS
    )


_COLUMNS = (
    SETTING,
    Column("method", "method", "★ lowest test regret; ≈ not distinguishable from it"),
    Column(
        "test_regret",
        "one run (95 %)",
        "expected test regret of one run, at the epoch with the lowest validation regret",
        numeric=True,
    ),
    Column("regret_low", "from", "lower end of the interval", numeric=True, files_only=True),
    Column("regret_high", "to", "upper end of the interval", numeric=True, files_only=True),
    Column("range", "range", "lowest and highest test regret of a run", numeric=True),
    Column("range_low", "lowest", "lowest test regret of a run", numeric=True, files_only=True),
    Column("range_high", "highest", "highest test regret of a run", numeric=True, files_only=True),
    Column(
        "best_of",
        "best of r (95 %)",
        "expected test regret of the best of r runs by validation",
        numeric=True,
    ),
    Column("best_of_low", "from", "lower end of its interval", numeric=True, files_only=True),
    Column("best_of_high", "to", "upper end of its interval", numeric=True, files_only=True),
    Column("best_of_s", "r runs", "training seconds of the r runs together", numeric=True),
    Column("best_of_absolute", "absolute", "the same in the unit of the labels", numeric=True,
           files_only=True),
    Column("standing", "standing", "best, tied with it, or behind", files_only=True),
    Column(
        "best_known_gap",
        "above best known",
        "one run's regret less the best known with its predictor, percentage points",
        numeric=True,
    ),
    Column(
        "last_regret",
        "last epoch",
        "test regret of the last epoch: the gap is what choosing the epoch by validation is worth",
        numeric=True,
    ),
    Column(
        "absolute_regret",
        "absolute",
        "mean test regret per instance of one run, in the unit of the labels",
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
    Column("epochs", "epochs", "epochs trained, mean over runs", numeric=True, files_only=True),
    Column(
        "speedup_qptl", "vs QPTL", "how many times sooner it had QPTL's test regret", numeric=True
    ),
    Column("speedup_spo", "vs SPO+", "how many times sooner it had SPO+'s regret", numeric=True),
    Column("seeds", "seeds", "data seeds", numeric=True, files_only=True),
    Column("repeats", "repeats", "repeats on each data seed", numeric=True),
    Column("run_id", "run", "the run, where there is only one", files_only=True),
)  # fmt: skip


def _legend(report: Report, boards: Sequence[Board]) -> list[str]:
    r = report.best_of
    notes = [
        "★ lowest test regret of one run, its mean over repeats and data seeds; ≈ not "
        "distinguishable from ★: the 95 % interval of the difference contains 0. last epoch: what "
        "the last epoch has instead of the one that validation chose. above best known: "
        "percentage points above the best of all runs here with the same predictor, by validation "
        "(`--table best-known`). absolute: mean test regret "
        "per instance, in the unit of the labels.",
    ]
    if r > 1:
        notes.append(
            f"best of {r}: {r} runs are trained, and the one with the lowest validation regret is "
            "kept; its expected test regret, computed exactly from the repeats, at "
            f"{r} times the cost. A method with fewer than {2 * r} repeats shows none."
        )
    elif any(
        each.result.repeats == 1 and each.result.draws
        for board in boards
        for each in board.standings
    ):
        notes.append(
            "Some methods have one run on each data seed: another start may end elsewhere. "
            "`--repeats 8` says how far."
        )
    notes.append(
        "time: training seconds to the epoch chosen on validation, without evaluation and without "
        "the shared warm start. to best + 5 %: until the regret was within 5 % of the lowest in "
        "the setting. vs: time the baseline needed for its own regret, over the time this method "
        "needed for the same; over repeats, the time expected if one trains until it is met; of "
        "several predictors, against the baseline with the same one. — "
        "never reached; at start: the warm start had already reached it."
    )
    runs = [run for board in boards for each in board.standings for run in each.result.runs]
    if {run.predictor for run in runs if not run.identity.has_own_predictor} == {"linear"}:
        notes.append(
            "All runs train the linear predictor. Another model often changes regret more than "
            "another method does: `--predictor linear --predictor mlp` compares."
        )
    if any(board.starts for board in boards):
        notes.append(
            "warm start: the shared predictor that methods began from, trained for accuracy in the "
            "time of its row. It is no method: never ★ or ≈, and in no rank, test or claim."
        )
    return notes


def _unimproved(boards: Sequence[Board]) -> list[str]:
    """Name the settings in which no method gained on the warm start that it began from."""
    return [
        f"{board.comparison.title}: {start.no_gain}."
        for board in boards
        for start in board.starts
        if not start.improved
    ]


def _notes(report: Report, board: Board) -> list[str]:
    comparison, verdict = board.comparison, board.comparability
    where = comparison.title
    notes = [f"{comparison.left_out}."] if comparison.left_out else []
    if verdict.unlike_libraries:
        notes.append(
            f"‡ {where}: made with other versions of the numerical libraries than most "
            "rows; that alone may change the regret."
        )
    if not verdict.comparable:
        again = retime(report, comparison.units)
        notes.append(f"† {verdict.reason} To time them under equal conditions: {again}")
    return notes + _unequal_protocols(board)


def _averaged(boards: Sequence[Board]) -> list[str]:
    """Say over what was averaged, once for the settings that have it in common."""
    alike: dict[str, list[str]] = {}
    for board in boards:
        alike.setdefault(_over(board), []).append(board.comparison.title)
    return [
        f"{'every setting' if len(alike) == 1 < len(boards) else listing(titles)}: {words}."
        for words, titles in alike.items()
    ]


def _over(board: Board) -> str:
    """Say over what the intervals of a setting were taken."""
    comparison = board.comparison
    if len(comparison.units) >= FEWEST_SEEDS:
        return f"{comparison.over}; intervals over data seeds (t), differences paired by data seed"
    start = " and of this one start" if comparison.repeats == 1 else ""
    return (
        f"{comparison.over}; intervals over repeats and test instances, of these data only{start}"
        if comparison.repeats > 1
        else f"{comparison.over}; intervals over test instances, of these data only{start}"
    )


def _unequal_protocols(board: Board) -> list[str]:
    """Note differences of protocol between methods; the warm start is a method's own choice.

    What trains for accuracy has epochs of its own, on purpose.
    """
    runs = [
        run
        for standing in board.standings
        for run in standing.result.runs
        if run.identity.method not in ACCURATE
    ]
    differing = sorted(
        name
        for name in ("epochs", "batch_size", "patience", "evaluate_every")
        if len({repr(run.protocol.get(name)) for run in runs}) > 1
    )
    if not differing:
        return []
    made: dict[str, dict[str, None]] = {}
    for run in runs:
        words = ", ".join(
            f"{name.replace('_', ' ')} {run.protocol.get(name)}" for name in differing
        )
        made.setdefault(words, {})[style(run.method).label] = None
    parts = "; ".join(f"{words}: {', '.join(methods)}" for words, methods in made.items())
    where = board.comparison.title
    return [f"{where}: the methods were trained with different protocols ({parts})."]

"""Methods × settings as in a paper: mean ± spread, time to near the best, lead over a baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dglbench.report.loading import Report
from dglbench.report.method_names import plain
from dglbench.report.statistics.comparisons import BAND_SEEDS, Comparison
from dglbench.report.statistics.complete_blocks import (
    Blocks,
    average_ranks,
    check_baseline,
    geometric_mean,
)
from dglbench.report.statistics.complete_blocks import blocks as complete_blocks
from dglbench.report.statistics.spread import spread
from dglbench.report.statistics.standings import Board, Standing, standings
from dglbench.report.statistics.time_to_regret import NEAR, Reach
from dglbench.report.style.palette import style
from dglbench.report.style.titles import plural
from dglbench.report.tables.sheet import METHOD, NOTHING, Cell, Column, Sheet, mark_best
from dglbench.statistics import Numbers
from dglbench.words import percent, ratio, seconds

__all__ = ["default_baseline", "summary"]

_WITHIN = f"{100 * NEAR:.0f} %"


class _Measure(NamedTuple):
    """One block of the table."""

    name: str
    value: Callable[[Standing], float | None]
    write: Callable[[float], str]
    spread: Callable[[Standing], float | None] = lambda _: None
    least_is_best: bool = True
    timed: bool = False


def default_baseline(report: Report) -> str | None:
    """Return what leads are measured against unless asked otherwise."""
    wanted = ("spo", "qptl", "two-stage")
    found = [name for own in wanted for name in report.methods if plain(name) == own]
    return next(iter(found), None)


def summary(
    report: Report,
    baseline: str | None = None,
    boards: Sequence[Board] | None = None,
    reach: Reach | None = None,
) -> Sheet:
    """Lay out one row per method and one column per setting, one block per quantity."""
    baseline = check_baseline(report, baseline) or default_baseline(report)
    reach = reach or Reach(report)
    boards = standings(report, reach) if boards is None else boards
    design = complete_blocks(report)
    measures = _measures(report, reach, boards, design, baseline)
    parts = [
        mark_best(_block(report, design, boards, measure), min, range(2, 3)) for measure in measures
    ]
    # By mean rank of regret, in all blocks: with twenty methods that is what one looks for.
    rank = {row[1].value: row[2].value for row in parts[0]}
    order = {method: math.inf if at is None else at for method, at in rank.items()}
    rows = [row for part in parts for row in sorted(part, key=lambda row: order[row[1].value])]
    columns = (
        Column("measure", "measure", "what the block shows"),
        METHOD,
        Column("mean_rank", "mean rank", "1 is best; over settings that all ran in", numeric=True),
        Column("mean", "geometric mean", "over the settings with a value", numeric=True),
        *(_heading(board.comparison) for board in boards),
    )
    notes = _notes(boards, design, baseline)
    return Sheet("summary", "Summary", columns, tuple(rows), notes, by="measure")


def _measures(
    report: Report, reach: Reach, boards: Sequence[Board], design: Blocks, baseline: str | None
) -> list[_Measure]:
    r = report.best_of
    found = [
        _Measure(
            "test regret, one run",
            lambda standing: standing.result.regret(),
            percent,
            lambda standing: spread(standing.result),
        )
    ]
    if r > 1:

        def able(standing: Standing) -> bool:
            return r <= standing.result.most

        found.append(
            _Measure(
                f"test regret, best of {r}",
                lambda standing: standing.result.regret(r) if able(standing) else None,
                percent,
                lambda standing: spread(standing.result, r) if able(standing) else None,
            )
        )
    near = f"training time to best + {_WITHIN}"
    found.append(_Measure(near, lambda standing: standing.near_s, seconds, timed=True))
    if baseline is not None:
        leads = _leads(reach, boards, baseline)
        found.append(
            _Measure(
                f"times sooner than {style(baseline).label} at its regret",
                lambda standing: leads.get(standing.result.first.run_id),
                ratio,
                least_is_best=False,
                timed=True,
            )
        )
    return found


def _block(
    report: Report, design: Blocks, boards: Sequence[Board], measure: _Measure
) -> list[tuple[Cell, ...]]:
    shape = (len(boards), len(report.methods))
    values, spreads = np.full(shape, math.nan), np.full(shape, math.nan)
    for at, board in enumerate(boards):
        if measure.timed and not board.comparability.comparable:
            continue
        for standing in board.standings:
            place = report.methods.index(standing.result.method)
            values[at, place] = _number(measure.value(standing))
            spreads[at, place] = _number(measure.spread(standing))
    places = {board.comparison.label: at for at, board in enumerate(boards)}
    shared = values[[places[each.label] for each in design.settings]].round(12)
    mean_ranks = _mean_ranks(report, design, shared if measure.least_is_best else -shared)
    counted = int((~np.isnan(values).all(axis=1)).sum())
    rows = []
    for method, own, around in zip(report.methods, values.T, spreads.T, strict=True):
        known = own[~np.isnan(own)]
        mean = geometric_mean(known.tolist())
        some = "" if known.size == counted else f" ({known.size} of {counted})"
        mean_rank = mean_ranks.get(method) if known.size else None
        overall = (
            NOTHING if mean_rank is None else Cell(f"{mean_rank:.2f}", mean_rank),
            Cell(measure.write(mean) + some, mean) if math.isfinite(mean) else NOTHING,
        )
        cells = [_cell(measure, *pair) for pair in zip(own, around, strict=True)]
        rows.append(
            (Cell(measure.name, measure.name), Cell(style(method).label, method), *overall, *cells)
        )
    best = min if measure.least_is_best else max
    return mark_best(rows, best, range(4, 4 + len(boards)))


def _cell(measure: _Measure, value: float, around: float) -> Cell:
    if math.isnan(value):
        return NOTHING
    words = measure.write(value)
    if not math.isnan(around):
        words += f" ± {100 * around:.2f}"
    return Cell(words, float(value))


def _mean_ranks(report: Report, design: Blocks, values: Numbers) -> dict[str, float]:
    """Return the mean rank of each method of the complete part, least first, as `ranking` does.

    ``values`` are (settings of the part, methods of the report); one that is unknown ranks last.
    """
    own = values[:, [report.methods.index(method) for method in design.methods]]
    own = own[~np.isnan(own).all(axis=1)]
    if not own.size:
        return {}
    return dict(zip(design.methods, average_ranks(own).mean(axis=0).tolist(), strict=True))


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _leads(reach: Reach, boards: Sequence[Board], baseline: str) -> Mapping[str, float]:
    """Return each result's lead, by its first run."""
    leads = {}
    for board in boards:
        base = board.comparison.result(baseline)
        for result in board.comparison.results if base is not None else ():
            speedup = reach.speedup(result, base) if base is not None else None
            if speedup is not None and speedup.times is not None:
                leads[result.first.run_id] = speedup.times
    return leads


def _heading(comparison: Comparison) -> Column:
    return Column(comparison.label, comparison.title, f"over {comparison.over}", numeric=True)


def _notes(boards: Sequence[Board], design: Blocks, baseline: str | None) -> tuple[str, ...]:
    notes = [
        f"± standard deviation, in points: over data seeds where there are {BAND_SEEDS} or more, "
        "else over repeats; none where there is one run. A setting is averaged over its data seeds "
        "and repeats. The mean rank is that of the "
        f"table ranks: over {plural(len(design.settings), 'setting')} in which all of "
        f"{plural(len(design.methods), 'method')} have a result; one that never got there is "
        "last. The geometric mean is over the settings with a value and says how many where some "
        "are missing.",
        *design.left_out,
        *(f"{board.comparison.left_out}." for board in boards if board.comparison.left_out),
        f"to best + {_WITHIN}: training seconds until the test regret of the epoch best on "
        f"validation so far was within {_WITHIN} of the lowest in the setting; over repeats, what "
        "one must expect to spend until it is.",
    ]
    if baseline is not None:
        name = style(baseline).label
        notes.append(
            f"times sooner: training seconds {name} needed for its own regret, over those the "
            f"method needed for the same; — never got there, or {name} gained nothing. "
            "Another: --baseline METHOD."
        )
    unranked = [board.comparison.title for board in boards if not board.comparability.comparable]
    if unranked:
        notes.append(
            "left out, because their times were measured under different conditions: "
            f"{', '.join(unranked)}."
        )
    return tuple(notes)

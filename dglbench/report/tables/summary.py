"""Methods × settings at a glance: regret with rank, time to near the best, lead over a baseline."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dglbench.report.loading import Report, Unit
from dglbench.report.statistics.complete_blocks import (
    Blocks,
    average_ranks,
    check_baseline,
    geometric_mean,
)
from dglbench.report.statistics.complete_blocks import blocks as complete_blocks
from dglbench.report.statistics.seeds import grouped
from dglbench.report.statistics.standings import Standing, standings
from dglbench.report.statistics.time_to_regret import NEAR, Reach
from dglbench.report.style.palette import style
from dglbench.report.style.titles import plural, title, without_seed
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
    least_is_best: bool = True
    average: Callable[[list[float]], float] = geometric_mean
    """What stands for several seeds of a setting."""


def default_baseline(report: Report) -> str | None:
    """Return what leads are measured against unless asked otherwise."""
    return next((name for name in ("spo", "qptl", "two-stage") if name in report.methods), None)


def summary(
    report: Report,
    baseline: str | None = None,
    board: Mapping[str, list[Standing]] | None = None,
    reach: Reach | None = None,
    *,
    seeds_apart: bool = True,
) -> Sheet:
    """Lay out one row per method and one column per setting, one block per quantity.

    Unless ``seeds_apart``, the seeds of a setting share a column.
    """
    baseline = check_baseline(report, baseline) or default_baseline(report)
    reach = reach or Reach(report)
    board = standings(report, reach) if board is None else board
    units = [unit for unit in report.units if unit.label in board]
    measures = [
        _Measure(
            "test regret",
            lambda standing: standing.run.test_regret,
            percent,
            average=lambda values: float(np.mean(values)),
        ),
        _Measure(f"training time to best + {_WITHIN}", lambda standing: standing.near_s, seconds),
    ]
    if baseline is not None:
        leads = _leads(report, reach, units, baseline)
        measures.append(
            _Measure(
                f"times sooner than {style(baseline).label} at its regret",
                lambda standing: leads.get(standing.run.run_id),
                ratio,
                least_is_best=False,
            )
        )
    groups = [[unit] for unit in units] if seeds_apart else grouped(units)
    design = complete_blocks(report)
    blocks = [
        mark_best(_block(report, design, groups, board, measure), min, range(2, 3))
        for measure in measures
    ]
    # By mean rank of regret, in all blocks: with twenty methods that is what one looks for.
    rank = {row[1].value: row[2].value for row in blocks[0]}
    order = {method: math.inf if at is None else at for method, at in rank.items()}
    rows = [row for block in blocks for row in sorted(block, key=lambda row: order[row[1].value])]
    notes = _notes(report, units, design, baseline)
    if any(len(group) > 1 for group in groups):
        notes = (_OVER_SEEDS, *notes)
    return Sheet("summary", "Summary", _columns(groups), tuple(rows), notes, by="measure")


def _block(
    report: Report,
    design: Blocks,
    groups: Sequence[Sequence[Unit]],
    board: Mapping[str, Sequence[Standing]],
    measure: _Measure,
) -> list[tuple[Cell, ...]]:
    units = [unit for group in groups for unit in group]
    timed = not measure.least_is_best or measure.write is seconds
    shape = (len(units), len(report.methods))
    values, ranks = np.full(shape, math.nan), np.full(shape, math.nan)
    for at, unit in enumerate(units):
        if timed and not report.comparability(unit).comparable:
            continue
        ran = [report.methods.index(standing.run.method) for standing in board[unit.label]]
        found = np.array([_number(measure.value(standing)) for standing in board[unit.label]])
        if np.isnan(found).all():
            continue
        values[at, ran] = found
        # Who ran and never got there is last; who did not run here has no place.
        ranks[at, ran] = average_ranks((found if measure.least_is_best else -found)[None])[0]
    counted = int((~np.isnan(ranks).all(axis=1)).sum())
    place = {unit.key: at for at, unit in enumerate(units)}
    shared = values[[place[unit.key] for unit in design.units]]
    mean_ranks = _mean_ranks(report, design, shared if measure.least_is_best else -shared)
    columns = [
        _column(measure, values[[place[unit.key] for unit in group]],
                ranks[[place[unit.key] for unit in group]])
        for group in groups
    ]  # fmt: skip
    rows = []
    for at, method in enumerate(report.methods):
        known = values[:, at][~np.isnan(values[:, at])]
        mean = geometric_mean(known.tolist())
        whole = measure.write(mean) + _share(known.size, counted) if known.size else ""
        mean_rank = mean_ranks.get(method)
        overall = (
            NOTHING if mean_rank is None else Cell(f"{mean_rank:.2f}", mean_rank),
            Cell(whole, mean) if math.isfinite(mean) else NOTHING,
        )
        cells = [column[at] for column in columns]
        named = Cell(measure.name, measure.name)
        rows.append((named, Cell(style(method).label, method), *overall, *cells))
    return rows


def _mean_ranks(report: Report, design: Blocks, values: Numbers) -> dict[str, float]:
    """Return the mean rank of each method of the complete part, least first, as `ranking` does.

    ``values`` are (units of the part, methods of the report); one that is unknown ranks last.
    """
    own = values[:, [report.methods.index(method) for method in design.methods]]
    own = own[~np.isnan(own).all(axis=1)]
    if not own.size:
        return {}
    return dict(zip(design.methods, average_ranks(own).mean(axis=0).tolist(), strict=True))


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _share(size: int, of: int) -> str:
    """Say in how many of the settings, where it is not in all."""
    return "" if size == of else f" ({size} of {of})"


def _column(measure: _Measure, values: Numbers, ranks: Numbers) -> list[Cell]:
    """Return the cells of one setting, one per method, from (seeds, methods)."""
    seeds = len(values)
    found = []
    for own, places in zip(values.T, ranks.T, strict=True):
        known = own[~np.isnan(own)]
        mean = math.nan
        if known.size:
            mean = measure.average(known.tolist()) if known.size > 1 else float(known[0])
        found.append((mean, places[~np.isnan(places)], known.size))
    whole = [mean for mean, _, size in found if size == seeds and math.isfinite(mean)]
    best = (min if measure.least_is_best else max)(whole, default=math.nan)
    cells = []
    for mean, places, size in found:
        if not math.isfinite(mean):
            cells.append(NOTHING)
            continue
        rank = f"{places[0]:g}" if seeds == 1 else f"{places.mean():.1f}"
        some = "" if size == seeds else f", {size} of {seeds}"
        first = places[0] == 1 if seeds == 1 else size == seeds and mean == best
        cells.append(Cell(f"{measure.write(mean)} ({rank}{some})", mean, "best" if first else ""))
    return cells


def _leads(report: Report, reach: Reach, units: Sequence[Unit], baseline: str) -> dict[str, float]:
    leads = {}
    for unit in units:
        base = report.chosen.get((unit.key, baseline))
        for run in report.chosen_runs(unit) if base is not None else []:
            speedup = reach.speedup(run, base) if base is not None else None
            if speedup is not None and speedup.times is not None:
                leads[run.run_id] = speedup.times
    return leads


def _columns(groups: Sequence[Sequence[Unit]]) -> tuple[Column, ...]:
    return (
        Column("measure", "measure", "what the block shows"),
        METHOD,
        Column("mean_rank", "mean rank", "1 is best; over settings that all ran in", numeric=True),
        Column("mean", "geometric mean", "over the settings with a value", numeric=True),
        *(_heading(group) for group in groups),
    )


def _heading(group: Sequence[Unit]) -> Column:
    if len(group) == 1:
        return Column(group[0].label, title(group[0]), group[0].label, numeric=True)
    name = without_seed(group[0])
    return Column(name, name, f"mean over {len(group)} seeds", numeric=True)


_OVER_SEEDS = (
    "a setting with several seeds shows their mean (for times and ratios the geometric mean) and, "
    "in brackets, the mean rank, and how many seeds have a value if some have none; the CSV has "
    "every seed."
)


def _notes(
    report: Report, units: Sequence[Unit], design: Blocks, baseline: str | None
) -> tuple[str, ...]:
    notes = [
        "in brackets: the method's rank in the setting, 1 is best. The mean rank is that of the "
        f"table ranks: over {plural(len(design.units), 'setting')} in which all of "
        f"{plural(len(design.methods), 'method')} have a result; one that never got there is "
        "last. The geometric mean is over the settings with a value and says how many where some "
        "are missing.",
        *design.left_out,
        f"to best + {_WITHIN}: training seconds until the test regret of the epoch best on "
        f"validation so far was within {_WITHIN} of the lowest in the setting.",
    ]
    if baseline is not None:
        name = style(baseline).label
        notes.append(
            f"times sooner: training seconds {name} needed for its own regret, over those the "
            f"method needed for the same; — never got there, or {name} gained nothing. "
            "Another: --baseline METHOD."
        )
    unranked = [title(unit) for unit in units if not report.comparability(unit).comparable]
    if unranked:
        notes.append(
            "left out, because their times were measured under different conditions: "
            f"{', '.join(unranked)}."
        )
    return tuple(notes)

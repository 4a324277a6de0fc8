"""How many data seeds and repeats it takes to tell two methods apart."""

from __future__ import annotations

from itertools import combinations

from dglbench.errors import ReportError
from dglbench.report.cells import Result
from dglbench.report.loading import Report
from dglbench.report.statistics.comparisons import Comparison, by_setting
from dglbench.report.statistics.power import (
    FEW_SEEDS,
    GAP,
    MOST_SEEDS,
    POWER,
    Spread,
    pair_spread,
    seeds_needed,
)
from dglbench.report.statistics.time_to_regret import best_result
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import NOTHING, SETTING, Cell, Column, Sheet, count, points

__all__ = ["power"]

_MOST_METHODS = 12
"""With more, each is compared with the lowest of the setting alone."""
REPEATS = (1, 4, 16)
"""For how many repeats on each data seed the needed seeds are shown."""


def power(report: Report, gap: float = GAP) -> Sheet:
    """List, for each pair of methods of a setting, its paired spread and the data seeds needed."""
    if not 0 < gap < 1:
        raise ReportError(
            f"the gap must be more than 0 and less than 100 percentage points; got {100 * gap:g}."
        )
    rows = [
        _row(setting, one.method, other.method, pair_spread(one, other), gap,
             one.regret() - other.regret())
        for setting in by_setting(report)
        for one, other in _pairs(setting)
    ]  # fmt: skip
    share = f"{100 * POWER:.0f} %"
    notes = [
        f"seeds at r repeats: data seeds with which a paired t test at 5 % finds a true gap of "
        f"{100 * gap:g} points with {share} probability, if each method is the mean of r repeats; "
        f"--gap sets another. More repeats help where repeats differ, not where data do.",
        f"Of more than {_MOST_METHODS} methods, each is compared with the lowest.",
        "spread: standard deviation over data seeds of the pair's difference, at the repeats that "
        "were run, with its 95 % interval (χ²). over repeats: the two methods' together.",
        f"With fewer than {FEW_SEEDS} data seeds the spread is hardly known: then ≥ is a lower "
        "bound, from the lower end of its interval; with one data seed, from repeats alone.",
    ]
    if not rows:
        notes = ["Power needs two methods with results on the same data seeds."]
    return Sheet("power", f"Data seeds and repeats for a gap of {100 * gap:g} points", _COLUMNS,
                 tuple(rows), tuple(notes), by="setting")  # fmt: skip


_COLUMNS = (
    SETTING,
    Column("method", "method", "one of the pair"),
    Column("other", "against", "the other"),
    Column("difference", "seen", "mean difference seen, percentage points", numeric=True),
    Column("spread", "spread (95 %)", "of the paired difference, points", numeric=True),
    Column("spread_low", "from", "lower end of its interval", numeric=True, files_only=True),
    Column("spread_high", "to", "upper end of its interval", numeric=True, files_only=True),
    Column("within", "over repeats", "standard deviation from repeat to repeat, points",
           numeric=True),
    *(
        Column(f"seeds_{r}", f"seeds at {r} repeat{'s' if r > 1 else ''}",
               f"data seeds needed with {r} repeats on each", numeric=True)
        for r in REPEATS
    ),
    Column("bound", "bound", "whether these are lower bounds only", files_only=True),
    Column("seeds", "seeds", "data seeds seen", numeric=True),
    Column("repeats", "repeats", "repeats on each", numeric=True),
)  # fmt: skip


def _pairs(setting: Comparison) -> list[tuple[Result, Result]]:
    """Return all pairs, or of many methods those with the lowest regret."""
    if len(setting.results) <= _MOST_METHODS:
        return list(combinations(setting.results, 2))
    best = best_result(setting.results)
    return [(best, other) for other in setting.results if other is not best]


def _row(
    setting: Comparison, method: str, other: str, found: Spread, gap: float, difference: float
) -> tuple[Cell, ...]:
    bound = found.seeds < FEW_SEEDS
    return (
        Cell(setting.title, setting.label),
        Cell(style(method).label, method),
        Cell(style(other).label, other),
        points(difference),
        *_spread(found),
        NOTHING if found.within is None else Cell(f"{100 * found.within:.2f}", 100 * found.within),
        *(_needed(found, r, gap, bound=bound) for r in REPEATS),
        Cell("", "yes" if bound else "no"),
        count(found.seeds),
        count(found.repeats),
    )


def _spread(found: Spread) -> tuple[Cell, Cell, Cell]:
    if found.seen is None or found.low is None or found.high is None:
        return NOTHING, Cell("", None), Cell("", None)
    seen, low, high = (100 * value for value in (found.seen, found.low, found.high))
    return Cell(f"{seen:.2f} ({low:.2f}–{high:.2f})", seen), Cell("", low), Cell("", high)


def _needed(found: Spread, repeats: int, gap: float, *, bound: bool) -> Cell:
    """Return the data seeds needed; from few of them a lower bound."""
    if found.seen is None:
        spread = None if found.within is None else found.within / repeats**0.5
    else:
        spread = found.at(repeats, found.low if bound and found.low is not None else found.seen)
    if spread is None:
        return NOTHING
    needed = seeds_needed(spread, gap)
    if needed is None:
        return Cell(f"> {MOST_SEEDS:,}", MOST_SEEDS, "muted")
    return Cell(f"≥ {needed:,}" if bound else f"{needed:,}", needed)

"""Which method for which time: a row for each setting, a column for each budget of seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dglbench.report.statistics.comparisons import Comparison
from dglbench.report.statistics.for_time import Choice, best_for, budgets
from dglbench.report.statistics.standings import Board
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing, plural
from dglbench.report.tables.sheet import NOTHING, SETTING, Cell, Column, Sheet
from dglbench.words import percent, seconds, short_seconds

__all__ = ["for_time", "leads"]

_NOTE = (
    "The lowest expected test regret for a training time: the method, and where several runs fit "
    "into the time and the best of them by validation is expected to be lower, how many. At most "
    "half of the repeats that were run are counted. {start}Evaluation and tuning are not in these "
    "times."
)
_START = (
    "Methods that begin from a warm start need it first: its column says what it takes, and what "
    "regret it has. "
)


def for_time(boards: Sequence[Board]) -> Sheet:
    """Lay out the best method of every setting for round training times."""
    ranked = [board for board in boards if board.comparability.comparable]
    times = _times([board.comparison for board in ranked])
    started = any(board.starts for board in ranked)
    columns = (
        SETTING,
        *(
            Column(f"{time:g}", _words(time), f"within {_words(time)} of training")
            for time in times
        ),
        *([Column("warm_start", "warm start", "what methods began from")] if started else []),
    )
    rows = [
        (
            Cell(board.comparison.title, board.comparison.label),
            *(_cell(best_for(board.comparison, time)) for time in times),
            *([_start(board)] if started else []),
        )
        for board in ranked
    ]
    note = _NOTE.format(start=_START if started else "")
    return Sheet("for-time", "Which method for which time", columns, tuple(rows), (note,))


def leads(boards: Sequence[Board]) -> str:
    """Say in a sentence who leads for how much time."""
    ranked = [board.comparison for board in boards if board.comparability.comparable]
    spans: list[tuple[float, float, str, list[int]]] = []
    for time in _times(ranked):
        choices = [choice for each in ranked if (choice := best_for(each, time)) is not None]
        if 2 * len(choices) < len(ranked):
            continue  # what fits into so little time says nothing of most settings
        led = Counter(choice.result.method for choice in choices)
        method, count = led.most_common(1)[0]
        if count == 1 < len(ranked):
            method = ""
        first, counts = time, [count]
        if spans and spans[-1][2] == method:
            first, _, _, before = spans.pop()
            counts = [*before, count]
        spans.append((first, time, method, counts))
    if not spans:
        return ""
    said = []
    for at, (first, last, method, counts) in enumerate(spans):
        when = f"within {_words(first)}"
        if at == len(spans) - 1:
            when = f"from {_words(first)} on"
        elif last > first:
            when = f"up to {_words(last)}" if at == 0 else f"from {_words(first)}"
        said.append(f"{when} {_leader(method, counts, len(ranked))}")
    return (
        "The lowest expected test regret for the training time one has, restarts included: "
        f"{'; '.join(said)}."
    )


def _leader(method: str, counts: Sequence[int], settings: int) -> str:
    """Name the method that leads, and in how many settings."""
    if not method:
        return "another method in each setting"
    if settings == 1:
        return style(method).label
    found = " to ".join(dict.fromkeys(f"{end}" for end in (min(counts), max(counts))))
    return f"{style(method).label} in {found} of {plural(settings, 'setting')}"


def _times(comparisons: Sequence[Comparison]) -> list[float]:
    """Return the budgets at which some setting has another choice than at the one before."""
    kept: list[float] = []
    last: list[Choice | None] = []
    for time in budgets(comparisons):
        found = [best_for(each, time) for each in comparisons]
        if found != last:
            kept.append(time)
        last = found
    return kept


def _cell(choice: Choice | None) -> Cell:
    if choice is None:
        return NOTHING
    times = f", best\u00a0of\u00a0{choice.r}" if choice.r > 1 else ""
    words = f"{style(choice.result.method).label}{times}: {percent(choice.regret)}"
    return Cell(words, choice.regret)


def _start(board: Board) -> Cell:
    if not board.starts:
        return NOTHING
    starts = sorted(board.starts, key=lambda start: start.seconds)
    words = [f"{start.name}{percent(start.regret)} in {seconds(start.seconds)}" for start in starts]
    return Cell(listing(words), starts[0].seconds, "muted")


def _words(time: float) -> str:
    return short_seconds(time)

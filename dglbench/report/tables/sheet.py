"""A table of the report before it is rendered: columns, cells, notes.

One `Sheet` is printed, shown on the page, and written as Markdown, CSV and LaTeX, so
these cannot disagree. A cell has the text that people read and the value that is
written to files and used for sorting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dglbench.report.loading import Unit
from dglbench.report.style.titles import title
from dglbench.words import percent

__all__ = [
    "METHOD",
    "NOTHING",
    "SETTING",
    "Cell",
    "Column",
    "Sheet",
    "Tone",
    "count",
    "mark_best",
    "points",
    "setting_cell",
    "share",
    "text",
    "with_interval",
]

Tone = Literal["", "best", "near", "muted", "bad"]
Value = float | int | str | None


@dataclass(frozen=True)
class Cell:
    """What is shown, and what it stands for."""

    text: str
    value: Value = None
    """None where there is nothing to compare: such cells sort last and are empty in CSV."""
    tone: Tone = ""


@dataclass(frozen=True)
class Column:
    """A column: its key in files, its heading, what it means."""

    key: str
    title: str
    help: str
    numeric: bool = False
    files_only: bool = False
    """True for the parts of a cell that people read as one, such as an interval's ends."""


@dataclass(frozen=True)
class Sheet:
    """A table; with ``by`` it is shown as one block for each value of that column."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    by: str | None = None
    lead: tuple[str, ...] = ()
    """What is to be read before the rows."""

    @property
    def shown(self) -> list[int]:
        """Positions of the columns that people see within a block."""
        return [
            position
            for position, column in enumerate(self.columns)
            if not column.files_only and column.key != self.by
        ]

    def blocks(self) -> Iterator[tuple[str, list[tuple[Cell, ...]]]]:
        """Yield each block's heading and its rows, in order of first appearance."""
        if self.by is None:
            yield "", list(self.rows)
            return
        at = [column.key for column in self.columns].index(self.by)
        blocks: dict[str, list[tuple[Cell, ...]]] = {}
        for row in self.rows:
            blocks.setdefault(row[at].text, []).append(row)
        yield from blocks.items()

    def records(self) -> list[dict[str, Value]]:
        """Return the rows as plain values by column key."""
        keys = [column.key for column in self.columns]
        return [{key: cell.value for key, cell in zip(keys, row, strict=True)} for row in self.rows]


NOTHING = Cell("—", None, "muted")
SETTING = Column("setting", "setting", "task, size and what else distinguishes it")
METHOD = Column("method", "method", "the method")


def text(value: object, tone: Tone = "") -> Cell:
    """A cell that reads as it is."""
    words = "" if value is None else str(value)
    return Cell(words, words or None, tone)


def count(value: int | None) -> Cell:
    """A whole number, thousands apart."""
    return NOTHING if value is None else Cell(f"{value:,}", value)


def share(value: float) -> Cell:
    """A regret as per cent."""
    return Cell(percent(value), value) if math.isfinite(value) else NOTHING


def points(value: float) -> Cell:
    """A difference of regrets in percentage points, with its sign."""
    return Cell(f"{100 * value:+.2f}".replace("-", "−"), 100 * value)


def with_interval(
    value: float, interval: tuple[float, float] | None, tone: Tone = "", mark: str = ""
) -> tuple[Cell, Cell, Cell]:
    """A regret with its interval in brackets, and the ends as two cells for files."""
    words = percent(value)
    if interval is not None:
        words += f" ({100 * interval[0]:.2f}–{100 * interval[1]:.2f})".replace("-", "−")
    low, high = interval or (None, None)
    return Cell(words + mark, value, tone), Cell("", low), Cell("", high)


def setting_cell(unit: Unit) -> Cell:
    """A cell that shows the words and keeps the exact label for files."""
    return Cell(title(unit), unit.label)


def mark_best(
    rows: Sequence[tuple[Cell, ...]], pick: Callable[[list[float]], float], columns: range
) -> list[tuple[Cell, ...]]:
    """Mark the best cell of each of the columns."""
    table = [list(row) for row in rows]
    for at in columns:
        values = [value for row in rows if isinstance(value := row[at].value, float)]
        best = pick(values) if values else None
        for row in table:
            if best is not None and row[at].value == best:
                row[at] = Cell(row[at].text, row[at].value, "best")
    return [tuple(row) for row in table]

"""What all verbs share to speak to the user: results on stdout, all else on stderr."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.text import Text

from dglbench.words import rough_seconds

__all__ = [
    "Tracker",
    "be_quiet",
    "err",
    "error",
    "note",
    "out",
    "print_json",
    "print_table",
    "progress",
    "quiet",
    "warn",
]

# Without a terminal Rich assumes 80 columns and cuts tables to fit; a file or a
# pipe has no edge.
_PIPE_WIDTH = 160


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPE_WIDTH
    return console


out = _console(stderr=False)
"""Results."""
err = _console(stderr=True)
"""Progress, notes, warnings and errors."""


class _Voice:
    quiet = False


def be_quiet(wanted: bool) -> None:
    """Leave out notes and progress from now on, or say them again."""
    _Voice.quiet = wanted


def quiet() -> bool:
    """Say whether notes and progress are left out."""
    return _Voice.quiet


def error(sentence: str) -> None:
    """Tell what went wrong, in one line."""
    _line("error: ", "bold red", sentence)


def warn(sentence: str) -> None:
    """Tell what the user should know but need not act on."""
    _line("warning: ", "yellow", sentence)


def note(sentence: str) -> None:
    """Tell what is happening, unless that was not wanted."""
    if not _Voice.quiet:
        _line("", "", sentence)


def _line(mark: str, style: str, sentence: str) -> None:
    # What is no text (bytes of a file name that are no UTF-8) is written as its code.
    sentence = sentence.encode("utf-8", "backslashreplace").decode()
    err.print(Text.assemble((mark, style), " ".join(sentence.split())), soft_wrap=True)


def print_json(document: Any) -> None:
    """Print one JSON document on stdout; numbers that JSON cannot hold become null."""
    text = json.dumps(_plain(document), indent=2, ensure_ascii=False)
    out.file.write(text.encode("utf-8", "backslashreplace").decode() + "\n")
    out.file.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):  # a numpy number or array
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str | None = None,
    caption: str | None = None,
    right: Collection[str] = (),
) -> None:
    """Print a table on stdout; the columns named in ``right`` hold numbers."""
    from rich import box
    from rich.table import Table

    table = Table(caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)
    table.caption_style, table.caption_justify = "dim", "left"
    for name in columns:
        table.add_column(Text(name), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    if title is not None:  # on its own: Rich would wrap it to the width of the table
        out.print(Text(title, "bold"))
    out.print(table)


class Tracker(Protocol):
    """What the work reports to while it goes on."""

    def advance(self, amount: float = 1) -> None:
        """Count work done."""

    def describe(self, text: str) -> None:
        """Say what is being done now."""


@contextmanager
def progress(title: str, total: float, *, every_s: float = 10.0) -> Iterator[Tracker]:
    """Show how far the work is: a bar on a terminal, else a plain line every ``every_s`` seconds.

    Notes and warnings printed meanwhile appear above the bar.
    """
    if _Voice.quiet or not err.is_terminal:
        yield _ProgressLines(title, total, every_s)
        return
    from rich import progress as rich_progress

    with rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left"),
        rich_progress.TimeRemainingColumn(),
        console=err,
        transient=True,
    ) as bar:
        yield _Bar(bar, bar.add_task(title, total=total))


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def advance(self, amount: float = 1) -> None:
        self._bar.advance(self._task, amount)

    def describe(self, text: str) -> None:
        self._bar.update(self._task, description=text)


class _ProgressLines:
    """The same news for a log file: seldom, and only if there is some."""

    def __init__(
        self,
        title: str,
        total: float,
        every_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title, self._total, self._every_s, self._clock = title, total, every_s, clock
        self._done = 0.0
        self._start = self._last = clock()

    def advance(self, amount: float = 1) -> None:
        self._done += amount
        now = self._clock()
        if now - self._last < self._every_s or not 0 < self._done < self._total:
            return
        self._last = now
        left = (now - self._start) * (self._total - self._done) / self._done
        note(
            f"{self._title}: {self._done:g} of {self._total:g} "
            f"({self._done / self._total:.0%}), about {rough_seconds(left)} left"
        )

    def describe(self, text: str) -> None:
        self._title = text

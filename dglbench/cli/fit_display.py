"""A fit while it runs: a live display on a terminal, else plain lines; and its verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dglbench.cli import console

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dglbench.fitting.execute import Fitted
    from dglbench.fitting.progress import Progress, Show

__all__ = ["show_verdict", "showing"]


@contextmanager
def showing(*, quiet: bool) -> Iterator[Show]:
    """Show a fit while it runs: live on a terminal, else in plain lines."""
    if quiet or console.quiet():
        yield _Silent()
    elif console.err.is_terminal:
        from rich.live import Live

        display = _Live()
        with Live(
            get_renderable=display.render,
            console=console.err,
            transient=True,
            refresh_per_second=4,
        ):
            yield display
    else:
        from dglbench.fitting.progress import Lines

        yield Lines(console.note)


class _Silent:
    """Says only what cannot wait."""

    def tell(self, sentence: str) -> None:
        console.note(sentence)

    def better(self, sentence: str) -> None:
        pass

    def update(self, progress: Progress) -> None:
        pass


class _Live(_Silent):
    """Time or runs as a bar, the best of each side, and what runs; changes stay above."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._at = time.monotonic()

    def better(self, sentence: str) -> None:
        console.note(sentence)

    def update(self, progress: Progress) -> None:
        self._progress, self._at = progress, time.monotonic()

    def render(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        from dglbench.fitting.progress import configuration
        from dglbench.runs.selection import validation_regret
        from dglbench.words import percent, rough_seconds

        progress = self._progress
        if progress is None:
            return Text("")
        used = progress.seconds + time.monotonic() - self._at
        head = Table.grid(padding=(0, 1))
        if progress.of_runs:
            bar = ProgressBar(total=progress.of_runs, completed=progress.runs, width=30)
            head.add_row(bar, f"{progress.runs}/{progress.of_runs} runs", rough_seconds(used))
        else:
            granted = progress.of_seconds or 1.0
            bar = ProgressBar(total=granted, completed=min(used, granted), width=30)
            shown = f"{rough_seconds(used)} of {rough_seconds(granted)}"
            head.add_row(bar, shown, f"{progress.runs} runs")
        body = Table.grid(padding=(0, 2))
        for side, record in progress.best.items():
            regret = percent(validation_regret(record))
            body.add_row(f"  best {side}", regret, configuration(record.identity))
        for what in progress.running:
            body.add_row("  running", "", Text(what, "dim"))
        grid = Table.grid()
        grid.add_row(head)
        grid.add_row(body)
        return grid


def show_verdict(fitted: Fitted, out: Path, *, as_json: bool) -> None:
    """Print the verdict."""
    from dglbench.fitting.files import next_steps

    verdict = fitted.verdict
    if as_json:
        console.print_json(verdict.document())
        return
    console.out.print()
    for sentence in verdict.sentences():
        console.out.print(sentence, markup=False, highlight=False)
    console.out.print()
    console.note(f"written: {', '.join(map(str, fitted.files))}")
    console.note(next_steps(out, verdict))

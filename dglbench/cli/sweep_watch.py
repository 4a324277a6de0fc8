"""A sweep while it runs: a live display on a terminal, else plain lines."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

from dglbench.cli import console
from dglbench.words import rough_seconds

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dglbench.runs.record import RunRecord
    from dglbench.sweep.jobs import Job, Listener, News
    from dglbench.training.spec import RunSpec

__all__ = ["watching"]

_LINE_EVERY_S = 10.0


@contextmanager
def watching(*, quiet: bool) -> Iterator[Listener]:
    """Show a sweep while it runs: live on a terminal, else in plain lines."""
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
        yield _Lines()


class _Silent:
    """Says only what cannot wait."""

    def __init__(self) -> None:
        self.total = 0
        self.counts: Counter[str] = Counter()
        self.left_s: float | None = None

    def begin(self, total: int, left_s: float | None) -> None:
        self.total, self.left_s = total, left_s

    def started(self, job: Job) -> None:
        pass

    def news(self, key: str, news: News) -> None:
        pass

    def ended(self, spec: RunSpec, state: str, record: RunRecord) -> None:
        self.counts[state] += 1

    def left(self, seconds: float | None) -> None:
        self.left_s = seconds

    def tell(self, sentence: str) -> None:
        console.note(sentence)

    def _summary(self) -> str:
        ended = sum(self.counts.values())
        parts = "".join(f", {count} {state}" for state, count in sorted(self.counts.items()))
        left = f", about {rough_seconds(self.left_s)} left" if self.left_s else ""
        return f"{ended} of {self.total} runs{parts}{left}"


class _Lines(_Silent):
    """A line for every run, and now and then one for how far the running ones are."""

    def __init__(self) -> None:
        super().__init__()
        self._last = time.monotonic()
        self._told_skipped = False

    def left(self, seconds: float | None) -> None:
        super().left(seconds)
        if not self._told_skipped:
            self._told_skipped = True
            if self.counts["skipped"]:
                console.note(self._summary())

    def news(self, key: str, news: News) -> None:
        if time.monotonic() - self._last >= _LINE_EVERY_S:
            self._last = time.monotonic()
            console.note(f"{key}: {news.words}")

    def ended(self, spec: RunSpec, state: str, record: RunRecord) -> None:
        super().ended(spec, state, record)
        if state == "skipped":
            return
        self._last = time.monotonic()
        result = str(record.status.message)
        if record.selected and record.summary:
            val = record.selected.val
            regret = f"validation regret {val.relative_regret:.4f}, " if val else ""
            result = f"{regret}{record.summary.train_s:.2f} s of training"
        console.note(f"{spec.run_id} {state}: {result} ({self._summary()})")


class _Live(_Silent):
    """A bar for all, a line for each that runs."""

    def __init__(self) -> None:
        super().__init__()
        self._running: dict[str, tuple[Job, News | None]] = {}
        self._told_at = time.monotonic()

    def started(self, job: Job) -> None:
        self._running = {**self._running, job.key: (job, None)}

    def news(self, key: str, news: News) -> None:
        if key in self._running:
            self._running[key] = (self._running[key][0], news)
        else:
            self._running = dict(self._running)

    def ended(self, spec: RunSpec, state: str, record: RunRecord) -> None:
        super().ended(spec, state, record)
        self._running = {
            key: value
            for key, value in self._running.items()
            if key != spec.run_id and not value[0].is_warm_start
        }
        if state not in ("done", "skipped"):
            console.warn(f"{spec.run_id} ended as {state}: {record.status.message}")

    def left(self, seconds: float | None) -> None:
        super().left(seconds)
        self._told_at = time.monotonic()

    def render(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        ended = sum(self.counts.values())
        head = Table.grid(padding=(0, 1))
        failed = sum(self.counts[state] for state in ("failed", "timeout", "diverged"))
        counts = Text.assemble(
            f"{self.counts['done']} done",
            (f", {failed} failed", "red" if failed else ""),
            f", {self.counts['skipped']} skipped",
        )
        left = ""
        if self.left_s is not None and ended < self.total:
            passed = time.monotonic() - self._told_at
            left = f"about {rough_seconds(max(self.left_s - passed, 0.0))} left"
        bar = ProgressBar(total=max(self.total, 1), completed=ended, width=30)
        head.add_row(bar, f"{ended}/{self.total}", counts, left)
        body = Table.grid(padding=(0, 2))
        for job, news in self._running.values():
            what = "warm start" if job.is_warm_start else job.spec.method
            progress = news.words if news else ""
            body.add_row(f"  {job.spec.data.full_name} seed {job.spec.data.seed}", what, progress)
        grid = Table.grid()
        grid.add_row(head)
        grid.add_row(body)
        return grid

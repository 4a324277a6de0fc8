"""Progress bars for Python callers, in a terminal or a notebook.

A notebook without ipywidgets shows no bars: there lines are printed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from dglbench.fitting.progress import Progress as FitProgress
    from dglbench.fitting.progress import Show
    from dglbench.training.train import Progress

__all__ = ["Told", "fit_bar", "run_bar", "sweep_bar"]


@contextmanager
def run_bar(title: str) -> Iterator[Callable[[Progress], None]]:
    """Show the epochs of one run and its lowest validation regret so far."""
    bars = _bars()
    if not _can_show(bars):
        yield _epoch_lines(title)
        return
    with bars:
        row = bars.add_task(title, total=None, note="")

        def watch(progress: Progress) -> None:
            before = progress.lead_in
            done = before + progress.epoch + (progress.epoch < 0)
            best = progress.best_val_regret
            note = "" if best is None else f"validation regret {best:.4f}"
            bars.update(row, total=before + progress.epochs, completed=done, note=note)

        yield watch


@contextmanager
def sweep_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show how many runs of a sweep have ended; call with done, total and the last one."""
    bars = _bars()
    if not _can_show(bars):
        yield lambda done, total, last: print(f"{done} of {total} runs: {last}")
        return
    with bars:
        row = bars.add_task("runs", total=None, note="")

        def show(done: int, total: int, last: str) -> None:
            bars.update(row, total=total, completed=done, note=last)

        yield show


@contextmanager
def fit_bar(tell: Callable[[str], None] | None = None) -> Iterator[Show]:
    """Show the time or the runs of a fit, and the best of each side so far; ``tell`` gets lines."""
    bars = _bars()
    if not _can_show(bars):
        from dglbench.fitting.progress import Lines

        yield Lines(tell or print)
        return
    with bars:
        yield _FitBar(bars, tell)


class Told:
    """Passes on what a fit has to say, and shows nothing."""

    def __init__(self, tell: Callable[[str], None] | None) -> None:
        self._tell = tell

    def tell(self, sentence: str) -> None:
        """Pass it on."""
        if self._tell:
            self._tell(sentence)

    def better(self, sentence: str) -> None:
        """Pass it on."""
        self.tell(sentence)

    def update(self, progress: FitProgress) -> None:
        """How far it is is not passed on."""


class _FitBar(Told):
    def __init__(self, bars: Bars, tell: Callable[[str], None] | None) -> None:
        super().__init__(tell)
        self._bars = bars
        self._row = bars.add_task("fit", total=None, note="")

    def update(self, progress: FitProgress) -> None:
        done = progress.runs if progress.of_runs else round(progress.seconds)
        total = progress.of_runs or round(progress.of_seconds or 0)
        self._bars.update(self._row, total=total, completed=min(done, total), note=progress.words)


def _epoch_lines(title: str) -> Callable[[Progress], None]:
    """Print a line whenever another tenth of the epochs has ended."""
    tenths = 0

    def watch(progress: Progress) -> None:
        nonlocal tenths
        now = 10 * max(progress.epoch, 0) // max(progress.epochs, 1)
        if now > tenths:
            tenths, best = now, progress.best_val_regret
            note = "" if best is None else f", validation regret {best:.4f}"
            print(f"{title}: epoch {progress.epoch} of {progress.epochs}{note}")

    return watch


def _can_show(bars: Bars) -> bool:
    return not bars.console.is_jupyter or importlib.util.find_spec("ipywidgets") is not None


def _bars() -> Bars:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )

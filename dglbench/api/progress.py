"""Progress bars for Python callers, in a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from dglbench.fitting.progress import Progress as FitProgress
    from dglbench.training.train import Progress

__all__ = ["fit_bar", "run_bar", "sweep_bar"]


@contextmanager
def run_bar(title: str) -> Iterator[Callable[[Progress], None]]:
    """Show the epochs of one run and its lowest validation regret so far."""
    with _bars() as bars:
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
    with _bars() as bars:
        row = bars.add_task("runs", total=None, note="")

        def show(done: int, total: int, last: str) -> None:
            bars.update(row, total=total, completed=done, note=last)

        yield show


@contextmanager
def fit_bar() -> Iterator[Callable[[FitProgress], None]]:
    """Show the time or the runs of a fit, and the best of each side so far."""
    with _bars() as bars:
        row = bars.add_task("fit", total=None, note="")

        def show(progress: FitProgress) -> None:
            done = progress.runs if progress.of_runs else round(progress.seconds)
            total = progress.of_runs or round(progress.of_seconds or 0)
            bars.update(row, total=total, completed=min(done, total), note=progress.words)

        yield show


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

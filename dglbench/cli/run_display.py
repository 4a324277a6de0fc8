"""A run on the screen: live while it trains, as tables when it is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dglbench.cli import console
from dglbench.clock import PHASES, PURPOSES
from dglbench.errors import RunError
from dglbench.runs import provenance
from dglbench.runs.record import Summary
from dglbench.runs.store import read_record
from dglbench.words import rough_seconds

if TYPE_CHECKING:
    from rich.table import Table

    from dglbench.training.train import Progress

__all__ = ["live_run", "show_run"]

_LINE_EVERY_S = 5.0


@contextmanager
def live_run(*, quiet: bool, threads: int = 1) -> Iterator[Callable[[Progress], None] | None]:
    """Show a run as it trains: a live table on a terminal, else a line every few seconds."""
    if quiet or console.quiet():
        yield None
    elif console.err.is_terminal:
        from rich.live import Live

        with Live(console=console.err, transient=True, refresh_per_second=8) as live:
            yield _busy_teller(lambda progress: live.update(_live_table(progress)), threads)
    else:
        yield _busy_teller(_line_watcher(), threads)


def show_run(folder: Path, *, as_json: bool, existed: bool = False) -> str:
    """Print a finished run and return its state."""
    try:
        record, phases = read_record(folder), _phase_seconds(folder / "timing.parquet")
    except (RunError, OSError, ValueError) as error:
        raise RunError(f"{folder} is damaged ({error}); --force redoes the run.") from error
    if as_json:
        document = {"run": str(folder), "existed": existed, **record.document()}
        console.print_json({**document, "seconds_by_phase": phases})
        return record.state
    identity, summary = record.identity, record.summary
    chosen = ", ".join(f"{key} {value}" for key, value in identity.options.items())
    counts = "last epoch" if identity.protocol.choose == "last" else "selected epoch"
    console.print_table(
        ["", counts, "start"],
        _outcome_rows(summary),
        title=f"{identity.method} on {identity.setting}, seed {identity.seed} ({chosen}; "
        f"solver {identity.solver})",
        caption=_caption(summary),
        right=(counts, "start"),
    )
    console.print_table(
        ["training seconds", *PHASES, "total"],
        [["", *(f"{phases[name]:.3f}" for name in PHASES), f"{sum(phases.values()):.3f}"]],
        right=(*PHASES, "total"),
    )
    solves = summary.solves if summary else {}
    console.print_table(
        ["instances solved", *PURPOSES],
        [["", *(f"{solves.get(name, 0):,}" for name in PURPOSES)]],
        right=PURPOSES,
    )
    if summary and summary.outside_s is not None:
        every = identity.protocol.evaluate_every or 1
        console.note(
            f"outside training: {summary.outside_s:.2f} s of {record.status.wall_s:.2f} s, judged "
            f"every {every} epochs"
            + (
                f"; peak memory {summary.peak_memory_mb:,.0f} MB"
                if summary.peak_memory_mb is not None
                else ""
            )
        )
    for remark in summary.remarks if summary else ():
        console.note(remark)
    for name, value in record.notes.items():
        console.note(f"{name.replace('_', ' ')}: {value}")
    if record.state != "done":
        console.warn(f"the run ended as {record.state}: {record.status.message}")
    console.note(f"logs: {folder}")
    return record.state


def _phase_seconds(file: Path) -> dict[str, float]:
    import pyarrow.parquet as pq

    if not file.is_file():
        return dict.fromkeys(PHASES, 0.0)
    table = pq.read_table(file)
    return {name: float(sum(table[f"{name}_s"].to_pylist())) for name in PHASES}


def _outcome_rows(summary: Summary | None) -> list[list[Any]]:
    if summary is None or summary.selected is None:
        return [["test relative regret", "–", "–"]]
    selected, warm = summary.selected, summary.warm_start
    test, val = selected.test, selected.val
    low, high = test.relative_regret_ci or (math.nan, math.nan)
    return [
        [
            Text("test relative regret", "bold"),
            Text(f"{test.relative_regret:.4f}  (95 %: {low:.4f} – {high:.4f})", "bold"),
            _figure(warm.test_relative_regret if warm else None),
        ],
        [
            "validation relative regret",
            _figure(val.relative_regret) if val else "no validation instances",
            _figure(warm.val_relative_regret if warm else None),
        ],
        ["test pooled regret", f"{test.pooled_regret:.4f}", ""],
        ["test MSE", f"{test.mse:.4g}", ""],
        ["epoch", f"{selected.epoch} of {summary.epochs_run}", "0"],
        ["training seconds by then", f"{selected.elapsed_s:.3f}", ""],
    ]


def _caption(summary: Summary | None) -> str:
    warm = summary.warm_start if summary else None
    if warm is None:
        return "start: random initial weights"
    return f"start: the two-stage warm start ({warm.epochs} epochs, {warm.seconds:.2f} s, apart)"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _live_table(progress: Progress) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_row(
        progress.where,
        f"loss {progress.loss:.5g}",
        progress.regret_words,
        f"about {rough_seconds(progress.left_s)} left",
    )
    seconds = "  ".join(f"{name} {progress.phases[name]:.2f}" for name in PHASES)
    solves = "  ".join(f"{name} {count:,}" for name, count in progress.solves.items() if count)
    grid = Table.grid()
    grid.add_row(table)
    grid.add_row(Text(f"seconds  {seconds}", "dim"))
    grid.add_row(Text(f"solved  {solves}", "dim"))
    return grid


def _busy_teller(watch: Callable[[Progress], None], threads: int) -> Callable[[Progress], None]:
    """Say once, as soon as seconds are being measured, that others use the machine too."""
    said = False

    def tell(progress: Progress) -> None:
        nonlocal said
        sentence = None if said else provenance.busy(provenance.current_load(), threads)
        said = True
        if sentence:
            console.warn(sentence)
        watch(progress)

    return tell


def _line_watcher() -> Callable[[Progress], None]:
    last = time.monotonic()

    def watch(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _LINE_EVERY_S and progress.epoch < progress.epochs:
            return
        last = now
        console.note(
            f"{progress.where}: loss {progress.loss:.5g}, "
            + (f"{progress.regret_words}, " if progress.regret_words else "")
            + f"{progress.elapsed_s:.2f} s of training, about {rough_seconds(progress.left_s)} left"
        )

    return watch

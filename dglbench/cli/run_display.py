"""A run on the screen: live while it trains, as tables when it is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dglbench.cli import console
from dglbench.clock import PHASES, PURPOSES
from dglbench.errors import RunError
from dglbench.runs import provenance
from dglbench.runs.record import RunRecord, Summary
from dglbench.runs.selection import best_record
from dglbench.runs.store import read_record
from dglbench.words import rough_seconds

if TYPE_CHECKING:
    from rich.table import Table

    from dglbench.training.run import RunPlace
    from dglbench.training.train import Progress

__all__ = ["live_run", "show_repeats", "show_run"]

_LINE_EVERY_S = 5.0
_REPEAT_FIGURES = ("validation", "test", "selected epoch", "training seconds")


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
    record, phases = _read(folder)
    if as_json:
        console.print_json(_document(folder, existed))
        return record.state
    identity, summary = record.identity, record.summary
    chosen = ", ".join(f"{key} {value}" for key, value in identity.options.items())
    fitted = identity.has_own_predictor
    counts = "last epoch" if identity.protocol.choose == "last" else "selected epoch"
    counts = "fitted" if fitted else counts
    rows = _outcome_rows(summary)
    console.print_table(
        ["", counts, *([] if fitted else ["start"])],
        [row[:2] for row in rows if row[0] != "epoch"] if fitted else rows,
        title=f"{identity.method} on {identity.setting}, seed {identity.seed} ({chosen}; "
        + ("" if fitted else f"predictor {identity.predictor}; ")
        + f"solver {identity.solver})",
        caption="fitted at once: no epochs, evaluated once" if fitted else _caption(summary),
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


def show_repeats(made: Sequence[RunPlace], *, as_json: bool) -> list[str]:
    """Print a line per repeat, then the best by validation; return their states."""
    if as_json:
        documents = [_document(place.folder, place.existed) for place in made]
        console.print_json({"runs": documents})
        return [document["status"]["state"] for document in documents]
    records = [_read(place.folder)[0] for place in made]
    best = best_record(records)
    results = [record.selected for record in records]
    tests = sorted(s.test.relative_regret for s in results if s is not None)
    first = records[0].identity
    console.print_table(
        ["repeat", "state", *_REPEAT_FIGURES],
        [_repeat_row(record, record is best) for record in records],
        title=f"{first.method} on {first.setting}, seed {first.seed}: "
        f"relative regret of {len(records)} repeats",
        caption=f"test: mean {fmean(tests):.4f}, from {tests[0]:.4f} to {tests[-1]:.4f}"
        if tests
        else None,
        right=("repeat", *_REPEAT_FIGURES),
    )
    if best is None:
        for record in records:
            console.warn(f"{record.run_id} ended as {record.state}: {record.status.message}")
        return [record.state for record in records]
    chosen = f"repeat {best.identity.train_seed}"
    by_regret = best.selected is not None and best.selected.val is not None
    console.note(
        f"the best by validation is {chosen}:"
        if by_regret
        else f"no validation instances to choose by; this is {chosen}:"
    )
    show_run(next(p.folder for p in made if p.folder.name == best.run_id), as_json=False)
    return [record.state for record in records]


def _repeat_row(record: RunRecord, is_best: bool) -> list[Any]:
    selected, summary = record.selected, record.summary
    style = "bold" if is_best else ""
    figures = ["–"] * len(_REPEAT_FIGURES)
    if selected is not None and summary is not None:
        figures = [
            _figure(selected.val.relative_regret) if selected.val else "–",
            f"{selected.test.relative_regret:.4f}",
            f"{selected.epoch} of {summary.epochs_run}",
            f"{summary.train_s:.3f}",
        ]
    return [Text(str(cell), style) for cell in (record.identity.train_seed, record.state, *figures)]


def _read(folder: Path) -> tuple[RunRecord, dict[str, float]]:
    """Return a run's record and its seconds by phase."""
    try:
        return read_record(folder), _phase_seconds(folder / "timing.parquet")
    except (RunError, OSError, ValueError) as error:
        raise RunError(f"{folder} is damaged ({error}); --force redoes the run.") from error


def _document(folder: Path, existed: bool) -> dict[str, Any]:
    record, phases = _read(folder)
    document = {"run": str(folder), "existed": existed, **record.document()}
    return {**document, "seconds_by_phase": phases}


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

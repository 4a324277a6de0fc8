"""``dglbench fit``: from arrays to a model and a verdict, in one command."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from dglbench.cli import console

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench fit mine.npz --minutes 5",
    "dglbench fit shifts --minimise --split time --jobs 4 --out shifts-model",
    "dglbench fit matching-50 --runs 60",
)
_DATA = "Your data"
_HOW = "How it runs"


def run(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="An .npz file, a folder of .npy files, a Parquet table, several of them, a "
            "dataset file, or a bundled setting such as matching-50.",
            show_default=False,
        ),
    ],
    minutes: Annotated[
        float | None, typer.Option(help="The time it may take, at most.  [default: 5]")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="How many runs to make instead: the same data then give the same model, whatever "
            "--jobs.  [default: what the time allows]"
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="random|time",
            help="Without a split array, 70 % train, 15 % choose and 15 % judge: at random, or in "
            "the order of the instances.  [default: random]",
            rich_help_panel=_DATA,
        ),
    ] = None,
    minimise: Annotated[
        bool,
        typer.Option(
            "--minimise",
            "--minimize",
            help="Labels are costs: less is better.",
            rich_help_panel=_DATA,
        ),
    ] = False,
    read: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARRAY=READING",
            help="Which of two readings is meant, such as features=per-item.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    allow_none: Annotated[
        bool,
        typer.Option(
            "--allow-none",
            help="Give groups without any option one that uses nothing and is worth 0.",
            rich_help_panel=_DATA,
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What to call the data.  [default: the file]",
            rich_help_panel=_DATA,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Data seed of a bundled setting.  [default: 25]",
            rich_help_panel=_DATA,
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="Solver family.  [default: batched where it fits, else ortools]",
            rich_help_panel=_HOW,
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(min=1, help="Runs at the same time, on this machine.", rich_help_panel=_HOW),
    ] = 1,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task or solver from this .py file; repeat for several.",
            show_default=False,
            rich_help_panel=_HOW,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Where model, verdict and runs go.", rich_help_panel=_HOW)
    ] = Path("fitted"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Fit the best model for the decisions, and say whether training for decisions pays.

    Least squares, boosted trees and networks trained for accuracy compete with models trained for
    decisions; validation chooses, the test judges once. The same command again goes on.
    """
    began = time.monotonic()
    from dglbench.cli.fit_display import show_verdict, showing
    from dglbench.cli.import_data import pairs
    from dglbench.fitting.execute import Ask, run_fit
    from dglbench.fitting.intake import from_sources
    from dglbench.plugin_files import load_plugins

    ask = Ask(out, minutes, runs, jobs, solver, began)
    load_plugins(plugin or [])
    given = from_sources(
        sources,
        name=name,
        read=pairs(read or []),
        split=split,
        seed=seed,
        minimise=minimise,
        allow_none=allow_none,
    )
    console.note(f"{given.words}.")
    for sentence in given.notes:
        console.note(sentence)
    with showing(quiet=json) as show:
        fitted = run_fit(given, ask, show)
    if fitted.interrupted:
        # The process is on its way out; one more Ctrl-C should not change how it ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    show_verdict(fitted, out, as_json=json)
    return 130 if fitted.interrupted else 0

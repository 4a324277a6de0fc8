"""``dglbench train``: one predictor, one method, one logged run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dglbench.cli import console
from dglbench.errors import OptionError

__all__ = ["run"]


def run(
    task: Annotated[str, typer.Argument(help="Task to train on; see dglbench list.")],
    method: Annotated[
        str, typer.Option(help="two-stage, spo, qptl, dgl-none, dgl-auto, dgl-5, …")
    ] = "dgl-1",
    n: Annotated[int | None, typer.Option(help="Size of an instance.")] = None,
    seed: Annotated[int | None, typer.Option(help="Data seed.  [default: 25]")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Task setting.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Train on this dataset file instead.")
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    tau: Annotated[float | None, typer.Option(help="DGL: temperature.")] = None,
    alpha: Annotated[float | None, typer.Option(help="DGL, QPTL: weight of the MSE.")] = None,
    mu: Annotated[float | None, typer.Option(help="QPTL: regularisation.")] = None,
    delta: Annotated[float | None, typer.Option(help="DGL-auto: tolerated slack.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Any other method option.")
    ] = None,
    solver: Annotated[
        str, typer.Option(help="Solver family: ortools, batched or a plugin's (see list).")
    ] = "ortools",
    epochs: Annotated[int | None, typer.Option(help="Passes over the data.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Instances per step.")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Evaluations without improvement before stopping.")
    ] = None,
    evaluate_every: Annotated[int | None, typer.Option(help="Epochs between evaluations.")] = None,
    warm_start: Annotated[
        bool, typer.Option(help="Start from the shared MSE-trained predictor.")
    ] = True,
    threads: Annotated[int, typer.Option(help="Threads of torch and the solvers.")] = 1,
    time_limit: Annotated[
        float | None, typer.Option(help="Stop the run after this many seconds.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where runs are written.")] = Path("results"),
    force: Annotated[bool, typer.Option("--force", help="Redo a run that exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Train one predictor with one method and write its logs.

    Hyperparameters that are not given are the paper's for the nearest size it has.
    """
    from dglbench import options
    from dglbench.cli.run_display import live_run, show_run
    from dglbench.training.run import run_once

    flags = {"lr": lr, "tau": tau, "alpha": alpha, "mu": mu, "delta": delta}
    given = {name: value for name, value in flags.items() if value is not None}
    protocol = {
        "epochs": epochs,
        "batch_size": batch_size,
        "patience": patience,
        "evaluate_every": evaluate_every,
        "warm_start": warm_start,
    }
    if data is not None and (n is not None or seed is not None or set_):
        raise OptionError("--data brings its own settings; leave out --n, --seed and --set.")
    settings: dict[str, Any] = options.parse_assignments(set_ or [])
    if n is not None and "n" in settings:
        raise OptionError("--n and --set n= are the same setting; give one of them.")
    if n is not None:
        settings["n"] = n
    with live_run(quiet=json) as watch:
        folder, existed = run_once(
            task=task,
            settings=settings,
            seed=25 if seed is None else seed,
            data_file=data,
            method=method,
            method_options={**given, **options.parse_assignments(option or [])},
            protocol=protocol,
            solver=solver,
            threads=threads,
            time_limit=time_limit,
            out=out,
            force=force,
            watch=watch,
        )
    if existed:
        console.note(f"this run exists already: {folder}; --force redoes it.")
    state = show_run(folder, as_json=json, existed=existed)
    return {"done": 0, "interrupted": 130}.get(state, 1)

"""``dglbench train``: one predictor, one method, one logged run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dglbench.cli import console
from dglbench.errors import OptionError

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench train matching-50 --method dgl-5 --seed 25",
    "dglbench train knapsack-48 --method spo --set source=semo --lr 0.1",
)
_PAPER = "[default: the paper's for the nearest size]"
_TASKS = "[default: the task's]"


def run(
    task: Annotated[
        str | None,
        typer.Argument(
            help="Task or setting, such as matching or matching-50; see dglbench list.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="two-stage, spo, qptl, dgl-none, dgl-auto, dgl-5, …  [default: dgl-1]"),
    ] = None,
    lead_in: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD:EPOCHS",
            help="Train with this method first, such as dgl-none:5 or dgl-none:5,tau=0.5.  "
            "[default: none]",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Run again what this run was; options given beside it win.  [default: none]",
            show_default=False,
        ),
    ] = None,
    n: Annotated[int | None, typer.Option(help=f"Size of an instance.  {_TASKS}")] = None,
    seed: Annotated[int | None, typer.Option(help="Data seed.  [default: 25]")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help=f"Task setting; repeat.  {_TASKS}"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Train on this dataset file.  [default: generate it]"),
    ] = None,
    lr: Annotated[float | None, typer.Option(help=f"Learning rate.  {_PAPER}")] = None,
    tau: Annotated[float | None, typer.Option(help=f"DGL: temperature.  {_PAPER}")] = None,
    alpha: Annotated[
        float | None, typer.Option(help=f"DGL, QPTL: weight of the MSE.  {_PAPER}")
    ] = None,
    mu: Annotated[
        float | None, typer.Option(help="QPTL: regularisation.  [default: the method's]")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="DGL-auto: tolerated slack.  [default: the method's]")
    ] = None,
    train_seed: Annotated[
        int | None, typer.Option(help="Seed of initial weights and batches.  [default: 0]")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Any other method option.  [default: the method's]"),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="Solver family: ortools, batched, pdlp or a plugin's (see list).  "
            "[default: ortools]"
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help=f"Passes over the data.  {_TASKS}")] = None,
    batch_size: Annotated[int | None, typer.Option(help=f"Instances per step.  {_TASKS}")] = None,
    patience: Annotated[
        int | None,
        typer.Option(help="Evaluations without improvement before stopping.  [default: none]"),
    ] = None,
    evaluate_every: Annotated[
        int | None, typer.Option(help="Epochs between evaluations.  [default: from the sizes]")
    ] = None,
    warm_start: Annotated[
        bool | None,
        typer.Option(
            "--warm-start/--no-warm-start",
            help="Start from the shared MSE-trained predictor.  [default: warm-start]",
            show_default=False,
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="Predictor's numbers: float64 or float32.  [default: float64]"),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of torch and the solvers.  [default: 1]")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop the run after this many wall seconds.  [default: none]"),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task, method or solver from this .py file; repeat for several.",
            show_default=False,
        ),
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
    from dglbench.plugin_files import load_plugins
    from dglbench.plugins import find_method
    from dglbench.runs.store import read_record
    from dglbench.training.lead_in import parse_lead_in, with_lead_in
    from dglbench.training.run import RunRequest, run_once
    from dglbench.training.run import like as request_like

    load_plugins(plugin or [])
    flags = {"lr": lr, "tau": tau, "alpha": alpha, "mu": mu, "delta": delta}
    settings: dict[str, Any] = dict(options.parse_assignments(set_ or []))
    if n is not None and "n" in settings:
        raise OptionError("--n and --set n= are the same setting; give one of them.")
    if data is not None and (n is not None or seed is not None):
        raise OptionError("--data brings its own settings; leave out --n and --seed.")
    if like is None and task is None and data is None:
        raise OptionError(
            "name a task, such as matching, a dataset file with --data, or a run to repeat with "
            "--like."
        )
    if like is not None and task is not None:
        raise OptionError(f"--like names the task already; leave out {task}.")
    base = request_like(like) if like else RunRequest(task, "dgl-1")
    protocol = {
        "epochs": epochs,
        "batch_size": batch_size,
        "patience": patience,
        "evaluate_every": evaluate_every,
        "dtype": dtype,
        "warm_start": warm_start,
    }
    asked = method or base.method
    if lead_in is not None:
        asked = with_lead_in(asked if method else find_method(asked).own_name, lead_in)
    other_method = find_method(asked).own_name != find_method(base.method).own_name
    led = base.lead_in_options if asked == base.method else {}
    given = {**_given(flags), **options.parse_assignments(option or [])}
    request = dataclasses.replace(
        base,
        method=asked,
        # A file brings its own; of what a run had, only the predictor may be chosen anew.
        settings={**_kept(base.settings, data), **settings, **_given({"n": n})},
        seed=base.seed if seed is None else seed,
        data_file=data,
        options=given if other_method else {**base.options, **given},
        protocol={**base.protocol, **_given(protocol)},
        solver=solver or base.solver,
        threads=base.threads if threads is None else threads,
        train_seed=base.train_seed if train_seed is None else train_seed,
        time_limit=time_limit,
        lead_in_options={**led, **parse_lead_in(lead_in)},
    )
    same_data = like is not None and not (settings or n is not None or seed is not None)
    expected = read_record(like).identity if like and same_data else None
    with live_run(quiet=json, threads=request.threads) as watch:
        folder, existed = run_once(request, out, force=force, expected=expected, watch=watch)
    if existed:
        console.note(f"this run exists already: {folder}; --force redoes it.")
    state = show_run(folder, as_json=json, existed=existed)
    return {"done": 0, "interrupted": 130}.get(state, 1)


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def _kept(settings: Mapping[str, Any], data: Path | None) -> dict[str, Any]:
    from dglbench.data.imported import Own

    return {k: v for k, v in settings.items() if data is None or k in Own.open_settings}

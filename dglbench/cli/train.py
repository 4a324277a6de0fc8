"""``dglbench train``: one method on one dataset, in one logged run or several repeats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dglbench.cli import console
from dglbench.cli.protocol_flags import takes_protocol
from dglbench.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dglbench.runs.record import Identity
    from dglbench.sweep.request.request import Request
    from dglbench.training.run import RunPlace
    from dglbench.training.spec import RunSpec

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench train matching-50 --method dgl-5 --seed 25",
    "dglbench train knapsack-48 --method spo --set source=semo --lr 0.1",
    "dglbench train matching-50 --method rdgl-newton --option start=fresh --repeats 8",
)
_METHOD = "[default: the method's]"
_TASKS = "[default: the task's]"


@takes_protocol
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
    predictor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:KEY=VALUE,…",
            help="What is trained, such as mlp:hidden=16,layers=2; see dglbench list --predictors."
            "  [default: linear, or the task's own]",
        ),
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
    seed: Annotated[int | None, typer.Option(min=0, help="Data seed.  [default: 25]")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help=f"Task setting; repeat.  {_TASKS}"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Train on this dataset file.  [default: generate it]"),
    ] = None,
    lr: Annotated[float | None, typer.Option(help=f"Learning rate.  {_METHOD}")] = None,
    tau: Annotated[float | None, typer.Option(help=f"DGL: temperature.  {_METHOD}")] = None,
    alpha: Annotated[
        float | None, typer.Option(help=f"DGL, QPTL: weight of the MSE.  {_METHOD}")
    ] = None,
    mu: Annotated[
        float | None, typer.Option(help="QPTL: regularisation.  [default: the method's]")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="DGL-auto: tolerated slack.  [default: the method's]")
    ] = None,
    train_seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of initial weights and batches.  [default: 0]")
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Make N runs, with the training seeds 0 to N − 1, and show the best by validation."
            "  [default: 1]",
        ),
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
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of torch and the solvers.  [default: 1]")
    ] = None,
    diagnostics: Annotated[
        bool | None,
        typer.Option(
            "--diagnostics/--no-diagnostics",
            help="Let methods report on their duals and bounds; changes no regret.  "
            "[default: no-diagnostics]",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop the run after this many wall seconds.  [default: none]"),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task, method, predictor or solver from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where runs are written.")] = Path("results"),
    force: Annotated[bool, typer.Option("--force", help="Redo a run that exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    *,
    protocol: dict[str, Any],
) -> int:
    """Train a predictor with one method, once or repeatedly, and write its logs.

    Hyperparameters that are not given are the method's defaults, the same on every task.
    """
    from dglbench import options
    from dglbench.cli.run_display import show_repeats, show_run
    from dglbench.plugin_files import load_plugins
    from dglbench.plugins import find_method
    from dglbench.sweep import read_request
    from dglbench.sweep.request.specs import repeated_specs

    load_plugins(plugin or [])
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
    if data is not None and task is not None:
        _check_about(task, data)
    flags = {"lr": lr, "tau": tau, "alpha": alpha, "mu": mu, "delta": delta}
    known = {key: value for key, value in flags.items() if value is not None}
    base = _base(like, data)
    asked = method or (base.methods or ("dgl-1",))[0]
    if lead_in is not None and method is None:
        asked = find_method(asked).own_name
    given = {
        "tasks": None if task is None or data is not None else [task],
        "data": None if data is None else [str(data)],
        "methods": [asked],
        "predictor": predictor,
        "set": {**settings, **({} if n is None else {"n": n})},
        "seeds": None if seed is None else [seed],
        "train_seeds": None if train_seed is None else [train_seed],
        "repeats": repeats,
        "option": {asked: {**known, **options.parse_assignments(option or [])}},
        "solver": solver,
        "lead_in": lead_in,
        "threads": threads,
        "diagnostics": diagnostics,
        "time_limit": time_limit,
        **protocol,
    }
    request = read_request(given, "the command line")
    specs = repeated_specs([base, request])
    if like is not None and not (settings or n is not None or seed is not None):
        _check_same_data(like, specs[0])
    made = _make(specs, out, force=force, quiet=json, time_limit=time_limit)
    if len(specs) > 1:
        states = show_repeats(made, as_json=json)
    else:
        states = [show_run(made[0].folder, as_json=json, existed=made[0].existed)]
    if "interrupted" in states:
        return 130
    return 0 if set(states) == {"done"} else 1


def _make(
    specs: Sequence[RunSpec], out: Path, *, force: bool, quiet: bool, time_limit: float | None
) -> list[RunPlace]:
    """Make the runs that are not there, one after another; none after one that was interrupted."""
    from dglbench.cli.run_display import live_run
    from dglbench.runs.store import read_record
    from dglbench.training.run import run_to_folder

    made: list[RunPlace] = []
    with live_run(quiet=quiet, threads=specs[0].threads) as watch:
        for spec in specs:
            place = run_to_folder(spec, out, force=force, watch=watch, time_limit=time_limit)
            made.append(place)
            if place.existed:
                console.note(f"this run exists already: {place.folder}; --force redoes it.")
            elif read_record(place.folder).state == "interrupted":
                break
    return made


def _base(like: Path | None, data: Path | None) -> Request:
    """Return what holds where no flag says otherwise: a run to repeat, or the usual seed."""
    from dglbench.sweep.request.defaults import DEFAULT_SEED
    from dglbench.sweep.request.request import Request
    from dglbench.sweep.request.specs import request_like

    if like is None:
        return Request(seeds=(DEFAULT_SEED,))
    return request_like(_recorded(like), other_data=data is not None)


def _check_about(task: str, data: Path) -> None:
    """Refuse a task beside a dataset file of another one."""
    from dglbench.data.loading import read_file
    from dglbench.plugins import find_setting

    holds = read_file(data).dataset.spec
    named, size = find_setting(task)
    if named.name != holds.task or size not in ({}, {"n": holds.settings.n}):
        raise OptionError(f"{data} holds {holds.setting_name} data; leave out {task}.")


def _check_same_data(like: Path, spec: RunSpec) -> None:
    then, now = _recorded(like).data_digest, spec.data_digest
    if then != now:
        raise OptionError(
            f"that run was trained on other data (content {_short(then)}, here {_short(now)}); "
            "give its dataset file with --data."
        )


def _recorded(folder: Path) -> Identity:
    from dglbench.errors import RunError
    from dglbench.packs.sources import recorded

    try:
        return recorded(folder).identity
    except RunError as error:
        raise RunError(
            f"{folder} holds no run that can be read ({error}); give the folder of a run, such as "
            "results/matching-50-s25-dgl-5-0123456789ab, or PACK/RUN."
        ) from error


def _short(digest: str | None) -> str:
    return "by settings and seed" if digest is None else digest[:12]

"""``dglbench sweep``: many runs in one command; the same command resumes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dglbench.cli import console
from dglbench.cli.protocol_flags import takes_protocol

if TYPE_CHECKING:
    from dglbench.sweep.jobs import TlsFiles

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench sweep --preset quick --jobs 2",
    "dglbench sweep --tasks matching-50,knapsack-48 --methods two-stage,spo,dgl-5 --seeds 1-3 "
    "--plan",
)
_TASKS = "[default: the task's]"

_PROTOCOL = "Training protocol"
_HOW = "How it runs"


@takes_protocol
def run(
    methods: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Methods to compare.  [default: the preset's]"),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…", help="Settings such as matching-50.  [default: the preset's]"
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="A,B-C,…", help="Data seeds, such as 10,25 or 1-3.  [default: the paper's]"
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Dataset file to run on; repeat for several.", show_default=False
        ),
    ] = None,
    train_seeds: Annotated[
        str | None,
        typer.Option(metavar="A,B-C,…", help="Seeds of initial weights and batches.  [default: 0]"),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Repeat every run with the training seeds 0 to N − 1.  [default: 1]",
        ),
    ] = None,
    predictor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:KEY=VALUE,…",
            help="What is trained, such as mlp:hidden=16; repeat to compare several.  "
            "[default: linear, or the task's own]",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="paper: its selected hyperparameters; grid: its whole search space; "
            "quick: eight methods, small, in a minute or two; shortest-path: two-stage and SPO+ by "
            "degree; scale: matching from 10 to 10,000; when-it-pays: noise, instances and "
            "predictors; published, published-cave, published-notebook: results of others made "
            "again.  [default: paper]"
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="TOML file; options given here win over it.  [default: none]"
        ),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task, method, predictor or solver from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            help="How the search space is tried: none, full, random or optuna.  "
            "[default: the preset's]"
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            help="Configurations of each method with --search random or optuna.  [default: 20]"
        ),
    ] = None,
    tune_seeds: Annotated[
        str | None,
        typer.Option(
            metavar="A,B-C,…",
            help="Data seeds that a search spans; what it chose is for --seeds.  "
            "[default: those of --seeds]",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help=f"Task setting; task.key for one task.  {_TASKS}"
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Method option; method.key for one method.  "
            "[default: the method's; without --preset the paper's for the nearest size]",
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="Solver family: ortools, batched, pdlp or a plugin's (see list).  "
            "[default: ortools]"
        ),
    ] = None,
    lead_in: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD:EPOCHS",
            help="Train with this method first, such as dgl-none:5 or dgl-none:5,tau=0.5.  "
            "[default: none]",
            rich_help_panel=_PROTOCOL,
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Threads of torch and the solvers in a run.  [default: 1]",
            rich_help_panel=_PROTOCOL,
        ),
    ] = None,
    diagnostics: Annotated[
        bool | None,
        typer.Option(
            "--diagnostics/--no-diagnostics",
            help="Let methods report on their duals and bounds; changes no regret.  "
            "[default: no-diagnostics, but for the paper preset]",
            rich_help_panel=_PROTOCOL,
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Stop a run after this many seconds.  [default: none]", rich_help_panel=_HOW
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(min=1, help="Runs at the same time, on this machine.", rich_help_panel=_HOW),
    ] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Dask scheduler to run on.  [default: none]",
            rich_help_panel=_HOW,
        ),
    ] = None,
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Certificate authority to trust, for a tls:// scheduler.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Certificate of this client, likewise.", rich_help_panel=_HOW
        ),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Its private key, likewise.", rich_help_panel=_HOW),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who makes the runs.  [default: dask with --jobs or --scheduler, else in-process]",
            rich_help_panel=_HOW,
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Run failed runs again.", rich_help_panel=_HOW),
    ] = False,
    fail_fast: Annotated[
        bool,
        typer.Option("--fail-fast", help="Stop at the first failure.", rich_help_panel=_HOW),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what would run, and stop.", rich_help_panel=_HOW)
    ] = False,
    out: Annotated[Path, typer.Option(help="Where runs are written.", rich_help_panel=_HOW)] = Path(
        "results"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    *,
    protocol: dict[str, Any],
) -> int:
    """Run every method on every setting and seed, and choose by validation regret.

    Without options: the paper's four settings with the paper's selected
    hyperparameters. The same command again resumes; finished runs are skipped.
    """
    from dglbench.cli.sweep_display import show_outcome, show_plan
    from dglbench.cli.sweep_watch import watching
    from dglbench.sweep import nested_assignments, plan_sweep, read_request

    asked: dict[str, Any] = {
        "methods": methods,
        "tasks": tasks,
        "seeds": seeds,
        "data": [str(path) for path in data] if data else None,
        "train_seeds": train_seeds,
        "repeats": repeats,
        "predictor": predictor or None,
        "plugins": [str(path) for path in plugin] if plugin else None,
        "search": search,
        "trials": trials,
        "tune_seeds": tune_seeds,
        "solver": solver,
        "lead_in": lead_in,
        "threads": threads,
        "diagnostics": diagnostics,
        "time_limit": time_limit,
        **protocol,
        "set": nested_assignments(set_ or [], "--set"),
        "option": nested_assignments(option or [], "--option"),
    }
    tls = _tls(tls_ca, tls_cert, tls_key)
    flags = read_request(asked, "the command line")
    planned = plan_sweep(flags, preset=preset, config=config, out=out, tell=console.note)
    if plan:
        show_plan(planned, retry_failed=retry_failed, jobs=jobs, as_json=json)
        return 0
    from dglbench.sweep.execute import run_sweep

    with watching(quiet=json) as listener:
        outcome = run_sweep(
            planned,
            listener,
            executor=executor,
            jobs=jobs,
            scheduler=scheduler,
            tls=tls,
            retry_failed=retry_failed,
            fail_fast=fail_fast,
        )
    if outcome.interrupted:
        # The process is on its way out; one more Ctrl-C should not change how it ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return show_outcome(planned, outcome, as_json=json)


def _tls(ca: Path | None, cert: Path | None, key: Path | None) -> TlsFiles | None:
    from dglbench.errors import SweepError
    from dglbench.sweep.jobs import TlsFiles

    if ca is None and cert is None and key is None:
        return None
    if ca is None or cert is None or key is None:
        raise SweepError("TLS needs three files: --tls-ca, --tls-cert and --tls-key; give all.")
    return TlsFiles(ca, cert, key)

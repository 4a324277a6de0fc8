"""``dglbench pack``: finished runs as one thing to hand on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dglbench.cli import console
from dglbench.errors import OptionError

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench pack results --out mine.dglpack",
    "dglbench pack results more-results --out mine.dglpack --zip",
)


def run(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of runs, or packs; several become one.  [default: results]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(metavar="NAME.dglpack", help="Where the pack goes.", show_default=False),
    ] = Path("results.dglpack"),
    zip_: Annotated[
        bool, typer.Option("--zip", help="Write one file instead of a folder of four.")
    ] = False,
    thin: Annotated[
        bool,
        typer.Option("--thin", help="Log seconds by evaluation instead of by epoch: less room."),
    ] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite --out.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write every run of the folders, and the plans of their sweeps, as one pack.

    A pack is read wherever a folder of runs is. It holds all that runs logged but the weights,
    and a digest of every dataset, so that `dglbench verify` can check it. With --thin the seconds
    and solver calls of the epochs between two evaluations are added up.
    """
    from dglbench.packs.finding import find_runs
    from dglbench.packs.layout import SUFFIX
    from dglbench.packs.writing import pack
    from dglbench.plugin_files import load_plugins
    from dglbench.runs.out_folder import check_folder

    if out.suffix != SUFFIX:
        raise OptionError(f"--out {out} must end in {SUFFIX}.")
    if out.exists() and not force:
        raise OptionError(f"{out} exists; overwrite it with --force or choose another --out.")
    check_folder(out.parent)
    load_plugins(plugin or [])
    runs = find_runs(results or [Path("results")]).runs
    packed = pack(runs, out, archive=zip_, thin=thin, force=force)
    missing = [data for data in packed.data if data.digest is None]
    for problem in dict.fromkeys(data.problem for data in missing):
        tasks = sorted({data.task for data in missing if data.problem == problem})
        console.warn(
            f"no digest of some data of {', '.join(tasks)}: {problem} Without it, `dglbench "
            "verify` cannot say that the runs used these data."
        )
    if json:
        console.print_json(
            {
                "pack": str(packed.path),
                "runs": packed.runs,
                "bytes": packed.bytes,
                "datasets": len(packed.data),
                "without_digest": len(missing),
            }
        )
    else:
        console.out.print(
            f"{packed.runs:,} runs on {len(packed.data)} datasets in {packed.path}, "
            f"{packed.bytes / 1e6:.1f} MB; check it with: dglbench verify {packed.path}",
            highlight=False,
            markup=False,
        )

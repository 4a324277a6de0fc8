"""``dglbench unpack``: a folder of runs from packs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dglbench.cli import console

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench unpack mine.dglpack --out results",
    "dglbench unpack ref.dglpack mine.dglpack --out both",
)


def run(
    packs: Annotated[list[Path], typer.Argument(metavar="PACK…", help="Packs to unpack.")],
    out: Annotated[Path, typer.Option(help="Where the runs' folders go.")] = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a folder for each run, as a sweep leaves it but without weights.

    Runs that are in the folder already stay as they are. `dglbench sweep` goes on from there;
    `dglbench apply` needs a run's weights, so the run has to be made again.
    """
    from dglbench.packs.finding import find_runs
    from dglbench.packs.unpacking import unpack

    runs = find_runs(packs).runs
    written = unpack(runs, out)
    there = len(runs.records) - written
    if json:
        console.print_json({"out": str(out), "runs": written, "there_already": there})
        return
    kept = f"; {there:,} were there already" if there else ""
    console.out.print(f"{written:,} runs in {out}{kept}", highlight=False, markup=False)

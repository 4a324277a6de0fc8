"""``dglbench verify``: check a pack without trusting it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dglbench.cli import console
from dglbench.errors import OptionError

if TYPE_CHECKING:
    from dglbench.verify.verdict import Verdict

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench verify mine.dglpack",
    "dglbench verify mine.dglpack --rerun 10 --seed 3 --plugin my_method.py",
)

_SHOWN = 10
"""Problems of one check that are printed; --json has them all."""


def run(
    pack: Annotated[Path, typer.Argument(metavar="PACK", help="The pack to check.")],
    rerun: Annotated[
        int, typer.Option(min=0, metavar="K", help="Train so many runs, drawn at random, again.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Which runs are drawn.")] = 0,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Dataset file that runs were made on; repeat for several.",
            show_default=False,
        ),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task, method or solver from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Make the data again, value every decision anew, and look at how runs were compared.

    files: schema and checksums. logs: seconds add up, validation chose the epoch, the record says
    what its curves say. data: made again and compared by digest. decisions: feasible, and worth
    what is said. fairness: every planned run is there, equal trials, choice on validation, test
    seen once, timed alone, one machine a setting. reruns (with --rerun): same bits where code,
    versions and processor agree, else regrets within half a percentage point.
    """
    from dglbench.data.loading import read_file
    from dglbench.packs.pack_files import is_pack
    from dglbench.plugin_files import load_plugins
    from dglbench.verify.checks import verify

    if not is_pack(pack):
        hint = f"; make one with: dglbench pack {pack} --out NAME.dglpack" if pack.is_dir() else ""
        raise OptionError(f"{pack} is no pack{hint or ', or does not exist'}.")
    load_plugins(plugin or [])
    for file in data or []:
        read_file(file)
    verdicts = []
    for verdict in verify(pack, rerun=rerun, seed=seed, watch=_tell_rerun):
        verdicts.append(verdict)
        if not json:
            _show(verdict)
    passed = all(verdict.passed for verdict in verdicts)
    if json:
        console.print_json(
            {
                "pack": str(pack),
                "passed": passed,
                "checks": [verdict.document() for verdict in verdicts],
            }
        )
    else:
        failed = [verdict.check for verdict in verdicts if not verdict.passed]
        end = "every check passed" if passed else f"failed: {', '.join(failed)}"
        if passed and not rerun:
            end += "; no run was trained again (--rerun K), so who made the decisions is not shown"
        console.out.print(f"{pack}: {end}", highlight=False, markup=False)
    return 0 if passed else 1


def _tell_rerun(name: str) -> None:
    console.note(f"training {name} again")


def _show(verdict: Verdict) -> None:
    word = "passed" if verdict.passed else "FAILED"
    lines = [f"{verdict.check:<10} {word}: {verdict.sentence}"]
    lines += [f"    {problem}" for problem in verdict.problems[:_SHOWN]]
    if len(verdict.problems) > _SHOWN:
        lines.append(f"    and {len(verdict.problems) - _SHOWN} more (--json lists all)")
    lines += [f"    note: {note}" for note in verdict.notes[:_SHOWN]]
    console.out.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)

"""``dglbench check-method``: what a method says of its gradient, checked on small problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from dglbench.cli import console

if TYPE_CHECKING:
    from dglbench.conformance import Outcome

__all__ = ["EXAMPLES", "run"]

EXAMPLES = (
    "dglbench check-method spo",
    "dglbench check-method perturbed --plugin perturbed.py",
)

_STYLES = {"holds": "green", "fails": "bold red"}


def run(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="The method; see list.")],
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="KEY=VALUE", help="Method option; repeat.  [default: its own]"
        ),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a method from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Check a method's signs and gradients on problems whose decisions can be listed.

    The exit code is not 0 if a check fails.
    """
    from dglbench import options
    from dglbench.conformance import CHECKS, check_method
    from dglbench.conformance.probes import PROBES
    from dglbench.plugin_files import load_plugins
    from dglbench.plugins import find_method

    load_plugins(plugin or [])
    choice = find_method(method)
    outcomes: list[Outcome] = []
    with console.progress(f"checking {choice.name}", total=len(CHECKS) * len(PROBES)) as tracker:
        for outcome in check_method(choice.name, options.parse_assignments(option or [])):
            outcomes.append(outcome)
            tracker.advance()
    failed = sum(outcome.state == "fails" for outcome in outcomes)
    if json:
        checks = [outcome._asdict() for outcome in outcomes]
        console.print_json({"method": choice.name, "failed": failed, "checks": checks})
    else:
        _show(choice.name, outcomes)
    return int(failed > 0)


def _show(name: str, outcomes: list[Outcome]) -> None:
    rows: list[list[Any]] = [
        [
            outcome.check,
            outcome.problem,
            Text(outcome.state, _STYLES.get(outcome.state, "dim")),
            "–" if outcome.measured is None else f"{outcome.measured:.3g}",
            outcome.bar,
        ]
        for outcome in outcomes
    ]
    console.print_table(
        ["check", "problem", "outcome", "measured", "bar"],
        rows,
        title=f"What {name} says of its gradient",
        caption="mirror, unit: difference from the image of the run; gradient: from central "
        "differences; descent: t of a step down against a step up; perfect predictions: gradient "
        "there, as a share of that elsewhere",
        right=("measured", "bar"),
    )
    for outcome in outcomes:
        if outcome.reason:
            console.note(f"{outcome.check}, {outcome.problem}: {outcome.reason}")

"""``dglbench list``: what can be asked for, with which options, and where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from dglbench.cli import console

__all__ = ["EXAMPLES", "run"]

EXAMPLES = ("dglbench list", "dglbench list --json")

_DEFAULTS = (
    "defaults: {found} (docs/methods.md); a sweep without --preset takes the paper's values where "
    "it has some (by size)"
)


def run(
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Take a task, method, predictor or solver from this .py file; repeat for several.",
            show_default=False,
        ),
    ] = None,
    methods: Annotated[
        bool, typer.Option("--methods", help="Show methods only, with their options.")
    ] = False,
    predictors: Annotated[
        bool, typer.Option("--predictors", help="Show predictors only, with their options.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of tables.")
    ] = False,
) -> None:
    """List tasks, predictors, methods, solvers and layers, their options and packages."""
    if plugin:
        from dglbench.plugin_files import load_plugins

        load_plugins(plugin)
    from dglbench.cli.catalogue import KINDS, catalogue

    document = catalogue()
    for entry in (entry for kind in KINDS for entry in document[kind]):
        if entry["error"]:
            console.warn(
                f"{entry['name']} ({entry['origin']}) cannot be used: {entry['error']}; "
                "fix or uninstall that plugin."
            )
    if as_json:
        console.print_json(document)
    elif methods:
        _render_methods(document["methods"])
    elif predictors:
        _render_predictors(document["predictors"])
    else:
        _render(document)


def _render(document: dict[str, Any]) -> None:
    console.print_table(
        ("task", "paper's sizes", "from", "what it is"),
        [
            (*_name_cells(task, ", ".join(map(str, task["sizes"])) or "-"), _summary(task))
            for task in document["tasks"]
        ],
        title="Tasks",
    )
    for task in document["tasks"]:
        if task["options"]:
            _render_options(f"Settings of {task['name']} (--set name=value)", task["options"])
    _render_predictors(document["predictors"])
    for kind, title in (("solvers", "Solvers (--solver)"), ("layers", "Layers (for methods)")):
        console.print_table(
            (kind.removesuffix("s"), "from", "what it is"),
            [(*_name_cells(entry), _summary(entry)) for entry in document[kind]],
            title=title,
        )
    _render_methods(document["methods"])


def _render_predictors(predictors: list[dict[str, Any]]) -> None:
    console.print_table(
        ("predictor", "fits", "from", "what it is"),
        [
            (*_name_cells(each, ", ".join(each["tasks"]) or "-"), _summary(each))
            for each in predictors
        ],
        title="Predictors (--predictor)",
        caption="your own data: linear and mlp; a task with a model of its own has it as default",
    )
    for each in predictors:
        if each["options"]:
            name = each["name"]
            _render_options(f"Options of {name} (--predictor {name}:name=value)", each["options"])


def _render_methods(methods: list[dict[str, Any]]) -> None:
    """A table for each group, in the order in which groups first appear."""
    for group in dict.fromkeys(method["group"] for method in methods):
        console.print_table(
            ("method", "options", "from", "what it is"),
            [
                (
                    *_name_cells(method, ", ".join(o["name"] for o in method["options"]) or "-"),
                    _summary(method),
                )
                for method in methods
                if method["group"] == group
            ],
            title=f"Methods (--method): {group}",
        )
    shared = _merge_options(methods)
    if shared:
        from dglbench.methods.defaults import DEFAULTS_FOUND

        _render_options(
            "Options of methods", shared, caption=_DEFAULTS.format(found=DEFAULTS_FOUND)
        )


def _name_cells(entry: dict[str, Any], *details: str) -> tuple[Any, ...]:
    if entry["error"]:
        return Text(f"{entry['name']} ✗", style="red"), *("-" for _ in details), entry["origin"]
    return entry["name"], *details, entry["origin"]


def _summary(entry: dict[str, Any]) -> Text | str:
    if entry["error"]:
        return Text(f"broken: {entry['error']}", style="red")
    return str(entry["summary"])


def _render_options(title: str, rows: list[dict[str, Any]], caption: str | None = None) -> None:
    console.print_table(
        ("name", "default", "allowed", "meaning"),
        [
            (
                row["name"],
                _default(row["default"])
                + (" (paper: by size)" if row.get("paper_by_size") else ""),
                row["allowed"],
                row["help"],
            )
            for row in rows
        ],
        title=title,
        caption=caption,
    )


def _merge_options(methods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """List each option once, however many methods have it."""
    merged: dict[tuple[str, ...], dict[str, Any]] = {}
    for method in methods:
        for option in method["options"]:
            merged.setdefault(tuple(map(str, option.values())), option)
    return list(merged.values())


def _default(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)

"""Everything that can be asked for, as ``dglbench list`` shows it."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

from dglbench import __version__, options
from dglbench.plugins import LAYERS, METHODS, PREDICTORS, SOLVERS, TASKS, Plugin, plugins

__all__ = ["KINDS", "catalogue"]

KINDS = ("tasks", "predictors", "solvers", "layers", "methods")


def catalogue() -> dict[str, Any]:
    """Import every plugin, though nothing heavy, and describe it JSON-ready."""
    return {
        "version": __version__,
        "tasks": [_describe(plugin, "Settings") for plugin in plugins(TASKS)],
        "predictors": [_describe_predictor(plugin) for plugin in plugins(PREDICTORS)],
        "solvers": [_describe(plugin) for plugin in plugins(SOLVERS)],
        "layers": [_describe(plugin) for plugin in plugins(LAYERS)],
        "methods": _mark_paper_options(
            [_describe(plugin, "Options") for plugin in plugins(METHODS)]
        ),
    }


def _describe(plugin: Plugin, options_name: str | None = None) -> dict[str, Any]:
    """Return a plugin's row: name, origin, summary, sizes and options, or why it is broken."""
    entry: dict[str, Any] = {
        "name": plugin.name,
        "origin": plugin.origin,
        "summary": "",
        "sizes": [],
        "options": [],
        "error": plugin.error,
    }
    if plugin.error is not None:
        return entry
    try:
        doc = (inspect.getdoc(plugin.target) or "").partition("\n")[0]
        entry["summary"] = getattr(plugin.target, "summary", doc)
        entry["sizes"] = list(getattr(plugin.target, "sizes", ()))
        if options_name is not None:
            described = options.describe(getattr(plugin.target, options_name))
            entry["options"] = [info._asdict() for info in described]
    except Exception as error:  # a plugin may be malformed in any way; it is named, not fatal
        entry["error"] = f"{type(error).__name__}: {error}".partition("\n")[0]
    return entry


def _describe_predictor(plugin: Plugin) -> dict[str, Any]:
    """Return a predictor's row, with the tasks that it fits by what they say of their features."""
    entry = _describe(plugin, "Options")
    entry |= {"kinds": [], "tasks": [], "default_of": []}
    if entry["error"] is not None:
        return entry
    from dglbench.predictors.choice import default_predictor

    entry["kinds"] = list(plugin.target.kinds)
    for other in plugins(TASKS):
        with contextlib.suppress(Exception):  # a broken plugin has its own row
            task = other.target()
            if task.has_predictor() if plugin.name == "task" else task.rows in entry["kinds"]:
                entry["tasks"].append(other.name)
            if default_predictor(task) == plugin.name:
                entry["default_of"].append(other.name)
    return entry


def _mark_paper_options(methods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the options that the paper selects by size, for sweeps that take its values."""
    selected: dict[str, set[str]] = {}
    for plugin in plugins(TASKS):
        with contextlib.suppress(Exception):  # a broken plugin has its own row
            for table in plugin.target().paper().get("selected", {}).values():
                for method, values in table.items():
                    selected.setdefault(method, set()).update(values)
    from dglbench.methods import Method

    groups = {
        plugin.name: getattr(plugin.target, "group", Method.group)
        for plugin in plugins(METHODS)
        if plugin.error is None
    }
    for method in methods:
        method["group"] = groups.get(method["name"], Method.group)
        for option in method["options"]:
            option["paper_by_size"] = option["name"] in selected.get(method["name"], ())
    return methods

"""What a plugin says of itself, as ``dglbench list`` shows it."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

from dglbench import options, plugins

__all__ = ["describe", "mark_paper_options"]


def describe(plugin: plugins.Plugin, options_name: str | None = None) -> dict[str, Any]:
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


def mark_paper_options(methods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Say of each option whether the paper selects it by size, so that its constant seldom acts."""
    selected: dict[str, set[str]] = {}
    for plugin in plugins.plugins(plugins.TASKS):
        with contextlib.suppress(Exception):  # a broken plugin has its own row
            for table in plugin.target().paper().get("selected", {}).values():
                for method, values in table.items():
                    selected.setdefault(method, set()).update(values)
    from dglbench.methods import Method

    groups = {
        plugin.name: getattr(plugin.target, "group", Method.group)
        for plugin in plugins.plugins(plugins.METHODS)
        if plugin.error is None
    }
    for method in methods:
        method["group"] = groups.get(method["name"], Method.group)
        for option in method["options"]:
            option["paper_by_size"] = option["name"] in selected.get(method["name"], ())
    return methods

"""Finding tasks, methods and executors by entry point, ours and anyone's alike.

A plugin that does not import is a warning and a marked row in ``dglbench
list``, never a crash: it fails only when it is asked for by name.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from dglbench.errors import PluginError

if TYPE_CHECKING:
    from dglbench.methods import Method
    from dglbench.task import Task

__all__ = ["MethodChoice", "Plugin", "find_method", "find_plugin", "find_task", "plugins"]

TASKS = "dglbench.tasks"
METHODS = "dglbench.methods"
EXECUTORS = "dglbench.executors"


@dataclass(frozen=True)
class Plugin:
    """One registered class, loaded or broken."""

    name: str
    group: str
    origin: str
    """The distribution that registers it, with its version."""
    target: Any = None
    error: str | None = None


@dataclass(frozen=True)
class MethodChoice:
    """A method as the user named it, such as ``dgl-5``."""

    name: str
    cls: type[Method]
    from_name: dict[str, Any]
    """Options the name itself fixes, such as ``U = 5``."""


@cache
def plugins(group: str) -> tuple[Plugin, ...]:
    """Load every plugin of a group; broken ones carry their error."""
    found: dict[str, Plugin] = {}
    for entry in sorted(importlib.metadata.entry_points(group=group), key=_ours_first):
        origin = " ".join(_name_and_version(entry.dist)) if entry.dist else "unknown"
        other = found.get(entry.name)
        if other is None:
            found[entry.name] = _load(entry, group, origin)
        elif other.origin != origin:  # equal: one distribution seen twice on the path
            error = f"the name is taken by {other.origin}"
            found[f"{entry.name} ({origin})"] = Plugin(entry.name, group, origin, error=error)
    return tuple(sorted(found.values(), key=lambda plugin: plugin.name))


def _ours_first(entry: importlib.metadata.EntryPoint) -> tuple[bool, str]:
    """Let no plugin take over a bundled name, whatever the order of the path."""
    return (
        entry.dist is None or _name_and_version(entry.dist)[0] != "dglbench",
        entry.name,
    )


@cache  # every look parses a file
def _name_and_version(dist: importlib.metadata.Distribution) -> tuple[str, str]:
    metadata = dist.metadata
    return metadata["Name"], metadata["Version"]


def _load(entry: importlib.metadata.EntryPoint, group: str, origin: str) -> Plugin:
    try:
        target = entry.load()
        if not isinstance(target, type):
            raise TypeError(f"{entry.value} is {target!r}, not a class")
    except Exception as error:  # a plugin may fail in any way; it is recorded and named
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return Plugin(entry.name, group, origin, error=text)
    return Plugin(entry.name, group, origin, target=target)


def find_task(name: str) -> Task:
    """Return the task called ``name``, or say which there are."""
    task: Task = find_plugin(TASKS, name).target()
    return task


def find_method(name: str) -> MethodChoice:
    """Return the method called ``name``; ``dgl-5`` is ``dgl-U`` with U = 5."""
    names = {plugin.name for plugin in plugins(METHODS)}
    family = re.fullmatch(r"(.+)-(\d+)", name)
    if name not in names and family and f"{family[1]}-U" in names:
        plugin = find_plugin(METHODS, f"{family[1]}-U")
        return MethodChoice(name, plugin.target, {"U": int(family[2])})
    if name.endswith("-U") and name in names:
        raise PluginError(f"method '{name}' needs a number: write for example {name[:-1]}5.")
    return MethodChoice(name, find_plugin(METHODS, name).target, {})


def find_plugin(group: str, name: str) -> Plugin:
    """Return the plugin of a group called ``name``, or say which there are."""
    kind = group.rpartition(".")[2].rstrip("s")
    available = {plugin.name: plugin for plugin in plugins(group) if plugin.error is None}
    if name in available:
        return available[name]
    broken = [plugin for plugin in plugins(group) if plugin.name == name]
    if broken:
        raise PluginError(
            f"{kind} '{name}' ({broken[0].origin}) does not load: {broken[0].error}; "
            "mend or uninstall that plugin."
        )
    close = difflib.get_close_matches(name, available, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise PluginError(f"there is no {kind} '{name}'; there are {', '.join(available)}.{hint}")

"""Find tasks, methods, predictors, solver families, layers and executors by entry point.

A plugin that does not import is a warning and a marked row in ``dglbench
list``, never a crash: it fails only when it is used by name. `register`
adds the classes of a module that no package installs, such as a local file.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import inspect
import re
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from dglbench.errors import PluginError

if TYPE_CHECKING:
    from dglbench.layers import Layer
    from dglbench.methods import Method
    from dglbench.solvers import SolverFamily
    from dglbench.task import Task

__all__ = [
    "AFTER",
    "EXECUTORS",
    "LAYERS",
    "METHODS",
    "PREDICTORS",
    "SOLVERS",
    "TASKS",
    "WITH",
    "LeadInChoice",
    "MethodChoice",
    "Plugin",
    "any_registered",
    "find_layer",
    "find_method",
    "find_plugin",
    "find_setting",
    "find_solver",
    "find_task",
    "offer_task",
    "plugins",
    "register",
]

TASKS = "dglbench.tasks"
METHODS = "dglbench.methods"
PREDICTORS = "dglbench.predictors"
SOLVERS = "dglbench.solvers"
LAYERS = "dglbench.layers"
EXECUTORS = "dglbench.executors"

AFTER = "-after-"
"""Between a method and its lead-in: ``qptl-after-dgl-none-5``."""
WITH = " · "
"""Between a method and its predictor, where several predictors are compared."""

_BASES = {
    TASKS: ("dglbench.task", "Task"),
    METHODS: ("dglbench.methods.base", "Method"),
    PREDICTORS: ("dglbench.predictors.base", "Predictor"),
    SOLVERS: ("dglbench.solvers.base", "SolverFamily"),
    LAYERS: ("dglbench.layers.base", "Layer"),
}
"""What a plugin of a group is a subclass of, as module and class; imported when asked for."""

_UNLISTED = {"own": ("dglbench.data.imported", "Own")}
"""Tasks that no entry point offers, because their data come with a file."""

_registered: dict[str, dict[str, Plugin]] = {group: {} for group in _BASES}
"""By group and name: what was registered in this process."""


@dataclass(frozen=True)
class Plugin:
    """One registered class, loaded or broken."""

    name: str
    group: str
    origin: str
    """The distribution that registers it, with its version."""
    target: Any = None
    error: str | None = None


class LeadInChoice(NamedTuple):
    """A method that is trained first, and for how many epochs."""

    method: str
    epochs: int


@dataclass(frozen=True)
class MethodChoice:
    """A method as the user named it, such as ``dgl-5``."""

    name: str
    cls: type[Method]
    from_name: dict[str, Any]
    """Options the name itself fixes, such as ``U = 5``."""
    lead_in: LeadInChoice | None = None
    """Of ``qptl-after-dgl-none-5``: dgl-none, 5; see `dglbench.training.lead_in`."""

    @property
    def own_name(self) -> str:
        """The name without the lead-in."""
        return self.name if self.lead_in is None else self.name.partition(AFTER)[0]


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
    found |= _registered.get(group, {})
    return tuple(sorted(found.values(), key=lambda plugin: plugin.name))


def any_registered() -> bool:
    """Say whether plugins without a distribution were registered in this process."""
    return any(_registered.values())


def register(module: ModuleType, *, origin: str) -> tuple[Plugin, ...]:
    """Add every task, method, predictor, solver family and layer that a module defines.

    For this process. Classes that are abstract, private or imported from elsewhere are left out.
    Each is known by its ``name`` (a solver by its ``family``); a class without one by its own name
    in lower case with hyphens: ``MyMethod`` is ``my-method``. ``origin`` is what
    ``dglbench list`` shows, such as the file's name; the same origin may register again.
    """
    added = []
    for cls in vars(module).values():
        if not isinstance(cls, type) or cls.__module__ != module.__name__:
            continue
        group = next((group for group in _BASES if issubclass(cls, _base(group))), None)
        if group is None or cls.__name__.startswith("_") or inspect.isabstract(cls):
            continue
        plugin = Plugin(_own_name(cls), group, origin, target=cls)
        for other in plugins(group):
            if other.name == plugin.name and other.origin != origin and other.error is None:
                raise PluginError(
                    f"{_kind(group)} '{plugin.name}' of {origin} cannot be used: the name is taken "
                    f"by {other.origin}; give the class {cls.__name__} another name."
                )
        added.append(plugin)
    for plugin in added:
        _registered[plugin.group][plugin.name] = plugin
    plugins.cache_clear()
    return tuple(added)


def offer_task(task: str | Task) -> str:
    """Register a task object by its name in this process, and return the name."""
    if isinstance(task, str):
        return task
    name, origin = str(task.name), type(task).__module__
    for other in plugins(TASKS):
        if other.name == name and other.origin != origin and other.error is None:
            if other.target is type(task):
                return name
            raise PluginError(
                f"task '{name}' of {origin} cannot be used: the name is taken by {other.origin}; "
                f"give the class {type(task).__name__} another name."
            )
    _registered[TASKS][name] = Plugin(name, TASKS, origin, target=lambda: task)
    plugins.cache_clear()
    return name


def find_task(name: str) -> Task:
    """Return the task called ``name``, or say which there are."""
    found = _class(*_UNLISTED[name]) if name in _UNLISTED else find_plugin(TASKS, name).target
    task: Task = found()
    return task


def find_setting(name: str) -> tuple[Task, dict[str, int]]:
    """Read ``matching-50`` as a task and its size, ``matching`` as a task alone."""
    stem, dash, size = name.rpartition("-")
    known = {plugin.name.lower() for plugin in plugins(TASKS)}
    if name.lower() not in known and dash and _is_number(size):
        return find_task(stem), {"n": int(size)}
    return find_task(name), {}


def find_method(name: str) -> MethodChoice:
    """Return the method called ``name``; ``dgl-5`` is ``dgl-U`` with U = 5."""
    names = {plugin.name.lower(): plugin.name for plugin in plugins(METHODS)}
    if AFTER in name.lower() and name.lower() not in names:
        return _find_after(name)
    stem, dash, number = name.rpartition("-")
    family = names.get(f"{stem}-U".lower())
    if name.lower() not in names and dash and _is_number(number) and family:
        plugin = find_plugin(METHODS, family)
        period = int(number)
        return MethodChoice(f"{family[:-1]}{period}", plugin.target, {"U": period})
    known = names.get(name.lower(), name)
    if known.endswith("-U") and known in names.values():
        raise PluginError(f"method '{name}' needs a number: write for example {known[:-1]}5.")
    plugin = find_plugin(METHODS, known)
    return MethodChoice(plugin.name, plugin.target, {})


def _find_after(name: str) -> MethodChoice:
    own, _, lead_in = name.lower().partition(AFTER)
    first, _, epochs = lead_in.rpartition("-")
    if not (own and first and _is_number(epochs) and int(epochs)) or AFTER in lead_in:
        raise PluginError(
            f"'{name}' names no method and its lead-in; write for example qptl-after-dgl-none-5."
        )
    choice, before = find_method(own), find_method(first)
    for each in (choice, before):
        if each.cls.fits:
            raise PluginError(
                f"{each.name} is fitted at once, so it can neither be a lead-in nor have one; "
                f"leave one of {choice.name} and {before.name} out."
            )
    return replace(
        choice,
        name=f"{choice.name}{AFTER}{before.name}-{int(epochs)}",
        lead_in=LeadInChoice(before.name, int(epochs)),
    )


def find_plugin(group: str, name: str) -> Plugin:
    """Return the plugin of a group called ``name``, in any case, or say which there are."""
    kind = _kind(group)
    available = {plugin.name: plugin for plugin in plugins(group) if plugin.error is None}
    if name in available:
        return available[name]
    for known, plugin in available.items():
        if known.lower() == name.lower():
            return plugin
    broken = [plugin for plugin in plugins(group) if plugin.name.lower() == name.lower()]
    if broken:
        raise PluginError(
            f"{kind} '{name}' ({broken[0].origin}) does not load: {broken[0].error}; "
            "fix or uninstall that plugin."
        )
    close = difflib.get_close_matches(name.lower(), available, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise PluginError(f"there is no {kind} '{name}'; there are {', '.join(available)}.{hint}")


def find_solver(name: str) -> type[SolverFamily]:
    """Return the solver family called ``name``, or say which there are."""
    family: type[SolverFamily] = find_plugin(SOLVERS, name).target
    return family


def find_layer(name: str) -> type[Layer]:
    """Return the layer called ``name``, or say which there are."""
    layer: type[Layer] = find_plugin(LAYERS, name).target
    return layer


def _is_number(text: str) -> bool:
    # No size or period is longer, and Python refuses to read thousands of digits.
    return text.isascii() and text.isdigit() and len(text) <= 9


def _ours_first(entry: importlib.metadata.EntryPoint) -> tuple[bool, str]:
    """Bundled names come first, so that no plugin can take one over."""
    return (
        entry.dist is None or _name_and_version(entry.dist)[0] != "dglbench",
        entry.name,
    )


@cache  # every access parses a file
def _name_and_version(dist: importlib.metadata.Distribution) -> tuple[str, str]:
    metadata = dist.metadata
    return metadata["Name"], metadata["Version"]


def _load(entry: importlib.metadata.EntryPoint, group: str, origin: str) -> Plugin:
    try:
        target = entry.load()
        if not isinstance(target, type):
            raise TypeError(f"{entry.value} is {target!r}, not a class")
        if group in _BASES and not issubclass(target, _base(group)):
            raise TypeError(f"{entry.value} is not a subclass of {'.'.join(_BASES[group])}")
    except Exception as error:  # a plugin may fail in any way; it is recorded and named
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return Plugin(entry.name, group, origin, error=text)
    return Plugin(entry.name, group, origin, target=target)


def _base(group: str) -> type:
    return _class(*_BASES[group])


def _class(module: str, name: str) -> type:
    found: type = getattr(importlib.import_module(module), name)
    return found


def _own_name(cls: type) -> str:
    given = getattr(cls, "name", None) or getattr(cls, "family", None)
    return str(given or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower())


def _kind(group: str) -> str:
    return group.rpartition(".")[2].removesuffix("s")

"""What is taken where a request leaves something open.

A task's TOML file has its protocol and, for sweeps that take the paper's values, the selected
hyperparameters of each setting; a size that the paper does not have takes those of the nearest size
that it has. Such sweeps ask for ``values = "paper"``: the presets `paper` and `grid`, and one that
names no preset, which is based on `paper`. Everything else takes each method's own defaults, the
same on every task; docs/methods.md says how they were found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dglbench import options
from dglbench.errors import OptionError
from dglbench.plugins import MethodChoice, find_setting
from dglbench.task import Task, TaskSpec
from dglbench.training.spec import Protocol

__all__ = [
    "DEFAULT_SEED",
    "named_setting",
    "paper_options",
    "resolve_data",
    "resolve_protocol",
    "task_options",
]

DEFAULT_SEED = 25


def named_setting(name: str, given: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
    """Read a task or a setting such as ``matching-50``, with what else was given for it.

    A setting that the paper names brings all its settings there (except the seeds); what was
    given takes precedence, except over the size in the name.
    """
    task, size = find_setting(name)
    if size and "n" in given and str(given["n"]) != str(size["n"]):
        raise OptionError(
            f"{name} has its size in its name, so n={given['n']} cannot be set; "
            f"write {task.name}-{given['n']}, or {task.name} alone."
        )
    return task, {**_paper_setting(task, name), **given, **size}


def paper_seeds(name: str) -> list[int]:
    """Return the data seeds that the paper has for a setting; else the default seed."""
    task, _ = find_setting(name)
    setting = task.paper().get("settings", {}).get(name, {})
    return list(setting.get("seeds", [DEFAULT_SEED]))


def resolve_data(task: Task, given: Mapping[str, Any], seed: int) -> TaskSpec:
    """Check settings and seed."""
    if seed < 0:
        raise OptionError(f"the seed must be a whole number ≥ 0, got {seed}.")
    return TaskSpec(task.name, task.parse_settings(given), seed)


def resolve_protocol(task: Task, settings: Any, given: Mapping[str, Any]) -> Protocol:
    """Fill the protocol from the task's TOML file, its settings, then from what was given."""
    paper = task.paper()
    defaults = dict(paper.get("protocol", {}))
    defaults |= {f"warm_start_{key}": value for key, value in paper.get("warm_start", {}).items()}
    defaults |= task.protocol(settings)
    chosen = {**defaults, **{key: value for key, value in given.items() if value is not None}}
    return options.parse(Protocol, chosen, owner="the training protocol")


def paper_options(task: Task, size: int, choice: MethodChoice) -> dict[str, Any]:
    """Return the hyperparameters that the task's file has for a method at the nearest size.

    A method without any keeps its own defaults.
    """
    return _selected(task.paper().get("selected", {}), size, choice)


def task_options(task: Task, choice: MethodChoice) -> dict[str, Any]:
    """Return what the task's file has, under ``[default]``, for methods trained for decisions.

    One rate suits every task whose predictor is built here from vectors; deep networks want others.
    """
    known = {info.name for info in options.describe(choice.cls.Options)}
    if "start" not in known:
        return {}
    return {key: value for key, value in task.paper().get("default", {}).items() if key in known}


def _paper_setting(task: Task, name: str) -> dict[str, Any]:
    setting = task.paper().get("settings", {}).get(name, {})
    return {key: value for key, value in setting.items() if key != "seeds"}


def _selected(selected: Mapping[str, Any], size: int, choice: MethodChoice) -> dict[str, Any]:
    sizes = {name: int(name.rpartition("-")[2]) for name in selected}
    if not sizes:
        return {}
    nearest = min(sizes, key=lambda name: (abs(sizes[name] - size), sizes[name]))
    table: dict[str, dict[str, Any]] = selected[nearest]
    name = choice.own_name
    family = f"{name.rpartition('-')[0]}-U" if choice.from_name else name
    return dict(table.get(name, table.get(family, {})))

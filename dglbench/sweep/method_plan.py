"""A method on one setting of a sweep: which options are fixed, and which are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dglbench import options
from dglbench.errors import OptionError, SweepError
from dglbench.plugins import MethodChoice, find_method
from dglbench.sweep.request import Wishes
from dglbench.sweep.space import Axis, Range, default_ranges, read_axis
from dglbench.task import Task, TaskSpec
from dglbench.training.lead_in import parse_lead_in
from dglbench.training.resolve import lead_in_of, paper_options

__all__ = ["DEFAULT_SEED", "MethodPlan", "method_plan"]

DEFAULT_SEED = 25


@dataclass(frozen=True)
class MethodPlan:
    """A method on one setting: what is fixed, and what is searched."""

    name: str
    fixed: Mapping[str, Any]
    space: Mapping[str, Axis]
    lead_in: Mapping[str, Any] = field(default_factory=dict)
    """Options of what leads in, where something does."""


def method_plan(
    task: Task,
    settings: Any,
    name: str,
    wishes: Sequence[Wishes],
    index: int,
    entry: Mapping[str, Any],
    search: str,
) -> MethodPlan:
    """Collect a method's options in rising order of precedence, and check them."""
    choice = find_method(name)
    known = {info.name for info in options.describe(choice.cls.Options)}
    fixed: dict[str, Any] = {}
    later: set[str] = set()  # what is given after the search space, and so takes its place
    described = _own(entry.get("space", {}), choice)
    for position, source in enumerate(wishes):
        flat = {key: v for key, v in source.option.items() if not isinstance(v, Mapping)}
        added = {key: value for key, value in flat.items() if key in known}
        added |= _own(source.option, choice) or {}
        if described is None or position > index:
            later |= set(added)
        fixed |= added
        if position == index:
            own = _own(entry.get("option", {}), choice) or {}
            fixed |= own
            later |= set(own) if described is None else set()
    space: dict[str, Axis] = {}
    if search != "none":
        ranges = described if described is not None else _ranges(task, choice.cls.Options, search)
        for key, written in ranges.items():
            if described is None and key not in known:
                continue  # the task's table is for all methods; each takes what it has
            if key not in later and key not in choice.from_name:
                space[key] = read_axis(choice.cls.Options, name, key, written)
                if search != "optuna" and isinstance(space[key], Range):
                    raise SweepError(
                        f"--search {search} tries every value, and {key} of {name} is a range; "
                        "give a list of values for it, or write --search optuna."
                    )
    for key in set(choice.from_name) & set(fixed):
        raise OptionError(f"method {name} fixes {key} by its name; leave out {key}.")
    selected = paper_options(task, TaskSpec(task.name, settings, DEFAULT_SEED), choice)
    merged = {**selected, **fixed, **choice.from_name}
    parsed = options.parse(choice.cls.Options, merged, owner=f"method {name}")
    leave_out = {*choice.from_name, *space}
    kept = {key: v for key, v in options.as_dict(parsed).items() if key not in leave_out}
    led = {**entry.get("lead_in_option", {}).get(name, {}), **_led(wishes)}
    lead_in = lead_in_of(task, TaskSpec(task.name, settings, DEFAULT_SEED), choice, led)
    return MethodPlan(name, kept, space, lead_in.given() if lead_in else {})


def _own(table: Mapping[str, Any], choice: MethodChoice) -> dict[str, Any] | None:
    """Return what a table has for a method, with its lead-in or whatever that is."""
    found = [table[name] for name in (choice.own_name, choice.name) if name in table]
    return {key: value for part in found for key, value in part.items()} if found else None


def _led(wishes: Sequence[Wishes]) -> dict[str, Any]:
    given = [source.lead_in for source in wishes if source.lead_in is not None]
    return parse_lead_in(given[-1]) if given else {}


def _ranges(task: Task, cls: type[Any], search: str) -> Mapping[str, Any]:
    """Return the axes that a kind of search takes where the sweep's file names none."""
    paper = task.paper()
    if search == "optuna":
        return default_ranges(cls, paper.get("range", {}))
    grid: Mapping[str, Any] = paper.get("search", {})
    return grid

"""A method on one setting: its options, which of them are searched, and its lead-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dglbench import options
from dglbench.errors import OptionError, SweepError
from dglbench.plugins import MethodChoice, find_method
from dglbench.sweep.request.defaults import paper_options, task_options
from dglbench.sweep.request.request import Request
from dglbench.sweep.request.space import Axis, Range, default_ranges, read_axis
from dglbench.task import Task
from dglbench.training.lead_in import LeadIn, parse_lead_in

__all__ = ["MethodPlan", "method_plan"]


@dataclass(frozen=True)
class MethodPlan:
    """A method with its options parsed; what is searched replaces some of them later."""

    name: str
    options: Any
    space: Mapping[str, Axis]
    lead_in: LeadIn | None = None

    @property
    def fixed(self) -> dict[str, Any]:
        """The options that are neither searched nor part of the method's name, JSON-ready."""
        leave_out = {*find_method(self.name).from_name, *self.space}
        return {k: v for k, v in options.as_dict(self.options).items() if k not in leave_out}


def method_plan(
    task: Task,
    size: int,
    name: str,
    requests: Sequence[Request],
    index: int,
    entry: Mapping[str, Any],
    search: str,
) -> MethodPlan:
    """Collect a method's options in rising order of precedence, and parse them once.

    ``entry`` is the setting's table in the request at position ``index``.
    """
    choice = find_method(name)
    known = {info.name for info in options.describe(choice.cls.Options)}
    fixed: dict[str, Any] = {}
    later: set[str] = set()  # given after the search space, and so in its place
    described = _own(entry.get("space", {}), choice)
    for position, source in enumerate(requests):
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
            if key == "start" and choice.lead_in is not None:
                continue  # where a lead-in begins is not searched
            if key not in later and key not in choice.from_name:
                space[key] = read_axis(choice.cls.Options, name, key, written)
                if search == "full" and isinstance(space[key], Range):
                    raise SweepError(
                        f"--search {search} tries every value, and {key} of {name} is a range; "
                        "give a list of values for it, or write --search optuna."
                    )
    led = {**entry.get("lead_in_option", {}).get(name, {}), **_lead_in_options(requests, name)}
    left_open = partial(_left_open, task, size, requests)
    parsed = _parse(choice, {**left_open(choice), **fixed}, f"method {choice.name}")
    lead_in = _lead_in(choice, led, fixed.get("start"), left_open)
    if lead_in is not None and "start" in known:
        parsed = replace(parsed, start=_start_of(lead_in, choice, fixed.get("start")))
    return MethodPlan(name, parsed, space, lead_in)


def _left_open(
    task: Task, size: int, requests: Sequence[Request], choice: MethodChoice
) -> dict[str, Any]:
    """Return what is taken in place of the method's own defaults: the paper's or the task's."""
    asked = (source.values for source in reversed(requests))
    values = next((each for each in asked if each is not None), "default")
    return paper_options(task, size, choice) if values == "paper" else task_options(task, choice)


def _parse(choice: MethodChoice, given: Mapping[str, Any], owner: str) -> Any:
    if fixed := sorted(set(choice.from_name) & set(given)):
        raise OptionError(f"{owner} fixes {fixed[0]} by its name; leave out {fixed[0]}.")
    return options.parse(choice.cls.Options, {**given, **choice.from_name}, owner=owner)


def _lead_in(
    choice: MethodChoice,
    given: Mapping[str, Any],
    start: str | None,
    left_open: Callable[[MethodChoice], dict[str, Any]],
) -> LeadIn | None:
    """Parse the options of the lead-in that a method's name asks for, if it does.

    A ``start`` that was given for the method is the lead-in's, which comes first.
    """
    if choice.lead_in is None:
        if given:
            raise OptionError(f"{choice.name} has no lead-in to take options; leave them out.")
        return None
    first = find_method(choice.lead_in.method)
    if start is not None and "start" in {info.name for info in options.describe(first.cls.Options)}:
        given = {"start": start, **given}
    parsed = _parse(first, {**left_open(first), **given}, f"the lead-in {first.name}")
    return LeadIn(first.name, choice.lead_in.epochs, parsed)


def _start_of(lead_in: LeadIn, choice: MethodChoice, asked: str | None) -> str:
    """Return where the lead-in begins; refuse another start for the method after it."""
    start = "warm" if find_method(lead_in.method).cls.starts_warm(lead_in.options) else "fresh"
    if asked not in (None, start):
        raise OptionError(
            f"{choice.name} begins with its lead-in {lead_in.method}, whose start is {start}, so "
            f"start={asked} cannot be set for {choice.own_name}; leave it out."
        )
    return start


def _own(table: Mapping[str, Any], choice: MethodChoice) -> dict[str, Any] | None:
    """Return what a table has for a method, under its name with or without the lead-in."""
    found = [table[name] for name in (choice.own_name, choice.name) if name in table]
    return {key: value for part in found for key, value in part.items()} if found else None


def _lead_in_options(requests: Sequence[Request], name: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for source in requests:
        given |= source.lead_in_option.get(name, {})
        given = parse_lead_in(source.lead_in) if source.lead_in is not None else given
    return given


def _ranges(task: Task, cls: type[Any], search: str) -> Mapping[str, Any]:
    """Return the axes that a kind of search takes where the sweep's file names none."""
    paper = task.paper()
    if search in ("random", "optuna"):
        return default_ranges(cls, paper.get("range", {}))
    grid: Mapping[str, Any] = paper.get("search", {})
    return grid

"""A setting for every combination of what a request varies, as a task has it.

A task's own file may name, under ``[vary]``, the values that suit it, and ``methods`` and
``predictor`` where those of a preset do not fit its data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dglbench import options
from dglbench.errors import OptionError
from dglbench.plugins import find_setting
from dglbench.sweep.request.defaults import named_setting
from dglbench.sweep.request.request import Request
from dglbench.task import Task

__all__ = ["own_list", "varied"]


def varied(
    requests: Sequence[Request], index: int, entry: Mapping[str, Any]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield an entry once for every combination of what is varied and its task has.

    What is set by the same request or a later one, or by the entry, does not vary. A preset is
    for any task, so values of it that a task refuses are left out: real labels have the noise
    that they have.
    """
    at = _varying(requests)
    if at is None or "data" in entry:
        yield index, entry
        return
    task, _ = find_setting(entry["task"])
    given: dict[str, Any] = {}
    for source in requests[at:]:
        given |= {key: value for key, value in source.set.items() if not isinstance(value, Mapping)}
        for owner in dict.fromkeys((task.name, entry["task"])):
            given |= source.set.get(owner, {})
    given |= entry.get("set", {})
    known = {info.name for info in options.describe(task.Settings)}
    own = task.paper().get("vary", {})
    axes = {
        key: own.get(key, values)
        for key, values in requests[at].vary.items()
        if key in known and key not in given
    }
    if requests[at].origin.startswith("preset "):
        axes = {key: _taken(entry["task"], given, key, values) for key, values in axes.items()}
    for values in itertools.product(*axes.values()):
        yield (
            index,
            {**entry, "set": {**entry.get("set", {}), **dict(zip(axes, values, strict=True))}},
        )


def own_list(
    name: str, requests: Sequence[Request], entry: Mapping[str, Any], task: Task
) -> tuple[str, ...]:
    """Return the ``methods`` or the ``predictor`` of a task's file, where nobody named others."""
    at = _varying(requests)
    if at is None or entry.get(name) or any(getattr(each, name) for each in requests[at + 1 :]):
        return ()
    return tuple(task.paper().get("vary", {}).get(name, ()))


def _varying(requests: Sequence[Request]) -> int | None:
    return next((at for at in reversed(range(len(requests))) if requests[at].vary), None)


def _taken(setting: str, given: Mapping[str, Any], key: str, values: Sequence[Any]) -> list[Any]:
    """Return the values that the task takes beside what is given; all, if it takes none."""
    found = []
    for value in values:
        task, everything = named_setting(setting, {**given, key: value})
        try:
            task.parse_settings(everything)
        except OptionError:
            continue
        found.append(value)
    return found or list(values)

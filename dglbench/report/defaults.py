"""Which methods were run with their defaults, and where these come from."""

from __future__ import annotations

from typing import Any

from dglbench import options
from dglbench.errors import DglbenchError
from dglbench.plugins import MethodChoice, find_method, find_task
from dglbench.report.loading import Report
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing
from dglbench.runs.record import Identity

__all__ = ["defaults_note", "has_defaults"]


def has_defaults(identity: Identity) -> bool:
    """Say whether every option is at its default, the task's or the method's.

    A name fixes some, as dgl-5 its U.
    """
    try:
        choice = find_method(identity.method)
        given = {**_of_task(identity.task, choice), **choice.from_name}
        usual = options.as_dict(options.parse(choice.cls.Options, given, owner=choice.name))
    except DglbenchError:  # the method is not installed here, or has other options by now
        return False
    return dict(identity.options) == usual


def _of_task(name: str, choice: MethodChoice) -> dict[str, Any]:
    from dglbench.sweep.request.defaults import task_options

    try:
        return task_options(find_task(name), choice)
    except DglbenchError:  # a task that is not installed here, or own data
        return {}


def defaults_note(report: Report) -> list[str]:
    """Say in a sentence which methods have their defaults and how these were found."""
    from dglbench.methods.defaults import DEFAULTS_FOUND

    found: dict[str, bool] = {}
    for run in report.chosen_runs():
        if "lr" not in run.options:  # fitted at once: nothing of it was searched
            continue
        found[run.method] = found.get(run.method, True) and has_defaults(run.identity)
    usual = [method for method in report.methods if found.get(method)]
    if not usual:
        return []
    whose = "all methods" if len(usual) == len(found) else listing([style(m).label for m in usual])
    return [f"untuned: {whose} (options at their defaults: {DEFAULTS_FOUND})."]

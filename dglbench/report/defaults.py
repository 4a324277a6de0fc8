"""Which methods were run with their defaults, and where these come from."""

from __future__ import annotations

from dataclasses import asdict

from dglbench import options
from dglbench.errors import DglbenchError
from dglbench.plugins import find_method
from dglbench.report.loading import Report
from dglbench.report.style.palette import style
from dglbench.report.style.titles import listing
from dglbench.runs.record import Identity

__all__ = ["defaults_note", "has_defaults"]


def has_defaults(identity: Identity) -> bool:
    """Say whether every option is at the method's default; a name fixes some, as dgl-5 its U."""
    try:
        choice = find_method(identity.method)
        usual = asdict(options.parse(choice.cls.Options, choice.from_name, owner=choice.name))
    except DglbenchError:  # the method is not installed here, or has other options by now
        return False
    return dict(identity.options) == usual


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
    return [f"untuned: {whose} (options at each method's defaults: {DEFAULTS_FOUND})."]

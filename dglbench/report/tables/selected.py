"""The hyperparameters that validation chose, beside those the paper chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dglbench.errors import PluginError
from dglbench.plugins import find_method, find_task
from dglbench.report.cells import configuration
from dglbench.report.defaults import defaults_note
from dglbench.report.loading import Report, Run
from dglbench.report.searches import accounts, search_notes
from dglbench.report.style.palette import style
from dglbench.report.tables.sheet import (
    METHOD,
    NOTHING,
    SETTING,
    Cell,
    Column,
    Sheet,
    count,
    setting_cell,
    text,
)

__all__ = ["GIVEN", "given_or_count", "selected"]

_IN_THE_PAPER = ("two-stage", "spo", "qptl", "dgl-none", "dgl-auto", "dgl-1", "dgl-5")
"""A task's table of selected options has further methods, with choices of dglbench's own."""

GIVEN = (
    "given: one configuration was run here, as named by the command, the sweep's file or the "
    "paper. If it came from a search in another folder, that folder's budget shows what the search "
    "cost."
)

_NAMED = {"lr": "lr", "alpha": "α", "tau": "τ"}


def selected(report: Report) -> Sheet:
    """List the chosen options of every method and setting, and the paper's."""
    tried = {(run.unit.key, run.method, configuration(run.identity)) for run in report.runs}
    configurations = Counter((unit, method) for unit, method, _ in tried)
    elsewhere = {account.run_id: account.tuned for account in accounts(report) if account.tuned}
    rows = []
    for cell in report.cells():
        run = cell.first
        here = configurations[run.unit.key, run.method]
        tuned = next((elsewhere[each.run_id] for each in cell.runs if each.run_id in elsewhere), {})
        rows.append(_row(run, int(tuned.get("configurations", here)), _paper(run)))
    return Sheet(
        "selected",
        "Selected hyperparameters",
        _COLUMNS,
        tuple(rows),
        (
            "chosen by the lowest validation regret among the configurations in this folder; — in "
            "the paper's columns: its table has no such entry.",
            GIVEN,
            *defaults_note(report),
            *search_notes(report),
        ),
        by="setting",
    )


_COLUMNS = (
    SETTING,
    METHOD,
    *(Column(name, title, f"chosen {name}", numeric=True) for name, title in _NAMED.items()),
    *(
        Column(f"paper_{name}", f"paper's {title}", f"{name} in the paper's table", numeric=True)
        for name, title in _NAMED.items()
    ),
    Column("others", "other options", "options that the paper does not tune"),
    Column("epoch", "epoch", "the epoch chosen on validation, of the first repeat", numeric=True),
    Column("epochs", "of", "epochs trained", numeric=True),
    Column("configurations", "configurations", "how many were tried in this folder", numeric=True),
)


def _row(run: Run, configurations: int, paper: Mapping[str, Any]) -> tuple[Cell, ...]:
    fixed = _fixed_by_name(run.identity.method)
    others = {name: value for name, value in run.options.items() if name not in {*_NAMED, *fixed}}
    return (
        setting_cell(run.unit),
        Cell(style(run.method).label, run.method),
        *(_number(run.options.get(name)) for name in _NAMED),
        *(_number(paper.get(name)) for name in _NAMED),
        text(", ".join(f"{name} {value}" for name, value in others.items())),
        count(run.selected_epoch),
        count(run.epochs_run),
        given_or_count(configurations),
    )


def given_or_count(configurations: int) -> Cell:
    """Return the number of configurations, or ``given`` where nothing was searched here."""
    return count(configurations) if configurations > 1 else Cell("given", configurations, "muted")


def _number(value: Any) -> Cell:
    return Cell(f"{value:g}", value) if isinstance(value, int | float) else NOTHING


def _paper(run: Run) -> Mapping[str, Any]:
    """Return the paper's options: for its own settings and methods only, nothing by analogy."""
    if run.identity.method not in _IN_THE_PAPER:
        return {}
    try:
        tables = find_task(run.unit.task).paper().get("selected", {})
    except PluginError:
        return {}
    options: Mapping[str, Any] = tables.get(run.unit.base, {}).get(run.identity.method, {})
    return options


def _fixed_by_name(method: str) -> set[str]:
    try:
        return set(find_method(method).from_name)
    except PluginError:
        return set()

"""What it cost to find each method's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dglbench.report.cells import configuration
from dglbench.report.loading import Report, Run, Unit
from dglbench.report.searches import Cost, search_costs, search_notes
from dglbench.report.statistics.comparisons import Comparison
from dglbench.report.style.palette import method_order, style
from dglbench.report.tables.selected import GIVEN, given_or_count
from dglbench.report.tables.sheet import (
    METHOD,
    SETTING,
    Cell,
    Column,
    Sheet,
    count,
    text,
)
from dglbench.words import seconds

__all__ = ["budget"]


def budget(report: Report) -> Sheet:
    """List what it cost to find each method's configuration.

    A sweep's own account is used where it led to the chosen run; else every run
    of the method in the folder counts, because the choice was made among them.
    A search over several data seeds has one row.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    rank = {unit.key: position for position, unit in enumerate(report.units)}
    for run in report.runs:
        groups.setdefault((run.unit.key, run.method), []).append(run)
    swept = search_costs(report)
    found: dict[tuple[str, Cost], list[Unit]] = {}
    for key in sorted(groups, key=lambda key: (rank[key[0]], method_order(key[1]))):
        chosen = report.chosen.get(key)
        ids = [run.run_id for run in chosen.runs] if chosen else []
        account = next((swept[run_id] for run_id in ids if run_id in swept), None)
        cost = account or _of_runs(groups[key])
        found.setdefault((key[1], cost), []).append(groups[key][0].unit)
    rows = [_budget_row(method, cost, units) for (method, cost), units in found.items()]
    notes = [
        "all runs made to find the configuration are counted, including those that failed or were "
        "not chosen; warm starts are shared by all methods and not counted.",
        GIVEN,
        *search_notes(report),
    ]
    if searches := sorted({cost.search for cost in swept.values() if cost.search}):
        notes.append(f"search: {', '.join(searches)}.")
    if not all(cost.alike for _, cost in found):
        notes.append(
            "† summed over runs that were timed under different conditions (machine, threads or "
            "concurrency): the sum is what was spent and is not ranked."
        )
    return Sheet("budget", "Tuning budget", _BUDGET, tuple(rows), tuple(notes), by="setting")


_BUDGET = (
    SETTING,
    METHOD,
    Column("configurations", "configurations", "sets of hyperparameters tried", numeric=True),
    Column("runs", "runs", "runs made for them", numeric=True),
    Column("unfinished", "without result", "runs that failed or were stopped", numeric=True),
    Column("train_s", "training time", "training seconds of all of them", numeric=True),
    Column("solves", "solver calls", "instances solved in training", numeric=True),
    Column("source", "counted by", "the sweep's own account, or the folder", files_only=True),
)


def _of_runs(runs: Sequence[Run]) -> Cost:
    return Cost(
        configurations=len({configuration(run.identity) for run in runs}),
        runs=len(runs),
        unfinished=sum(run.state != "done" for run in runs),
        train_s=sum(run.train_s or 0.0 for run in runs),
        solves=sum(run.training_solves for run in runs),
        alike=len({run.conditions for run in runs}) == 1,
        source="folder",
        led_to=tuple(run.run_id for run in runs),
    )


def _budget_row(method: str, cost: Cost, units: Iterable[Unit]) -> tuple[Cell, ...]:
    setting = Comparison(tuple(units), ())
    spent = seconds(cost.train_s)
    return (
        Cell(setting.title, setting.label),
        Cell(style(method).label, method),
        given_or_count(cost.configurations),
        count(cost.runs),
        count(cost.unfinished),
        Cell(spent, cost.train_s) if cost.alike else Cell(f"{spent} †", None, "muted"),
        count(cost.solves),
        text(cost.source),
    )

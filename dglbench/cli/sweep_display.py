"""A sweep before and after it runs: its plan and its outcome."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dglbench.cli import console
from dglbench.words import rough_seconds

if TYPE_CHECKING:
    from dglbench.sweep.driver import SweepEnd
    from dglbench.sweep.plan.plan import Plan, PlanRow
    from dglbench.sweep.request.specs import Group
    from dglbench.sweep.search.group_search import GroupSearch

__all__ = ["show_outcome", "show_plan"]

_PLAN_COLUMNS = ("done", "failed", "damaged", "unfinished", "stale")


def show_plan(plan: Plan, *, retry_failed: bool, jobs: int, as_json: bool) -> None:
    """Print what a sweep would do."""
    rows = plan.rows(retry_failed)
    counts: Counter[str] = sum((row.counts for row in rows), Counter())
    to_run = sum(row.to_run for row in rows)
    unknown = sum(row.to_run for row in rows if row.seconds is None)
    seconds = sum(row.seconds or 0.0 for row in rows) / jobs
    if as_json:
        groups = [
            {
                "setting": row.group.data.setting_name,
                "seed": row.group.data.seed,
                "train_seed": row.group.train_seed,
                "method": row.group.method,
                "runs": row.total,
                "to_run": row.to_run,
                **{name: row.counts[name] for name in _PLAN_COLUMNS},
                "seconds": row.seconds,
                "seconds_from": _estimated_from(row),
                "run_ids": list(row.run_ids),
                "damage": dict(row.damaged),
                "made_with": dict(row.upgrades),
            }
            for row in rows
        ]
        document = {"sweep": plan.sweep.document(), "runs": sum(row.total for row in rows)}
        estimate = {"seconds": None if unknown else seconds, "without_estimate": unknown}
        notes = {"remarks": plan.remarks(), "groups": groups}
        console.print_json({**document, "to_run": to_run, **counts, **estimate, **notes})
        return
    used = [name for name in _PLAN_COLUMNS if counts[name]]
    right = ("seed", "runs", *used, "to run", "time")
    console.print_table(
        ["setting", "seed", "method", "runs", *used, "to run", "time"],
        [
            [
                row.group.data.full_name,
                _seeds(row.group),
                row.group.method,
                row.total,
                *(row.counts[name] or "" for name in used),
                row.to_run or "",
                _plan_time(row),
            ]
            for row in rows
        ],
        title=f"sweep {plan.sweep.digest} in {plan.out}",
        right=right,
    )
    at_once = f" with {jobs} at once" if jobs > 1 else ""
    time_text = (
        f"about {rough_seconds(seconds)}{at_once}"
        if not unknown
        else f"about {rough_seconds(seconds)}{at_once} and {unknown} runs of unknown time"
        if seconds
        else "time unknown: no finished runs here to go by"
    )
    console.note(f"{to_run} of {sum(row.total for row in rows)} runs to make, {time_text}.")
    guessed = sum(row.to_run for row in rows if _estimated_from(row) == "reference")
    if guessed:
        console.note(
            f"the time of {guessed} runs is estimated from the reference runs, made on another "
            "machine: there are none of their kind here to go by."
        )
    for remark in plan.remarks():
        console.note(remark)
    if counts["stale"]:
        console.note(
            f"{counts['stale']} were made by other code (stale): they stay as they are and are "
            "run again."
        )
    for run_id, problem in {k: v for row in rows for k, v in row.damaged.items()}.items():
        console.warn(f"{run_id} is run again: {problem}.")
    upgrades: Counter[str] = sum((row.upgrades for row in rows), Counter())
    for changes, count in upgrades.items():
        console.note(
            f"{count} were made with {changes}: they are kept, and the report ranks no seconds "
            "across them; another --out makes them again."
        )
    if counts["failed"] and not retry_failed:
        console.note(f"{counts['failed']} failed before; --retry-failed runs them again.")


def _plan_time(row: PlanRow) -> str:
    if not row.to_run:
        return ""
    return "unknown" if row.seconds is None else rough_seconds(row.seconds)


def _estimated_from(row: PlanRow) -> str | None:
    if not row.to_run or row.seconds is None:
        return None
    return "reference" if row.from_reference else "runs here"


def show_outcome(plan: Plan, outcome: SweepEnd, *, as_json: bool) -> int:
    """Print the chosen runs and what went wrong; return the exit code."""
    from dglbench.sweep.outputs import chosen_path, config_path, group_entry

    code = _exit_code(outcome)
    wrong = [
        record
        for search in outcome.searches
        for record in search.results.values()
        if record.state != "done"
    ]
    config = config_path(plan.sweep, plan.out)
    if as_json:
        groups = [
            {**group_entry(s), **_figures(s), "complete": s.complete} for s in outcome.searches
        ]
        failures = [
            {"run_id": record.run_id, "status": record.state, "message": record.status.message}
            for record in wrong
        ]
        document = {"out": str(plan.out), "config": str(config), "search": plan.sweep.search}
        tail = {"groups": groups, "not_done": failures, "exit_code": code}
        console.print_json({**document, "counts": outcome.counts, **tail})
        return code
    for name, searches in groupby(outcome.searches, _unit_name):
        _unit_table(name, list(searches))
    for record in wrong:
        console.warn(f"{record.run_id} ended as {record.state}: {record.status.message}")
    for search in outcome.searches:
        for edge in search.edges():
            which = f"{search.group.method} on {_unit_name(search)}"
            console.note(f"{which}: {edge}; a wider range may do better.")
    parts = [f"{count} {state}" for state, count in sorted(outcome.counts.items())]
    console.note(f"runs: {', '.join(parts) or 'none'}; logs in {plan.out}; sweep kept as {config}")
    chosen = chosen_path(plan.sweep, plan.out)
    if chosen.is_file():
        console.note(f"to time what was chosen alone: dglbench sweep --config {chosen}")
    if outcome.interrupted or outcome.stopped_early:
        console.note("the same command goes on where this one stopped.")
    elif any(record.state in ("failed", "timeout") for record in wrong):
        console.note("the tracebacks are in each run's run.json; --retry-failed runs them again.")
    return code


def _unit_name(search: GroupSearch) -> str:
    group = search.group
    repeat = f", train seed {group.train_seed}" if group.train_seed else ""
    return f"{group.data.full_name}, seed {group.data.seed}{repeat}"


def _seeds(group: Group) -> str:
    """Write the data seed, and after it the training seed if there is one."""
    return f"{group.data.seed}" + (f" / {group.train_seed}" if group.train_seed else "")


def _exit_code(outcome: SweepEnd) -> int:
    """0 if every method has its run; a diverged configuration among others is an answer."""
    if outcome.interrupted:
        return 130
    states = [r.state for search in outcome.searches for r in search.results.values()]
    failed = any(state in ("failed", "timeout", "interrupted") for state in states)
    return int(failed or any(search.chosen is None for search in outcome.searches))


def _figures(search: GroupSearch) -> dict[str, Any]:
    selected = search.chosen.selected if search.chosen else None
    return {
        "validation_regret": selected.val.relative_regret if selected and selected.val else None,
        "test_regret": selected.test.relative_regret if selected else None,
    }


def _unit_table(title: str, searches: list[GroupSearch]) -> None:
    right = ("validation", "test", "seconds", "solver calls", "epochs", "configurations")
    rows = []
    for search in searches:
        chosen, budget = search.chosen, search.budget()
        figures = _figures(search)
        summary = chosen.summary if chosen else None
        states = Counter(record.state for record in search.results.values())
        rows.append(
            [
                search.group.method,
                ", ".join(f"{n} {state}" if n > 1 else state for state, n in states.items())
                or "not run",
                _regret(figures["validation_regret"]),
                _regret(figures["test_regret"]),
                f"{summary.train_s:.2f}" if summary else "",
                f"{summary.training_solves:,}" if summary else "",
                chosen.identity.protocol.epochs if chosen else "",
                budget["configurations"],
            ]
        )
    columns = ["method", "status", *right]
    if all(row[-1] == 1 for row in rows):  # nothing was searched: all had the same epochs
        columns, rows = columns[:-2], [row[:-2] for row in rows]
    console.print_table(columns, rows, title=f"{title}: relative regret", right=right)


def _regret(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"

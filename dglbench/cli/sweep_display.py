"""A sweep before and after it runs: its plan and its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dglbench.cli import console
from dglbench.runs.selection import best_record
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
                "predictor": row.group.predictor,
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
                same[0].group.data.full_name,
                _seeds(same[0].group),
                same[0].group.label,
                sum(row.total for row in same),
                *(sum(row.counts[name] for row in same) or "" for name in used),
                sum(row.to_run for row in same) or "",
                _plan_time(same),
            ]
            for same in _with_repeats(rows)
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


def _with_repeats(rows: Sequence[PlanRow]) -> list[list[PlanRow]]:
    """Put the repeats of a method on a dataset together."""
    found: dict[tuple[Any, ...], list[PlanRow]] = {}
    for row in rows:
        found.setdefault((row.group.data, row.group.label), []).append(row)
    return list(found.values())


def _seeds(group: Group) -> str:
    """Write the data seed, or all that a search spans."""
    spanned = [data.seed for data, _ in group.tuning_data]
    return ", ".join(map(str, spanned or [group.data.seed]))


def _plan_time(rows: Sequence[PlanRow]) -> str:
    if not any(row.to_run for row in rows):
        return ""
    seconds = [row.seconds for row in rows]
    known = [each for each in seconds if each is not None]
    return rough_seconds(sum(known)) if len(known) == len(seconds) else "unknown"


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
    for name, searches in groupby(outcome.searches, _dataset_name):
        _dataset_table(name, list(searches))
    for record in wrong:
        console.warn(f"{record.run_id} ended as {record.state}: {record.status.message}")
    for search in outcome.searches:
        for edge in search.edges():
            which = f"{search.group.label} on {_dataset_name(search)}{_repeat_name(search)}"
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


def _dataset_name(search: GroupSearch) -> str:
    group = search.group
    if len(group.tuning_data) > 1:
        seeds = ", ".join(str(data.seed) for data, _ in group.tuning_data)
        return f"{group.data.full_name}, tuning seeds {seeds}"
    return f"{group.data.full_name}, seed {group.data.seed}"


def _repeat_name(search: GroupSearch) -> str:
    return f", train seed {search.group.train_seed}" if search.group.train_seed else ""


def _exit_code(outcome: SweepEnd) -> int:
    """0 if every method has its run; a diverged configuration among others is an answer."""
    if outcome.interrupted:
        return 130
    states = [r.state for search in outcome.searches for r in search.results.values()]
    failed = any(state in ("failed", "timeout", "interrupted") for state in states)
    return int(failed or any(search.chosen is None for search in outcome.searches))


def _figures(search: GroupSearch) -> dict[str, Any]:
    """Return the regrets of the chosen run, or their means over the tuning data seeds."""
    selected = [record.selected for record in search.chosen_runs if record.selected]
    val = [each.val.relative_regret for each in selected if each.val]
    return {
        "validation_regret": fmean(val) if val else None,
        "test_regret": fmean(each.test.relative_regret for each in selected) if selected else None,
    }


def _dataset_table(title: str, searches: list[GroupSearch]) -> None:
    """Print a row per method: its chosen run, or its repeats together."""
    repeats: dict[str, list[GroupSearch]] = {}
    for search in searches:
        repeats.setdefault(search.group.label, []).append(search)
    if len(searches) > len(repeats):
        _repeats_table(title, repeats)
    else:
        _runs_table(title, searches)


def _repeats_table(title: str, repeats: dict[str, list[GroupSearch]]) -> None:
    right = ("validation", "test", "mean test", "lowest – highest", "seconds in all")
    rows = []
    for method, searches in repeats.items():
        chosen = [search.chosen for search in searches if search.chosen]
        tests = [r.selected.test.relative_regret for r in chosen if r.selected]
        best = best_record(chosen)
        selected = best.selected if best else None
        rows.append(
            [
                method,
                _statuses(searches),
                _regret(selected.val.relative_regret if selected and selected.val else None),
                _regret(selected.test.relative_regret if selected else None),
                _regret(fmean(tests) if tests else None),
                f"{min(tests):.4f} – {max(tests):.4f}" if tests else "",
                f"{sum(search.budget()['seconds'] for search in searches):.2f}",
            ]
        )
    number = max(map(len, repeats.values()))
    heading = f"{title}: relative regret, the best by validation of {number} repeats"
    console.print_table(["method", "status", *right], rows, title=heading, right=right)


def _statuses(searches: Sequence[GroupSearch]) -> str:
    states = Counter(r.state for search in searches for r in search.results.values())
    named = (f"{n} {state}" if n > 1 else state for state, n in states.items())
    return ", ".join(named) or "not run"


def _runs_table(title: str, searches: list[GroupSearch]) -> None:
    right = ("validation", "test", "seconds", "solver calls", "epochs", "configurations")
    rows = []
    for search in searches:
        chosen, budget = search.chosen, search.budget()
        figures = _figures(search)
        summary = chosen.summary if chosen else None
        rows.append(
            [
                search.group.label,
                _statuses([search]),
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

"""What sweeps say of their searches: what was tried, where, and which choice sits on an edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dglbench.report.loading import Report
from dglbench.report.style.palette import style

__all__ = ["Account", "Cost", "accounts", "search_costs", "search_notes"]


class Account(NamedTuple):
    """A sweep's word on one of its groups."""

    run_id: str
    group: Mapping[str, Any]
    tuned: Mapping[str, Any]
    """What the search that chose the options said of itself, if that was made elsewhere."""
    edges: tuple[str, ...]
    file: str

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that may stand for the method: ``run_id``, or those that decided a search.

        A search over data seeds is decided by runs on each of them, and ``run_id`` is on the first.
        """
        trials = [each for each in self.group.get("trials") or [] if isinstance(each, Mapping)]
        again = [trial["again"] for trial in trials if isinstance(trial.get("again"), Mapping)]
        decided = [str(run) for part in again or trials for run in part.get("runs") or []]
        return tuple(dict.fromkeys([self.run_id, *decided]))


def accounts(report: Report) -> Iterator[Account]:
    """Yield what the folder's sweeps say; what is not as a sweep writes it is passed over."""
    for sweep in report.sweeps:
        groups = sweep.get("groups")
        for group in groups if isinstance(groups, list) else []:
            if not isinstance(group, Mapping) or not isinstance(group.get("run_id"), str):
                continue
            tuned = group.get("tuned")
            tuned = tuned if isinstance(tuned, Mapping) else {}
            edges = group.get("edges") or tuned.get("edges") or ()
            said = tuple(map(str, edges)) if isinstance(edges, list) else ()
            yield Account(group["run_id"], group, tuned, said, str(sweep["file"]))


class Cost(NamedTuple):
    """What a search took."""

    configurations: int
    runs: int
    unfinished: int
    train_s: float
    solves: int
    alike: bool
    """Whether all its seconds were made under the same conditions."""
    source: str
    led_to: tuple[str, ...]
    """The runs that may stand for the method by it: they tell searches of equal cost apart."""
    search: str = ""
    """Its kind; ``none`` where nothing was searched."""

    @property
    def tuning_s(self) -> float:
        """Training seconds of the search; 0 where nothing was searched."""
        return 0.0 if self.search in ("", "none") else self.train_s


def search_costs(report: Report) -> dict[str, Cost]:
    """Return the accounts that sweeps kept, by the runs each led to; the largest if several did."""
    found: dict[str, Cost] = {}
    kinds = {str(sweep["file"]): str(sweep.get("search") or "") for sweep in report.sweeps}
    for account in accounts(report):
        # A search made elsewhere is what the choice cost; its one run here is not.
        said = {**account.group, **account.tuned}
        try:
            cost = Cost(
                configurations=int(said["configurations"]),
                runs=int(said["runs"]),
                unfinished=int(said["failed"]),
                train_s=float(said["seconds"]),
                solves=int(said["solver_calls"]),
                alike=bool(said["concurrency"]),
                source=account.file,
                led_to=account.runs,
                search=str(account.tuned.get("search") or kinds[account.file]),
            )
        except (KeyError, TypeError, ValueError):
            continue  # not as a sweep writes it: count the folder's runs instead
        for run_id in cost.led_to:
            if run_id not in found or cost.runs > found[run_id].runs:
                found[run_id] = cost
    return found


def search_notes(report: Report) -> list[str]:
    """Say which searches were made elsewhere, and which chosen values sit on an edge."""
    chosen = {run.run_id: run for run in report.chosen_runs()}
    elsewhere: Counter[str] = Counter()
    edges: dict[str, None] = {}
    for account in {a.run_id: a for a in accounts(report) if a.run_id in chosen}.values():
        run = chosen[account.run_id]
        if account.tuned:
            elsewhere[_search(account.tuned)] += 1
        for edge in account.edges:
            where = run.unit.base if account.tuned else run.unit.label
            edges[f"{style(run.method).label} on {where} ({edge})"] = None
    notes = [
        f"searched elsewhere: {count} of the {len(chosen)} chosen configurations, {search}."
        for search, count in elsewhere.items()
    ]
    if edges:
        notes.append(
            f"on the edge of what was searched, so that a wider range may do better: "
            f"{'; '.join(edges)}."
        )
    return notes


def _search(tuned: Mapping[str, Any]) -> str:
    """Tell a search by its kind, data seed, solvers and number of runs at once."""
    at_once = tuned.get("concurrency")
    beside = f", {at_once} at once" if isinstance(at_once, int) and at_once > 1 else ""
    seeds = tuned.get("seeds") or [tuned.get("seed")]
    named = ", ".join(map(str, seeds)) if isinstance(seeds, list) else str(seeds)
    on = f"data seeds {named}" if ", " in named else f"data seed {named}"
    return f"by {tuned.get('search')} on {on} with the solvers of {tuned.get('solver')}{beside}"

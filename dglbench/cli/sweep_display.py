"""A sweep on the screen: its plan, its progress, its outcome."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dglbench.cli import console

if TYPE_CHECKING:
    from rich.console import RenderableType

    from dglbench.runs import RunSpec
    from dglbench.sweep.driver import Outcome
    from dglbench.sweep.jobs import Job, Listener, News
    from dglbench.sweep.plan import Plan, PlanRow
    from dglbench.sweep.search import GroupSearch

__all__ = ["show_outcome", "show_plan", "watching"]

_LINE_EVERY_S = 10.0
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
                "method": row.group.method,
                "runs": row.total,
                "to_run": row.to_run,
                **{name: row.counts[name] for name in _PLAN_COLUMNS},
                "seconds": row.seconds,
                "run_ids": [spec.run_id for spec in row.group.specs],
            }
            for row in rows
        ]
        document = {"sweep": plan.sweep.document(), "runs": sum(row.total for row in rows)}
        estimate = {"seconds": None if unknown else seconds, "without_estimate": unknown}
        console.print_json({**document, "to_run": to_run, **counts, **estimate, "groups": groups})
        return
    used = [name for name in _PLAN_COLUMNS if counts[name]]
    right = ("seed", "runs", *used, "to run", "time")
    console.print_table(
        ["setting", "seed", "method", "runs", *used, "to run", "time"],
        [
            [
                row.group.data.full_name,
                row.group.data.seed,
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
        f"about {console.duration(seconds)}{at_once}"
        if not unknown
        else f"about {console.duration(seconds)}{at_once} and {unknown} runs of unknown time"
        if seconds
        else "time unknown: no finished runs here to go by"
    )
    console.note(f"{to_run} of {sum(row.total for row in rows)} runs to make, {time_text}.")
    if counts["stale"]:
        console.note(
            f"{counts['stale']} were made by other code (stale): they stay as they are and are "
            "run again."
        )
    if counts["failed"] and not retry_failed:
        console.note(f"{counts['failed']} failed before; --retry-failed runs them again.")


def _plan_time(row: PlanRow) -> str:
    if not row.to_run:
        return ""
    return "unknown" if row.seconds is None else console.duration(row.seconds)


def show_outcome(plan: Plan, outcome: Outcome, *, as_json: bool) -> int:
    """Print the chosen runs and what went wrong; return the exit code."""
    from dglbench.sweep.book import config_path, group_entry

    code = _exit_code(outcome)
    wrong = [
        (result.spec.run_id, result.status)
        for search in outcome.searches
        for result in search.results.values()
        if result.status["status"] != "done"
    ]
    config = config_path(plan.sweep, plan.out)
    if as_json:
        groups = [
            {**group_entry(s), **_figures(s), "complete": s.complete} for s in outcome.searches
        ]
        failures = [
            {"run_id": run_id, "status": status["status"], "message": status.get("message")}
            for run_id, status in wrong
        ]
        document = {"out": str(plan.out), "config": str(config), "search": plan.sweep.search}
        tail = {"groups": groups, "not_done": failures, "exit_code": code}
        console.print_json({**document, "counts": outcome.counts, **tail})
        return code
    for (name, seed), searches in groupby(outcome.searches, _unit_key):
        _unit_table(f"{name}, seed {seed}", list(searches))
    for run_id, status in wrong:
        console.warn(f"{run_id} ended as {status['status']}: {status.get('message')}")
    parts = [f"{count} {state}" for state, count in sorted(outcome.counts.items())]
    console.note(f"runs: {', '.join(parts) or 'none'}; logs in {plan.out}; sweep kept as {config}")
    if outcome.interrupted or outcome.stopped_early:
        console.note("the same command goes on where this one stopped.")
    elif any(status["status"] in ("failed", "timeout") for _, status in wrong):
        console.note(
            "the tracebacks are in each run's status.json; --retry-failed runs them again."
        )
    return code


def _unit_key(search: GroupSearch) -> tuple[str, int]:
    return search.group.data.full_name, search.group.data.seed


def _exit_code(outcome: Outcome) -> int:
    """0 if every method has its run; a diverged configuration among others is an answer."""
    if outcome.interrupted:
        return 130
    states = [r.status["status"] for search in outcome.searches for r in search.results.values()]
    failed = any(state in ("failed", "timeout", "interrupted") for state in states)
    return int(failed or any(search.chosen is None for search in outcome.searches))


def _figures(search: GroupSearch) -> dict[str, Any]:
    selected = search.chosen.status["selected"] if search.chosen else None
    return {
        "validation_regret": selected["val"]["relative_regret"] if selected else None,
        "test_regret": selected["test"]["relative_regret"] if selected else None,
    }


def _unit_table(title: str, searches: list[GroupSearch]) -> None:
    right = ("validation", "test", "seconds", "solver calls", "configurations")
    rows = []
    for search in searches:
        chosen, budget = search.chosen, search.budget()
        figures = _figures(search)
        status = chosen.status if chosen else {}
        solves = status.get("solves") or {}
        states = Counter(str(r.status["status"]) for r in search.results.values())
        rows.append(
            [
                search.group.method,
                ", ".join(f"{n} {state}" if n > 1 else state for state, n in states.items())
                or "not run",
                _regret(figures["validation_regret"]),
                _regret(figures["test_regret"]),
                f"{status['train_s']:.2f}" if chosen else "",
                f"{sum(solves.get(k, 0) for k in ('label', 'train', 'refresh')):,}"
                if chosen
                else "",
                budget["configurations"],
            ]
        )
    columns = ["method", "status", *right]
    if all(row[-1] == 1 for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    console.print_table(columns, rows, title=f"{title}: relative regret", right=right)


def _regret(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


@contextmanager
def watching(*, quiet: bool) -> Iterator[Listener]:
    """Show a sweep while it runs: live on a terminal, else in plain lines."""
    if quiet:
        yield _Silent()
    elif console.err.is_terminal:
        from rich.live import Live

        display = _Live()
        with Live(
            get_renderable=display.render,
            console=console.err,
            transient=True,
            refresh_per_second=4,
        ):
            yield display
    else:
        yield _Lines()


class _Silent:
    """Says only what cannot wait."""

    def __init__(self) -> None:
        self.total = 0
        self.counts: Counter[str] = Counter()
        self.left_s: float | None = None

    def begin(self, total: int, left_s: float | None) -> None:
        self.total, self.left_s = total, left_s

    def started(self, job: Job) -> None:
        pass

    def news(self, key: str, news: News) -> None:
        pass

    def ended(self, spec: RunSpec, state: str, status: Mapping[str, Any]) -> None:
        self.counts[state] += 1

    def left(self, seconds: float | None) -> None:
        self.left_s = seconds

    def tell(self, sentence: str) -> None:
        console.note(sentence)

    def _summary(self) -> str:
        ended = sum(self.counts.values())
        parts = "".join(f", {count} {state}" for state, count in sorted(self.counts.items()))
        left = f", about {console.duration(self.left_s)} left" if self.left_s else ""
        return f"{ended} of {self.total} runs{parts}{left}"


class _Lines(_Silent):
    """A line for every run, and now and then one for how far the running ones are."""

    def __init__(self) -> None:
        super().__init__()
        self._last = time.monotonic()
        self._told_skipped = False

    def left(self, seconds: float | None) -> None:
        super().left(seconds)
        if not self._told_skipped:
            self._told_skipped = True
            if self.counts["skipped"]:
                console.note(self._summary())

    def news(self, key: str, news: News) -> None:
        if time.monotonic() - self._last >= _LINE_EVERY_S:
            self._last = time.monotonic()
            console.note(
                f"{key}: epoch {news.epoch}/{news.epochs}, validation regret {news.val_regret:.4f}"
            )

    def ended(self, spec: RunSpec, state: str, status: Mapping[str, Any]) -> None:
        super().ended(spec, state, status)
        if state == "skipped":
            return
        self._last = time.monotonic()
        selected = status.get("selected")
        result = (
            f"validation regret {selected['val']['relative_regret']:.4f}, "
            f"{status['train_s']:.2f} s of training"
            if selected
            else str(status.get("message"))
        )
        console.note(f"{spec.run_id} {state}: {result} ({self._summary()})")


class _Live(_Silent):
    """A bar for all, a line for each that runs."""

    def __init__(self) -> None:
        super().__init__()
        self._running: dict[str, tuple[Job, News | None]] = {}
        self._told_at = time.monotonic()

    def started(self, job: Job) -> None:
        self._running = {**self._running, job.key: (job, None)}

    def news(self, key: str, news: News) -> None:
        if key in self._running:
            self._running[key] = (self._running[key][0], news)
        else:
            self._running = dict(self._running)

    def ended(self, spec: RunSpec, state: str, status: Mapping[str, Any]) -> None:
        super().ended(spec, state, status)
        self._running = {
            key: value
            for key, value in self._running.items()
            if key != spec.run_id and not value[0].is_warm_start
        }
        if state not in ("done", "skipped"):
            console.warn(f"{spec.run_id} ended as {state}: {status.get('message')}")

    def left(self, seconds: float | None) -> None:
        super().left(seconds)
        self._told_at = time.monotonic()

    def render(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        ended = sum(self.counts.values())
        head = Table.grid(padding=(0, 1))
        failed = sum(self.counts[state] for state in ("failed", "timeout", "diverged"))
        counts = Text.assemble(
            f"{self.counts['done']} done",
            (f", {failed} failed", "red" if failed else ""),
            f", {self.counts['skipped']} skipped",
        )
        left = ""
        if self.left_s is not None and ended < self.total:
            passed = time.monotonic() - self._told_at
            left = f"about {console.duration(max(self.left_s - passed, 0.0))} left"
        bar = ProgressBar(total=max(self.total, 1), completed=ended, width=30)
        head.add_row(bar, f"{ended}/{self.total}", counts, left)
        body = Table.grid(padding=(0, 2))
        for job, news in self._running.values():
            what = "warm start" if job.is_warm_start else job.spec.method
            progress = (
                f"epoch {news.epoch}/{news.epochs}  validation regret {news.val_regret:.4f}"
                if news
                else ""
            )
            body.add_row(f"  {job.spec.data.full_name} seed {job.spec.data.seed}", what, progress)
        grid = Table.grid()
        grid.add_row(head)
        grid.add_row(body)
        return grid

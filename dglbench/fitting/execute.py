"""`fit` from its data to its verdict: plan, runs, choice, files."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from dglbench.errors import OptionError, RunError
from dglbench.fitting.conclude import Reserve, conclude, reserve
from dglbench.fitting.files import looks, write_model, write_verdict
from dglbench.fitting.intake import Given
from dglbench.fitting.journal import Journal, open_journal
from dglbench.fitting.kinds import Kind, families, kinds, methods
from dglbench.fitting.pace import (
    LONGEST_RUN,
    decision_seconds,
    fitting,
    run_seconds,
    usual_epochs,
    usual_period,
)
from dglbench.fitting.plan import FitPlan
from dglbench.fitting.progress import Show, Watch
from dglbench.fitting.verdict import Verdict
from dglbench.plugins import find_task
from dglbench.runs.record import RunRecord
from dglbench.solvers.batched import task_solver
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.plan.survey import Survey
from dglbench.sweep.request.request import Request
from dglbench.sweep.request.resolve import Sweep, resolve
from dglbench.sweep.request.specs import make_groups
from dglbench.task import Task
from dglbench.training.apply import TrainedPredictor
from dglbench.training.evaluation import load_data
from dglbench.training.spec import RunSpec
from dglbench.words import rough_seconds

__all__ = ["DEFAULT_MINUTES", "Ask", "Fitted", "run_fit"]

DEFAULT_MINUTES = 5.0
_AMPLE = 1.5
"""How much more time than the least is advised."""


@dataclass(frozen=True)
class Ask:
    """How long a fit may take, and where it goes."""

    out: Path = Path("fitted")
    minutes: float | None = None
    runs: int | None = None
    jobs: int = 1
    solver: str | None = None
    began: float = field(default_factory=time.monotonic)
    """When its time began, by `time.monotonic`."""

    def __post_init__(self) -> None:
        if self.minutes is not None and self.runs is not None:
            raise OptionError("give --minutes or --runs: the time a fit may take, or its runs.")
        if self.minutes is not None and not 0 < self.minutes < float("inf"):
            raise OptionError(f"--minutes must be a number above 0, got {self.minutes:g}.")
        if self.runs is not None and self.runs < 1:
            raise OptionError(f"--runs must be a whole number ≥ 1, got {self.runs}.")

    @property
    def seconds(self) -> float | None:
        """The time granted; None where the number of runs is."""
        if self.runs is not None:
            return None
        return 60.0 * (DEFAULT_MINUTES if self.minutes is None else self.minutes)


class Fitted(NamedTuple):
    """What a fit ends with."""

    verdict: Verdict
    model: TrainedPredictor
    files: list[Path]
    interrupted: bool


def run_fit(given: Given, ask: Ask, show: Show) -> Fitted:
    """Make the runs that the time allows, choose, judge, and write the verdict."""
    dataset, task = given.dataset, find_task(given.dataset.spec.task)
    solver = ask.solver or ("batched" if task_solver(task, dataset.problem) else "ortools")
    known = open_journal(ask.out, given.content, solver)
    journal = known or Journal(given.content, solver)
    request = given.keep(ask.out)
    sweep, found = _kinds(task, given, request, journal, show)
    end = None
    if ask.seconds is not None:
        if known is None:
            show.tell("measuring how long a run takes …")
        decision_s = decision_seconds(dataset)
        end = reserve(dataset, decision_s, ask.seconds)
        if known is None:
            journal, found, sweep = _within(
                ask, given, task, request, journal, (sweep, found), (decision_s, end), show
            )
    journal = journal.keep(ask.out, journal.seconds + time.monotonic() - ask.began)
    watch = Watch(show, journal, ask.out, of_seconds=ask.seconds, of_runs=ask.runs)
    limit = deadline = None
    if ask.seconds is not None and end is not None:
        limit = max(LONGEST_RUN * ask.seconds, journal.longest_s or 0.0)
        kept = end.kept + journal.seconds
        deadline = time.monotonic() + ask.seconds - kept
    plan = FitPlan(
        replace(sweep, time_limit=limit), ask.out, (), Survey.of(ask.out), found, ask.runs
    )
    plan = replace(plan, units=[[plan.group]])
    swept = run_sweep(plan, watch, jobs=ask.jobs, deadline=deadline)
    watch.save()
    watch.judging()
    records: Mapping[str, RunRecord] = swept.searches[0].results
    spec = found[0].spec
    if not any(record.state == "done" for record in records.values()):
        if swept.interrupted:
            show.tell("stopped before a run was finished; the same command goes on.")
            raise KeyboardInterrupt
        raise _nothing(ask, records)
    path = Path(request.data[0]) if request.data else None
    loaded = load_data(spec.data, spec.data_digest)
    verdict, model = conclude(ask.out, records.values(), loaded, path, end and end.sureness)
    verdict = replace(verdict, untried=_untried(found, records.values()))
    written = write_model(ask.out, verdict, model)
    verdict = replace(verdict, seconds=watch.save().seconds, looks=looks(ask.out, verdict))
    return Fitted(verdict, model, [*write_verdict(ask.out, verdict), *written], swept.interrupted)


def _kinds(
    task: Task, given: Given, request: Request, journal: Journal, show: Show
) -> tuple[Sweep, list[Kind]]:
    """Resolve every method with every predictor once, and keep what fits the data."""
    wanted = replace(
        request,
        methods=methods(),
        predictor=tuple(families(task, given.dataset)),
        solver=journal.solver,
        search="none",
        protocol={
            key: value
            for key, value in (("epochs", journal.epochs), ("evaluate_every", journal.every))
            if value is not None
        },
    )
    sweep = resolve([wanted])
    specs = {
        (spec.method, spec.predictor): spec
        for unit in make_groups(sweep)
        for group in unit
        for spec in group.specs
    }
    reasons: dict[str, str] = {}

    def make_spec(method: str, predictor: str) -> RunSpec:
        fitted = specs.get((method, method))  # by a method without gradients
        return fitted or specs[method, predictor]

    def leave_out(method: str, why: str) -> None:
        if method not in reasons:
            show.tell(f"{method} is left out: {why}")
        reasons[method] = why

    found = [
        kind
        for kind in kinds(task, given.dataset, make_spec, leave_out)
        if kind.spec.method not in journal.too_slow
    ]
    if not found:
        raise OptionError(next(iter(reasons.values())))
    return sweep, found


def _within(
    ask: Ask,
    given: Given,
    task: Task,
    request: Request,
    journal: Journal,
    found: tuple[Sweep, list[Kind]],
    costs: tuple[float, Reserve],
    show: Show,
) -> tuple[Journal, list[Kind], Sweep]:
    """Say what fits into the time, and settle epochs and methods by it."""
    sweep, every = found
    seconds, (decision_s, end) = ask.seconds or 0.0, costs
    once_s = decision_s * sum(len(given.dataset.rows(split)) for split in ("val", "test"))
    paces = run_seconds(every, given.dataset, decision_s, seconds)
    used = time.monotonic() - ask.began
    kept = end.kept + used
    budget = fitting(every, paces, seconds, ask.jobs, once_s, kept)

    def advised(runs_s: float) -> str:
        return f"--minutes {_AMPLE * (used + runs_s + end.needed) / 60:.2g}"

    if budget.shortest_s > seconds - kept:
        raise RunError(
            f"{rough_seconds(seconds)} are too short for a single run: the shortest takes about "
            f"{rough_seconds(budget.shortest_s)}; give at least {advised(budget.shortest_s)}."
        )
    if budget.both_sides_s > seconds - kept:
        show.tell(
            f"{rough_seconds(seconds)} may be too short to compare training for decisions with "
            f"training for accuracy; {advised(budget.both_sides_s)} would do."
        )
    show.tell(
        f"one run takes about: {budget.words}; some {max(budget.runs, 1):,} fit into "
        f"{rough_seconds(seconds)}."
    )
    usual, period = usual_epochs(every), usual_period(every)
    if budget.every > period:
        show.tell(
            f"runs are evaluated every {budget.every} epochs instead of every {period}, so that "
            "more of them fit."
        )
    if budget.epochs < usual:
        show.tell(
            f"runs have {budget.epochs} epochs instead of {usual}, so that every kind gets one; "
            "grant more --minutes in another --out for longer ones."
        )
    if budget.too_slow:
        show.tell(
            f"left out, as one run would take more than a third of the time: "
            f"{', '.join(budget.too_slow)}."
        )
    if (budget.epochs, budget.every) != (usual, period):
        journal = replace(journal, epochs=budget.epochs, every=budget.every)
    journal = replace(journal, too_slow=budget.too_slow, longest_s=budget.longest_s)
    if journal.epochs is None and not budget.too_slow:
        return journal, every, sweep
    sweep, every = _kinds(task, given, request, journal, show)
    return journal, every, sweep


def _untried(found: Iterable[Kind], records: Iterable[RunRecord]) -> tuple[str, ...]:
    """Name what no run was made of: methods with each family of predictors, whatever the start."""
    tried = {(each.identity.method, _stem(each.identity.predictor)) for each in records}
    names = {
        (kind.spec.method, _stem(kind.spec.predictor)): kind.spec.method
        if kind.spec.method == kind.spec.predictor
        else f"{kind.spec.method} with {kind.spec.predictor}"
        for kind in found
    }
    return tuple(name for key, name in names.items() if key not in tried)


def _stem(predictor: str | None) -> str:
    return (predictor or "").partition(":")[0]


def _nothing(ask: Ask, records: Mapping[str, RunRecord]) -> RunError:
    """Say why no run has a result."""
    failed = next((r for r in records.values() if r.state not in ("done", "interrupted")), None)
    if failed is None and ask.seconds is None:
        return RunError("no run was finished; run the same command again to go on.")
    if failed is None:
        return RunError(
            f"not even one run was finished in the time; run the same command again with more "
            f"--minutes than {(ask.seconds or 0.0) / 60:g} to go on."
        )
    why = (failed.status.message or failed.state).rstrip(".")
    return RunError(
        f"no run was finished; the first ended as {failed.state}: {why}. Its traceback is in "
        f"{ask.out / failed.run_id}."
    )

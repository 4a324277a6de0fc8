"""The driver: starts runs in a fair order, takes their results, and alone writes them.

Whatever is in the folder decides: a run that is there is skipped, one that another
sweep is at is waited for, anything else is run. So the same command resumes, after
whatever stopped it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from dglbench.errors import RunError
from dglbench.plugins import find_task
from dglbench.runs import provenance
from dglbench.runs.record import RunOutput, RunRecord
from dglbench.runs.store import clean_partial, write_run
from dglbench.sweep.interrupts import Interrupts
from dglbench.sweep.jobs import Ended, Executor, Job, Listener, News, broken_record
from dglbench.sweep.locks import Locks
from dglbench.sweep.plan.pace import Pace
from dglbench.sweep.plan.plan import Plan
from dglbench.sweep.plan.survey import needs_run, read_state
from dglbench.sweep.search.group_search import GroupSearch
from dglbench.training import warm_start
from dglbench.training.spec import RunSpec
from dglbench.training.train import RunStop
from dglbench.training.warm_start import WarmStart, warm_start_id

__all__ = ["Driver", "SweepEnd"]

_POLL_S = 0.25
_SHOW_S = 1.0
_LATE_S = 5.0  # the same where the time is up
_SHORTEST_S = 0.1  # that a job is given, even if the time is up in this moment
_FINISH_S = 30.0  # a run that has not ended by then is made again by the same command
_ELSEWHERE_S = 0.5  # between looks at runs that another sweep is at
_CHOICES_REST = 20  # times as long as writing the choices took, until they are written again
_FAILED = ("failed", "timeout", "diverged")


class SweepEnd(NamedTuple):
    """How a sweep ended."""

    searches: list[GroupSearch]
    counts: Counter[str]
    """Runs by how they ended here, and ``skipped``."""
    interrupted: bool
    stopped_early: bool
    """Whether --fail-fast ended it."""
    abandoned: bool = False
    """Whether runs were left behind that did not end when asked to."""


@dataclass
class Driver:
    """One sweep on its way."""

    plan: Plan
    executor: Executor
    interrupts: Interrupts
    locks: Locks
    listener: Listener
    retry_failed: bool = False
    fail_fast: bool = False
    deadline: float | None = None
    """By `time.monotonic`: when the sweep ends. Runs that are not ready count as not made."""
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._pace = Pace(self.plan.survey)
        self._shown = 0.0
        self._told: set[str] = set()

    def run(self) -> SweepEnd:
        """Run everything that is to be run."""
        out = self.plan.out
        self._began = time.time()
        self._units = self.plan.searches()
        self._all = [search for unit in self._units for search in unit]
        self._warm: dict[str, WarmStart | BaseException] = {}
        self._warm_names: dict[tuple[Any, ...], str] = {}
        self._active: dict[str, GroupSearch | None] = {}  # None for a warm start
        self._not_before: dict[str, float] = {}
        self._waiting = self._elsewhere = False
        self._stopping = self._fail_stop = False
        self._patience_ends = float("inf")
        self._choices_due = 0.0
        clean_partial(out)
        self.plan.begin()
        self.listener.begin(sum(search.total for search in self._all), None)
        for search in self._all:
            self._skip_known(search)
        self._show_left()
        while True:
            if self.interrupts.count and not self._stopping:
                self._stop("finishing; what runs ends early. Ctrl-C again stops now.")
            if self._left() <= 0 and not self._stopping:
                self._stop("the time is up; what runs ends early.", _LATE_S)
            if not self._stopping:
                self._fill()
            if not self._active and (self._stopping or all(s.finished for s in self._all)):
                break
            ended = self.executor.wait(_POLL_S, self._hear)
            for each in ended:
                self._take(each)
            if not ended and not self._active:
                time.sleep(_POLL_S)
            if self._active and time.monotonic() > self._patience_ends:
                self.listener.tell(
                    f"{len(self._active)} of what runs did not end in time and is left; the same "
                    "command makes it again."
                )
                break
        self.plan.keep(self._all)
        interrupted = bool(self.interrupts.count)
        return SweepEnd(
            self._all, self.counts, interrupted, self._fail_stop, abandoned=bool(self._active)
        )

    # -- starting --------------------------------------------------------------------

    def _fill(self) -> None:
        while self.executor.free() > 0:
            job = self._next()
            if job is None:
                return
            self.listener.started(job)
            self.executor.start(job)

    def _next(self) -> Job | None:
        """Pick the next job, methods of a dataset taking turns, and lock it."""
        self._elsewhere = False
        for unit in self._units:
            # The least advanced method first: all of them are spread over the whole time
            # that the dataset takes, so that a drifting machine treats them alike.
            for search in sorted(unit, key=lambda search: search.progress):
                job = self._next_of(search) if search.pending else None
                if job:
                    self._waiting = False
                    return job
        if self._elsewhere and not self._active and not self._waiting:
            self._waiting = True
            self.listener.tell("the runs that are left are being made by another sweep; waiting.")
        return None

    def _next_of(self, search: GroupSearch) -> Job | None:
        lacking: set[str] = set()  # warm starts that are being made, here or elsewhere
        for run_id, spec in list(search.pending.items()):
            if time.time() < self._not_before.get(run_id, 0):
                self._elsewhere = True
                continue
            warm = self._warm_start(spec) if spec.starts_warm else None
            if isinstance(warm, str):
                job = None if warm in lacking else self._warm_start_job(warm, spec)
                if job is not None:
                    return job
                lacking.add(warm)
            elif isinstance(warm, BaseException):
                why = f"its warm start failed: {warm}"
                self._finish(search, run_id, broken_record(spec, "failed", why, error=warm))
            elif self._lock(search, run_id, spec):
                search.start(run_id)
                self._active[run_id] = search
                job = Job(
                    key=run_id,
                    spec=spec,
                    warm_start=warm,
                    time_limit=self.plan.sweep.time_limit,
                    folder=self.plan.out.absolute(),
                )
                return self._in_time(job)
        return None

    def _warm_start(self, spec: RunSpec) -> WarmStart | BaseException | str:
        """Return a run's warm start, what kept it from being made, or the name to make it by."""
        name = self._warm_name(spec)
        warm = self._warm.get(name) or warm_start.load(name, self.plan.out)
        if warm is None:
            return name
        self._warm[name] = warm
        return warm

    def _lock(self, search: GroupSearch, run_id: str, spec: RunSpec) -> bool:
        """Say whether the run is ours to make: not locked elsewhere and not made meanwhile."""
        if not self.locks.take(run_id):
            self._not_before[run_id] = time.time() + _ELSEWHERE_S
            self._elsewhere = True
            return False
        found = read_state(self.plan.out, run_id)
        fresh = found.state == "failed" and found.finished >= self._began
        if found.record is None or (not fresh and needs_run(found, self.retry_failed, spec)):
            return True
        self.locks.release(run_id)
        self._settle(search, run_id, found.record, "skipped")
        return False

    def _warm_start_job(self, name: str, spec: RunSpec) -> Job | None:
        key = f"warm start {name}"
        if key in self._active:
            return None  # being made here; its runs come after it
        if not self.locks.take(key):
            self._elsewhere = True
            return None
        self._active[key] = None
        return self._in_time(Job(key=key, spec=spec, is_warm_start=True))

    def _in_time(self, job: Job) -> Job:
        """Let a job end with the sweep's time, if that is before its own limit."""
        left = max(self._left(), _SHORTEST_S)
        if left < (math.inf if job.time_limit is None else job.time_limit):
            return replace(job, time_limit=left, cut_short=True)
        return job

    def _left(self) -> float:
        return math.inf if self.deadline is None else self.deadline - time.monotonic()

    def _warm_name(self, spec: RunSpec) -> str:
        key = (spec.predictor, spec.data, spec.protocol)
        if key not in self._warm_names:
            task = find_task(spec.data.task)
            self._warm_names[key] = warm_start_id(
                spec.predictor, task, spec.data, spec.protocol, spec.data_digest
            )
        return self._warm_names[key]

    def _hear(self, key: str, news: News) -> None:
        """Pass on how far a run is."""
        self._pace.hear(key, news.epoch)
        self.listener.news(key, news)
        if time.monotonic() - self._shown > _SHOW_S:
            self._show_left()

    # -- ending ----------------------------------------------------------------------

    def _take(self, ended: Ended) -> None:
        job, result = ended
        search = self._active.pop(job.key)
        try:
            if search is None:
                self._take_warm_start(job, result)
                return
            if not isinstance(result, RunOutput):
                error = result if isinstance(result, BaseException) else None
                why = f"{type(result).__name__}: {result}"
                result = broken_record(job.spec, "failed", why, error=error)
            self._finish(search, job.key, result)
        finally:
            self.locks.release(job.key)

    def _take_warm_start(self, job: Job, result: Any) -> None:
        if isinstance(result, (KeyboardInterrupt, RunStop)):
            return
        name = job.key.rpartition(" ")[2]
        self._warm[name] = result
        if isinstance(result, WarmStart):
            try:
                warm_start.save(result, self.plan.out)
            except (OSError, RuntimeError) as error:  # torch reports a full disk as the latter
                raise RunError(
                    f"a warm start could not be written to {self.plan.out} ({error}); free some "
                    "space or choose another --out, then run the same command again."
                ) from error

    def _finish(self, search: GroupSearch, run_id: str, output: RunOutput) -> None:
        record = output.record
        if record.state != "interrupted" or self._left() > 0:  # else it counts as not made
            write_run(output, self.plan.out, replace=True)
        self._tell_busy(record)
        self._pace.add(record)
        rounds = len(search.rounds)
        self._settle(search, run_id, record, record.state)
        if len(search.rounds) > rounds:
            self._skip_known(search)
        if search.finished:
            self._keep_choices()
        if self.fail_fast and record.state in _FAILED and not self._stopping:
            self._fail_stop = True
            self._stop(f"{run_id} ended as {record.state}; stopping because of --fail-fast.")

    def _keep_choices(self) -> None:
        """Write what is chosen so far, as often as that takes little of the sweep's time.

        It is about all groups: after each of thousands it would take longer than their runs.
        """
        began = time.monotonic()
        if began >= self._choices_due:
            self.plan.keep(self._all)
            ended = time.monotonic()
            self._choices_due = ended + _CHOICES_REST * (ended - began)

    def _settle(self, search: GroupSearch, run_id: str, record: RunRecord, state: str) -> None:
        spec = search.running.get(run_id) or search.pending[run_id]
        search.settle(run_id, record)
        self.counts[state] += 1
        if state != "skipped":
            self._show_left()
        self.listener.ended(spec, state, record)

    def _skip_known(self, search: GroupSearch) -> None:
        """Take the results that are there already; that may open the next round."""
        rounds = 0
        while rounds < len(search.rounds):
            rounds = len(search.rounds)
            for run_id, spec in list(search.pending.items()):
                found = self.plan.survey.state(run_id)
                if found.problem:
                    self.listener.tell(f"{run_id} is run again: {found.problem}.")
                elif found.record and not needs_run(found, self.retry_failed, spec):
                    self._tell_upgrade(found.record)
                    self._settle(search, run_id, found.record, "skipped")

    def _tell_upgrade(self, record: RunRecord) -> None:
        """Say once for each change that a finished run was made with other libraries."""
        changes = ", ".join(provenance.upgrades(record))
        if changes and changes not in self._told:
            self._told.add(changes)
            self.listener.tell(
                f"some finished runs were made with {changes}: they are kept, and the report "
                "ranks no seconds across them; another --out makes them again."
            )

    def _tell_busy(self, record: RunRecord) -> None:
        """Say once that others used the machine while seconds were measured."""
        environment = record.environment
        timed = (environment.concurrency or 1) * (environment.threads or 1)
        sentence = provenance.busy(environment.load_1min, timed)
        if sentence and "busy" not in self._told:
            self._told.add("busy")
            self.listener.tell(sentence)

    def _stop(self, why: str, patience_s: float = _FINISH_S) -> None:
        self._stopping = True
        self._patience_ends = time.monotonic() + patience_s
        self.listener.tell(why)
        self.executor.finish_early()

    def _show_left(self) -> None:
        self._shown = time.monotonic()
        self.listener.left(self._pace.left(self._all, max(self.executor.slots, 1)))

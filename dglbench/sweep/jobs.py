"""What the driver and those who work for it say to each other.

Whoever does the work is an `Executor`: a class in `dglbench.sweep.executors`, or one
that any package registers under the entry-point group ``dglbench.executors``. It is
made with an `ExecutorContext` and asked by the driver, from one thread.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from dglbench.plugins import find_task
from dglbench.runs import provenance
from dglbench.runs.record import RunOutput, RunRecord, Status
from dglbench.training.evaluation import Loaded, load_data
from dglbench.training.spec import RunSpec
from dglbench.training.train import Progress, train
from dglbench.training.warm_start import WarmStart, train_warm_start

if TYPE_CHECKING:
    from dglbench.sweep.interrupts import Interrupts
    from dglbench.sweep.plan.plan import Plan

__all__ = [
    "Ended",
    "Executor",
    "ExecutorContext",
    "HearNews",
    "Job",
    "Listener",
    "News",
    "TlsFiles",
    "broken_record",
    "do_job",
]


_MARGIN_S = 2.0


@dataclass(frozen=True)
class Job:
    """A run, or the warm start it needs."""

    key: str
    """The run id, or ``warm start <id>``."""
    spec: RunSpec
    is_warm_start: bool = False
    warm_start: WarmStart | None = None
    time_limit: float | None = None
    cut_short: bool = False
    """Whether the limit is the end of the sweep's time: a run that it stops counts as not made."""
    folder: Path | None = None
    """The results folder, where what evaluations share is kept; may be out of reach elsewhere."""

    @property
    def at_limit(self) -> Literal["timeout", "interrupted"]:
        """The state of a run that its limit stops."""
        return "interrupted" if self.cut_short else "timeout"

    @property
    def hard_limit_s(self) -> float | None:
        """After how many seconds a run that does not notice its limit is stopped.

        A run looks at the limit after every batch, and may be in the middle of an
        evaluation; the margin lets it end by itself with all its logs.
        """
        if self.time_limit is None:
            return None
        share = 0.0 if self.cut_short else self.time_limit / 4
        return self.time_limit + max(_MARGIN_S, share)


class Ended(NamedTuple):
    """A job's end: what it made, or the error that kept it from making anything."""

    job: Job
    result: RunOutput | WarmStart | BaseException


class News(NamedTuple):
    """How far a run is."""

    epoch: int
    epochs: int
    val_regret: float | None
    where: str = ""
    """The same in words, such as ``epoch 3/40``."""

    @property
    def words(self) -> str:
        """All of it in words, the regret where the data have validation instances."""
        regret = "" if self.val_regret is None else f", validation regret {self.val_regret:.4f}"
        return f"{self.where}{regret}"

    @classmethod
    def of(cls, progress: Progress) -> News:
        """Keep what travels of a run's progress."""
        return cls(progress.epoch, progress.epochs, progress.val_regret, progress.where)


HearNews = Callable[[str, News], None]
"""Called with a job's key and how far it is."""


class TlsFiles(NamedTuple):
    """Certificates in PEM files: whom to trust, and who this client is."""

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True)
class ExecutorContext:
    """What an executor is made with: the work ahead and how the user wants it done."""

    plan: Plan
    interrupts: Interrupts
    tell: Callable[[str], None]
    """Shows the user a sentence."""
    jobs: int = 1
    """``--jobs``: how many runs to have under way on this machine."""
    scheduler: str | None = None
    """``--scheduler``: the address of a cluster."""
    tls: TlsFiles | None = None
    """The certificates with which to connect to it."""


class Executor(Protocol):
    """Runs jobs, here or elsewhere; made by calling its class with an `ExecutorContext`."""

    @property
    def slots(self) -> int:
        """How many jobs go on at once."""

    def free(self) -> int:
        """Return how many jobs can be started now."""

    def start(self, job: Job) -> None:
        """Take a job."""

    def wait(self, seconds: float, hear: HearNews) -> list[Ended]:
        """Work or wait for about ``seconds``, passing news on; return the jobs that ended."""

    def finish_early(self) -> None:
        """Ask running jobs to end as soon as they can do so cleanly."""

    def close(self, *, now: bool) -> None:
        """Let go of everything; ``now`` does not wait for running jobs."""


class Listener(Protocol):
    """Whoever shows the sweep to the user; all calls come from the driver's thread."""

    def begin(self, total: int, left_s: float | None) -> None:
        """Say how many runs there are, and how long they may take."""

    def started(self, job: Job) -> None:
        """A job has begun."""

    def news(self, key: str, news: News) -> None:
        """A run has come further."""

    def ended(self, spec: RunSpec, state: str, record: RunRecord) -> None:
        """A run has ended; ``skipped`` if it was there already."""

    def left(self, seconds: float | None) -> None:
        """About how long the rest may take."""

    def tell(self, sentence: str) -> None:
        """Anything else worth a line."""


def do_job(
    job: Job,
    *,
    loaded: Loaded | None = None,
    watch: Callable[[Progress], None] | None = None,
    concurrency: int = 1,
    guard: AbstractContextManager[None] | None = None,
) -> RunOutput | WarmStart:
    """Do a job in this process: all that an executor has to have called somewhere.

    ``loaded`` is the job's data if they are at hand (they are made or read here if not),
    ``concurrency`` is the number of jobs that share the machine, ``guard`` surrounds the
    training alone (see `dglbench.training.train`).
    """
    spec = job.spec
    loaded = loaded or load_data(spec.data, spec.data_digest)
    if job.is_warm_start:
        with guard or nullcontext():
            task = find_task(spec.data.task)
            return train_warm_start(
                spec.predictor, task, loaded.dataset, spec.protocol, spec.data_digest
            )
    if job.folder is not None and job.folder.is_dir():
        loaded.evaluator.share(job.folder, spec.data_digest)
    return train(
        spec,
        loaded.dataset,
        job.warm_start,
        evaluator=loaded.evaluator,
        watch=watch,
        time_limit=job.time_limit,
        at_limit=job.at_limit,
        concurrency=concurrency,
        guard=guard,
    )


def broken_record(
    spec: RunSpec,
    state: str,
    message: str,
    *,
    error: BaseException | None = None,
    wall_s: float = 0.0,
    concurrency: int = 1,
) -> RunOutput:
    """Record the end of a run that left nothing itself."""
    now = time.time()
    trace = "".join(traceback.format_exception(error)) if error else None
    status = Status(state, message, trace, _stamp(now - wall_s), _stamp(now), wall_s)
    environment = provenance.environment(spec.threads, concurrency)
    return RunOutput(RunRecord(spec.run_id, spec.identity, environment, status))


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

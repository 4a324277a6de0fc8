"""What the driver and those who work for it say to each other."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from dglbench.runs import provenance
from dglbench.runs.record import RunOutput, RunRecord, Status
from dglbench.training.spec import RunSpec
from dglbench.training.warm_start import WarmStart

__all__ = ["Ended", "Executor", "Job", "Listener", "News", "broken_record", "hard_limit"]


@dataclass(frozen=True)
class Job:
    """A run, or the warm start it needs."""

    key: str
    """The run id, or ``warm start <id>``."""
    spec: RunSpec
    is_warm_start: bool = False
    warm_start: WarmStart | None = None
    time_limit: float | None = None


class Ended(NamedTuple):
    """A job's end: what it made, or the error that kept it from making anything."""

    job: Job
    result: RunOutput | WarmStart | BaseException


class News(NamedTuple):
    """How far a run is."""

    epoch: int
    epochs: int
    val_regret: float


class Executor(Protocol):
    """Runs jobs, here or elsewhere."""

    @property
    def slots(self) -> int:
        """How many jobs go on at once."""

    def free(self) -> int:
        """Return how many jobs can be started now."""

    def start(self, job: Job) -> None:
        """Take a job."""

    def wait(self, seconds: float) -> list[Ended]:
        """Work or wait for at most about ``seconds``; return the jobs that ended."""

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


Watch = Callable[[str, News], None]


def hard_limit(time_limit: float) -> float:
    """Return after how many seconds a run that does not notice its time limit is stopped.

    A run looks at the limit after every batch, and may be in the middle of an
    evaluation; the margin lets it end by itself with all its logs.
    """
    return time_limit + max(2.0, time_limit / 4)


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

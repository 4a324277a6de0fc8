"""``--executor in-process``: runs one after another in this process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dglbench.errors import SweepError
from dglbench.sweep.jobs import Ended, ExecutorContext, HearNews, Job, News, do_job
from dglbench.training.train import RunStop

__all__ = ["InProcess"]


class InProcess:
    """Does each job when the driver waits for it."""

    slots = 1

    def __init__(self, context: ExecutorContext) -> None:
        if context.jobs > 1 or context.scheduler or context.tls:
            raise SweepError(
                "--executor in-process makes one run after another; leave out --jobs and "
                "--scheduler, or write --executor dask."
            )
        self._interrupts = context.interrupts
        self._job: Job | None = None

    def free(self) -> int:
        """One job at a time."""
        return 0 if self._job else 1

    def start(self, job: Job) -> None:
        """Keep the job for the next `wait`."""
        self._job = job

    def wait(self, seconds: float, hear: HearNews) -> list[Ended]:
        """Do the job, however long it takes."""
        job, self._job = self._job, None
        if job is None:
            return []
        try:
            result = do_job(
                job,
                watch=lambda progress: hear(job.key, News.of(progress)),
                guard=self._guard(job),
            )
            return [Ended(job, result)]
        except KeyboardInterrupt as interrupt:  # during a warm start; a run keeps it to itself
            if self._interrupts.count > 1:
                raise
            return [Ended(job, interrupt)]
        except RunStop as stop:  # likewise
            return [Ended(job, stop)]
        except Exception as error:  # recorded by the driver: the sweep goes on
            return [Ended(job, error)]

    def finish_early(self) -> None:
        """Nothing runs while the driver does."""

    def close(self, *, now: bool) -> None:
        """Nothing is held."""

    @contextmanager
    def _guard(self, job: Job) -> Iterator[None]:
        """Let Ctrl-C and, well past the time limit, an alarm end the run."""
        with _alarm(job), self._interrupts.raising():
            yield


@contextmanager
def _alarm(job: Job) -> Iterator[None]:
    """Stop a run that does not look at its time limit; code outside Python ends first."""
    if job.hard_limit_s is None or threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set an alarm
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise RunStop(
            job.at_limit, f"the time limit of {job.time_limit:g} s passed without a response"
        )

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, job.hard_limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""``--jobs 1``: runs one after another in this process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dglbench.plugins import find_task
from dglbench.runs.record import RunOutput
from dglbench.sweep.interrupts import Interrupts
from dglbench.sweep.jobs import Ended, Job, News, Watch, hard_limit
from dglbench.training.evaluation import load_data
from dglbench.training.train import Progress, RunStop, train
from dglbench.training.warm_start import WarmStart, train_warm_start

__all__ = ["InProcess"]


class InProcess:
    """Does each job when the driver waits for it."""

    slots = 1

    def __init__(self, interrupts: Interrupts, watch: Watch) -> None:
        self._interrupts, self._watch = interrupts, watch
        self._job: Job | None = None

    def free(self) -> int:
        """One job at a time."""
        return 0 if self._job else 1

    def start(self, job: Job) -> None:
        """Keep the job for the next `wait`."""
        self._job = job

    def wait(self, seconds: float) -> list[Ended]:
        """Do the job, however long it takes."""
        job, self._job = self._job, None
        if job is None:
            return []
        try:
            return [Ended(job, self._do(job))]
        except KeyboardInterrupt as interrupt:  # during a warm start; a run keeps it to itself
            if self._interrupts.count > 1:
                raise
            return [Ended(job, interrupt)]
        except Exception as error:  # recorded by the driver: the sweep goes on
            return [Ended(job, error)]

    def finish_early(self) -> None:
        """Nothing runs while the driver does."""

    def close(self, *, now: bool) -> None:
        """Nothing is held."""

    def _do(self, job: Job) -> RunOutput | WarmStart:
        loaded = load_data(job.spec.data, job.spec.data_digest)
        if job.is_warm_start:
            task = find_task(job.spec.data.task)
            with self._interrupts.raising():
                return train_warm_start(
                    task, loaded.dataset, job.spec.protocol, job.spec.data_digest
                )

        def watch(progress: Progress) -> None:
            self._watch(job.key, News(progress.epoch, progress.epochs, progress.val_regret))

        return train(
            job.spec,
            loaded.dataset,
            job.warm_start,
            evaluator=loaded.evaluator,
            watch=watch,
            time_limit=job.time_limit,
            guard=self._guard(job.time_limit),
        )

    @contextmanager
    def _guard(self, time_limit: float | None) -> Iterator[None]:
        """Let Ctrl-C and, well past the time limit, an alarm end the run."""
        with _alarm(time_limit), self._interrupts.raising():
            yield


@contextmanager
def _alarm(time_limit: float | None) -> Iterator[None]:
    """Stop a run that does not look at its time limit; code outside Python ends first."""
    if time_limit is None or threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set an alarm
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise RunStop("timeout", f"the time limit of {time_limit:g} s passed without a response")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, hard_limit(time_limit))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

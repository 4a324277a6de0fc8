"""``--executor dask``: runs on Dask workers, here (``--jobs``) or anywhere (``--scheduler``).

The driver keeps the queue and never has more jobs out than there are workers, so
it knows what runs where. Results travel back to it; workers need no shared disk.
"""

from __future__ import annotations

import pickle
import queue
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dglbench.data.dataset_file import dataset_digest
from dglbench.data.loading import load_dataset
from dglbench.errors import SweepError
from dglbench.sweep.executors import dask_job
from dglbench.sweep.executors.dask_workers import Workers
from dglbench.sweep.jobs import (
    Ended,
    ExecutorContext,
    HearNews,
    Job,
    News,
    broken_record,
)
from dglbench.task import TaskSpec

__all__ = ["Cluster"]

_TRIES = 2  # a run whose worker died is tried once more


@dataclass
class _Flight:
    """A job that is out."""

    job: Job
    future: Any
    tries: int = 1
    worker: str | None = None
    training_since: float | None = None
    begun_by: set[str] = field(default_factory=set)

    def overdue(self) -> float | None:
        """Return how long the run has trained if that is far too long, else None."""
        limit, since = self.job.hard_limit_s, self.training_since
        if limit is None or since is None:
            return None
        spent = time.monotonic() - since
        return spent if spent > limit else None


class Cluster:
    """Sends jobs to Dask workers."""

    def __init__(self, context: ExecutorContext) -> None:
        if context.jobs > 1 and context.scheduler:
            raise SweepError(
                "--jobs starts workers here, --scheduler uses those of a cluster; give one."
            )
        self._tell = context.tell
        self._topic = f"dglbench-{uuid.uuid4().hex}"
        self._inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._flights: dict[str, _Flight] = {}
        self._digests: dict[tuple[TaskSpec, str | None], str] = {}
        self._shipped: dict[tuple[TaskSpec, str | None], bytes] = {}
        self._finishing = self._told_alone = False
        self._workers = Workers(context.jobs, context.scheduler, context.tls)
        specs = [spec for unit in context.plan.units for group in unit for spec in group.specs]
        try:
            self._workers.check({dask_job.Source.of(spec) for spec in specs})
            self._workers.client.subscribe_topic(
                self._topic, lambda event: self._inbox.put(("news", event[1]))
            )
        except BaseException:
            self._workers.close(now=True)
            raise

    # -- what the driver asks for --------------------------------------------------

    @property
    def slots(self) -> int:
        """How many workers there are."""
        return len(self._workers.addresses)

    def free(self) -> int:
        """Return how many workers have nothing to do."""
        return self.slots - len(self._flights)

    def start(self, job: Job) -> None:
        """Send a job."""
        self._flights[job.key] = self._send(job, tries=1)

    def wait(self, seconds: float, hear: HearNews) -> list[Ended]:
        """Take in what has arrived, and stop what is far over its time."""
        ended: list[Ended] = []
        deadline = time.monotonic() + seconds
        while True:
            left = 0.0 if ended else max(deadline - time.monotonic(), 0.0)
            try:
                kind, content = self._inbox.get(timeout=left)
            except queue.Empty:
                break
            if kind == "news":
                self._note(content, hear)
            else:
                ended += self._receive(*content)
        self._look_at_workers()
        return ended + self._bereaved() + self._overdue()

    def finish_early(self) -> None:
        """Ask all workers to end this sweep's runs after their current epoch."""
        self._finishing = True
        self._workers.tell(dask_job.ask_to_finish, self._topic)

    def close(self, *, now: bool) -> None:
        """Let go of the workers."""
        with suppress(Exception):
            self._workers.client.cancel([flight.future for flight in self._flights.values()])
        self._workers.close(now=now)

    # -- sending and receiving -------------------------------------------------------

    def _send(self, job: Job, tries: int) -> _Flight:
        data, known = job.spec.data, job.spec.data_digest
        if (data, known) not in self._digests:
            self._digests[data, known] = known or dataset_digest(load_dataset(data))
        order = dask_job.Order(
            job=job,
            topic=self._topic,
            digest=self._digests[data, known],
            concurrency=dict(self._workers.per_host),
            dataset=self._shipped.get((data, known)),
        )
        future = self._workers.client.submit(
            dask_job.work, order, key=f"{job.key} {uuid.uuid4().hex[:8]}", pure=False
        )
        future.add_done_callback(lambda done: self._inbox.put(("end", (job.key, done))))
        return _Flight(job, future, tries)

    def _note(self, message: dict[str, Any], hear: HearNews) -> None:
        flight = self._flights.get(message["key"])
        if flight is None:
            return
        if "news" in message:
            hear(message["key"], News(*message["news"]))
        elif "training" in message:
            flight.training_since = time.monotonic()
        else:
            flight.training_since, flight.worker = None, message["worker"]
            flight.begun_by.add(message["worker"])
            if self._finishing:  # a worker that was started meanwhile has not been asked
                self._workers.tell(dask_job.ask_to_finish, self._topic)

    def _receive(self, key: str, future: Any) -> list[Ended]:
        flight = self._flights.get(key)
        if flight is None or flight.future is not future:
            return []  # given up meanwhile
        if future.status == "cancelled":
            return self._dropped(flight)
        if future.status == "error":
            return self._failed(flight)
        result = future.result()
        if isinstance(result, dask_job.OtherCode):
            raise SweepError(
                f"{result.why}; install the same dglbench and plugins there, then run the same "
                "command again."
            )
        if isinstance(result, dask_job.DataNeeded):
            data, known = flight.job.spec.data, flight.job.spec.data_digest
            self._shipped[data, known] = pickle.dumps(load_dataset(data, known))
            self._flights[key] = self._send(flight.job, flight.tries)
            return []
        del self._flights[key]
        return [Ended(flight.job, result)]

    # -- when things go wrong --------------------------------------------------------

    def _failed(self, flight: _Flight) -> list[Ended]:
        from distributed import KilledWorker

        error = flight.future.exception()
        if isinstance(error, KilledWorker):
            return [self._give_up(flight)]
        del self._flights[flight.job.key]
        return [Ended(flight.job, error.with_traceback(flight.future.traceback()))]

    def _dropped(self, flight: _Flight) -> list[Ended]:
        """A job that Dask lost: the scheduler went away, or forgot it with its worker."""
        if self._workers.client.status != "running":
            raise self._workers.lost()
        if flight.tries >= _TRIES:
            return [self._give_up(flight)]
        self._flights[flight.job.key] = self._send(flight.job, flight.tries + 1)
        return []

    def _look_at_workers(self) -> None:
        self._workers.count()
        for flight in self._flights.values():
            if flight.worker not in self._workers.addresses:
                flight.training_since = None  # it is not late, it waits for another worker
        if not self.slots and not self._told_alone:
            self._tell("there are no workers; waiting for one.")
        self._told_alone = not self.slots

    def _bereaved(self) -> list[Ended]:
        """Give up runs whose workers died as often as is allowed; Dask would go on for long."""
        alive = self._workers.addresses
        dead = [f for f in self._flights.values() if len(f.begun_by - alive) >= _TRIES]
        return [self._give_up(flight) for flight in dead]

    def _give_up(self, flight: _Flight) -> Ended:
        job = self._flights.pop(flight.job.key).job
        flight.future.cancel()
        why = f"its worker died {_TRIES} times (last at {flight.worker}); it may need more memory"
        if job.is_warm_start:
            return Ended(job, SweepError(why))
        return Ended(job, broken_record(job.spec, "failed", why, concurrency=self.slots))

    def _overdue(self) -> list[Ended]:
        """Stop runs that do not notice their time limit, by ending their worker."""
        ended = []
        for key, flight in list(self._flights.items()):
            spent = flight.overdue()
            if spent is None:
                continue
            del self._flights[key]
            self._workers.client.cancel([flight.future], force=True)
            time.sleep(0.1)  # the scheduler must forget the run before its worker ends
            self._workers.end(flight.worker)
            why = f"the time limit of {flight.job.time_limit:g} s passed without a response"
            record = broken_record(
                flight.job.spec, flight.job.at_limit, why, wall_s=spent, concurrency=self.slots
            )
            ended.append(Ended(flight.job, record))
        return ended

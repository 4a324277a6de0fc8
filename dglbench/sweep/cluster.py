"""``--jobs N`` and ``--scheduler``: runs on Dask workers, here or anywhere.

The driver keeps the queue and never has more jobs out than there are workers, so
it knows what runs where. Results travel back to it; workers need no shared disk.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import signal
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dglbench.dataset import dataset_digest
from dglbench.errors import SweepError
from dglbench.resolve import load_data
from dglbench.sweep import worker
from dglbench.sweep.jobs import Ended, Job, Listener, News, broken_record, hard_limit
from dglbench.sweep.plan import Plan
from dglbench.task import TaskSpec

__all__ = ["Cluster"]

_CONNECT_S = 20.0
_RECOUNT_S = 1.0
_TRIES = 2  # a run whose worker died is tried once more


@dataclass
class _Flight:
    """A job that is out."""

    job: Job
    future: Any
    tries: int = 1
    worker: str | None = None
    training_since: float | None = None
    seen: set[str] = field(default_factory=set)
    """Workers that have begun with it."""


class Cluster:
    """Sends jobs to Dask workers."""

    def __init__(self, plan: Plan, listener: Listener, *, jobs: int, scheduler: str | None) -> None:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._listener, self._where = listener, scheduler or "this machine's workers"
        self._topic = f"dglbench-{uuid.uuid4().hex}"
        self._inbox: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._flights: dict[str, _Flight] = {}
        self._digests: dict[TaskSpec, str] = {}
        self._shipped: dict[TaskSpec, bytes] = {}
        self._hosts: dict[str, int] = {}
        self._counted = 0.0
        self._slots = 0
        self._closed = self._alone = False
        self._local = None if scheduler else _local_cluster(jobs)
        self._client = _connect(self._local or scheduler)
        try:
            self._check_workers(plan)
        except BaseException:
            self.close(now=True)
            raise
        self._client.subscribe_topic(self._topic, lambda event: self._inbox.put(("news", event)))

    # -- what the driver asks for --------------------------------------------------

    @property
    def slots(self) -> int:
        """How many workers there are."""
        return self._slots

    def free(self) -> int:
        """Return how many workers have nothing to do."""
        if time.monotonic() - self._counted > _RECOUNT_S:
            self._count_workers()
        return self._slots - len(self._flights)

    def start(self, job: Job) -> None:
        """Send a job."""
        self._flights[job.key] = self._send(job, tries=1)

    def wait(self, seconds: float) -> list[Ended]:
        """Take in what has arrived, and stop what is far over its time."""
        ended: list[Ended] = []
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            try:
                kind, content = self._inbox.get(timeout=max(left, 0) if not ended else 0)
            except queue.Empty:
                break
            if kind == "news":
                ended += self._hear(content[1])
            else:
                ended += self._receive(*content)
        return ended + self._overdue()

    def finish_early(self) -> None:
        """Ask all workers to end this sweep's runs after their current epoch."""
        with suppress(Exception):  # a worker that dies meanwhile is noticed elsewhere
            self._client.run(worker.ask_to_finish, self._topic, wait=False)

    def close(self, *, now: bool) -> None:
        """Disconnect; end the workers that were started here."""
        if self._closed:
            return
        self._closed = True
        with suppress(Exception):
            self._client.cancel([flight.future for flight in self._flights.values()])
        if self._local is not None and now:
            for nanny in self._local.workers.values():
                nanny.auto_restart = False
                with suppress(Exception):
                    os.kill(nanny.pid, signal.SIGKILL)
        for thing in (self._client, self._local):
            with suppress(Exception):
                if thing is not None:
                    thing.close(timeout=5)

    # -- sending ---------------------------------------------------------------------

    def _send(self, job: Job, tries: int) -> _Flight:
        data = job.spec.data
        if data not in self._digests:
            self._digests[data] = dataset_digest(load_data(data).dataset)
        order = worker.Order(
            job=job,
            topic=self._topic,
            digest=self._digests[data],
            concurrency=dict(self._hosts),
            dataset=self._shipped.get(data),
        )
        future = self._client.submit(
            worker.work, order, key=f"{job.key} {uuid.uuid4().hex[:8]}", pure=False
        )
        future.add_done_callback(lambda done: self._inbox.put(("end", (job.key, done))))
        return _Flight(job, future, tries)

    # -- hearing ---------------------------------------------------------------------

    def _hear(self, message: dict[str, Any]) -> list[Ended]:
        flight = self._flights.get(message["key"])
        if flight is None:
            return []
        if "news" in message:
            self._listener.news(message["key"], News(*message["news"]))
            return []
        if "training" in message:
            flight.training_since = time.monotonic()
            return []
        flight.training_since, flight.worker = None, message["worker"]
        flight.seen.add(message["worker"])
        if len(flight.seen) > _TRIES:  # Dask itself would try more often
            return [self._give_up(flight)]
        return []

    def _receive(self, key: str, future: Any) -> list[Ended]:
        flight = self._flights.get(key)
        if flight is None or flight.future is not future:
            return []  # given up meanwhile
        if future.status == "cancelled":
            return self._lost(flight)
        if future.status == "error":
            return self._failed(flight)
        result = future.result()
        if isinstance(result, worker.OtherCode):
            raise SweepError(
                f"{result.why}; install the same dglbench and plugins there, then run the same "
                "command again."
            )
        if isinstance(result, worker.DataNeeded):
            data = flight.job.spec.data
            self._shipped[data] = pickle.dumps(load_data(data).dataset)
            self._flights[key] = self._send(flight.job, flight.tries)
            return []
        del self._flights[key]
        return [Ended(flight.job, result)]

    def _failed(self, flight: _Flight) -> list[Ended]:
        from distributed import KilledWorker

        error = flight.future.exception()
        if isinstance(error, KilledWorker):
            return [self._give_up(flight)]
        del self._flights[flight.job.key]
        return [Ended(flight.job, error.with_traceback(flight.future.traceback()))]

    def _lost(self, flight: _Flight) -> list[Ended]:
        """A job that Dask dropped: the scheduler went away, or forgot it with its worker."""
        if self._client.status != "running":
            raise SweepError(
                f"the connection to {self._where} was lost; start it again, then run the same "
                "command to go on."
            )
        if flight.tries >= _TRIES:
            return [self._give_up(flight)]
        self._flights[flight.job.key] = self._send(flight.job, flight.tries + 1)
        return []

    def _give_up(self, flight: _Flight) -> Ended:
        job = self._flights.pop(flight.job.key).job
        flight.future.cancel()
        why = f"its worker died {_TRIES} times (last at {flight.worker}); it may need more memory"
        if job.is_warm_start:
            return Ended(job, SweepError(why))
        return Ended(job, broken_record(job.spec, "failed", why, concurrency=self._slots))

    def _overdue(self) -> list[Ended]:
        """Stop runs that do not notice their time limit, by ending their worker."""
        ended = []
        if any(self._spent(flight) for flight in self._flights.values()):
            self._count_workers()  # a run whose worker died is not late, it waits for another
        for key, flight in list(self._flights.items()):
            spent = self._spent(flight)
            if spent is None:
                continue
            del self._flights[key]
            self._client.cancel([flight.future], force=True)
            time.sleep(0.1)  # the scheduler must forget the run before its worker ends
            self._end_worker(flight.worker)
            why = f"the time limit of {flight.job.time_limit:g} s passed without a response"
            record = broken_record(
                flight.job.spec, "timeout", why, wall_s=spent, concurrency=self._slots
            )
            ended.append(Ended(flight.job, record))
        return ended

    @staticmethod
    def _spent(flight: _Flight) -> float | None:
        """Return how long a run has trained if that is far too long, else None."""
        limit, since = flight.job.time_limit, flight.training_since
        if limit is None or since is None:
            return None
        spent = time.monotonic() - since
        return spent if spent > hard_limit(limit) else None

    # -- workers ---------------------------------------------------------------------

    def _end_worker(self, address: str | None) -> None:
        """Kill a worker process through its nanny, which then starts another."""
        for nanny in (True, False):  # without a nanny the worker must do it itself
            with suppress(Exception):
                self._client.run(_kill, workers=[address], nanny=nanny, wait=not nanny)
                return

    def _check_workers(self, plan: Plan) -> None:
        """Refuse workers that would compute something else or time it badly."""
        self._client.wait_for_workers(1, timeout=_CONNECT_S)
        self._count_workers()
        for address, threads in self._client.nthreads().items():
            if threads > 1:
                raise SweepError(
                    f"worker {address} has {threads} threads, and runs that share a process "
                    "disturb each other; start it with dask worker --nthreads 1 (and --nworkers "
                    "for more processes)."
                )
        sources = {
            worker.Source(group.data.task, group.method, group.specs[0].source)
            for unit in plan.units
            for group in unit
        }
        for address, problem in self._client.run(worker.other_code, list(sources)).items():
            if problem:
                raise SweepError(
                    f"worker {address} cannot be used: {problem}; install the same dglbench and "
                    "plugins there."
                )

    def _count_workers(self) -> None:
        try:
            found = self._client.nthreads()
        except Exception as error:
            raise SweepError(
                f"the connection to {self._where} was lost ({error}); start it again, then run "
                "the same command to go on."
            ) from error
        self._counted, self._slots = time.monotonic(), len(found)
        hosts: dict[str, int] = {}
        for address in found:
            hosts[worker.host(address)] = hosts.get(worker.host(address), 0) + 1
        for flight in self._flights.values():
            if flight.worker not in found:
                flight.training_since = None
        # A worker that is being restarted is still one of those that share the machine.
        for name, count in hosts.items():
            self._hosts[name] = max(count, self._hosts.get(name, 0))
        if not found and not self._alone:
            self._listener.tell(f"{self._where} has no workers; waiting for one.")
        self._alone = not found


def _local_cluster(jobs: int) -> Any:
    import dask
    from distributed import LocalCluster

    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": _TRIES - 1,
            "distributed.admin.large-graph-warning-threshold": "1 GB",
        }
    )
    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=jobs,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        memory_limit=0,  # Dask's own limits pause and kill; a run may need what it needs
        silence_logs=logging.CRITICAL,
        preload=["dglbench.sweep.worker"],
    )


def _connect(target: Any) -> Any:
    from distributed import Client

    try:
        return Client(  # type: ignore[no-untyped-call]
            target, timeout=_CONNECT_S, set_as_default=False
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise SweepError(
            f"there is no Dask scheduler at {target} ({error}); start one with dask scheduler, "
            "or use --jobs."
        ) from error


def _kill(dask_worker: Any) -> None:
    """End a worker process at once; runs on its nanny, or on itself if it has none."""
    process = getattr(dask_worker, "process", None)
    os.kill(process.pid if process is not None else os.getpid(), signal.SIGKILL)

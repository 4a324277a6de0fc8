"""What runs on a Dask worker: one run at a time, sent back whole.

A worker writes nothing. It makes the data itself if it can; if what it makes is not
byte for byte what the driver has (another library version, a file it lacks), it
says so and is sent the driver's.
"""

from __future__ import annotations

import functools
import os
import pickle
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dglbench.data.dataset_file import dataset_digest
from dglbench.data.loading import load_dataset
from dglbench.errors import DglbenchError
from dglbench.plugins import find_task
from dglbench.runs.record import RunOutput
from dglbench.sweep.jobs import Job, News, do_job
from dglbench.sweep.request.specs import run_source
from dglbench.task import TaskSpec
from dglbench.training.evaluation import Evaluator, Loaded, load_data
from dglbench.training.spec import RunSpec
from dglbench.training.train import Progress, warm_process
from dglbench.training.warm_start import WarmStart

__all__ = [
    "DataNeeded",
    "Order",
    "OtherCode",
    "Source",
    "ask_to_finish",
    "dask_setup",
    "other_code",
    "work",
]

_NEWS_EVERY_S = 0.25

# A worker process may have several threads; torch's random state and the clock allow one run.
_one_at_a_time = threading.Lock()
_finishing: set[str] = set()
_warming = threading.Thread(target=warm_process, daemon=True)
_hashing = threading.Lock()


@dataclass(frozen=True)
class Source:
    """The code a run needs, by name and hash."""

    task: str
    method: str
    solver: str
    predictor: str
    hash: str

    @classmethod
    def of(cls, spec: RunSpec) -> Source:
        """Return what a run needs."""
        return cls(spec.data.task, spec.method, spec.solver, spec.predictor, spec.source)


@dataclass(frozen=True)
class Order:
    """A job as it travels."""

    job: Job
    topic: str
    """Where the driver listens for news."""
    digest: str
    """Of the driver's dataset."""
    concurrency: Mapping[str, int]
    """Host to the number of workers it has."""
    dataset: bytes | None = None


@dataclass(frozen=True)
class DataNeeded:
    """The worker cannot make the driver's data."""

    why: str


@dataclass(frozen=True)
class OtherCode:
    """The worker would compute something else than the driver asked for."""

    why: str


def dask_setup(_worker: Any) -> None:
    """Import torch while the driver still prepares; Dask calls this in workers started here.

    A worker leaves the driver's process group. Signals that reach the whole group, as those of
    ``timeout`` and of batch systems do, would end it and have its run begin again elsewhere;
    they are the driver's to answer. A worker whose driver dies ends with it.
    """
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    _warming.start()


def ask_to_finish(topic: str) -> None:
    """End this process's run of a sweep after its current epoch."""
    _finishing.add(topic)


def other_code(sources: list[Source]) -> str | None:
    """Say what is different about this process's code, None if nothing is."""
    if _warming.ident is not None:  # importing torch parses, and so does hashing: see `code_hash`
        _warming.join()
    for source in sources:
        try:
            with _hashing:
                here = run_source(source.task, source.method, source.solver, source.predictor)
        except DglbenchError as error:
            return str(error)
        if here != source.hash:
            return f"its code for {source.method} on {source.task} is not the driver's"
    return None


def work(order: Order) -> RunOutput | WarmStart | DataNeeded | OtherCode:
    """Do one job, telling the driver when it starts and how far it is."""
    from distributed import get_worker

    worker, job, spec = get_worker(), order.job, order.job.spec
    different = other_code([Source.of(spec)])
    if different:
        return OtherCode(f"worker {worker.address} cannot be used: {different}")
    with _one_at_a_time:
        worker.log_event(order.topic, {"key": job.key, "worker": worker.address})
        try:  # the first run of a process pays for its imports here, off the time limit
            loaded = _loaded(spec, order.digest, order.dataset)
        except (DglbenchError, OSError) as error:
            if order.dataset is not None:
                raise
            return DataNeeded(str(error))
        if loaded is None:
            return DataNeeded("its data differ from the driver's")
        if not job.is_warm_start:
            warm_process()
            worker.log_event(order.topic, {"key": job.key, "training": True})
        return do_job(
            job,
            loaded=loaded,
            watch=_watcher(worker, order),
            concurrency=order.concurrency.get(host(worker.address), 1),
        )


def host(address: str) -> str:
    """Return a worker's address without its port."""
    return address.rpartition(":")[0]


def _watcher(worker: Any, order: Order) -> Any:
    last = 0.0

    def watch(progress: Progress) -> None:
        nonlocal last
        if order.topic in _finishing:
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - last >= _NEWS_EVERY_S:
            last = now
            news = {"key": order.job.key, "news": list(News.of(progress))}
            worker.log_event(order.topic, news)

    return watch


def _loaded(spec: RunSpec, digest: str, dataset: bytes | None) -> Loaded | None:
    """Return the data, None if they are not the driver's."""
    if dataset is not None:
        return _received(spec.data, digest, dataset)
    loaded = load_data(spec.data, spec.data_digest)
    return loaded if _digest_of(spec.data, spec.data_digest) == digest else None


@functools.lru_cache(maxsize=4)
def _digest_of(data: TaskSpec, known: str | None) -> str:
    return known or dataset_digest(load_dataset(data))


@functools.lru_cache(maxsize=2)
def _received(data: TaskSpec, digest: str, dataset: bytes) -> Loaded:
    received = pickle.loads(dataset)
    return Loaded(received, Evaluator(find_task(data.task), received))

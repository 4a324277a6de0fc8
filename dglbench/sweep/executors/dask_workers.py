"""The Dask workers of a sweep: started here or found at a scheduler, counted, instructed, ended."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing import resource_tracker
from typing import Any

from dglbench.errors import SweepError
from dglbench.plugin_files import shipped_files
from dglbench.sweep.executors import dask_job
from dglbench.sweep.executors.dask_job import Source, host, other_code
from dglbench.sweep.jobs import TlsFiles

__all__ = ["Workers"]

_CONNECT_S = 20.0
_RECOUNT_S = 1.0
_THREAD_COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Workers:
    """A connection to workers, and what is known of them."""

    def __init__(self, jobs: int, scheduler: str | None, tls: TlsFiles | None) -> None:
        self._where = scheduler or "this machine's workers"
        self._local = None if scheduler else _local_cluster(jobs)
        self.client = _connect(self._local or scheduler, tls)
        self.addresses: set[str] = set()
        self.per_host: dict[str, int] = {}
        """Host to the most workers it has had: one that is being restarted still counts."""
        self._counted = -_RECOUNT_S

    def check(self, sources: Iterable[Source]) -> None:
        """Refuse workers that would compute something else or time it badly."""
        try:
            self.client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError as error:
            raise SweepError(
                f"{self._where} has no workers; start some with dask worker --nthreads 1."
            ) from error
        self.count()
        self._teach()
        for address, threads in self.client.nthreads().items():
            if threads > 1:
                raise SweepError(
                    f"worker {address} has {threads} threads, and runs that share a process "
                    "disturb each other; start it with dask worker --nthreads 1 (and --nworkers "
                    "for more processes)."
                )
        for address, problem in self.client.run(other_code, list(sources)).items():
            if problem:
                raise SweepError(
                    f"worker {address} cannot be used: {problem}; install the same dglbench and "
                    "plugins there."
                )

    def _teach(self) -> None:
        """Send workers, and all who join later, the local files that plugins came from."""
        files = shipped_files()
        if files:
            from dglbench.sweep.executors.dask_plugins import LocalFiles

            self.client.register_plugin(LocalFiles(files))

    def count(self) -> None:
        """Look again who is there, if the last look is older than a second."""
        if time.monotonic() - self._counted < _RECOUNT_S:
            return
        try:
            found = self.client.nthreads()
        except Exception as error:
            raise self.lost() from error
        self._counted, self.addresses = time.monotonic(), set(found)
        hosts = [host(address) for address in found]
        for name in hosts:
            self.per_host[name] = max(hosts.count(name), self.per_host.get(name, 0))

    def lost(self) -> SweepError:
        """Return the error for a scheduler that has gone."""
        return SweepError(
            f"the connection to {self._where} was lost; start it again, then run the same command "
            "to go on."
        )

    def tell(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        """Run a function on workers without waiting: one that dies may never answer."""

        def run() -> None:
            with suppress(Exception):  # a worker that has gone needs no telling
                self.client.run(function, *arguments, **options)

        threading.Thread(target=run, daemon=True).start()

    def end(self, address: str | None) -> None:
        """Kill a worker process through its nanny, which then starts another."""
        self.tell(_kill, workers=[address], nanny=True)
        self.tell(_kill, workers=[address])  # it may have no nanny

    def close(self, *, now: bool) -> None:
        """Disconnect, and end the workers that were started here."""
        if self._local is not None and now:
            for nanny in self._local.workers.values():
                nanny.auto_restart = False
                with suppress(Exception):
                    os.kill(nanny.pid, signal.SIGKILL)
        for thing in (self.client, self._local):
            with suppress(Exception):
                if thing is not None:
                    thing.close(timeout=5)


def _local_cluster(jobs: int) -> Any:
    import dask
    from distributed import LocalCluster

    dask.config.set(
        {
            # Dask also counts runs that only waited at a worker which died; we count ours.
            "distributed.scheduler.allowed-failures": 100,
            "distributed.admin.large-graph-warning-threshold": "1 GB",
            "distributed.worker.profile.enabled": False,  # it would sample during timed training
            # Without what Dask adds for memory: returning every freed page to the system costs
            # a run a tenth of its time, and runs in this process do not pay that.
            "distributed.nanny.pre-spawn-environ": dict.fromkeys(_THREAD_COUNTS, 1),
        }
    )
    # The tracker, once started, leaves signals alone; starting it later would unblock them.
    resource_tracker.ensure_running()
    # Threads inherit what is blocked here, and the workers they start inherit it from them:
    # Ctrl-C in the terminal, which reaches every process, is left to the driver.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any free port: 8787 may be somebody's
            preload=[dask_job.__name__],  # its dask_setup warms the process up
            memory_limit=0,  # Dask's own limits pause and kill; a run may need what it needs
            silence_logs=logging.CRITICAL,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _connect(target: Any, tls: TlsFiles | None) -> Any:
    from distributed import Client
    from distributed.security import Security

    # After the import, which sets levels of its own: what goes wrong is ours to say.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        security = tls and Security(  # type: ignore[no-untyped-call]
            tls_ca_file=str(tls.ca),
            tls_client_cert=str(tls.cert),
            tls_client_key=str(tls.key),
            require_encryption=True,
        )
        return Client(  # type: ignore[no-untyped-call]
            target, timeout=_CONNECT_S, set_as_default=False, security=security
        )
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        if str(target).startswith("tls://"):
            raise SweepError(
                f"the Dask scheduler at {target} refused the connection or is not there ({error}); "
                "give certificates that it trusts with --tls-ca, --tls-cert and --tls-key."
            ) from error
        raise SweepError(
            f"there is no Dask scheduler at {target} ({error}); start one with dask scheduler, "
            "or use --jobs."
        ) from error


def _kill(dask_worker: Any) -> None:
    """End a worker process at once; runs on its nanny, or on itself if it has none."""
    process = getattr(dask_worker, "process", None)
    os.kill(process.pid if process is not None else os.getpid(), signal.SIGKILL)

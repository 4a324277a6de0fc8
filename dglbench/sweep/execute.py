"""Running a plan: set up whoever does the work, drive it, and let go of everything after."""

from __future__ import annotations

from contextlib import ExitStack

from dglbench.errors import RunError, SweepError
from dglbench.sweep.driver import Driver, SweepEnd
from dglbench.sweep.executors.in_process import InProcess
from dglbench.sweep.interrupts import Interrupts
from dglbench.sweep.jobs import Executor, Listener
from dglbench.sweep.locks import Locks
from dglbench.sweep.plan import Plan

__all__ = ["run_sweep"]


def run_sweep(
    plan: Plan,
    listener: Listener,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    fail_fast: bool = False,
) -> SweepEnd:
    """Run what a plan has left to run, in this process or on Dask workers."""
    if jobs < 1:
        raise SweepError(f"--jobs must be a whole number ≥ 1, got {jobs}.")
    if jobs > 1 and scheduler:
        raise SweepError(
            "--jobs starts workers here, --scheduler uses those of a cluster; give one."
        )
    try:
        plan.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            f"{plan.out} cannot be made: {error.strerror}; choose another --out."
        ) from error
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        locks = stack.enter_context(Locks(plan.out))
        if not locks.supported:
            listener.tell(
                f"the file system of {plan.out} has no locks: run only one sweep at a time in it."
            )
        driver = Driver(
            plan=plan,
            interrupts=interrupts,
            locks=locks,
            listener=listener,
            retry_failed=retry_failed,
            fail_fast=fail_fast,
        )
        executor = driver.executor = _executor(driver, jobs, scheduler)
        try:
            outcome = driver.run()
        except BaseException:
            executor.close(now=True)
            raise
        executor.close(now=False)
        return outcome


def _executor(driver: Driver, jobs: int, scheduler: str | None) -> Executor:
    if jobs == 1 and scheduler is None:
        return InProcess(driver.interrupts, driver.hear)
    from dglbench.sweep.executors.dask_cluster import Cluster

    return Cluster(driver.plan, driver.hear, driver.listener.tell, jobs=jobs, scheduler=scheduler)

"""Running a plan: set up whoever does the work, drive it, and let go of everything after."""

from __future__ import annotations

from contextlib import ExitStack

from dglbench.errors import SweepError
from dglbench.packs.pack_files import is_pack
from dglbench.runs.out_folder import make_folder
from dglbench.sweep.driver import Driver, SweepEnd
from dglbench.sweep.executors import make_executor
from dglbench.sweep.interrupts import Interrupts
from dglbench.sweep.jobs import ExecutorContext, Listener, TlsFiles
from dglbench.sweep.locks import Locks
from dglbench.sweep.plan.plan import Plan

__all__ = ["run_sweep"]


def run_sweep(
    plan: Plan,
    listener: Listener,
    *,
    executor: str | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    tls: TlsFiles | None = None,
    retry_failed: bool = False,
    fail_fast: bool = False,
    deadline: float | None = None,
) -> SweepEnd:
    """Run what a plan has left to run, by the executor of that name or whichever suits.

    ``deadline``, by `time.monotonic`, ends it early.
    """
    if jobs < 1:
        raise SweepError(f"--jobs must be a whole number ≥ 1, got {jobs}.")
    _check_tls(scheduler, tls)
    if is_pack(plan.out):
        raise SweepError(
            f"{plan.out} is a pack, which is not added to; `dglbench unpack {plan.out} --out "
            "FOLDER` makes a folder of it, and the sweep goes on there."
        )
    make_folder(plan.out)
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        locks = stack.enter_context(Locks(plan.out))
        if not locks.supported:
            listener.tell(
                f"the file system of {plan.out} has no locks: run only one sweep at a time in it."
            )
        context = ExecutorContext(plan, interrupts, listener.tell, jobs, scheduler, tls)
        worker = make_executor(executor, context)
        driver = Driver(
            plan=plan,
            executor=worker,
            interrupts=interrupts,
            locks=locks,
            listener=listener,
            retry_failed=retry_failed,
            fail_fast=fail_fast,
            deadline=deadline,
        )
        try:
            end = driver.run()
        except BaseException:
            worker.close(now=True)
            raise
        worker.close(now=end.abandoned)
        return end


def _check_tls(scheduler: str | None, tls: TlsFiles | None) -> None:
    """Refuse certificates without a scheduler that uses them, the reverse, and missing files."""
    encrypted = scheduler is not None and scheduler.startswith("tls://")
    if tls is None:
        if encrypted:
            raise SweepError(
                f"the scheduler at {scheduler} uses TLS; give certificates that it trusts with "
                "--tls-ca, --tls-cert and --tls-key."
            )
        return
    if not encrypted:
        raise SweepError(
            "--tls-ca, --tls-cert and --tls-key are for a scheduler with TLS; write for example "
            "--scheduler tls://10.0.0.1:8786."
        )
    missing = next((path for path in tls if not path.is_file()), None)
    if missing is not None:
        raise SweepError(f"the certificate file {missing} does not exist; give a PEM file.")

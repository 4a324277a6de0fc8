"""Many runs from Python: ``dglbench.run_many`` is ``dglbench sweep``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dglbench.api.results import Results, load
from dglbench.runs.record import RunRecord
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.jobs import Job, News
from dglbench.sweep.plan import plan_sweep
from dglbench.sweep.request import read_wishes
from dglbench.training.spec import RunSpec

__all__ = ["run_many"]


def run_many(
    *,
    out: str | Path = "results",
    preset: str | None = None,
    config: str | Path | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    executor: str | None = None,
    retry_failed: bool = False,
    fail_fast: bool = False,
    tell: Callable[[str], None] | None = None,
    **wishes: Any,
) -> Results:
    """Run every method on every task and seed, and return all runs of ``out``.

    The options are those of ``dglbench sweep`` and of its ``--config`` files: ``methods``,
    ``tasks``, ``seeds``, ``solver``, ``search``, any field of the protocol such as
    ``epochs``, and the tables ``set`` and ``option``. The same call again resumes. ``tell``
    gets a line for every run that ends. With ``jobs`` or a ``scheduler`` runs are made in other
    processes: keep the call below ``if __name__ == "__main__":``.
    """
    flags = read_wishes(wishes, "run_many")
    plan = plan_sweep(flags, preset=preset, config=Path(config) if config else None, out=Path(out))
    end = run_sweep(
        plan,
        _Teller(tell or _nothing),
        executor=executor,
        jobs=jobs,
        scheduler=scheduler,
        retry_failed=retry_failed,
        fail_fast=fail_fast,
    )
    if end.interrupted:
        raise KeyboardInterrupt
    return load(out)


def _nothing(sentence: str) -> None:
    """Tell nobody."""


class _Teller:
    """A `Listener` that passes on a line for every run that ends."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    def begin(self, total: int, left_s: float | None) -> None:
        pass

    def started(self, job: Job) -> None:
        pass

    def news(self, key: str, news: News) -> None:
        pass

    def ended(self, spec: RunSpec, state: str, record: RunRecord) -> None:
        self.tell(f"{record.run_id}: {state}")

    def left(self, seconds: float | None) -> None:
        pass

"""Many runs from Python: ``dglbench.run_many`` is ``dglbench sweep``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dglbench.api.progress import sweep_bar
from dglbench.api.results import Results, load
from dglbench.runs.record import RunRecord
from dglbench.sweep.execute import run_sweep
from dglbench.sweep.jobs import Job, News
from dglbench.sweep.plan.plan import plan_sweep
from dglbench.sweep.request.request import read_request
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
    progress: bool = False,
    **request: Any,
) -> Results:
    """Run every method on every task and seed, and return all runs of ``out``.

    The options are those of ``dglbench sweep`` and of its ``--config`` files: ``methods``,
    ``tasks``, ``seeds``, ``solver``, ``search``, any field of the protocol such as
    ``epochs``, and the tables ``set`` and ``option``. The same call again resumes. ``tell``
    gets a line for every run that ends, and ``progress=True`` shows a bar. With ``jobs`` or a
    ``scheduler`` runs are made in other processes: keep the call below
    ``if __name__ == "__main__":``.
    """
    flags = read_request(request, "run_many")
    plan = plan_sweep(
        flags, preset=preset, config=Path(config) if config else None, out=Path(out), tell=tell
    )
    with sweep_bar() if progress else nullcontext() as bar:
        end = run_sweep(
            plan,
            _Listener(tell, bar),
            executor=executor,
            jobs=jobs,
            scheduler=scheduler,
            retry_failed=retry_failed,
            fail_fast=fail_fast,
        )
    if end.interrupted:
        raise KeyboardInterrupt
    return load(out)


class _Listener:
    """Passes on a line for every run that ends, and how many have."""

    def __init__(
        self,
        tell: Callable[[str], None] | None,
        bar: Callable[[int, int, str], None] | None,
    ) -> None:
        self._tell, self._bar = tell, bar
        self._total = self._done = 0

    def begin(self, total: int, left_s: float | None) -> None:
        self._total = total

    def started(self, job: Job) -> None:
        pass

    def news(self, key: str, news: News) -> None:
        pass

    def ended(self, spec: RunSpec, state: str, record: RunRecord) -> None:
        self._done += 1
        sentence = f"{record.run_id}: {state}"
        self.tell(sentence)
        if self._bar:
            self._bar(self._done, self._total, sentence)

    def left(self, seconds: float | None) -> None:
        pass

    def tell(self, sentence: str) -> None:
        if self._tell:
            self._tell(sentence)

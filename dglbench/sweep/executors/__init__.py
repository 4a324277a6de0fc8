"""Who does a sweep's work: this process, Dask workers, or whatever else is registered.

An executor is a class (see `dglbench.sweep.jobs.Executor`) under the entry-point group
``dglbench.executors``. ``--executor`` takes its name; nothing else knows it.
"""

from __future__ import annotations

from dglbench.plugins import EXECUTORS, find_plugin
from dglbench.sweep.jobs import Executor, ExecutorContext

__all__ = ["make_executor"]


def make_executor(name: str | None, context: ExecutorContext) -> Executor:
    """Make the executor called ``name``, or the bundled one that suits what was asked for."""
    if name is None:
        name = "dask" if context.jobs > 1 or context.scheduler else "in-process"
    executor: Executor = find_plugin(EXECUTORS, name).target(context)
    return executor

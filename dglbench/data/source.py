"""Where a dataset comes from, and what tells it from another.

A bundled generator is a pure function of settings, seed and its source, which are
all part of a run's identity; the numbers themselves may differ in the last bit
between processors, so they are not. Any other task may read files that change: its
data are identified by their content, hashed once by whoever plans the runs.
"""

from __future__ import annotations

from collections import OrderedDict

from dglbench.data.dataset_file import dataset_digest
from dglbench.errors import DatasetError
from dglbench.plugins import find_task
from dglbench.task import Dataset, Task, TaskSpec

__all__ = ["identify", "is_bundled", "load_dataset"]

_KEPT = 4
_recent: OrderedDict[tuple[TaskSpec, str | None], Dataset] = OrderedDict()
"""Datasets that were used last; runs of one process share them."""


def is_bundled(task: Task) -> bool:
    """Say whether settings, seed and source decide a task's data."""
    return type(task).__module__.partition(".")[0] == "dglbench_tasks"


def identify(data: TaskSpec) -> str | None:
    """Return the content hash that identifies the data, None if settings and seed do.

    Whatever was loaded before, the data are made anew: a file may have changed.
    """
    task = find_task(data.task)
    if is_bundled(task):
        return None
    dataset = task.generate(data.settings, data.seed)
    digest = dataset_digest(dataset)
    _keep((data, digest), dataset)
    return digest


def load_dataset(data: TaskSpec, digest: str | None = None) -> Dataset:
    """Generate the data, or return them if they are at hand; refuse others than identified."""
    known = _recent.get((data, digest))
    if known is not None:
        _recent.move_to_end((data, digest))
        return known
    dataset = find_task(data.task).generate(data.settings, data.seed)
    if digest is not None and dataset_digest(dataset) != digest:
        raise DatasetError(
            f"the data of {data.full_name}, seed {data.seed}, are not those that the run was "
            "planned with: something it reads has changed meanwhile; give the same command again."
        )
    _keep((data, digest), dataset)
    return dataset


def _keep(key: tuple[TaskSpec, str | None], dataset: Dataset) -> None:
    _recent[key] = dataset
    _recent.move_to_end(key)
    while len(_recent) > _KEPT:
        _recent.popitem(last=False)

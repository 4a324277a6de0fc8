"""Where a dataset comes from, and what identifies it.

A bundled generator is a pure function of settings, seed and its source, which are
all part of a run's identity; the numbers themselves may differ in the last bit
between processors, so they are not. Any other task may read files that change: its
data are identified by their content, hashed once when the runs are planned. A dataset
file is identified by its content too, and read again where it is needed.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

from dglbench.data.checks import check_dataset, is_bundled, make_dataset
from dglbench.data.dataset_file import dataset_digest, read_dataset
from dglbench.errors import DatasetError
from dglbench.plugins import find_task
from dglbench.task import Dataset, TaskSpec

__all__ = ["FileData", "identify", "is_bundled", "load_dataset", "offer_dataset", "read_file"]

_KEPT_BYTES = 1_500_000_000  # of those before the last: large ones must not pile up
_recent: OrderedDict[tuple[TaskSpec, str | None], Dataset] = OrderedDict()
"""Datasets that were used last; runs of one process share them."""
_given: WeakValueDictionary[tuple[TaskSpec, str], Dataset] = WeakValueDictionary()
"""Datasets that a caller made and still holds."""
_files: dict[tuple[TaskSpec, str], Path] = {}
"""Where the data of a file were read from by this process."""


class FileData(NamedTuple):
    """The data of a file."""

    dataset: Dataset
    digest: str
    """Of the content."""


def read_file(path: Path) -> FileData:
    """Read a dataset file."""
    dataset = read_dataset(path)
    check_dataset(dataset, str(path))
    digest = dataset_digest(dataset)
    _files[dataset.spec, digest] = path
    _keep((dataset.spec, digest), dataset)
    return FileData(dataset, digest)


def offer_dataset(dataset: Dataset) -> str:
    """Make a dataset that is in memory known to `load_dataset`; return its content hash."""
    digest = dataset_digest(dataset)
    _given[dataset.spec, digest] = dataset
    return digest


def identify(data: TaskSpec) -> str | None:
    """Return the content hash that identifies the data, None if settings and seed do.

    Whatever was loaded before, the data are made anew: a file may have changed.
    """
    task = find_task(data.task)
    if is_bundled(task):
        return None
    dataset = make_dataset(task, data.settings, data.seed)
    digest = dataset_digest(dataset)
    _keep((data, digest), dataset)
    return digest


def load_dataset(data: TaskSpec, digest: str | None = None) -> Dataset:
    """Make or read the data, or return them if loaded; refuse data of another digest."""
    known = _recent.get((data, digest))
    if known is not None:
        _recent.move_to_end((data, digest))
        return known
    if digest is not None and (given := _given.get((data, digest))) is not None:
        return given
    path = _files.get((data, digest)) if digest else None
    if path is not None:
        dataset = read_dataset(path)
    else:
        dataset = make_dataset(find_task(data.task), data.settings, data.seed)
    if digest is not None and dataset_digest(dataset) != digest:
        what = f"{path}" if path else f"{data.full_name}, seed {data.seed},"
        raise DatasetError(
            f"the data of {what} are not those that the run was planned with: they have "
            "changed since; run the same command again."
        )
    _keep((data, digest), dataset)
    return dataset


def _keep(key: tuple[TaskSpec, str | None], dataset: Dataset) -> None:
    _recent[key] = dataset
    _recent.move_to_end(key)
    while len(_recent) > 1 and _bytes() > _KEPT_BYTES:
        _recent.popitem(last=False)


def _bytes() -> int:
    return sum(dataset.features.nbytes + dataset.labels.nbytes for dataset in _recent.values())

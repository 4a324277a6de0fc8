"""Where a dataset comes from, and what identifies it.

A bundled generator is a pure function of settings, seed and its source, which are
all part of a run's identity; the numbers themselves may differ in the last bit
between processors, so they are not. Any other task may read files that change: its
data are identified by their content, hashed once when the runs are planned. A dataset
file is identified by its content too, and read again where it is needed.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from dglbench import options
from dglbench.data.checks import check_dataset, is_bundled, make_dataset
from dglbench.data.dataset_file import dataset_digest, read_dataset
from dglbench.errors import DatasetError, OptionError
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
    """The data of a file, with the settings they are used with."""

    dataset: Dataset
    digest: str
    """Of the content as it is stored, whatever predictor is chosen for it."""


def read_file(path: Path, given: Mapping[str, Any] | None = None) -> FileData:
    """Read a dataset file; ``given`` are settings that the file leaves open (the predictor's)."""
    stored = read_dataset(path)
    check_dataset(stored, str(path))
    digest = dataset_digest(stored)
    dataset = dataclasses.replace(stored, spec=_chosen(path, stored.spec, given or {}))
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
        stored = read_dataset(path)
        content, dataset = stored, dataclasses.replace(stored, spec=data)
    else:
        content = dataset = make_dataset(find_task(data.task), data.settings, data.seed)
    if digest is not None and dataset_digest(content) != digest:
        what = f"{path}" if path else f"{data.full_name}, seed {data.seed},"
        raise DatasetError(
            f"the data of {what} are not those that the run was planned with: they have "
            "changed since; run the same command again."
        )
    _keep((data, digest), dataset)
    return dataset


def _chosen(path: Path, spec: TaskSpec, given: Mapping[str, Any]) -> TaskSpec:
    task = find_task(spec.task)
    unknown = [name for name in given if name not in task.open_settings]
    if unknown:
        allowed = ", ".join(task.open_settings)
        raise OptionError(
            f"{path} brings its own settings, so {unknown[0]} cannot be set; "
            + (f"with it --set takes {allowed}." if allowed else "leave out --set.")
        )
    if not given:
        return spec
    chosen = task.parse_settings({**options.as_dict(spec.settings), **given})
    return dataclasses.replace(spec, settings=chosen)


def _keep(key: tuple[TaskSpec, str | None], dataset: Dataset) -> None:
    _recent[key] = dataset
    _recent.move_to_end(key)
    while len(_recent) > 1 and _bytes() > _KEPT_BYTES:
        _recent.popitem(last=False)


def _bytes() -> int:
    return sum(dataset.features.nbytes + dataset.labels.nbytes for dataset in _recent.values())

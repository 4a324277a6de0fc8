"""Check data where they enter, so that errors name the plugin at fault.

A plugin may do anything: every message names its method, the shape got and the shape
wanted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dglbench.errors import DatasetError, DglbenchError, PluginError
from dglbench.task import SPLITS, Dataset, Task

__all__ = [
    "check_dataset",
    "is_bundled",
    "make_dataset",
    "shape_words",
]


def is_bundled(task: Task) -> bool:
    """Say whether settings, seed and source decide a task's data."""
    return type(task).__module__.partition(".")[0] == "dglbench_tasks"


def make_dataset(task: Task, settings: Any, seed: int) -> Dataset:
    """Have a task make its data, and check them; errors name the plugin at fault."""
    owner = f"task {task.name}: generate()"
    try:
        dataset = task.generate(settings, seed)
    except MemoryError:
        raise
    except DglbenchError as error:
        if is_bundled(task) or type(task).__module__ == "dglbench.data.imported":
            raise
        raise type(error)(f"{owner}: {error}") from error
    except Exception as error:
        if is_bundled(task):
            raise
        raise PluginError(f"{owner} fails with {_said(error)}; fix that method.") from error
    if not isinstance(dataset, Dataset):
        raise PluginError(f"{owner} must return a dglbench.task.Dataset, got {_kind(dataset)}.")
    check_dataset(dataset, owner)
    return dataset


def check_dataset(dataset: Dataset, owner: str) -> None:
    """Refuse arrays that do not fit each other or that nothing can be learnt from."""
    features, labels, split = dataset.features, dataset.labels, dataset.split
    for name, array in (("features", features), ("labels", labels)):
        if not isinstance(array, np.ndarray) or array.dtype != np.float64:
            kind = array.dtype if isinstance(array, np.ndarray) else _kind(array)
            raise DatasetError(
                f"{owner} gives {name} of type {kind}; wanted a numpy array of float64."
            )
    if not len(labels):  # their shape was checked when the dataset was built
        raise DatasetError(f"{owner} gives no instance; wanted some of every split.")
    for name, shape in (("features", features.shape), ("split", np.shape(split))):
        if shape[:1] != labels.shape[:1]:
            raise DatasetError(
                f"{owner} gives {name} of shape {shape_words(shape)} for labels of "
                f"{len(labels)} instances; wanted one row of {name} per instance."
            )
    if features.ndim < 2:
        raise DatasetError(
            f"{owner} gives features of shape {shape_words(features.shape)}; wanted (instances, "
            "features), or a further axis for groups and options."
        )
    for name, array in (("features", features), ("labels", labels)):
        if not np.isfinite(array).all():
            where = np.argwhere(~np.isfinite(array))[0]
            raise DatasetError(
                f"{owner} gives {name} that are NaN or infinite, first at "
                f"{name}[{', '.join(map(str, where))}]; wanted finite numbers: leave such "
                "instances out or fill them in."
            )
    present = set(np.unique(split).tolist())
    if not present <= set(range(len(SPLITS))):
        raise DatasetError(
            f"{owner} gives the split {sorted(present)}; wanted 0 (train), 1 (val) and 2 (test)."
        )
    for name in ("train", "test"):  # what is chosen without validation is the protocol's affair
        if SPLITS.index(name) not in present:
            raise DatasetError(f"{owner} gives no {name} instance; wanted at least one.")


def shape_words(shape: Any) -> str:
    """Write a shape as ``(200, 50, 3)``."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _kind(value: Any) -> str:
    return type(value).__name__


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{_kind(error)}: {text[:200]}" if text else _kind(error)

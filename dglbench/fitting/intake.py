"""What `fit` is given, as data that runs can be made on, and in words.

It takes what ``dglbench import`` takes, a dataset file, or the name of a bundled setting. Own data
are kept as a dataset file in the results, where `dglbench apply` finds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dglbench.data.dataset_file import (
    dataset_digest,
    holds,
    read_dataset,
    stored_digest,
    write_dataset,
)
from dglbench.data.importing import constant_features, import_arrays, import_files, understood
from dglbench.data.loading import load_dataset
from dglbench.errors import DatasetError, DglbenchError, OptionError
from dglbench.plugins import find_setting
from dglbench.problem import Problem
from dglbench.structure import TakeLeave
from dglbench.sweep.request.defaults import DEFAULT_SEED, named_setting, resolve_data
from dglbench.sweep.request.request import Request
from dglbench.task import SPLITS, Dataset

__all__ = ["FEWEST", "SHARES", "Given", "from_arrays", "from_dataset", "from_sources"]

SHARES = (0.7, 0.15, 0.15)
"""Of training, validation and test."""
FEWEST = 20
"""Instances that own data need: 14 to train with, 3 to choose by and 3 to judge by."""
_FEWEST_OF_SPLIT = 3


@dataclass(frozen=True)
class Given:
    """Data to fit, and what was understood of them."""

    dataset: Dataset
    words: str
    setting: str | None = None
    """The bundled setting that was named; None for data that are kept as a file."""
    notes: list[str] = field(default_factory=list)
    """What else the user should know."""

    @property
    def content(self) -> str:
        """What identifies the data."""
        seed = self.dataset.spec.seed
        return f"{self.setting} seed {seed}" if self.setting else dataset_digest(self.dataset)

    def keep(self, out: Path) -> Request:
        """Return the request for runs on these data; own data are kept in ``out``."""
        if self.setting is not None:
            return Request(tasks=(self.setting,), seeds=(self.dataset.spec.seed,))
        path = out / "data" / f"{self.dataset.spec.setting_name}.parquet"
        if not (path.exists() and holds(path, dataset_digest(self.dataset))):
            write_dataset(self.dataset, path)
        return Request(data=(str(path),))


def from_sources(
    sources: Iterable[str],
    *,
    name: str | None = None,
    read: Mapping[str, str] | None = None,
    split: str | None = None,
    seed: int | None = None,
    minimise: bool = False,
    allow_none: bool = False,
) -> Given:
    """Read files and folders, a dataset file, or the name of a bundled setting."""
    words = list(sources)
    if split not in (None, "random", "time"):
        raise OptionError(f"--split must be random or time, got '{split}'.")
    paths = [Path(word) for word in words]
    importing = {"--name": name, "--read": read, "--split": split} | {
        "--minimise": minimise,
        "--allow-none": allow_none,
    }
    if len(paths) == 1 and not paths[0].exists():
        _refuse(importing, f"{words[0]} brings its own data and split")
        return _bundled(words[0], seed)
    if seed is not None:
        raise OptionError("--seed draws the data of a bundled setting; leave it out for your own.")
    if len(paths) == 1 and paths[0].suffix == ".parquet" and stored_digest(paths[0]):
        _refuse(importing, f"{paths[0]} is a dataset file, whose split is in it")
        return from_dataset(read_dataset(paths[0]))
    imported = import_files(
        paths,
        name=name,
        read=read,
        in_order=split == "time",
        minimise=minimise,
        allow_none=allow_none,
        shares=SHARES,
    )
    left_out = imported.left_out
    notes = [f"left out, as no array is called so: {', '.join(left_out)}."] if left_out else []
    return from_dataset(imported.dataset, notes)


def from_arrays(
    arrays: Mapping[str, Any], problem: Problem | None = None, *, split: str | None = None
) -> Given:
    """Take features, labels, A, b and the other arrays of ``dglbench import``.

    ``problem`` brings A, b, the mask, exact rows and the sense instead.
    """
    given = dict(arrays) if problem is None else {**arrays, **_parts(problem)}
    return from_dataset(import_arrays(given, in_order=split == "time", shares=SHARES))


def from_dataset(dataset: Dataset, notes: Iterable[str] = ()) -> Given:
    """Take a dataset as it is; refuse one that cannot be trained, chosen and judged on."""
    count = len(dataset.labels)
    if count < FEWEST:
        raise DatasetError(
            f"there are {count} instances; a fit needs at least {FEWEST}, to train with most of "
            "them, choose by some and judge by the rest."
        )
    for split in SPLITS:
        number = len(dataset.rows(split))
        if number < _FEWEST_OF_SPLIT:
            raise DatasetError(
                f"the split has {number} {split} instances; a fit needs at least "
                f"{_FEWEST_OF_SPLIT} each of train, val and test: leave the split out, or change "
                "it."
            )
    said = list(notes)
    if constant := constant_features(dataset):
        said.append(
            "the same in all training instances, so nothing can be learnt from it: feature "
            f"{', '.join(map(str, constant))} (counted from 0)."
        )
    words = understood(dataset) if "items" in dataset.constants else _described(dataset)
    return Given(dataset, f"{words}; {_split_words(dataset)}", None, said)


def _bundled(name: str, seed: int | None) -> Given:
    try:
        find_setting(name)
    except DglbenchError as error:
        raise DatasetError(
            f"there is no file or folder {name}, and no bundled setting of that name; give an .npz "
            "file, a folder of .npy files, a dataset file, or a setting such as matching-50."
        ) from error
    task, settings = named_setting(name, {})
    data = resolve_data(task, settings, DEFAULT_SEED if seed is None else seed)
    dataset = load_dataset(data)
    words = f"{data.full_name}, data seed {data.seed}; {_described(dataset)}"
    return Given(dataset, f"{words}; {_split_words(dataset)}", name)


def _refuse(importing: Mapping[str, Any], why: str) -> None:
    given = next((flag for flag, value in importing.items() if value), None)
    if given:
        raise OptionError(f"{why}, so {given} has no place here; leave it out.")


def _described(dataset: Dataset) -> str:
    problem = dataset.problem
    return (
        f"{len(dataset.labels):,} instances; {problem.groups} groups of {problem.options} options; "
        f"{problem.rows} {'row' if problem.rows == 1 else 'rows'}; {problem.sense}"
    )


def _split_words(dataset: Dataset) -> str:
    train, val, test = (f"{len(dataset.rows(split)):,}" for split in SPLITS)
    return f"{train} to train with, {val} to choose by, {test} to judge by"


def _parts(problem: Problem) -> dict[str, Any]:
    """Write a problem as the arrays that an import takes."""
    structure = problem.structure
    rest = {"b": problem.b, "equality": problem.equality, "sense": problem.sense}
    if isinstance(structure, TakeLeave) and problem.value_map.matrix is not None:
        return {"A": structure.weights, **rest}
    if problem.value_map.matrix is not None or not np.array_equal(problem.predicted, problem.ever):
        raise DatasetError(
            "labels of this problem are not option values that are all predicted, as those of "
            "paths or absent options; make a task of it (docs/extend.md), or give A and b."
        )
    mask = {} if problem.mask.all() else {"mask": problem.mask}
    return {"A": problem.A, **mask, **rest}

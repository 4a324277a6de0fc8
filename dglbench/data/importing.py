"""From a user's arrays to a dataset, and a description of what was understood."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.data.arrays import read_arrays
from dglbench.data.checks import check_dataset, shape_words
from dglbench.data.imported import Own, OwnSettings, check_name, to_entries
from dglbench.data.layouts import (
    READINGS,
    Layout,
    read_features,
    read_layout,
    rows_by_instance,
)
from dglbench.errors import DatasetError, OptionError
from dglbench.problem import Array, read_sense
from dglbench.solvers import evaluation_solver
from dglbench.streams import stream
from dglbench.task import SPLITS, Dataset, TaskSpec

__all__ = [
    "Imported",
    "add_option",
    "constant_features",
    "import_arrays",
    "import_files",
    "rows_of_new_instances",
    "understood",
]

_NEEDED = ("features", "labels", "A", "b")
SHARES = (0.6, 0.2, 0.2)
"""Of training, validation and test, where nothing else is said."""
_TOLERANCE = 1e-6
_LARGEST = 1e100  # in size: sums of larger labels, and their squares, are no numbers


class Imported(NamedTuple):
    """The dataset, and the names of arrays that were not used."""

    dataset: Dataset
    left_out: list[str]


def import_files(
    sources: Iterable[Path],
    *,
    name: str | None = None,
    read: Mapping[str, str] | None = None,
    in_order: bool = False,
    minimise: bool = False,
    allow_none: bool = False,
    shares: tuple[float, float, float] = SHARES,
) -> Imported:
    """Read files and folders, and make a dataset of what they hold."""
    paths = list(sources)
    arrays = read_arrays(paths)
    called = name or re.sub(r"[^A-Za-z0-9._]+", "-", paths[0].resolve().stem).strip("-.")
    found: dict[str, Any] = dict(arrays.found)
    if minimise:
        found["sense"] = "minimise"
    dataset = import_arrays(
        found,
        name=called[:100] or "own",
        read=read,
        in_order=in_order,
        allow_none=allow_none,
        shares=shares,
    )
    return Imported(dataset, arrays.left_out)


def import_arrays(
    arrays: Mapping[str, npt.ArrayLike],
    *,
    name: str = "own",
    read: Mapping[str, str] | None = None,
    in_order: bool = False,
    allow_none: bool = False,
    shares: tuple[float, float, float] = SHARES,
) -> Dataset:
    """Make a dataset of features, labels, A, b and, if given, the others of docs/own-data.md.

    ``read`` says which of two readings is meant (`READINGS`). Without a split, the instances are
    divided at random into ``shares`` for training, validation and test; ``in_order``
    takes them one after the other instead. ``allow_none`` gives a group that has no option in
    some instance one that uses nothing and is worth 0, in that instance.
    """
    check_name(name)
    say = _readings(read or {})
    missing = [part for part in _NEEDED if part not in arrays]
    if missing:
        raise DatasetError(
            f"there is no array {missing[0]}; wanted {', '.join(_NEEDED)}, got "
            f"{', '.join(sorted(arrays)) or 'none'}."
        )
    numbers = {part: _numbers(part, arrays[part]) for part in _NEEDED}
    if not numbers["labels"].ndim or not len(numbers["labels"]):
        raise DatasetError("labels are empty; wanted (instances, items) or more.")
    if not numbers["A"].size:
        raise DatasetError(
            f"A of shape {numbers['A'].shape} is empty; wanted a row for each constraint."
        )
    if numbers["b"].size == 1 and numbers["A"].shape == numbers["labels"].shape[1:]:
        numbers["A"] = numbers["A"][None]  # the only row, written without its axis
    groups = np.asarray(arrays["groups"]) if "groups" in arrays else None
    varying = rows_by_instance(numbers["labels"], numbers["A"], numbers["b"], say.get("A"))
    layout = read_layout(
        numbers["labels"],
        # The rows of all instances, one after the other: they are laid out alike.
        numbers["A"] if varying is None else varying.reshape(-1, *varying.shape[2:]),
        groups,
        None if say.get("A") == "by-instance" else say.get("A"),
    )
    exists = _existing(arrays, layout)
    _check_labels(layout, exists)
    features = read_features(np.atleast_1d(numbers["features"]), layout, say.get("features"))
    rows = len(layout.A) if varying is None else varying.shape[1]
    names = _names(arrays, layout, rows)
    none = allow_none and not exists.any(axis=-1).all()
    if none:
        layout = layout._replace(labels=add_option(layout.labels), A=add_option(layout.A))
        exists = np.concatenate([exists, ~exists.any(axis=-1, keepdims=True)], axis=-1)
        features = add_option(features) if features.ndim == 4 else features
        names = {
            key: [*given, "none"] if key == "option_names" else given
            for key, given in names.items()
        }
    ever = exists if exists.ndim == 2 else exists.any(axis=0)
    every_A = np.where(ever, layout.A, 0.0).reshape(-1, rows, *ever.shape)
    b = _capacities(numbers["b"], rows, len(layout.labels))
    constants = {
        "A": to_entries(every_A[0]),
        "b": (b if b.ndim == 1 else b[0]).tolist(),
        "equality": _exact(arrays.get("equality", False), rows),
        "mask": None if ever.all() else ever.tolist(),
        "sense": _sense(arrays.get("sense", "maximise")),
        "items": layout.items,
        "names": names,
        **({"none": True} if none else {}),
    }
    settings = OwnSettings(n=layout.labels.shape[1], name=name)
    problem = Own().problem(settings, constants)
    if b.ndim == 2 or exists.ndim == 3 or varying is not None:
        problem = problem.vary(
            A=None if varying is None else every_A,
            b=b if b.ndim == 2 else None,
            mask=exists if exists.ndim == 3 else None,
        )
    dataset = Dataset(
        spec=TaskSpec(Own.name, settings, seed=0),
        problem=problem,
        constants=constants,
        features=np.ascontiguousarray(features),
        labels=np.where(exists, layout.labels, 0.0),
        split=_split(arrays.get("split"), len(layout.labels), shares, in_order=in_order),
    )
    check_dataset(dataset, "the import")
    return dataset


def rows_of_new_instances(A: Array, dataset: Dataset) -> Array:
    """Return A of new instances as (K, M, G, S), given in any layout that the import takes."""
    problem, constants = dataset.problem, dataset.constants
    groups, options = problem.shape
    known = options - bool(constants.get("items") or constants.get("none"))
    for given in (A, A[:, None]):  # a single row may lack its axis
        for width in (options, known):
            if given.shape[1:] in (
                (problem.rows, groups, width),
                (problem.rows, groups * width),
            ):
                laid_out = given.reshape(len(A), problem.rows, groups, width)
                return np.pad(laid_out, ((0, 0), (0, 0), (0, 0), (0, options - width)))
    raise DatasetError(
        f"A has shape {shape_words(A.shape)}; wanted (instances, {problem.rows}, {groups * known}) "
        f"or (instances, {problem.rows}, {groups}, {known}), as in training."
    )


def add_option(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Append an option of zeros to an array (·, G, S) or (·, G, S, F)."""
    return np.concatenate([array, np.zeros_like(array[:, :, :1])], axis=2)


def constant_features(dataset: Dataset) -> list[int]:
    """Return the features that are the same wherever they stand in the training split."""
    train = dataset.part(dataset.features, "train").reshape(-1, dataset.features.shape[-1])
    return np.flatnonzero(np.ptp(train, axis=0) == 0).tolist()


def understood(dataset: Dataset) -> str:
    """Say in words what a dataset is, with the rows that bind in its first instance."""
    problem, items = dataset.problem, bool(dataset.constants["items"])
    sizes = problem.mask.sum(axis=-1)
    if items:
        what = f"{_count(problem.groups, 'item')} to take or leave"
    elif sizes.min() == sizes.max():
        what = f"{_count(problem.groups, 'group')} of {_count(problem.options, 'option')}"
    else:
        what = f"{_count(problem.groups, 'group')} of {sizes.min()} to {sizes.max()} options"
    exact = int(problem.equality.sum())
    rows = _count(problem.rows - exact, "capacity row")
    if exact:
        rows = f"{rows} and " * (exact < problem.rows) + _count(exact, "exact row")
    if problem.b.ndim == 2 or problem.rows_vary:
        rows += " that differ by instance"
    return "; ".join(
        [
            _count(len(dataset.labels), "instance"),
            what,
            f"{rows}, {_binding(dataset)} in the first instance",
            _SENSE_WORDS.get(problem.sense, problem.sense),
            f"features per {_each(dataset)}, {_count(dataset.features.shape[-1], 'number')} each",
        ]
    )


_SENSE_WORDS = {"maximise": "maximise (if labels are costs, say minimise)"}


def _each(dataset: Dataset) -> str:
    item = "item" if dataset.constants["items"] else "group"
    return {2: "instance", 3: item, 4: "option"}[dataset.features.ndim]


def _binding(dataset: Dataset) -> str:
    problem, at = dataset.problem, dataset.problem.take([0])
    b = at.b.reshape(-1)
    values = problem.values(dataset.labels[:1])
    x = evaluation_solver(Own(), problem).relax(values, np.array([0]))
    room = _TOLERANCE * np.maximum(1.0, np.abs(b))
    binding = int((at.usage(x)[0] >= b - room).sum())
    if problem.rows == 1:
        return "binding" if binding else "not binding"
    return {0: "none binding", problem.rows: "all binding"}.get(binding, f"{binding} binding")


def _readings(read: Mapping[str, str]) -> dict[str, str]:
    say = {}
    for given, reading in read.items():
        name = {"a": "A"}.get(given, given)
        if name not in READINGS or reading not in READINGS[name]:
            ways = "; ".join(f"{key}={'|'.join(ways)}" for key, ways in READINGS.items())
            raise OptionError(f"--read takes {ways}, got '{given}={reading}'.")
        say[name] = reading
    return say


def _numbers(name: str, values: npt.ArrayLike) -> Array:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = np.asarray(values, dtype=object).dtype if not hasattr(values, "dtype") else (
            values.dtype
        )  # fmt: skip
        raise DatasetError(f"{name} are of type {kind}; wanted numbers.") from error


def _existing(arrays: Mapping[str, Any], layout: Layout) -> npt.NDArray[np.bool_]:
    if "mask" not in arrays:
        return layout.exists
    mask = np.asarray(arrays["mask"]).astype(bool)
    if layout.items or layout.exists.shape != mask.shape != layout.labels.shape:
        wanted = "no mask for items to take or leave"
        if not layout.items:
            wanted = f"(groups, options) = {shape_words(layout.exists.shape)}, or one per instance"
        raise DatasetError(f"mask has shape {shape_words(mask.shape)}; wanted {wanted}.")
    return mask & layout.exists


def _check_labels(layout: Layout, exists: npt.NDArray[np.bool_]) -> None:
    wrong = ~(np.abs(layout.labels) <= _LARGEST) & exists
    if wrong.any():
        instance, group, option = np.argwhere(wrong)[0]
        at = f"item {group}" if layout.items else f"group {group}, option {option}"
        raise DatasetError(
            f"labels hold {int(wrong.sum())} values that are NaN, infinite or beyond {_LARGEST:g}, "
            f"first in instance {instance}, {at}; leave such instances out, or say with mask that "
            "the option does not exist."
        )


def _capacities(b: Array, rows: int, count: int) -> Array:
    given = b.reshape(1) if b.ndim == 0 else b
    if given.shape not in ((rows,), (count, rows)):
        raise DatasetError(
            f"b has shape {shape_words(b.shape)} and A has {_count(rows, 'row')}; wanted "
            f"({rows},), or ({count}, {rows}) where it differs by instance."
        )
    return given


def _exact(given: Any, rows: int) -> list[bool]:
    """Return which rows must be met exactly."""
    flags = np.asarray(given)
    if flags.shape not in ((), (rows,)):
        raise DatasetError(
            f"equality has shape {shape_words(flags.shape)}; wanted ({rows},), true or false per "
            "row."
        )
    return [bool(flag) for flag in np.broadcast_to(flags, (rows,))]


def _sense(given: Any) -> str:
    return read_sense(str(np.asarray(given).reshape(-1)[0]) if np.size(given) else "")


def _names(arrays: Mapping[str, Any], layout: Layout, rows: int) -> dict[str, list[str]]:
    groups, options = layout.exists.shape
    names = {}
    for key, count in (("group_names", groups), ("option_names", options), ("row_names", rows)):
        if key not in arrays:
            continue
        given = np.asarray(arrays[key])
        if given.shape != (count,):
            raise DatasetError(
                f"{key} have shape {shape_words(given.shape)}; wanted ({count},), one name each."
            )
        names[key] = [str(value) for value in given.tolist()]
    return names


def _split(
    given: Any, count: int, shares: tuple[float, float, float], *, in_order: bool
) -> npt.NDArray[np.int8]:
    if given is None:
        order = np.arange(count)
        if not in_order:
            order = stream(0, "import", "split").permutation(count)
        ends = np.cumsum([round(share * count) for share in shares[:2]])
        split = np.empty(count, dtype=np.int8)
        split[order] = np.searchsorted(ends, np.arange(count), side="right")
        return split
    words = np.asarray(given)
    if words.shape != (count,):
        raise DatasetError(
            f"split has shape {shape_words(words.shape)}; wanted ({count},), one word per instance."
        )
    numbers = {**{name: i for i, name in enumerate(SPLITS)}, **{str(i): i for i in range(3)}}
    split = np.empty(count, dtype=np.int8)
    for index, word in enumerate(words.tolist()):
        text = word.decode() if isinstance(word, bytes) else str(word)
        if text not in numbers:
            raise DatasetError(
                f"split says '{text}' of instance {index}; wanted {', '.join(SPLITS)} (or 0, 1, 2)."
            )
        split[index] = numbers[text]
    return split


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"

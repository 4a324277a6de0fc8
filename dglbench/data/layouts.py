"""How A, labels and features may be laid out, and which layout a user's arrays have.

Every function returns one reading or refuses. The message gives the shapes got and wanted
if no reading fits, and both readings and how to choose if two do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.data.checks import shape_words
from dglbench.errors import DatasetError
from dglbench.problem import Array

__all__ = ["READINGS", "Layout", "read_features", "read_layout", "rows_by_instance"]

READINGS = {
    "features": ("per-instance", "per-group", "per-item", "per-option"),
    "A": ("every-option", "per-option", "take-or-leave", "by-instance"),
}
"""What ``--read ARRAY=READING`` may say."""


class Layout(NamedTuple):
    """Labels and A in one shape, and how flat lists of options map to it."""

    labels: Array
    """(K, G, S)"""
    A: Array
    """(M, G, S)"""
    exists: npt.NDArray[np.bool_]
    """(G, S): False on the padding of groups of unequal size."""
    items: bool
    """Whether the groups are items to take (option 0) or leave (option 1)."""
    place: Callable[[Array], Array]
    """From (K, G·S or options, …) to (K, G, S, …)."""


def read_layout(
    labels: Array, A: Array, groups: npt.NDArray[Any] | None, say: str | None
) -> Layout:
    """Find groups and options in labels and A; ``say`` is the reading of A that was asked for."""
    if A.ndim == 1:
        A = A[None]
    if labels.ndim == 3 and labels.shape[2] == 1:  # one option per group: nothing to pick, so items
        labels, A = labels[:, :, 0], A[:, :, 0] if A.ndim == 3 else A
    if labels.ndim == 3:
        return _picked(labels, _rows_of_options(labels, A, say))
    if labels.ndim != 2:
        raise DatasetError(
            f"labels have shape {shape_words(labels.shape)}; wanted (instances, items) or "
            "(instances, groups, options)."
        )
    width = labels.shape[1]
    if groups is not None:
        return _grouped(labels, _flat_rows(A, width), _group_ids(groups, width))
    if A.ndim == 3 and A.shape[1] * A.shape[2] == width and A.shape[2] > 1:
        return _picked(labels.reshape(len(labels), *A.shape[1:]), A)
    if A.ndim == 3 and A.shape[1:] == (width, 2) and not A[:, :, 1].any():
        A = A[:, :, 0]
    if A.ndim == 3 and A.shape[2] == 1:
        A = A[:, :, 0]
    weights = _flat_rows(A, width)
    take = np.stack([labels, np.zeros_like(labels)], axis=-1)
    use = np.stack([weights, np.zeros_like(weights)], axis=-1)
    exists = np.ones((width, 2), dtype=bool)
    return Layout(take, use, exists, True, lambda values: values)


def rows_by_instance(labels: Array, A: Array, b: Array, say: str | None) -> Array | None:
    """Return A as (instances, rows, …) if it differs by instance, else None.

    It does if it starts with the number of instances and goes on with the rows that b has; a
    single row may be written without its axis.
    """
    count, asked = len(labels), say == "by-instance"
    rows = b.shape[-1] if b.ndim else 1
    if rows == 1 and A.shape == labels.shape and (count > 1 or asked):
        return A[:, None]
    fits = A.ndim > 2 and len(A) == count and A.shape[1] == rows
    if fits and (A.ndim == 4 or asked):
        return A
    if asked or A.ndim == 4:
        raise DatasetError(
            f"A has shape {shape_words(A.shape)} and b {shape_words(b.shape)}, which cannot be "
            f"read by-instance; wanted ({count}, rows, …) and the same rows of b."
        )
    options = {labels.shape[-1], int(np.prod(labels.shape[1:]))}
    # As many rows as instances may also be one A: then only --read A=by-instance says otherwise.
    return A if fits and A.shape[2] in options and rows != count else None


def read_features(features: Array, layout: Layout, say: str | None) -> Array:
    """Return the features as (K, F), (K, G, F) or (K, G, S, F)."""
    count, groups, options = layout.labels.shape
    got = features.shape
    if got[0] != count:
        raise DatasetError(
            f"features have shape {shape_words(got)} and labels are of {count} instances; wanted "
            f"one row of features per instance, ({count}, …)."
        )
    each = "per-item" if layout.items else "per-group"
    flat = int(layout.exists.sum())
    candidates: dict[str, Callable[[], Array]] = {}
    if features.ndim <= 2:
        candidates["per-instance"] = lambda: features.reshape(count, -1)
        if got[1:] == (groups,) and groups > 1:
            candidates[each] = lambda: features[:, :, None]
        if got[1:] == (flat,) and not layout.items and flat > groups:
            candidates["per-option"] = lambda: layout.place(features[:, :, None])
    elif features.ndim == 3:
        if got[1] == groups:
            candidates[each] = lambda: features
        if got[1:] == (groups, options) and not layout.items:
            candidates["per-option"] = lambda: features[..., None]
        if got[1] == flat and not layout.items and flat > groups:
            candidates["per-option"] = lambda: layout.place(features)
    elif features.ndim == 4 and got[1:3] == (groups, options) and not layout.items:
        candidates["per-option"] = lambda: features
    wanted = f"({count}, F) per instance or ({count}, {groups}, F) {each.replace('-', ' ')}"
    if not layout.items:
        wanted += f" or ({count}, {groups}, {options}, F) per option"
    meaning = {
        "per-instance": f"{got[1] if len(got) > 1 else 1} numbers that describe the whole instance",
        each: f"{got[2] if len(got) > 2 else 1} for each {each[4:]}",
        "per-option": f"{got[-1] if len(got) > 3 else 1} for each option",
    }
    if say == "per-group" and layout.items:
        say = "per-item"
    return _one("features", got, wanted, candidates, meaning, say)()


def _picked(labels: Array, A: Array) -> Layout:
    shape = labels.shape[1:]
    exists = np.ones(shape, dtype=bool)
    return Layout(
        labels,
        A,
        exists,
        False,
        lambda values: values.reshape(len(values), *shape, *values.shape[2:]),
    )


def _grouped(labels: Array, A: Array, ids: npt.NDArray[np.intp]) -> Layout:
    """Put flat options into groups, padded to the largest."""
    sizes = np.bincount(ids)
    shape = (len(sizes), int(sizes.max()))
    order = np.argsort(ids, kind="stable")
    slot = np.empty(len(ids), dtype=np.intp)
    slot[order] = np.concatenate([np.arange(size) for size in sizes])

    def place(values: Array) -> Array:
        placed = np.zeros((len(values), *shape, *values.shape[2:]))
        placed[:, ids, slot] = values
        return placed

    exists = np.zeros(shape, dtype=bool)
    exists[ids, slot] = True
    return Layout(place(labels), place(A), exists, False, place)


def _rows_of_options(labels: Array, A: Array, say: str | None) -> Array:
    """Return A as (M, G, S) for labels (K, G, S)."""
    groups, options = labels.shape[1:]
    wanted = f"(rows, groups = {groups}, options = {options})"
    if A.ndim == 3:
        if A.shape[1:] == (groups, options):
            return A
        hint = ""
        if A.shape[1:] == (options, groups):
            hint = " It fits as A.transpose(0, 2, 1)."
        elif A.shape[:2] == (groups, options):
            hint = " It fits as A.transpose(2, 0, 1)."
        raise DatasetError(f"A has shape {shape_words(A.shape)}; wanted {wanted}.{hint}")
    rows, width = A.shape if A.ndim == 2 else (0, 0)
    candidates: dict[str, Callable[[], Array]] = {}
    if width == groups * options:
        candidates["every-option"] = lambda: A.reshape(rows, groups, options)
    if width == options and groups > 1:
        candidates["per-option"] = lambda: np.broadcast_to(
            A[:, None, :], (rows, groups, options)
        ).copy()
    if width == groups and options == 2:
        candidates["take-or-leave"] = lambda: np.stack([A, np.zeros_like(A)], axis=-1)
    meaning = {
        "every-option": "each option of each group has its own column",
        "per-option": f"column s is what option s uses, alike in all {groups} groups",
        "take-or-leave": "column g is what the first option of group g uses, the second nothing",
    }
    wanted += f" or (rows, {groups * options}) or (rows, {options})"
    return _one("A", A.shape, wanted, candidates, meaning, say)()


def _flat_rows(A: Array, width: int) -> Array:
    flat = A.reshape(len(A), -1) if A.ndim == 3 and A.shape[1] * A.shape[2] == width else A
    if flat.ndim == 2 and flat.shape[1] == width:
        return flat
    hint = " It fits as A.T." if A.ndim == 2 and A.shape[0] == width else ""
    if A.ndim == 2 and 1 < A.shape[1] < width and width % A.shape[1] == 0:
        hint += (
            f" Where each of {width // A.shape[1]} groups picks one of {A.shape[1]} options, give "
            f"groups = {width // A.shape[1]}, or labels of shape (instances, groups, options)."
        )
    raise DatasetError(
        f"A has shape {shape_words(A.shape)} for labels of {width} per instance; wanted (rows, "
        f"{width}).{hint}"
    )


def _group_ids(groups: npt.NDArray[Any], width: int) -> npt.NDArray[np.intp]:
    if groups.ndim == 0:
        count = int(groups)
        if count < 1 or width % count:
            raise DatasetError(
                f"groups = {count} does not divide the {width} options of an instance; give "
                "the group of each option instead."
            )
        return np.repeat(np.arange(count), width // count)
    if groups.shape != (width,):
        raise DatasetError(
            f"groups have shape {shape_words(groups.shape)}; wanted ({width},), the group of each "
            "option, or one number, how many groups there are."
        )
    _, ids = np.unique(groups, return_inverse=True)
    return np.asarray(ids, dtype=np.intp)


def _one(
    name: str,
    got: tuple[int, ...],
    wanted: str,
    candidates: Mapping[str, Callable[[], Array]],
    meaning: Mapping[str, str],
    say: str | None,
) -> Callable[[], Array]:
    """Return the only reading, or the one that was asked for."""
    has = "has" if name == "A" else "have"
    if not candidates:
        raise DatasetError(f"{name} {has} shape {shape_words(got)}; wanted {wanted}.")
    if say is not None:
        if say not in candidates:
            raise DatasetError(
                f"{name} {has} shape {shape_words(got)}, which cannot be read {say}; it can be "
                f"read {' or '.join(candidates)}."
            )
        return candidates[say]
    if len(candidates) > 1:
        both = "; or ".join(f"{key}: {meaning[key]}" for key in candidates)
        ways = " or ".join(f"--read {name}={key}" for key in candidates)
        raise DatasetError(
            f"{name} {has} shape {shape_words(got)}, which can be read in two ways ({both}); say "
            f"which with {ways}."
        )
    return next(iter(candidates.values()))

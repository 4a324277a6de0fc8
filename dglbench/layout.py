"""How a task's features lie, and how many numbers come out of each row of them.

A task states it once (`dglbench.task.Task.layout`); every predictor is built for it. Where a task
states nothing, the shapes decide:

    kind        features        predicted from one row
    instance    (K, F)          all P numbers of the instance
    item        (K, G, F)       the options of one group, or one of the P parameters
    pair        (K, G, F)       the options of one group, each with features of its own
    option      (K, G, S, F)    one option
    sides       (K, L + R, F)   one option: of group i, option j, both row i and row L + j
    image       (K, C, H, W)    all P numbers of the instance
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from dglbench.errors import PluginError
from dglbench.problem import Array, Problem

__all__ = ["KINDS", "Kind", "Layout", "Link", "Table", "option_window"]

Kind = Literal["instance", "item", "pair", "option", "sides", "image"]
Link = Literal["identity", "sigmoid", "softplus"]

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Layout:
    """What a predictor is built for."""

    kind: Kind
    features: tuple[int, ...]
    """The shape of one row: (F,), (2F,) of two sides, or (channels, height, width) of an image."""
    outputs: int
    """How many numbers come out of one row."""
    link: Link = "identity"
    """What keeps predictions in range: ``sigmoid`` in (0, 1), ``softplus`` above 0."""
    shared: int = 0
    """Of a pair: how many features, the first ones, act alike on every output. A linear model
    learns for each output what the others do."""
    indicators: bool = False
    """Whether features are 0 or 1, mostly 0: they are then taken as they are, because a rare one
    would weigh tens of times as much as a common one if all had a standard deviation of 1."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise PluginError(
                f"a layout's kind must be one of {', '.join(KINDS)}, got {self.kind}."
            )
        if self.shared and (self.kind != "pair" or self.shared >= self.features[0]):
            raise PluginError(
                f"{self.shared} shared features need kind 'pair' and more features than that, got "
                f"kind '{self.kind}' with features of shape {self.features}."
            )

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        problem: Problem,
        *,
        kind: Kind | None = None,
        link: Link = "identity",
        shared: int = 0,
    ) -> Layout | None:
        """Return the layout of features (K, …) of this shape, None if the shape has none.

        Without ``kind`` the shapes of features and labels decide; they never say image, pair or
        sides.
        """
        rows = shape[1:]
        found = kind or _kind_of(rows, problem.label_shape)
        if found is None or not _fits(found, rows, problem.label_shape):
            return None
        if found == "sides":
            first, end = option_window(problem)
            fits = rows[0] == problem.groups + end - first and problem.value_map.matrix is None
            return cls(found, (2 * rows[1],), 1, link) if fits else None
        outputs = 1
        if found in ("instance", "image"):
            outputs = problem.label_shape[0]
            if problem.value_map.matrix is None:
                outputs = int(problem.predicted.sum())
        elif found in ("item", "pair") and problem.value_map.matrix is None:
            first, end = option_window(problem)
            outputs = end - first
        own = rows if found == "image" else rows[-1:]
        return cls(found, tuple(own), outputs, link, shared)


class Table(NamedTuple):
    """Rows of features with what is to be predicted from them, for a model fitted at once."""

    inputs: Array
    """(N, F): standardised."""
    targets: Array
    """(N, outputs): standardised labels."""
    counted: npt.NDArray[np.bool_]
    """(N, outputs): which labels count (`Problem.counted`)."""


def option_window(problem: Problem) -> tuple[int, int]:
    """Return the first and one past the last option that is predicted in some group."""
    columns = np.flatnonzero(problem.predicted.any(axis=0))
    return int(columns[0]), int(columns[-1]) + 1


def _kind_of(rows: tuple[int, ...], label_shape: tuple[int, ...]) -> Kind | None:
    kinds: tuple[Kind, ...] = ("instance", "item", "option")
    return next((kind for kind in kinds if _fits(kind, rows, label_shape)), None)


def _fits(kind: Kind, rows: tuple[int, ...], label_shape: tuple[int, ...]) -> bool:
    """Say whether one instance's features of this shape can be of this kind."""
    if kind == "option":
        return len(label_shape) == 2 and rows[:-1] == label_shape
    if kind == "sides":
        return len(rows) == len(label_shape) == 2
    if kind in ("item", "pair"):
        return len(rows) == 2 and rows[0] == label_shape[0]
    return len(rows) == (3 if kind == "image" else 1)

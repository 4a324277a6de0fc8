"""The task behind ``dglbench import``: a user's own arrays as a dataset.

Its data come from a dataset file and nowhere else, so no entry point offers it by
name. The settings say how the arrays are called; the constraints are in the dataset's constants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from typing_extensions import Doc

from dglbench.errors import DatasetError, OptionError
from dglbench.problem import Array, Problem
from dglbench.structure.matrices import mask_or_all
from dglbench.task import Dataset, Task

__all__ = ["Own", "OwnSettings", "check_name", "from_entries", "to_entries"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


def check_name(name: str) -> None:
    """Refuse a name that could not be part of a file's name: run folders are called by it."""
    if not _NAME.fullmatch(name):
        shown = name if len(name) <= 100 else f"{name[:100]}…"
        raise OptionError(
            "the name of a dataset (--name) must be 1 to 100 letters, digits, '.', '_' and '-', "
            f"and begin with a letter, a digit or '_', got '{shown}'."
        )


@dataclass(frozen=True)
class OwnSettings:
    """What is chosen about own data; the rest is in the arrays."""

    n: Annotated[int, Ge(1), Doc("groups, or items to take or leave")] = 1
    name: Annotated[str, Doc("what the data are called")] = "own"

    def __post_init__(self) -> None:
        check_name(self.name)


class Own(Task):
    """Own arrays: features, labels, A and b."""

    name: ClassVar[str] = "own"
    summary: ClassVar[str] = "your own arrays (dglbench import)"
    sizes: ClassVar[tuple[int, ...]] = ()
    Settings: ClassVar[type[Any]] = OwnSettings

    def generate(self, settings: OwnSettings, seed: int) -> Dataset:
        """Refuse: there is nothing to draw."""
        raise DatasetError(
            "own data are not generated; import them with dglbench import and give the file it "
            "writes with --data."
        )

    def problem(self, settings: OwnSettings, constants: Mapping[str, Any]) -> Problem:
        """Build the problem from the constraints that were imported.

        Where b or the mask differ by instance, the constants hold what the first instance has
        and what any has; the rest is in the dataset's own columns.
        """
        A = from_entries(constants["A"])
        predicted = None
        if constants["items"]:
            predicted = np.zeros(A.shape[1:], dtype=bool)
            predicted[:, 0] = True
        elif constants.get("none"):
            predicted = np.array(mask_or_all(constants["mask"], A.shape[1:]))
            predicted[:, -1] = False
        return Problem.build(
            A,
            constants["b"],
            constants["mask"],
            predicted,
            equality=constants["equality"],
            sense=constants["sense"],
        )

    def label_scale(self, dataset: Dataset) -> float:
        """Return the standard deviation of the train labels: they may be in any unit."""
        return dataset.label_spread


def to_entries(A: Array) -> dict[str, Any]:
    """Write an array as JSON-ready entries: most are 0 where options use few rows."""
    at = np.flatnonzero(A)
    return {"shape": list(A.shape), "at": at.tolist(), "use": A.ravel()[at].tolist()}


def from_entries(entries: Mapping[str, Any]) -> Array:
    """Read what `to_entries` wrote."""
    A = np.zeros(tuple(entries["shape"]))
    A.ravel()[np.asarray(entries["at"], dtype=np.intp)] = entries["use"]
    return A

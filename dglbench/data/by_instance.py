"""The parts of a problem that differ by instance, as the columns of a dataset file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dglbench.errors import ProblemError
from dglbench.problem import Problem
from dglbench.structure import ByInstance, Pattern

__all__ = ["VARYING", "empty_parts", "parts_by_instance", "places_of_rows", "with_parts"]

VARYING = ("A", "b", "mask")


def parts_by_instance(problem: Problem) -> dict[str, npt.NDArray[Any]]:
    """Return what differs by instance, by column: an entry per instance each."""
    parts: dict[str, npt.NDArray[Any]] = {}
    if isinstance(problem.structure, ByInstance):
        parts["A"] = problem.structure.use
    if problem.b.ndim == 2:
        parts["b"] = problem.b
    if problem.mask.ndim == 3:
        parts["mask"] = problem.mask
    return parts


def places_of_rows(problem: Problem) -> list[int] | None:
    """Return where the entries of the column A lie in A; None if all instances share A."""
    structure = problem.structure
    return structure.pattern.at.tolist() if isinstance(structure, ByInstance) else None


def empty_parts(
    problem: Problem, count: int, names: Sequence[str], places: Sequence[int] | None
) -> dict[str, npt.NDArray[Any]]:
    """Return arrays to be filled from the columns named, for ``count`` instances."""
    room: dict[str, npt.NDArray[Any]] = {
        "A": np.empty((count, len(places or ()))),
        "b": np.empty((count, problem.rows)),
        "mask": np.empty((count, *problem.shape), dtype=bool),
    }
    return {name: room[name] for name in names if name in room}


def with_parts(
    problem: Problem, parts: Mapping[str, npt.NDArray[Any]], places: Sequence[int] | None
) -> Problem:
    """Put what `parts_by_instance` and `places_of_rows` returned back into the problem."""
    given: dict[str, Any] = dict(parts)
    if "A" in given:
        try:
            at = np.array(places, dtype=np.intp)
        except (TypeError, ValueError, OverflowError) as error:
            raise ProblemError("A_at must hold the places of the entries of A.") from error
        size = problem.rows * problem.size
        if at.ndim != 1 or (np.diff(at, prepend=-1) <= 0).any() or (at >= size).any():
            raise ProblemError(f"A_at must hold rising places below {size:,}.")
        given["A"] = ByInstance(Pattern(at, problem.rows, *problem.shape), given["A"])
    return problem.vary(**given)

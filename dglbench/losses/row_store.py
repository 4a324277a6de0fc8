"""What was solved for an instance, found again by its row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from dglbench.errors import ProblemError

__all__ = ["ByRow", "checked_rows", "first_positions"]

Column = npt.NDArray[Any]


class ByRow:
    """Tensors with one entry per row, for rows that come in any order and more than once.

    Rows are whole numbers ≥ 0, such as positions in a dataset. Each new one gets the next
    place in tensors that grow by doubling, so only rows that were seen take memory. They are
    kept as numpy arrays: a batch has few rows, and those are got and set faster so.
    """

    def __init__(self) -> None:
        self._place: dict[int, int] = {}
        self._columns: dict[str, Column] = {}
        self._in_order = True
        """Whether rows are 0, 1, 2, … in this order, so that each is its own place."""

    def __len__(self) -> int:
        return len(self._place)

    def __getitem__(self, name: str) -> torch.Tensor:
        """Return one tensor for all places, in the order rows were first seen."""
        return torch.from_numpy(self._columns[name][: len(self)])

    def numbers(self, name: str, rows: torch.Tensor) -> Any:
        """Return the entries of rows that were seen before, as a numpy array."""
        return self._columns[name].take(self.places(rows).numpy(), axis=0)

    @property
    def rows(self) -> torch.Tensor:
        """(n,): the rows that were seen, in that order."""
        return torch.tensor(list(self._place), dtype=torch.int64)

    def missing(self, rows: torch.Tensor) -> list[int]:
        """Return the positions in ``rows`` of those never seen, each row once."""
        listed = rows.tolist()
        if self._in_order and listed and max(listed) < len(self):
            return []
        return [k for k in first_positions(listed) if listed[k] not in self._place]

    def places(self, rows: torch.Tensor) -> torch.Tensor:
        """Return where each row stands in the tensors; all of them were seen before."""
        if self._in_order:
            return rows
        return torch.tensor([self._place[row] for row in rows.tolist()], dtype=torch.int64)

    def put(self, rows: torch.Tensor, columns: Mapping[str, torch.Tensor | Column | int]) -> None:
        """Set the entries of distinct rows, old and new; a single number is that of each."""
        before, listed = len(self), rows.tolist()
        known = self._in_order and listed and max(listed) < before
        for row in () if known else listed:
            if row not in self._place:
                self._in_order = self._in_order and row == len(self._place)
                self._place[row] = len(self._place)
        if before == 0 and len(self) == len(listed):
            self._columns = {name: _whole(entries, len(self)) for name, entries in columns.items()}
            return
        places = self.places(rows).numpy()
        for name, entries in columns.items():
            self._columns[name] = column = _grown(self._columns[name], len(self))
            column[places] = entries.numpy() if isinstance(entries, torch.Tensor) else entries

    def state(self, *names: str) -> dict[str, torch.Tensor]:
        """Return the rows and some of their tensors, to be saved."""
        if not self._columns:
            return {}
        return {"rows": self.rows, **{name: self[name].clone() for name in names}}


def first_positions(listed: list[Any]) -> list[int]:
    """Return the position at which each distinct entry comes first."""
    if len(set(listed)) == len(listed):
        return list(range(len(listed)))
    seen: dict[Any, int] = {}
    for position, entry in enumerate(listed):
        seen.setdefault(entry, position)
    return list(seen.values())


def checked_rows(rows: Any, count: int) -> torch.Tensor:
    """Return rows as a tensor of whole numbers ≥ 0, one for each of ``count`` predictions."""
    given = torch.as_tensor(rows).cpu()
    whole = not (given.is_floating_point() or given.is_complex() or given.dtype == torch.bool)
    if given.shape != (count,) or not whole:
        raise ProblemError(
            f"rows must name the instance of each of the {count} predictions by a whole number, "
            f"got shape {tuple(given.shape)} and type {given.dtype}."
        )
    if count and int(given.min()) < 0:
        raise ProblemError(f"rows must be ≥ 0, got {int(given.min())}; number instances from 0.")
    return given.to(torch.int64)


def _whole(entries: torch.Tensor | Column | int, count: int) -> Column:
    """Return the entries of ``count`` rows as an array."""
    if isinstance(entries, torch.Tensor):
        return entries.numpy()
    return np.full(count, entries) if isinstance(entries, int) else entries


def _grown(column: Column, count: int) -> Column:
    """Return the array with room for ``count`` entries and as many again."""
    if len(column) >= count:
        return column
    larger = np.empty((2 * count, *column.shape[1:]), column.dtype)
    larger[: len(column)] = column
    return larger

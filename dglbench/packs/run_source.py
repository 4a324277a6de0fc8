"""What is asked of a place with finished runs.

Folders and packs answer the same questions, so that nothing that reads results knows which of them
it reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import polars as pl

from dglbench.runs.record import RunRecord

__all__ = ["RunSource", "RunTables"]


class RunTables(NamedTuple):
    """One table of several runs."""

    rows: pl.DataFrame
    """The rows of one run after those of another, in the order asked for."""
    counts: dict[str, int]
    """How many rows each run has, in the order of the rows; those without are absent."""
    problems: dict[str, str]
    """Why the table of a run could not be read."""


class RunSource(Protocol):
    """Where runs are read from."""

    path: Path

    @property
    def names(self) -> Sequence[str]:
        """The runs, in name order."""

    def place(self, name: str) -> Path:
        """Return where a run is: its folder, or its name below that of the pack."""

    def record(self, name: str) -> RunRecord:
        """Return a run's record, or raise a `RunError` that says why it cannot be read."""

    def document(self, name: str) -> dict[str, Any]:
        """Return a record as it was written, fields that this version does not know included."""

    def damage(self, name: str, record: RunRecord) -> str | None:
        """Say what of a run is missing or changed, None if all is as written."""

    def tables(self, table: str, names: Sequence[str], *, lists: bool = False) -> RunTables:
        """Read a table of some runs; columns of lists only if ``lists`` asks for them."""

    @property
    def documents(self) -> Mapping[str, str]:
        """The sweeps' own files, by name."""

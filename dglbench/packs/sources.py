"""Places with finished runs: a folder with a folder a run, and packs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from dglbench.errors import RunError
from dglbench.packs.pack_files import is_pack
from dglbench.packs.reading import PackRuns
from dglbench.packs.run_source import RunSource, RunTables
from dglbench.runs.record import RunRecord
from dglbench.runs.store import damage, is_run, read_document, read_record, run_folders
from dglbench.runs.tables import read_tables

__all__ = ["FolderRuns", "open_source", "recorded"]

_DOCUMENTS = ("sweep-*.json", "sweep-*.toml", "chosen-*.toml", "search-*.json", "search-*.toml")


class FolderRuns:
    """The runs of a folder, or one of them alone."""

    def __init__(self, path: Path, names: Sequence[str] | None = None) -> None:
        self.path = path
        self._names = names

    @cached_property
    def names(self) -> Sequence[str]:
        """The runs, in name order."""
        if self._names is not None:
            return self._names
        return [folder.name for folder in run_folders(self.path)]

    def place(self, name: str) -> Path:
        """Return the run's folder."""
        return self.path / name

    def record(self, name: str) -> RunRecord:
        """Read a run's record."""
        return read_record(self.path / name)

    def document(self, name: str) -> dict[str, Any]:
        """Read a run's record as it was written."""
        return read_document(self.path / name)

    def damage(self, name: str, record: RunRecord) -> str | None:
        """Check every file of a run; published results leave out the weights."""
        return damage(self.path / name, record, weights=False)

    def tables(self, table: str, names: Sequence[str], *, lists: bool = False) -> RunTables:
        """Read the table's file of each run."""
        found = read_tables(table, [self.path / name for name in names], lists=lists)
        return RunTables(
            found.rows,
            {Path(folder).name: count for folder, count in found.counts.items()},
            {folder.name: reason for folder, reason in found.problems.items()},
        )

    @cached_property
    def documents(self) -> Mapping[str, str]:
        """The sweeps' own files; one that cannot be read as text is left out."""
        found = {}
        for pattern in _DOCUMENTS:
            for path in self.path.glob(pattern):
                try:
                    found[path.name] = path.read_text("utf-8")
                except (OSError, UnicodeDecodeError):
                    continue
        return dict(sorted(found.items()))


def open_source(path: Path) -> RunSource:
    """Return the runs of a pack or a folder."""
    if is_pack(path):
        return PackRuns(path)
    if is_run(path):
        folder = path.absolute() if not path.name else path  # `.` has no name of its own
        return FolderRuns(folder.parent, [folder.name])
    return FolderRuns(path)


def recorded(path: Path) -> RunRecord:
    """Read the record of one run: its folder, ``PACK/RUN``, or a pack with no other run."""
    if is_pack(path):
        source = open_source(path)
        if len(source.names) != 1:
            few = ", ".join(source.names[:3]) + (", …" if len(source.names) > 3 else "")
            raise RunError(f"it holds {len(source.names)} runs ({few}); name one as {path}/RUN")
        return source.record(source.names[0])
    if is_pack(path.parent):
        return open_source(path.parent).record(path.name)
    return read_record(path)

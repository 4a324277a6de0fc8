"""Which runs are meant by the paths that a user gives.

A pack is taken as it is, a folder of runs with the packs that lie in it, and one run alone. A
folder that holds neither is looked into: what holds runs below it is taken if there is one such
folder, and listed if there are several, because runs of two experiments make no report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dglbench.errors import ReportError, RunError
from dglbench.packs.pack_files import is_pack, packs_in
from dglbench.packs.run_set import RunSet
from dglbench.packs.run_source import RunSource
from dglbench.packs.sources import FolderRuns, open_source
from dglbench.runs.store import is_run, run_folders

__all__ = ["Found", "find_runs", "sources_in"]

_DEPTH = 4
"""How far below the given folder runs are looked for."""


class Found(NamedTuple):
    """Where runs were found."""

    places: tuple[Path, ...]
    """The folders and packs that hold them, one for each that was given."""
    runs: RunSet


def find_runs(given: Sequence[Path]) -> Found:
    """Find the runs of each path given, or say in a sentence why there are none."""
    places: list[Path] = []
    sources: list[RunSource] = []
    for path in given:
        place, found = _sources_of(path)
        places.append(place)
        sources += found
    return Found(tuple(places), RunSet.of(sources))


def sources_in(folder: Path) -> list[RunSource]:
    """Return the runs of a folder and of the packs that lie in it, or those of a pack."""
    if is_pack(folder):
        return [open_source(folder)]
    inside: list[RunSource] = [open_source(pack) for pack in packs_in(folder)]
    return [FolderRuns(folder), *inside]


def _sources_of(path: Path) -> tuple[Path, list[RunSource]]:
    try:
        if is_pack(path):
            return path, [open_source(path)]
        if not path.is_dir():
            raise ReportError(
                f"there is no folder {path}; give the one that `dglbench train` or "
                "`dglbench sweep` wrote its runs to (their --out), or a pack."
            )
        if is_run(path):
            alone = open_source(path)
            return alone.path, [alone]
        if _holds_runs(path):
            return path, sources_in(path)
        below = list(_places_below(path, _DEPTH))
        if len(below) == 1:
            return below[0], sources_in(below[0])
    except RunError as error:
        raise ReportError(str(error)) from error
    if not below:
        raise ReportError(
            f"{path} holds no runs; `dglbench sweep --preset quick --out {path}` "
            "makes some in about a minute."
        )
    raise ReportError(
        f"{path} holds no runs itself, and {len(below)} folders below it do: "
        f"{', '.join(map(str, below))}; name the one you mean, or several to report on "
        "them together."
    )


def _holds_runs(folder: Path) -> bool:
    return any(run_folders(folder)) or any(packs_in(folder))


def _places_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the folders that hold runs, nearest first in name order."""
    if depth == 0:
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink() or not path.is_dir():
            continue
        if _holds_runs(path):
            yield path
        else:
            yield from _places_below(path, depth - 1)

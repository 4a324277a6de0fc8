"""Which runs a report is about: the folder that was meant, found from the one that was given.

A folder of runs is taken as it is, and one run alone. A folder that holds no run itself
is looked into: what holds runs below it is taken if there is one such folder, and listed
if there are several, because runs of two experiments make no report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dglbench.errors import ReportError
from dglbench.runs.store import is_run, run_folders

__all__ = ["Found", "find_runs"]

_DEPTH = 4
"""How far below the given folder runs are looked for."""


class Found(NamedTuple):
    """Where runs were found."""

    folders: tuple[Path, ...]
    """The folders that hold them, one for each that was given."""
    runs: tuple[Path, ...]
    """The runs' own folders; a run that is in two of the folders is taken from the first."""


def find_runs(given: Sequence[Path]) -> Found:
    """Find the runs in each of the folders given, or say in a sentence why there are none."""
    folders: list[Path] = []
    runs: dict[str, Path] = {}
    for folder in given:
        home, found = _runs_of(folder)
        folders.append(home)
        for run in found:
            runs.setdefault(run.name, run)
    return Found(tuple(folders), tuple(runs.values()))


def _runs_of(folder: Path) -> tuple[Path, list[Path]]:
    if not folder.is_dir():
        raise ReportError(
            f"there is no folder {folder}; give the one that `dglbench train` or "
            "`dglbench sweep` wrote its runs to (their --out)."
        )
    if is_run(folder):
        run = folder.absolute() if not folder.name else folder  # `.` has no name of its own
        return run.parent, [run]
    if runs := list(run_folders(folder)):
        return folder, runs
    below = list(_folders_below(folder, _DEPTH))
    if not below:
        raise ReportError(
            f"{folder} holds no runs; `dglbench sweep --preset quick --out {folder}` "
            "makes some in about a minute."
        )
    if len(below) > 1:
        raise ReportError(
            f"{folder} holds no runs itself, and {len(below)} folders below it do: "
            f"{', '.join(map(str, below))}; name the one you mean, or several to report on "
            "them together."
        )
    return below[0], list(run_folders(below[0]))


def _folders_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the folders that hold runs, nearest first in name order."""
    if depth == 0:
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink() or not path.is_dir():
            continue
        if any(run_folders(path)):
            yield path
        else:
            yield from _folders_below(path, depth - 1)

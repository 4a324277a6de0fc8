"""Several folders and packs read as one set of results.

The same run in two places counts once, as it is in the first of them. Its seconds may differ
between the two, because they were measured; its results may not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import polars as pl

from dglbench.errors import NewerFormatError, ReportError, RunError
from dglbench.packs.run_source import RunSource, RunTables
from dglbench.runs.record import FIGURES, RunRecord, Selected
from dglbench.runs.tables import empty_table

__all__ = ["RunSet"]

_SAME = 1e-6  # processors differ in the last bits, and training carries them on


@dataclass(frozen=True)
class RunSet:
    """The runs of some sources."""

    sources: tuple[RunSource, ...]
    records: Mapping[str, RunRecord]
    """By name, those that are as they were written."""
    unreadable: Mapping[str, str]
    """Why the others cannot be read, or what of them was changed."""
    homes: Mapping[str, RunSource]
    """By name, the source that a run is read from."""
    twice: Mapping[str, tuple[Path, Path]]
    """Runs that two sources have with other seconds: where they are."""

    @classmethod
    def of(cls, sources: Iterable[RunSource]) -> RunSet:
        """Read and check every run."""
        records: dict[str, RunRecord] = {}
        homes: dict[str, RunSource] = {}
        problems: dict[str, str] = {}
        twice: dict[str, tuple[Path, Path]] = {}
        order: dict[str, None] = {}
        given = tuple(sources)
        for source in given:
            for name in source.names:
                order[name] = None
                found = _checked(source, name)
                if isinstance(found, str):
                    problems.setdefault(name, found)
                elif name not in records or _first_result(records[name], found):
                    records[name], homes[name] = found, source
                elif _differ(records[name], found, homes[name].place(name), source.place(name)):
                    twice[name] = homes[name].place(name), source.place(name)
        readable = {name: records[name] for name in order if name in records}
        left = {name: problems[name] for name in order if name not in records}
        return cls(given, readable, left, homes, twice)

    def place(self, name: str) -> Path:
        """Return where a run is."""
        return self.homes[name].place(name)

    def documents(self, pattern: str) -> Iterator[tuple[str, str]]:
        """Yield the sweeps' own files whose names match, each name with its text."""
        found = {item: None for source in self.sources for item in source.documents.items()}
        for name, text in found:
            if fnmatch(name, pattern):
                yield name, text

    def tables(self, table: str, names: Sequence[str], *, lists: bool = False) -> RunTables:
        """Read one table of some runs, in the order asked for."""
        by_source: dict[int, list[str]] = {}
        for name in names:
            by_source.setdefault(id(self.homes[name]), []).append(name)
        parts = [
            self.homes[some[0]].tables(table, some, lists=lists) for some in by_source.values()
        ]
        if len(parts) == 1:
            return parts[0]
        rows = pl.concat([empty_table(table, lists=lists), *(part.rows for part in parts)])
        counts = {name: count for part in parts for name, count in part.counts.items()}
        ends = dict(zip(counts, np.cumsum(list(counts.values())), strict=True))
        asked = [name for name in names if name in counts]
        picked = [np.arange(ends[name] - counts[name], ends[name]) for name in asked]
        problems = {name: why for part in parts for name, why in part.problems.items()}
        return RunTables(
            rows[np.concatenate(picked)] if picked else rows,
            {name: counts[name] for name in asked},
            problems,
        )


def _checked(source: RunSource, name: str) -> RunRecord | str:
    """Return a run's record, or why the run cannot be used."""
    try:
        record = source.record(name)
        return source.damage(name, record) or record
    except NewerFormatError as error:  # leaving those runs out would draw a wrong picture
        raise ReportError(str(error)) from error
    except RunError as error:
        return str(error)


def _first_result(known: RunRecord, found: RunRecord) -> bool:
    """Say whether only the second ended with a result."""
    return known.state != "done" and found.state == "done"


def _differ(known: RunRecord, found: RunRecord, here: Path, there: Path) -> bool:
    """Say whether two records of one run have other seconds; refuse other results."""
    if known.state != "done" or found.state != "done":
        return False
    if not _same_result(known.selected, found.selected):
        raise ReportError(
            f"{here} and {there} are the same run with different results ({_words(known)}; "
            f"{_words(found)}): one was changed, or made where numbers come out otherwise; leave "
            "one of them out. `dglbench verify --rerun` says which one can be repeated."
        )
    return known.status != found.status


def _same_result(one: Selected | None, two: Selected | None) -> bool:
    if one is None or two is None or (one.val is None) != (two.val is None):
        return one is two
    pairs = [(one.test, two.test), *([(one.val, two.val)] if one.val and two.val else [])]
    return one.epoch == two.epoch and all(
        _close(getattr(a, name), getattr(b, name)) for a, b in pairs for name in FIGURES
    )


def _close(one: float | None, two: float | None) -> bool:
    one, two = (math.nan if figure is None else figure for figure in (one, two))
    both_missing = math.isnan(one) and math.isnan(two)
    return both_missing or math.isclose(one, two, rel_tol=_SAME, abs_tol=_SAME)


def _words(record: RunRecord) -> str:
    found = record.selected
    if found is None:
        return "no result"
    return f"test regret {found.test.relative_regret:.6g} at epoch {found.epoch}"

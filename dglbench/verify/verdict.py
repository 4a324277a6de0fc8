"""What a check found, and what it looks at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from dglbench.packs.reading import PackRuns
from dglbench.runs.record import RunRecord

__all__ = ["Subject", "Verdict", "judged"]


@dataclass(frozen=True)
class Verdict:
    """One check's word."""

    check: str
    passed: bool
    sentence: str
    problems: tuple[str, ...] = ()
    """What is wrong, a sentence each; empty if the check passed."""
    notes: tuple[str, ...] = ()
    """What a reader should know and what fails nothing."""

    def document(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return {
            "check": self.check,
            "passed": self.passed,
            "sentence": self.sentence,
            "problems": list(self.problems),
            "notes": list(self.notes),
        }


def judged(check: str, good: str, problems: Iterable[str], notes: Iterable[str] = ()) -> Verdict:
    """Return a verdict that passes if there are no problems."""
    found = tuple(problems)
    count = f"{len(found)} problem" + ("s" if len(found) > 1 else "")
    return Verdict(check, not found, count if found else good, found, tuple(notes))


@dataclass(frozen=True)
class Subject:
    """A pack that could be opened, with the records that could be read."""

    pack: PackRuns
    records: Mapping[str, RunRecord]

    @cached_property
    def done(self) -> dict[str, RunRecord]:
        """The finished runs."""
        return {name: record for name, record in self.records.items() if record.state == "done"}

    def table(self, name: str, runs: Iterable[str]) -> pl.DataFrame:
        """Read a table of some runs, with the column ``run_id``."""
        found = self.pack.tables(name, list(runs))
        names = pl.Series("run_id", list(found.counts), dtype=pl.String)
        owner = np.repeat(np.arange(len(names)), list(found.counts.values()))
        return found.rows.insert_column(0, names.gather(owner))

    def by_run(self, name: str, runs: Iterable[str]) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield a table of each run that has it, columns of lists included."""
        found = self.pack.tables(name, list(runs), lists=True)
        start = 0
        for run, count in found.counts.items():
            yield run, found.rows.slice(start, count)
            start += count

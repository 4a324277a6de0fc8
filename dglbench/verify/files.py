"""Whether a pack is whole: its checksums, its columns, its records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from dglbench.errors import RunError
from dglbench.packs.layout import summary_columns
from dglbench.packs.reading import PackRuns
from dglbench.runs.record import RunRecord
from dglbench.runs.schemas import TABLES
from dglbench.runs.store import REQUIRED_TABLES
from dglbench.verify.verdict import Subject, Verdict, judged

__all__ = ["check_files"]


def check_files(path: Path) -> tuple[Verdict, Subject | None]:
    """Open the pack and read every record and table; the pack, if the other checks can go on."""
    try:
        pack = PackRuns(path)
    except RunError as error:
        return judged("files", "", [str(error)]), None
    problems: list[str] = []
    records: dict[str, RunRecord] = {}
    for name in pack.names:
        try:
            records[name] = pack.record(name)
        except RunError as error:
            problems.append(f"{name}: {error}")
    subject = Subject(pack, records)
    problems += [*_summaries(subject), *_tables(subject)]
    good = f"checksums and columns are as packed; {len(records)} records can be read"
    return judged("files", good, problems), subject


def _summaries(subject: Subject) -> Iterator[str]:
    """Hold the columns that others read against the records."""
    for row in subject.pack.summary.iter_rows(named=True):
        record = subject.records.get(row["run_id"])
        if record is None:
            continue
        for column, value in summary_columns(record).items():
            if row.get(column) != value and not _both_nan(row.get(column), value):
                yield (
                    f"{record.run_id}: runs.parquet says {column} {row.get(column)!r}, its record "
                    f"{value!r}"
                )
        if record.identity.run_id != record.run_id and record.identity.format >= 3:
            yield f"{record.run_id}: its identity gives the name {record.identity.run_id}"


def _both_nan(one: object, two: object) -> bool:
    return all(isinstance(each, float) and math.isnan(each) for each in (one, two))


def _tables(subject: Subject) -> Iterator[str]:
    for name in TABLES:
        try:
            found = subject.pack.tables(name, list(subject.records))
        except Exception as error:  # whatever Polars cannot read of a file that was changed
            yield f"the table {name} cannot be read ({str(error).partition(chr(10))[0][:160]})"
            continue
        if name in REQUIRED_TABLES:
            for run in subject.done:
                if run not in found.counts:
                    yield f"{run}: it has no rows of {name}"

"""A folder of finished runs from packs, as a sweep would have left it, without weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dglbench import atomic
from dglbench.errors import RunError
from dglbench.packs.run_set import RunSet
from dglbench.runs.out_folder import check_folder, make_folder
from dglbench.runs.schemas import TABLES
from dglbench.runs.store import run_folder, write_document

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["unpack"]


def unpack(runs: RunSet, out: Path) -> int:
    """Write a folder for each run, and the sweeps' own files; return how many runs were written.

    What is in ``out`` already stays: a run of the same name is left as it is, and a sweep's file of
    the same name with other content is refused before anything is written.
    """
    check_folder(out)
    for name in runs.records:
        run_folder(out, name)  # a name that would lead out of the folder is refused
    documents = {name: text for source in runs.sources for name, text in source.documents.items()}
    for name, text in documents.items():
        path = run_folder(out, name)
        if path.is_file() and path.read_text("utf-8") != text:
            raise RunError(
                f"{out} has another {name} already; give --out a folder that does not exist."
            )
    make_folder(out)
    written = 0
    found = {table: _by_run(runs, table) for table in TABLES}
    for name in runs.records:
        if (out / name).exists():
            continue
        tables = {table: found[table][name] for table in TABLES if name in found[table]}
        write_document(runs.homes[name].document(name), tables, out)
        written += 1
    for name, text in documents.items():
        atomic.write_text(out / name, text)
    return written


def _by_run(runs: RunSet, table: str) -> dict[str, pa.Table]:
    """Return a table of every run that has it, with the columns that runs write."""
    import pyarrow as pa

    read = runs.tables(table, list(runs.records), lists=True)
    whole = read.rows.to_arrow()
    found, start = {}, 0
    for name, count in read.counts.items():
        part = whole.slice(start, count)
        start += count
        columns = [f for f in TABLES[table] if part[f.name].null_count < count]
        found[name] = pa.Table.from_arrays(
            [part[f.name].combine_chunks().cast(f.type) for f in columns],
            schema=pa.schema([f.with_nullable(True) for f in columns]),
        )
    return found

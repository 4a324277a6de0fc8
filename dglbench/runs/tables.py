"""Reading the tables of many runs at once, as Polars frames.

A column that a table has gained since a run was written is filled with nulls;
columns that are no longer known are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from dglbench.runs.schemas import TABLES

__all__ = ["Tables", "empty_table", "read_tables"]


class Tables(NamedTuple):
    """One table of many runs, and the runs whose file could not be read."""

    rows: pl.DataFrame
    """The rows of one run after those of another."""
    counts: dict[str, int]
    """How many rows each run's folder has, in the order of the rows; those without are absent."""
    problems: dict[Path, str]


def read_tables(name: str, folders: Iterable[Path], *, lists: bool = False) -> Tables:
    """Read a table of each run; a run that has none leaves no rows.

    Columns of lists are most of a table's size, and read only if ``lists`` asks for them.
    """
    asked = (f"{folder}/{name}.parquet" for folder in folders)
    paths = [path for path in asked if os.path.isfile(path)]  # noqa: PTH113 - thousands
    if not paths:
        return Tables(empty_table(name, lists=lists), {}, {})
    try:
        return _scan(name, paths, lists)
    except (pl.exceptions.PolarsError, OSError):
        pass  # one of them is bad: read one by one to find out which, and why
    frames, problems = [empty_table(name, lists=lists)], {}
    counts: dict[str, int] = {}
    for path in paths:
        try:
            found = _scan(name, [path], lists)
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = str(error).strip().partition("\n")[0][:160]
            problems[Path(path).parent] = f"its {name}.parquet cannot be read ({reason})"
        else:
            frames.append(found.rows)
            counts |= found.counts
    return Tables(pl.concat(frames), counts, problems)


def _scan(name: str, paths: list[str], lists: bool) -> Tables:
    scan: Any = pl.scan_parquet  # its signature grows faster than its stubs
    frame = scan(
        paths,
        schema=_schema(name, lists),
        include_file_paths="path",
        missing_columns="insert",
        extra_columns="ignore",
        glob=False,
    )
    rows: pl.DataFrame = frame.select("path", *_schema(name, lists)).collect()
    # Names are handled once per run, not once per row: a folder may hold millions of rows.
    blocks = rows["path"].rle().struct.unnest()
    folders = blocks["value"].str.strip_suffix(f"/{name}.parquet")
    return Tables(rows.drop("path"), dict(zip(folders, blocks["len"], strict=True)), {})


def empty_table(name: str, *, lists: bool = False) -> pl.DataFrame:
    """Return a table without rows."""
    return pl.DataFrame(schema=_schema(name, lists))


# Polars could convert an empty frame, but imports pandas for it.
_TYPES = {
    pa.int32(): pl.Int32,
    pa.int64(): pl.Int64,
    pa.float32(): pl.Float32,
    pa.float64(): pl.Float64,
    pa.string(): pl.String,
    pa.list_(pa.uint32()): pl.List(pl.UInt32),
}


@cache
def _schema(name: str, lists: bool) -> dict[str, Any]:
    return {
        column.name: _TYPES[column.type]
        for column in TABLES[name]
        if lists or not pa.types.is_list(column.type)
    }

"""Reading the tables of many runs at once, as Polars frames.

A column that a table has gained since a run was written is filled with nulls;
columns that are no longer known are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from dglbench.runs.schemas import TABLES

__all__ = ["Tables", "read_tables"]


class Tables(NamedTuple):
    """One table of many runs, and the runs whose file could not be read."""

    rows: pl.DataFrame
    """The table's columns and ``folder``, the run's."""
    problems: dict[Path, str]


def read_tables(name: str, folders: Iterable[Path]) -> Tables:
    """Read a table of each run; a run that has none leaves no rows."""
    paths = [path for folder in folders if (path := folder / f"{name}.parquet").is_file()]
    if not paths:
        return Tables(_empty(name), {})
    try:
        return Tables(_scan(name, paths), {})
    except (pl.exceptions.PolarsError, OSError):
        pass  # one of them is bad: read one by one to find out which, and why
    frames, problems = [_empty(name)], {}
    for path in paths:
        try:
            frames.append(_scan(name, [path]))
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = str(error).strip().partition("\n")[0][:160]
            problems[path.parent] = f"its {path.name} cannot be read ({reason})"
    return Tables(pl.concat(frames), problems)


def _scan(name: str, paths: list[Path]) -> pl.DataFrame:
    scan: Any = pl.scan_parquet  # its signature grows faster than its stubs
    frame = scan(
        [str(path) for path in paths],
        schema=_schema(name),
        include_file_paths="folder",
        missing_columns="insert",
        extra_columns="ignore",
        glob=False,
    )
    rows: pl.DataFrame = frame.select("folder", *_schema(name)).collect()
    return rows.with_columns(pl.col("folder").str.strip_suffix(f"/{name}.parquet"))


def _empty(name: str) -> pl.DataFrame:
    return pl.DataFrame(schema={"folder": pl.String, **_schema(name)})


@cache
def _schema(name: str) -> dict[str, Any]:
    frame = pl.from_arrow(TABLES[name].empty_table())
    return dict(frame.schema)  # type: ignore[union-attr]

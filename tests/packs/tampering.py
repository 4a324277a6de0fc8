"""Change a pack and make all its checksums anew, as someone would who wants to deceive."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from dglbench.packs.layout import (
    CURVES,
    DATA,
    DECISIONS,
    MANIFEST,
    RUNS,
    Manifest,
    sha256,
    summary_columns,
)
from dglbench.packs.microseconds import in_microseconds, in_seconds
from dglbench.packs.pack_files import read_files, write_files
from dglbench.packs.repeats import tell_repeats, without_repeats
from dglbench.runs.record import RunRecord


class Opened:
    """A pack whose parts can be changed, as a reader sees them."""

    def __init__(self, path: Path) -> None:
        files = read_files(path)
        self.manifest = Manifest.parse(files[MANIFEST], str(path))
        runs = pl.read_parquet(io.BytesIO(files[RUNS]))
        self.records: list[dict[str, Any]] = [json.loads(text) for text in runs["record"]]
        self.curves = in_seconds(pl.read_parquet(io.BytesIO(files[CURVES])))
        kept = pl.read_parquet(io.BytesIO(files[DECISIONS]))
        self.decisions = tell_repeats(kept).with_columns(kept[DATA])

    def find(self, method: str) -> int:
        """Return the number of a method's first run."""
        return next(
            n for n, record in enumerate(self.records) if record["identity"]["method"] == method
        )

    def drop(self, number: int) -> None:
        """Leave a run out."""
        del self.records[number]
        for name in ("curves", "decisions"):
            rows = getattr(self, name).filter(pl.col("run") != number)
            later = pl.col("run") - (pl.col("run") > number).cast(pl.Int32)
            setattr(self, name, rows.with_columns(run=later))

    def change(self, table: str, number: int, **columns: Any) -> None:
        """Replace columns of a run's rows in ``curves`` or ``decisions``."""
        frame = self.decisions if table == "decisions" else self.curves
        here = pl.col("run") == number
        if table != "decisions":
            here &= pl.col("table") == table
        changed = frame.with_columns(
            **{
                name: pl.when(here).then(value).otherwise(pl.col(name))
                for name, value in columns.items()
            }
        )
        setattr(self, "decisions" if table == "decisions" else "curves", changed)

    def write(self, path: Path) -> Path:
        """Write the pack with checksums that are right again."""
        rows = [
            {**summary_columns(RunRecord.parse(record)), "record": json.dumps(record)}
            for record in self.records
        ]
        files = {RUNS: pl.DataFrame(rows, infer_schema_length=None)}
        files[CURVES] = self.curves.with_columns(in_microseconds(self.curves))
        files[DECISIONS] = self.decisions.with_columns(without_repeats(self.decisions))
        written = {name: _bytes(frame) for name, frame in files.items()}
        sums = {name: sha256(content) for name, content in written.items()}
        manifest = dataclasses.replace(self.manifest, runs=len(self.records), files=sums)
        write_files(path, {MANIFEST: manifest.content(), **written}, archive=False, force=False)
        return path


def _bytes(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


Change = Callable[[Opened], None]

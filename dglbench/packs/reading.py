"""Reading a pack: checked as a whole when it is opened, its tables when they are asked for."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dglbench.errors import NewerFormatError, RunError
from dglbench.packs.clocks import JUDGED, tell_clocks
from dglbench.packs.layout import (
    DATA,
    DECISIONS,
    MANIFEST,
    RUNS,
    TABLE_FILES,
    ULPS,
    VALUE,
    Manifest,
    microseconds,
    sha256,
    table_file,
)
from dglbench.packs.microseconds import in_seconds
from dglbench.packs.pack_files import read_files
from dglbench.packs.ratios import tell_pooled
from dglbench.packs.repeats import tell_repeats
from dglbench.packs.run_source import RunTables
from dglbench.runs.record import FORMAT_VERSION, RunRecord
from dglbench.runs.schemas import TIMING
from dglbench.runs.tables import empty_table

__all__ = ["PackRuns"]


class PackRuns:
    """The runs of a pack (`dglbench.packs.run_source.RunSource`)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = read_files(path)
        self.manifest = Manifest.parse(self._files[MANIFEST], str(path))
        for name in TABLE_FILES:
            if sha256(self._files[name]) != self.manifest.files.get(name):
                raise RunError(f"{path} is damaged: its {name} is not what was packed.")
        try:
            self.summary = pl.read_parquet(io.BytesIO(self._files[RUNS]))
            self._number = {name: row for row, name in enumerate(self.summary["run_id"])}
            self._documents = self.summary["record"].to_list()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise RunError(f"{path} has a {RUNS} that cannot be read ({_brief(error)}).") from error
        if len(self._number) != self.summary.height or self.summary.height != self.manifest.runs:
            raise RunError(
                f"{path} is damaged: its {RUNS} holds {len(self._number)} runs, its {MANIFEST} "
                f"counts {self.manifest.runs}."
            )
        self._records: dict[str, RunRecord] = {}

    @property
    def names(self) -> Sequence[str]:
        """The runs, in name order."""
        return list(self._number)

    def place(self, name: str) -> Path:
        """Return the run's name below that of the pack."""
        return self.path / name

    def record(self, name: str) -> RunRecord:
        """Return a run's record."""
        if name not in self._number:
            raise RunError(f"{self.path} holds no run {name}")
        if name not in self._records:
            try:
                record = RunRecord.parse_json(self._documents[self._number[name]])
            except (ValueError, TypeError) as error:
                raise RunError(f"its record cannot be read ({_brief(error)})") from error
            if record.identity.format > FORMAT_VERSION:
                raise NewerFormatError(
                    f"{self.place(name)} is in log format {record.identity.format}, this dglbench "
                    f"reads up to {FORMAT_VERSION}; upgrade dglbench (pip install -U dglbench)."
                )
            if record.run_id != name:
                raise RunError(f"its record is that of {record.run_id}")
            self._records[name] = record
        return self._records[name]

    def document(self, name: str) -> dict[str, Any]:
        """Return a run's record as it was written."""
        self.record(name)
        document: dict[str, Any] = json.loads(self._documents[self._number[name]])
        return document

    def damage(self, name: str, record: RunRecord) -> str | None:
        """Return None: the pack was checked when it was opened."""
        return None

    def tables(self, table: str, names: Sequence[str], *, lists: bool = False) -> RunTables:
        """Read a table of some runs."""
        empty = empty_table(table, lists=lists)
        position = np.full(len(self._number), -1)
        wanted = [name for name in names if name in self._number]
        for place, name in enumerate(wanted):
            position[self._number[name]] = place
        rows = self._scan(table, empty.columns)
        if len(wanted) < len(self._number):
            rows = rows.filter(pl.Series(position >= 0).gather(rows["run"]))
        order = position[rows["run"].to_numpy()]
        if (np.diff(order) < 0).any():
            rows = rows[np.argsort(order, kind="stable")]
            order = np.sort(order)
        blocks, counts = np.unique(order, return_counts=True)
        return RunTables(
            rows.drop("run").cast(empty.schema),
            {wanted[place]: int(count) for place, count in zip(blocks, counts, strict=True)},
            {},
        )

    @cached_property
    def documents(self) -> Mapping[str, str]:
        """The sweeps' own files, by name."""
        return self.manifest.documents

    def _scan(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        file = table_file(table)
        rows: Any = pl.scan_parquet(io.BytesIO(self._files[file]))
        known = rows.collect_schema().names()
        if "table" in known:
            rows = rows.filter(pl.col("table") == table)
        asked = [
            pl.col(name) if name in known else pl.lit(None).alias(name)  # newer than the pack
            for name in columns
        ]
        apart = [ULPS] if table in JUDGED and ULPS in known else []
        derived = [*microseconds(columns).values(), *((DATA, VALUE) if file == DECISIONS else ())]
        apart += [name for name in derived if name in known]
        found: pl.DataFrame = rows.select("run", *asked, *apart).collect()
        if file == DECISIONS:
            return tell_repeats(found)
        found = in_seconds(found)
        if ULPS in apart:
            found = tell_pooled(found)
        return tell_clocks(table, found, lambda: self._scan("timing", TIMING.names))


def _brief(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:160]

"""Making a pack of finished runs."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dglbench.errors import RunError
from dglbench.packs.clocks import JUDGED, tell_clocks, without_clocks
from dglbench.packs.data_digests import digest_data
from dglbench.packs.layout import (
    CURVES,
    DATA,
    DECISIONS,
    MANIFEST,
    RUNS,
    DataDigest,
    Manifest,
    curve_schema,
    data_key,
    decision_schema,
    sha256,
    summary_columns,
    table_file,
)
from dglbench.packs.microseconds import in_microseconds
from dglbench.packs.pack_files import write_files
from dglbench.packs.ratios import without_pooled
from dglbench.packs.repeats import without_repeats
from dglbench.packs.run_set import RunSet
from dglbench.packs.thinning import thinned
from dglbench.runs.record import RunRecord
from dglbench.runs.schemas import TABLES

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["Packed", "pack"]

_LEVEL = 19  # of zstd: packs are written once and read often
_COMPRESSED: dict[str, Any] = {
    "compression": "zstd", "compression_level": _LEVEL, "store_schema": False,
    "dictionary_pagesize_limit": 1 << 23,
    # One page a column: zstd finds what runs have in common only inside a page.
    "data_page_size": 1 << 28,
}  # fmt: skip
_DICTIONARY = "dictionary"
_ROWS = 1 << 20  # in a row group; a table of curves starts a new one


class Packed(NamedTuple):
    """What was written."""

    path: Path
    runs: int
    bytes: int
    data: tuple[DataDigest, ...]


def pack(
    runs: RunSet, path: Path, *, archive: bool = False, thin: bool = False, force: bool = False
) -> Packed:
    """Write all runs of a set as one pack; a run that is damaged is refused.

    A ``thin`` pack has clocks by evaluation instead of by epoch.
    """
    if runs.unreadable:
        name, reason = next(iter(runs.unreadable.items()))
        raise RunError(
            f"run {name} cannot be packed: {reason}; make it again with the command that made it, "
            "or delete its folder."
        )
    if not runs.records:
        raise RunError("there are no runs to pack; give a folder that holds some.")
    names = sorted(runs.records)
    for name in names:
        if runs.records[name].run_id != name:
            raise RunError(
                f"run {name} cannot be packed: its record is that of "
                f"{runs.records[name].run_id}; give its folder that name again."
            )
    records = [runs.records[name] for name in names]
    files = {
        RUNS: _runs_file(runs, names, records),
        CURVES: _curves_file(runs, names, thin=thin),
        DECISIONS: _decisions_file(runs, names, records),
    }
    data = digest_data(record.identity for record in records)
    manifest = Manifest(
        runs=len(names),
        machines=_counted(_machine(record) for record in records),
        versions=_counted(_versions(record) for record in records),
        data=data,
        documents=_documents(runs),
        files={name: sha256(content) for name, content in files.items()},
    )
    files = {MANIFEST: manifest.content(), **files}
    write_files(path, files, archive=archive, force=force)
    return Packed(path, len(names), sum(map(len, files.values())), data)


def _runs_file(runs: RunSet, names: Sequence[str], records: Sequence[RunRecord]) -> bytes:
    import pyarrow as pa

    rows = []
    for name, record in zip(names, records, strict=True):
        document = {**runs.homes[name].document(name), "files": {}}
        rows.append({**summary_columns(record), "record": json.dumps(document, ensure_ascii=False)})
    return _parquet([pa.Table.from_pylist(rows)], stats=False)


def _curves_file(runs: RunSet, names: Sequence[str], *, thin: bool) -> bytes:
    tables = [name for name in TABLES if table_file(name) == CURVES]
    parts = {name: _numbered(runs, name, names, curve_schema()) for name in tables}
    if thin:
        clocks = thinned(_frame(parts["timing"]), _frame(parts["regret"]))
        parts["timing"] = _as_curves("timing", clocks)
    timing = _frame(parts["timing"])
    return _parquet([_slim(name, rows, timing, thin) for name, rows in parts.items()], stats=True)


def _as_curves(table: str, rows: pl.DataFrame) -> pa.Table:
    """Give rows of one table the columns of all."""
    import polars as pl
    import pyarrow as pa

    whole = rows.with_columns(pl.lit(table).alias("table"))
    arrays = [
        whole[field.name].to_arrow().cast(field.type)
        if field.name in whole.columns
        else pa.nulls(len(rows), field.type)
        for field in curve_schema()
    ]
    fields = [pa.field(field.name, field.type) for field in curve_schema()]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _slim(name: str, rows: pa.Table, timing: pl.DataFrame, thin: bool) -> pa.Table:
    """Leave out what a reader can tell from the rest."""
    import polars as pl

    frame = _frame(rows)
    if thin and name in JUDGED:  # sums in another order differ in their last digits
        frame = frame.with_columns(pl.lit(None, pl.Float64).alias("elapsed_s"))
        frame = frame.with_columns(tell_clocks(name, frame, lambda: timing)["elapsed_s"])
    derived = without_clocks(name, frame, lambda: timing)
    frame = frame.with_columns(pl.lit(None, pl.Float64).alias(each) for each in derived)
    pooled = without_pooled(frame) if name in JUDGED else ()
    return _replaced(rows, [*in_microseconds(frame), *pooled])


def _frame(rows: pa.Table) -> pl.DataFrame:
    import polars as pl

    found = pl.from_arrow(rows)
    assert isinstance(found, pl.DataFrame)
    return found


def _decisions_file(runs: RunSet, names: Sequence[str], records: Sequence[RunRecord]) -> bytes:
    import polars as pl

    rows = _numbered(runs, "decisions", names, decision_schema())
    number: dict[str, int] = {}
    keys = [number.setdefault(data_key(each.identity), len(number)) for each in records]
    frame = _frame(rows)
    data = pl.Series(DATA, keys, pl.Int32).gather(frame["run"])
    return _parquet(
        [_replaced(rows, [data, *without_repeats(frame.with_columns(data))])], stats=False
    )


def _replaced(rows: pa.Table, columns: Iterable[pl.Series]) -> pa.Table:
    for each in columns:
        at = rows.schema.get_field_index(each.name)
        field = rows.schema.field(at)
        rows = rows.set_column(at, field, each.to_arrow().cast(field.type))
    return rows


def _numbered(runs: RunSet, table: str, names: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Read a table of all runs, each row with the number of its run; other columns are null."""
    import numpy as np
    import pyarrow as pa

    found = runs.tables(table, names, lists=True)
    if found.problems:
        name, reason = next(iter(found.problems.items()))
        raise RunError(f"run {name} cannot be packed: {reason}; make it again.")
    number = {name: row for row, name in enumerate(names)}
    owner = np.repeat([number[name] for name in found.counts], list(found.counts.values()))
    columns: dict[str, Any] = {"run": pa.array(owner, pa.int32())}
    if "table" in schema.names:
        columns["table"] = pa.array([table] * len(owner), pa.string())
    columns |= {name: _arrow(found.rows[name]) for name in found.rows.columns}
    arrays = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.nulls(len(owner), field.type)
        for field in schema
    ]
    nullable = pa.schema([pa.field(field.name, field.type) for field in schema])
    return pa.Table.from_arrays(arrays, schema=nullable)


def _arrow(column: pl.Series) -> Any:
    return column.to_arrow()


def _parquet(parts: Iterable[pa.Table], *, stats: bool) -> bytes:
    """Write tables of one schema one after another, each from a row group of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = list(parts)
    whole = pa.concat_tables(parts)
    encoded = {field.name: _encoding(whole.select([field.name])) for field in whole.schema}
    named = {_leaf(field): encoded[field.name] for field in whole.schema}
    buffer = io.BytesIO()
    with pq.ParquetWriter(
        buffer,
        whole.schema,
        use_dictionary=[leaf for leaf, found in named.items() if found == _DICTIONARY],
        column_encoding={leaf: found for leaf, found in named.items() if found != _DICTIONARY},
        write_statistics=["table"] if stats else False,
        **_COMPRESSED,
    ) as writer:
        for part in parts:
            if len(part):
                writer.write_table(part, row_group_size=_ROWS)
    return buffer.getvalue()


def _encoding(column: pa.Table) -> str:
    """Return how a column of numbers takes the least room: what repeats in it decides."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    field = column.schema.field(0)
    listed = pa.types.is_list(field.type)
    kind = field.type.value_type if listed else field.type
    whole = pa.types.is_integer(kind)
    if not (whole or pa.types.is_floating(kind)):
        return _DICTIONARY
    options = [_DICTIONARY, "PLAIN", "BYTE_STREAM_SPLIT"]
    options += ["DELTA_BINARY_PACKED"] * (whole and not listed)

    def room(encoding: str) -> int:
        buffer, own = io.BytesIO(), encoding == _DICTIONARY
        chosen = {} if own else {"column_encoding": {_leaf(field): encoding}}
        pq.write_table(
            column, buffer, use_dictionary=own, write_statistics=False, **chosen, **_COMPRESSED
        )
        return buffer.tell()

    return min(options, key=room)


def _leaf(field: pa.Field) -> str:
    import pyarrow as pa

    return f"{field.name}.list.element" if pa.types.is_list(field.type) else field.name


def _documents(runs: RunSet) -> dict[str, str]:
    found: dict[str, str] = {}
    for source in runs.sources:
        for name, text in source.documents.items():
            if found.setdefault(name, text) != text:
                raise RunError(
                    f"two of the places given have a different {name}; pack them one by one."
                )
    return dict(sorted(found.items()))


def _counted(documents: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return the different documents, each with how many runs have it, commonest first."""
    texts = Counter(json.dumps(document, sort_keys=True) for document in documents)
    ordered = sorted(texts.items(), key=lambda item: (-item[1], item[0]))
    return tuple({**json.loads(text), "runs": count} for text, count in ordered)


def _machine(record: RunRecord) -> dict[str, Any]:
    made = record.environment
    names = ("machine", "cpu", "cores", "memory_gib", "platform")
    return {name: getattr(made, name) for name in names}


def _versions(record: RunRecord) -> dict[str, Any]:
    return {"python": record.environment.python, **record.environment.versions}

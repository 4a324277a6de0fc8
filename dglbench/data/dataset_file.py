"""The dataset file: one Parquet row per instance, whole and checked or refused.

Columns ``instance, split, features, labels``; the last two are flattened lists,
labels of what is predicted only, in the task's own sense and unit. Where A, b or the
mask differ by instance, columns ``A`` (the entries at the places ``A_at`` of the metadata,
counted through rows, groups and options), ``b`` (one number per row of A) and ``mask`` (true
or false per option, group after group) hold them. The schema metadata key ``dglbench``
holds a JSON document with the format version, task, settings, seed, shapes, sense,
constants (weights or capacities) and a digest of all of that and of every column.
Whatever changes in the file, what is read has the content that was written, or the
file is refused. Only the current format is read: an older file can be made again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dglbench import options
from dglbench.atomic import atomic_path
from dglbench.data.by_instance import (
    VARYING,
    empty_parts,
    parts_by_instance,
    places_of_rows,
    with_parts,
)
from dglbench.errors import DatasetError, DglbenchError
from dglbench.plugins import find_task
from dglbench.task import SPLITS, Dataset, TaskSpec

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FORMAT_VERSION",
    "dataset_digest",
    "holds",
    "read_dataset",
    "stored_digest",
    "write_dataset",
]

FORMAT_VERSION = 2

_KEY = b"dglbench"
_NEEDED = (
    "task",
    "settings",
    "seed",
    "instances",
    "feature_shape",
    "constants",
    "digest",
    "sense",
    "by_instance",
)
_COLUMNS = ("instance", "split", "features", "labels")
_BATCH_BYTES = 64_000_000  # what is copied at a time, on writing, reading and hashing


def dataset_digest(dataset: Dataset) -> str:
    """Return the sha256 of a dataset's content: equal digests, equal data."""
    return _digest(_document(dataset), dataset)


def write_dataset(dataset: Dataset, path: Path) -> str:
    """Write the dataset file, whole or not at all, and return the digest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    document = _document(dataset)
    document["digest"] = _digest(document, dataset)
    varying = parts_by_instance(dataset.problem)
    schema = pa.schema(
        [
            pa.field("instance", pa.int64(), nullable=False),
            pa.field("split", pa.string(), nullable=False),
            pa.field("features", pa.list_(pa.float64()), nullable=False),
            pa.field("labels", pa.list_(pa.float64()), nullable=False),
            *(
                pa.field(name, pa.list_(pa.from_numpy_dtype(part.dtype)), nullable=False)
                for name, part in varying.items()
            ),
        ]
    )
    names = pa.array(SPLITS)
    try:
        with (
            atomic_path(path) as temporary,
            pq.ParquetWriter(
                temporary,
                schema,
                compression="zstd",
                use_dictionary=["split"],
                write_page_checksum=True,
                store_schema=False,  # the types are Parquet's own; one copy of the metadata
            ) as writer,
        ):
            for rows in _batches(dataset):
                split = pa.DictionaryArray.from_arrays(dataset.split[rows], names)
                columns = [
                    pa.array(np.arange(rows.start, rows.stop, dtype=np.int64)),
                    split.cast(pa.string()),
                    _lists(dataset.features[rows]),
                    _lists(dataset.problem.pack(dataset.labels[rows])),
                    *(_lists(part[rows]) for part in varying.values()),
                ]
                writer.write_batch(
                    pa.record_batch(columns, schema=schema), row_group_size=len(split)
                )
            writer.add_key_value_metadata({_KEY: _canonical(document)})
    except OSError as error:
        raise DatasetError(
            f"{path} could not be written: {error.strerror or error}; "
            "free some space or choose another --out."
        ) from error
    return str(document["digest"])


def stored_digest(path: Path) -> str | None:
    """Return the digest that a dataset file states, unchecked; None if it is not a dataset file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(path).metadata or {}
        return str(json.loads(metadata[_KEY])["digest"])
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError):
        return None


def holds(path: Path, digest: str) -> bool:
    """Say whether a file can be read and has this content."""
    if stored_digest(path) != digest:
        return False
    try:
        read_dataset(path)
    except DatasetError:
        return False
    return True


def read_dataset(path: Path) -> Dataset:
    """Read a dataset file and check all of it; refuse it in one sentence otherwise."""
    import pyarrow as pa

    if path.is_dir() or (path.is_file() and path.suffix in (".npz", ".npy")):
        raise _plain(path, "is not a dataset file")
    if not path.is_file():
        raise DatasetError(
            f"there is no dataset file {path}; make one with dglbench generate TASK --out {path}."
        )
    try:
        return _read(path)
    except (OSError, pa.ArrowException, ValueError, OverflowError, MemoryError) as error:
        raise _refused(path, "is damaged or not a Parquet file: it cannot be decoded") from error


def _read(path: Path) -> Dataset:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        document = _checked_document(path, file)
        dataset = _empty(path, document)
        if file.metadata.num_rows != len(dataset.split):
            raise _refused(
                path,
                f"holds {file.metadata.num_rows} instances, but its metadata says "
                f"{len(dataset.split)}",
            )
        labels = dataset.problem.pack(dataset.labels[:0])
        widths = {"features": math.prod(dataset.features.shape[1:]), "labels": labels.shape[1]}
        varying = empty_parts(
            dataset.problem,
            len(dataset.labels),
            document["by_instance"],
            document.get("A_at"),
        )
        start = 0
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=[*_COLUMNS, *varying])
            rows = slice(start, start + len(table))
            dataset.split[rows] = _splits(path, table, start)
            for name, width in widths.items():
                values = _values(path, table.column(name), name, width)
                if name == "labels":
                    dataset.labels[rows] = dataset.problem.unpack(values)
                else:
                    dataset.features[rows] = values.reshape(-1, *dataset.features.shape[1:])
            for name, part in varying.items():
                width = math.prod(part.shape[1:])
                found = _values(path, table.column(name), name, width, part.dtype)
                part[rows] = found.reshape(-1, *part.shape[1:])
            start = rows.stop
    if varying:
        dataset = _with_instances(path, document, dataset, varying)
    if _digest(document, dataset) != document["digest"]:
        raise _refused(path, "is damaged: its content does not match its digest")
    return dataset


def _checked_document(path: Path, file: Any) -> dict[str, Any]:
    """Check what can be checked before any data is read."""
    raw = (file.schema_arrow.metadata or {}).get(_KEY)
    if raw is None:
        raise _plain(path, "is not a dglbench dataset: it lacks the metadata key 'dglbench'")
    try:
        document: dict[str, Any] = json.loads(raw)
    except ValueError as error:
        raise _refused(path, "is damaged: its metadata is not JSON") from error
    version = document.get("format") if isinstance(document, dict) else None
    if version != FORMAT_VERSION:
        raise _refused(
            path,
            f"has format version {version}, but this dglbench reads version {FORMAT_VERSION} only",
        )
    lacking = [key for key in _NEEDED if key not in document]
    if lacking:
        raise _refused(path, f"is damaged: its metadata lacks {', '.join(lacking)}")
    if not isinstance(document["by_instance"], list):
        raise _refused(path, "is damaged: its metadata holds nonsense (by_instance is not a list)")
    columns = [*_COLUMNS, *(name for name in document["by_instance"] if name in VARYING)]
    if "A" in columns and not isinstance(document.get("A_at"), list):
        raise _refused(path, "is damaged: its metadata lacks A_at, the places of the entries of A")
    missing = [name for name in columns if name not in file.schema_arrow.names]
    if missing:
        raise _refused(
            path,
            f"lacks the column {', '.join(missing)}; a dataset has {', '.join(_COLUMNS)}",
        )
    return document


def _empty(path: Path, document: dict[str, Any]) -> Dataset:
    """Build the dataset that the metadata describes, with arrays still to be filled."""
    try:
        task = find_task(document["task"])
        settings = task.parse_settings(document["settings"])
        problem = task.problem(settings, document["constants"])
        count = int(document["instances"])
        shape = tuple(int(part) for part in document["feature_shape"])
        seed = int(document["seed"])
        sense = document["sense"]
    except DglbenchError as error:
        raise _refused(path, f"cannot be used: {str(error).rstrip('.')}") from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _refused(path, f"is damaged: its metadata holds nonsense ({error})") from error
    if sense != problem.sense:
        raise _refused(path, f"says {sense}, but task {task.name} now says {problem.sense}")
    return Dataset(
        spec=TaskSpec(task.name, settings, seed),
        problem=problem,
        constants=document["constants"],
        features=np.empty((count, *shape)),
        labels=np.zeros((count, *problem.label_shape)),
        split=np.empty(count, dtype=np.int8),
    )


def _splits(path: Path, table: pa.Table, start: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    expected = np.arange(start, start + len(table))
    if not np.array_equal(table.column("instance").to_numpy(), expected):
        raise _refused(path, "has instances out of order; expected 0, 1, 2, …")
    found = pc.index_in(table.column("split").cast(pa.string()), value_set=pa.array(SPLITS))
    if found.null_count:
        raise _refused(path, f"has a split that is none of {', '.join(SPLITS)}")
    return found.to_numpy().astype(np.int8)


def _values(
    path: Path,
    column: pa.ChunkedArray,
    name: str,
    width: int,
    dtype: npt.DTypeLike = np.float64,
) -> Any:
    """Return a list column as (rows, width), or say what is wrong with it."""
    import pyarrow as pa

    kind, wanted = column.type, pa.from_numpy_dtype(dtype)
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or kind.value_type != wanted:
        plural = "booleans" if wanted == pa.bool_() else "doubles"
        raise _refused(path, f"has {name} of type {kind}; expected lists of {plural}")
    lists = pa.concat_arrays(column.chunks)
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(lengths != width)
    if wrong.size:
        raise _refused(
            path, f"has {lengths[wrong[0]]:g} {name} in an instance; its settings call for {width}"
        )
    flat = lists.flatten()
    if flat.null_count and wanted == pa.bool_():
        raise _refused(path, f"has {name} without a value; all must be true or false")
    values = flat.to_numpy(zero_copy_only=False).reshape(-1, width)
    if not np.isfinite(values).all():
        raise _refused(path, f"has {name} that are NaN or infinite; all must be finite")
    return values


def _refused(path: Path, what: str) -> DatasetError:
    return DatasetError(
        f"{path} {what}; make it again with dglbench generate --force or dglbench import --force."
    )


def _plain(path: Path, what: str) -> DatasetError:
    return DatasetError(f"{path} {what}; make one from your arrays with dglbench import {path}.")


def _with_instances(
    path: Path, document: dict[str, Any], dataset: Dataset, varying: dict[str, Any]
) -> Dataset:
    try:
        problem = with_parts(dataset.problem, varying, document.get("A_at"))
    except DglbenchError as error:
        raise _refused(path, f"cannot be used: {str(error).rstrip('.')}") from error
    return replace(dataset, problem=problem)


def _document(dataset: Dataset) -> dict[str, Any]:
    places = places_of_rows(dataset.problem)
    return {
        "format": FORMAT_VERSION,
        "task": dataset.spec.task,
        "settings": options.as_dict(dataset.spec.settings),
        "seed": dataset.spec.seed,
        "instances": len(dataset.labels),
        "feature_shape": list(dataset.features.shape[1:]),
        "constants": dict(dataset.constants),
        "sense": dataset.problem.sense,
        "by_instance": list(parts_by_instance(dataset.problem)),
        **({} if places is None else {"A_at": places}),
    }


def _digest(document: dict[str, Any], dataset: Dataset) -> str:
    about = {key: value for key, value in document.items() if key != "digest"}
    digest = hashlib.sha256(_canonical(about).encode())
    digest.update(np.ascontiguousarray(dataset.split, dtype=np.int8).data)
    # One column after another, so that the size of a batch does not matter.
    for rows in _batches(dataset):
        digest.update(np.ascontiguousarray(dataset.features[rows], dtype="<f8").data)
    for rows in _batches(dataset):
        labels = dataset.problem.pack(dataset.labels[rows])
        digest.update(np.ascontiguousarray(labels, dtype="<f8").data)
    for part in parts_by_instance(dataset.problem).values():
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _canonical(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _batches(dataset: Dataset) -> Iterator[slice]:
    count = len(dataset.labels)
    row_bytes = (dataset.features.nbytes + dataset.labels.nbytes) // max(count, 1)
    step = max(1, _BATCH_BYTES // max(row_bytes, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def _lists(values: Any) -> pa.Array:
    import pyarrow as pa

    flat = np.ascontiguousarray(values.reshape(len(values), -1))
    offsets = np.arange(len(flat) + 1, dtype=np.int32) * flat.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.ravel()))

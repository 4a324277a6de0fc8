"""A run's folder: written completely or not at all, and checked when read.

``results/<run id>/`` holds ``run.json`` (the record), the tables of
`dglbench.runs.schemas` as Parquet and ``weights.pt``. The record names the sha256
of every other file, and its first line holds the sha256 of all lines below it. The
folder is written under a temporary name, flushed and renamed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dglbench import atomic
from dglbench.errors import NewerFormatError, RunError
from dglbench.runs.record import FORMAT_VERSION, RunOutput, RunRecord

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "RECORD",
    "clean_partial",
    "damage",
    "is_run",
    "read_document",
    "read_record",
    "run_folder",
    "run_folders",
    "write_document",
    "write_run",
]

RECORD = "run.json"
WEIGHTS = "weights.pt"
REQUIRED_TABLES = ("timing", "regret", "decisions")
"""Tables that every finished run has; the others depend on the method."""

_PARTIAL = ".partial-"
_OLD = "old-"  # of a run that is being replaced
_PART_BYTES = 1 << 20
_PACKED = ["options.list.element"]  # a dictionary writes small integers in as few bits as they need
_SEAL = re.compile(rb'\{"sha256": "([0-9a-f]{64})",\n')


def run_folder(out: Path, run_id: str) -> Path:
    """Return where a run belongs; a name that would lead out of ``out`` is refused."""
    if Path(run_id).name != run_id or run_id.startswith(".") or "\0" in run_id:
        raise RunError(
            f"the run name {run_id!r} is not the name of a folder inside {out}; names of tasks, "
            "methods and data must not contain '/' or start with '.'."
        )
    return out / run_id


def write_run(output: RunOutput, out: Path, *, replace: bool = False) -> Path:
    """Write a run's folder whole; if another process wrote it first, keep theirs.

    With ``replace``, the run that was there before is moved aside and deleted only once the new
    one has its name: whenever the process is killed, one of them is left (`clean_partial` moves
    the old one back).
    """
    return write_document(
        output.record.document(), output.tables, out, weights=output.weights, replace=replace
    )


def write_document(
    document: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    out: Path,
    *,
    weights: bytes | None = None,
    replace: bool = False,
) -> Path:
    """Write a run's folder likewise, from the document of its record as it was once written."""
    run_id = str(document["run_id"])
    target = run_folder(out, run_id)
    mark = f"{_PARTIAL}{atomic.owner_mark()}"
    partial, aside = out / f"{mark}_{run_id}", out / f"{mark}_{_OLD}{run_id}"
    try:
        _fill(partial, document, tables, weights)
        for file in partial.iterdir():
            atomic.flush(file)
        atomic.flush(partial)  # its entries, before the folder gets its name
        if replace and target.exists():
            os.utime(target)  # so that no other process takes it for abandoned meanwhile
            target.rename(aside)
        partial.rename(target)
        atomic.flush(out)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and target.exists():
            return target
        raise RunError(
            f"run {run_id} could not be written to {out}: {error.strerror or error}; "
            "free some space or choose another --out, then run the same command again."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        _put_back(aside, target)
    return target


def read_record(folder: Path) -> RunRecord:
    """Read a run's record, or raise a `RunError` that says in one sentence why not."""
    try:
        document = _sealed_document(folder)
        version = int(document["identity"]["format"])
        if version > FORMAT_VERSION:
            raise NewerFormatError(
                f"{folder} is in log format {version}, this dglbench reads up to {FORMAT_VERSION}; "
                "upgrade dglbench (pip install -U dglbench) or move that run elsewhere."
            )
        return RunRecord.parse(document)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunError(_brief(error)) from error


def read_document(folder: Path) -> dict[str, Any]:
    """Read a record as it was written, fields that this version does not know included."""
    try:
        document: dict[str, Any] = _sealed_document(folder)
    except (OSError, ValueError) as error:
        raise RunError(_brief(error)) from error
    document.pop("sha256", None)
    return document


def damage(folder: Path, record: RunRecord, *, weights: bool = True) -> str | None:
    """Say which file of a run is missing or changed, None if all are as written.

    With ``weights=False`` the weights may be left out, as in results that are published: they are
    most of a run's size and no part of a report.
    """
    found = {entry.name for entry in os.scandir(folder)}
    if record.state == "done":
        for name in REQUIRED_TABLES:
            if f"{name}.parquet" not in found:
                return f"it has no {name}.parquet"
    for name, checksum in record.files.items():
        if name not in found:
            if name == WEIGHTS and not weights:
                continue
            return f"it has no {name}"
        with contextlib.suppress(OSError):
            if _sha256(f"{folder}/{name}") == checksum:
                continue
        return f"its {name} is damaged: its content is not what the run wrote"
    return None


def clean_partial(out: Path) -> None:
    """Remove what killed processes left half-written, and move back what they were replacing."""
    for path in out.glob(f"{_PARTIAL}*"):
        mark = re.match(rf"{re.escape(_PARTIAL)}(.+?-\d+)_({_OLD})?(.+)", path.name)
        if mark and atomic.abandoned(path, mark[1]):
            if mark[2]:
                _put_back(path, out / mark[3])
            else:
                shutil.rmtree(path, ignore_errors=True)
    atomic.clean(out)
    atomic.clean(out / "warm-starts")
    atomic.clean(out / "evaluation")


def is_run(folder: Path) -> bool:
    """Say whether a folder holds a run, whole or not: its record or a table that every run has."""
    names = (RECORD, *(f"{name}.parquet" for name in REQUIRED_TABLES))
    return any((folder / name).is_file() for name in names)


def run_folders(out: Path) -> Iterator[Path]:
    """Yield the folders that hold a run, in name order."""
    if not out.is_dir():
        return
    for path in sorted(out.iterdir()):
        if not path.name.startswith(".") and path.is_dir() and is_run(path):
            yield path


def _fill(
    partial: Path,
    document: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    weights: bytes | None,
) -> None:
    import pyarrow.parquet as pq

    partial.mkdir(parents=True)
    for name, table in tables.items():
        # Thousands of small files: what a footer repeats would take more space than the rows.
        pq.write_table(
            table,
            partial / f"{name}.parquet",
            compression="snappy",
            use_dictionary=_PACKED,
            write_statistics=False,
            store_schema=False,
        )
    if weights is not None:
        (partial / WEIGHTS).write_bytes(weights)
    files = {path.name: _sha256(path) for path in sorted(partial.iterdir())}
    (partial / RECORD).write_bytes(_sealed({**document, "files": files}))


def _sealed(document: Mapping[str, Any]) -> bytes:
    body = json.dumps(document, indent=2, ensure_ascii=False)
    rest = body.removeprefix("{\n").encode() + b"\n"
    seal = hashlib.sha256(rest).hexdigest()
    return f'{{"sha256": "{seal}",\n'.encode() + rest


def _sealed_document(folder: Path) -> Any:
    try:
        content = (folder / RECORD).read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"it has no {RECORD}") from error
    seal = _SEAL.match(content)
    if seal is None or hashlib.sha256(content[seal.end() :]).hexdigest().encode() != seal[1]:
        raise ValueError(f"its {RECORD} is damaged: its content is not what the run wrote")
    return json.loads(content)


def _put_back(aside: Path, target: Path) -> None:
    """Give a run that was moved aside its name back, or delete it if another one has the name."""
    if aside.is_dir():
        with contextlib.suppress(OSError):  # ENOTEMPTY: the new run is in place
            aside.rename(target)
        shutil.rmtree(aside, ignore_errors=True)


def _sha256(path: Path | str) -> str:
    """Hash a file, without a file object: a report hashes ten thousand small ones."""
    digest = hashlib.sha256()
    handle = os.open(path, os.O_RDONLY)
    try:
        while part := os.read(handle, _PART_BYTES):
            digest.update(part)
            if len(part) < _PART_BYTES:
                break
    finally:
        os.close(handle)
    return digest.hexdigest()


def _brief(error: Exception) -> str:
    """Return an error's first line; pydantic names the field on its second."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if type(error).__name__ == "ValidationError" and len(lines) > 1:
        return f"its record cannot be read ({lines[1]})"
    if isinstance(error, KeyError):
        return f"its record lacks {error}"
    return lines[0][:160] if lines else type(error).__name__

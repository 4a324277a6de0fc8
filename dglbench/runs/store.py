"""A run's folder: written whole or not at all, read with every byte checked.

``results/<run id>/`` holds ``run.json`` (the record), the tables of
`dglbench.runs.schemas` as Parquet and ``weights.pt``. The record names the sha256
of every other file, and its first line holds the sha256 of all lines below it. The
folder is written under a temporary name, flushed and renamed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dglbench import atomic
from dglbench.errors import NewerFormatError, RunError
from dglbench.runs import format1
from dglbench.runs.record import FORMAT_VERSION, RunOutput, RunRecord

__all__ = [
    "RECORD",
    "clean_partial",
    "damage",
    "is_run",
    "read_record",
    "run_folders",
    "write_run",
]

RECORD = "run.json"
WEIGHTS = "weights.pt"
REQUIRED_TABLES = ("timing", "regret", "decisions")
"""What every finished run has; the others depend on the method."""

_PARTIAL = ".partial-"
_PART_BYTES = 1 << 20
_SEAL = re.compile(rb'\{"sha256": "([0-9a-f]{64})",\n')


def write_run(output: RunOutput, out: Path, *, replace: bool = False) -> Path:
    """Write a run's folder whole; if another process wrote it first, keep theirs."""
    run_id = output.record.run_id
    target = out / run_id
    partial = out / f"{_PARTIAL}{atomic.owner_mark()}_{run_id}"
    try:
        _fill(partial, output)
        for file in partial.iterdir():
            atomic.flush(file)
        atomic.flush(partial)  # its entries, before the folder gets its name
        if replace and target.exists():
            shutil.rmtree(_set_aside(target))
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
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return target


def read_record(folder: Path) -> RunRecord:
    """Read a run's record, of this format or an older one, or say in a sentence why not."""
    try:
        try:
            document = _sealed_document(folder)
        except FileNotFoundError:
            document = format1.read_document(folder)
        version = int(document["identity"]["format"])
        if version > FORMAT_VERSION:
            raise NewerFormatError(
                f"{folder} is in log format {version}, this dglbench reads up to {FORMAT_VERSION}; "
                "upgrade dglbench (pip install -U dglbench) or move that run elsewhere."
            )
        return RunRecord.parse(document)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunError(_brief(error)) from error


def damage(folder: Path, record: RunRecord, *, weights: bool = True) -> str | None:
    """Say which file of a run is missing or not as it was written, None if all are whole.

    With ``weights=False`` the weights may be left out, as in results that are published: they are
    most of a run's size and nothing in a report. Format 1 kept no checksums: of its tables only the
    ends can be looked at.
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
        return f"its {name} is damaged: it is not what the run wrote"
    if not record.files:
        for name in sorted(found):
            if name.endswith(".parquet") and not _whole_parquet(folder / name):
                return f"its {name} is cut short"
    return None


def clean_partial(out: Path) -> None:
    """Remove what processes that no longer run left half-written."""
    for path in out.glob(f"{_PARTIAL}*"):
        mark = re.match(rf"{re.escape(_PARTIAL)}(.+?-\d+)_", path.name)
        if mark and atomic.abandoned(path, mark[1]):
            shutil.rmtree(path, ignore_errors=True)
    atomic.clean(out)
    atomic.clean(out / "warm-starts")
    atomic.clean(out / "evaluation")


def is_run(folder: Path) -> bool:
    """Say whether a folder is a run by its look, whole or not."""
    names = (RECORD, format1.SPEC, format1.STATUS)
    return any((folder / name).is_file() for name in names)


def run_folders(out: Path) -> Iterator[Path]:
    """Yield the folders that hold a run, in name order."""
    if not out.is_dir():
        return
    for path in sorted(out.iterdir()):
        if not path.name.startswith(".") and path.is_dir() and is_run(path):
            yield path


def _fill(partial: Path, output: RunOutput) -> None:
    import pyarrow.parquet as pq

    partial.mkdir(parents=True)
    for name, table in output.tables.items():
        # Thousands of small files: what a footer tells twice costs more than the rows do.
        pq.write_table(
            table,
            partial / f"{name}.parquet",
            compression="snappy",
            use_dictionary=False,
            write_statistics=False,
            store_schema=False,
        )
    if output.weights is not None:
        (partial / WEIGHTS).write_bytes(output.weights)
    files = {path.name: _sha256(path) for path in sorted(partial.iterdir())}
    record = dataclasses.replace(output.record, files=files)
    (partial / RECORD).write_bytes(_sealed(record.document()))


def _sealed(document: Mapping[str, Any]) -> bytes:
    body = json.dumps(document, indent=2, ensure_ascii=False)
    rest = body.removeprefix("{\n").encode() + b"\n"
    seal = hashlib.sha256(rest).hexdigest()
    return f'{{"sha256": "{seal}",\n'.encode() + rest


def _sealed_document(folder: Path) -> Any:
    content = (folder / RECORD).read_bytes()
    seal = _SEAL.match(content)
    if seal is None or hashlib.sha256(content[seal.end() :]).hexdigest().encode() != seal[1]:
        raise ValueError(f"its {RECORD} is damaged: it is not what the run wrote")
    return json.loads(content)


def _set_aside(target: Path) -> Path:
    """Move a run out of the way under a name that no reader takes for a run."""
    aside = target.with_name(f"{_PARTIAL}{atomic.owner_mark()}_old-{target.name}")
    target.rename(aside)
    return aside


def _sha256(path: Path | str) -> str:
    """Hash a file; a report asks for ten thousand small ones, so without a file object."""
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


def _whole_parquet(path: Path) -> bool:
    """Check the magic bytes and that the footer fits: a truncated file fails one of them."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return False
            size = file.seek(0, 2)
            file.seek(max(size - 8, 0))
            tail = file.read(8)
    except OSError:
        return False
    return tail[4:] == b"PAR1" and int.from_bytes(tail[:4], "little") + 12 <= size


def _brief(error: Exception) -> str:
    """Return an error's first line; what pydantic says of a field follows on its second."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if type(error).__name__ == "ValidationError" and len(lines) > 1:
        return f"its record cannot be read ({lines[1]})"
    if isinstance(error, KeyError):
        return f"its record lacks {error}"
    return lines[0][:160] if lines else type(error).__name__

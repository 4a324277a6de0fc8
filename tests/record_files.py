"""Reading and changing what runs wrote, as tests need it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dglbench.runs import store


def read_document(folder: Path) -> dict[str, Any]:
    """Return a run's record as it stands in its file."""
    document = json.loads((folder / store.RECORD).read_text("utf-8"))
    document.pop("sha256")
    return document


def change_record(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a run's record as if the run itself had written it so."""
    document = read_document(folder)
    change(document)
    (folder / store.RECORD).write_bytes(store._sealed(document))


def replace_table(folder: Path, name: str, table: pa.Table) -> None:
    """Write another table in place of a run's own, with its checksum."""
    path = folder / f"{name}.parquet"
    pq.write_table(table, path)
    change_record(folder, lambda record: record["files"].update({path.name: store._sha256(path)}))


def flip_bit(path: Path, place: int) -> None:
    """Change one bit of one byte."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)

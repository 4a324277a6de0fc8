"""The four files of a pack, whatever the number of its runs.

``NAME.dglpack/`` (or one uncompressed zip file of that name) holds

- ``manifest.json``: the format, who made the runs (machines, versions), the digest of every
  dataset, the sweeps' own files (their plans and searches, each as base64 of its deflated text: a
  plan names every run) and the checksums of the other files;
- ``runs.parquet``: a row a run. ``record`` is its whole record as JSON, which alone is read back;
  the other columns repeat what a reader without dglbench looks for;
- ``curves.parquet``: the rows of all tables but the decisions, one table after another. ``table``
  names it, ``run`` is the row of ``runs.parquet``, and each row fills the columns of its table,
  but for what others tell (`dglbench.packs.clocks`, `dglbench.packs.ratios`); seconds are whole
  microseconds, ``solve_us`` for ``solve_s`` (`dglbench.packs.microseconds`). A thin pack has a row
  of seconds for each evaluation instead of each epoch (`dglbench.packs.thinning`);
- ``decisions.parquet``: the options taken for the test instances at the selected epoch. Optima and
  values that earlier runs on the same data have, to the last bit, and regrets that are |f* - f|
  are left out (`dglbench.packs.repeats`).

Equal runs make equal packs, byte for byte.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dglbench.errors import NewerFormatError, RunError
from dglbench.runs.record import RunRecord, digest
from dglbench.runs.schemas import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CURVES",
    "DATA",
    "DECISIONS",
    "MANIFEST",
    "PACK_FORMAT",
    "RUNS",
    "SUFFIX",
    "TABLE_FILES",
    "ULPS",
    "VALUE",
    "DataDigest",
    "Manifest",
    "data_key",
    "microseconds",
    "sha256",
    "summary_columns",
    "table_file",
]

SUFFIX = ".dglpack"
PACK_FORMAT = 1
MANIFEST, RUNS, CURVES, DECISIONS = (
    "manifest.json", "runs.parquet", "curves.parquet", "decisions.parquet",
)  # fmt: skip
TABLE_FILES = (RUNS, CURVES, DECISIONS)
ULPS = "pooled_ulps"
"""A column of the curves: doubles between a pooled regret and what `dglbench.packs.ratios` tells;
null where the value itself is kept."""
DATA, VALUE = "data", "value"
"""Columns of the decisions that `dglbench.packs.repeats` explains."""


@dataclass(frozen=True)
class DataDigest:
    """What one dataset contained when the runs were packed."""

    task: str
    settings: Mapping[str, Any]
    seed: int
    digest: str | None
    """sha256 of the content; None if the data could not be made."""
    identified_by: str | None = None
    """The content hash in the identity of its runs; None where settings and seed decide the data"""
    problem: str | None = None
    """Why there is no digest."""


@dataclass(frozen=True)
class Manifest:
    """What a pack says of itself."""

    runs: int
    machines: tuple[Mapping[str, Any], ...]
    """Where runs were made, with the number of runs."""
    versions: tuple[Mapping[str, Any], ...]
    """Python and libraries that made runs, with the number of runs."""
    data: tuple[DataDigest, ...]
    documents: Mapping[str, str]
    """The files that sweeps left beside their runs, by name: which runs were planned, what each
    search tried and chose."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Name to sha256 of the other files."""
    format: int = PACK_FORMAT

    def content(self) -> bytes:
        """Return the file: its first line holds the sha256 of all lines below it."""
        documents = {name: _deflate(text) for name, text in self.documents.items()}
        said = {**asdict(self), "documents": documents}
        body = json.dumps(said, indent=1, sort_keys=True, ensure_ascii=False)
        rest = body.removeprefix("{\n").encode() + b"\n"
        return b'{"sha256": "%s",\n' % sha256(rest).encode() + rest

    @classmethod
    def parse(cls, content: bytes, where: str) -> Manifest:
        """Read the file, or say in one sentence why that cannot be done."""
        first, _, rest = content.partition(b"\n")
        if first != b'{"sha256": "%s",' % sha256(rest).encode():
            raise RunError(f"{where} is damaged: its {MANIFEST} is not what was packed.")
        document = json.loads(content)
        version = document.get("format")
        if not isinstance(version, int) or version > PACK_FORMAT:
            raise NewerFormatError(
                f"{where} is in pack format {version}, this dglbench reads up to {PACK_FORMAT}; "
                "upgrade dglbench (pip install -U dglbench)."
            )
        try:
            return cls(
                runs=int(document["runs"]),
                machines=tuple(document["machines"]),
                versions=tuple(document["versions"]),
                data=tuple(
                    DataDigest(**{key: each.get(key) for key in DataDigest.__dataclass_fields__})
                    for each in document["data"]
                ),
                documents={k: _inflate(text) for k, text in document["documents"].items()},
                files=dict(document["files"]),
                format=version,
            )
        except (KeyError, TypeError, ValueError, AttributeError, zlib.error) as error:
            raise RunError(f"{where} has a {MANIFEST} that cannot be read ({error}).") from error


def _deflate(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _inflate(text: str) -> str:
    return zlib.decompress(base64.b64decode(text, validate=True)).decode()


def sha256(content: bytes) -> str:
    """Hash some bytes."""
    return hashlib.sha256(content).hexdigest()


def data_key(identity: Any) -> str:
    """Name the data of a run, or those of a `DataDigest`."""
    found = getattr(identity, "data_digest", None) or getattr(identity, "identified_by", None)
    return digest([identity.task, identity.settings, identity.seed, found])


def table_file(name: str) -> str:
    """Return the file that a table of runs is in."""
    return DECISIONS if name == "decisions" else CURVES


def microseconds(names: Iterable[str]) -> dict[str, str]:
    """Return the columns of seconds among some, each with its column of microseconds."""
    return {name: f"{name[:-2]}_us" for name in names if name.endswith("_s")}


def curve_schema() -> pa.Schema:
    """Return the columns of all tables but the decisions, each of them once."""
    import pyarrow as pa

    columns: dict[str, pa.DataType] = {"table": pa.string(), "run": pa.int32()}
    for name, schema in TABLES.items():
        if table_file(name) == CURVES:
            columns |= {column.name: column.type for column in schema}
    whole = [(name, pa.int32()) for name in microseconds(columns).values()]
    return pa.schema([*columns.items(), *whole, (ULPS, pa.int32())])


def decision_schema() -> pa.Schema:
    """Return the columns of the decisions, each row with its run."""
    import pyarrow as pa

    own = [pa.field(name, pa.int32()) for name in ("run", DATA, VALUE)]
    return pa.schema([*own, *TABLES["decisions"]])


def summary_columns(record: RunRecord) -> dict[str, Any]:
    """Return what a reader of ``runs.parquet`` sees of a run beside its record."""
    identity, made, selected = record.identity, record.environment, record.selected
    return {
        "run_id": record.run_id,
        "setting": identity.setting,
        "task": identity.task,
        "settings": _json(identity.settings),
        "seed": identity.seed,
        "repeat": identity.train_seed,
        "method": identity.method,
        "options": _json(identity.options),
        "predictor": identity.predictor,
        "solver": identity.solver,
        "state": record.state,
        "epoch": selected.epoch if selected else None,
        "elapsed_s": selected.elapsed_s if selected else None,
        "solves": selected.solves if selected else None,
        "val_regret": selected.val.relative_regret if selected and selected.val else None,
        "test_regret": selected.test.relative_regret if selected else None,
        "train_s": record.summary.train_s if record.summary else None,
        "machine": made.machine,
        "concurrency": made.concurrency,
        "source": identity.source,
    }


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(dict(values), sort_keys=True, ensure_ascii=False)

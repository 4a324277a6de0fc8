"""A run: what was asked, what it is called, and its folder of logs.

``results/<run id>/`` holds ``spec.json``, the tables of `dglbench.runs.schemas` as
Parquet, ``weights.pt`` and ``status.json``. The folder is written under a
temporary name, flushed and renamed, so a run is there whole or not at all.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench import atomic, options
from dglbench.errors import RunError
from dglbench.task import TaskSpec

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FINAL_STATES",
    "Protocol",
    "RunRecord",
    "RunSpec",
    "clean_partial",
    "load_status",
    "run_folders",
    "write_run",
]

FINAL_STATES = ("done", "failed", "timeout", "interrupted", "diverged")

_PARTIAL = ".partial-"


@dataclass(frozen=True)
class Protocol:
    """How a run is trained and watched, the same for every method of a comparison."""

    epochs: Annotated[int, Ge(1), Doc("passes over the training instances")] = 40
    batch_size: Annotated[int, Ge(1), Doc("training instances per step")] = 32
    patience: Annotated[
        int | None, Ge(1), Doc("evaluations without a better validation regret before stopping")
    ] = None
    evaluate_every: Annotated[int, Ge(1), Doc("epochs between evaluations")] = 1
    warm_start: Annotated[bool, Doc("start from the shared MSE-trained predictor")] = True
    warm_start_lr: Annotated[float, Gt(0), Doc("learning rate of the warm start")] = 0.01
    warm_start_epochs: Annotated[int, Ge(1), Doc("most epochs of the warm start")] = 500
    warm_start_patience: Annotated[
        int, Ge(1), Doc("epochs without a better validation MSE before the warm start ends")
    ] = 20


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides what a run computes, and nothing else."""

    data: TaskSpec
    method: str
    options: Any
    solver: str
    dual_rule: str
    protocol: Protocol
    source: str
    """Hash of the code that computes the run."""
    data_digest: str | None = None
    """Content hash of the dataset file, when the data did not come from the settings."""
    threads: int = 1

    def identity(self) -> dict[str, Any]:
        """Return the spec as the JSON-ready document the run id is made from."""
        from dglbench.runs.schemas import FORMAT_VERSION

        return {
            "format": FORMAT_VERSION,
            "task": self.data.task,
            "settings": options.as_dict(self.data.settings),
            "seed": self.data.seed,
            "data_digest": self.data_digest,
            "method": self.method,
            "options": options.as_dict(self.options),
            "solver": self.solver,
            "dual_rule": self.dual_rule,
            "protocol": asdict(self.protocol),
            "threads": self.threads,
            "source": self.source,
        }

    @property
    def setting(self) -> str:
        """The comparison this run belongs to, such as ``matching-50``."""
        return self.data.setting_name

    @cached_property
    def run_id(self) -> str:
        """A readable name that ends in a hash of the identity."""
        return f"{self.setting}-s{self.data.seed}-{self.method}-{_digest(self.identity())}"

    @property
    def asked(self) -> str:
        """Hash of what was asked, whatever the code: equal for a run and its stale versions."""
        return asked_hash(self.identity())


@dataclass(frozen=True)
class RunRecord:
    """All that a run leaves behind, ready to be written or sent to whoever writes."""

    spec: RunSpec
    status: Mapping[str, Any]
    environment: Mapping[str, Any]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    weights: bytes | None = None

    @property
    def state(self) -> str:
        """One of `FINAL_STATES`."""
        return str(self.status["status"])


def asked_hash(identity: Mapping[str, Any]) -> str:
    """Hash an identity without its source hash."""
    return _digest({key: value for key, value in identity.items() if key != "source"})


def write_run(record: RunRecord, out: Path, *, replace: bool = False) -> Path:
    """Write a run's folder whole; if another process wrote it first, keep theirs."""
    import pyarrow.parquet as pq

    target = out / record.spec.run_id
    partial = out / f"{_PARTIAL}{atomic.owner_mark()}_{record.spec.run_id}"
    try:
        partial.mkdir(parents=True)
        for name, table in record.tables.items():
            pq.write_table(table, partial / f"{name}.parquet", compression="zstd")
        if record.weights is not None:
            (partial / "weights.pt").write_bytes(record.weights)
        document = {"identity": record.spec.identity(), "environment": dict(record.environment)}
        _write_json(partial / "spec.json", {"run_id": record.spec.run_id, **document})
        _write_json(partial / "status.json", record.status)
        for file in partial.iterdir():
            atomic.flush(file)
        if replace and target.exists():
            shutil.rmtree(_set_aside(target))
        partial.rename(target)
        atomic.flush(out)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and target.exists():
            return target
        raise RunError(
            f"run {record.spec.run_id} could not be written to {out}: {error.strerror or error}; "
            "free some space or choose another --out, then run the same command again."
        ) from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return target


def clean_partial(out: Path) -> None:
    """Remove what processes that no longer run left half-written."""
    for path in out.glob(f"{_PARTIAL}*"):
        mark = re.match(rf"{re.escape(_PARTIAL)}(.+?-\d+)_", path.name)
        if mark and atomic.abandoned(path, mark[1]):
            shutil.rmtree(path, ignore_errors=True)
    atomic.clean(out)
    atomic.clean(out / "warm-starts")


def run_folders(out: Path) -> Iterator[Path]:
    """Yield the folders that hold a run, in name order."""
    if not out.is_dir():
        return
    for path in sorted(out.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and (path / "spec.json").is_file():
            yield path


def load_status(folder: Path) -> dict[str, Any] | None:
    """Read a run's final status, or None if it has none that can be read."""
    try:
        status = json.loads((folder / "status.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(status, dict) or status.get("status") not in FINAL_STATES:
        return None
    return status


def _set_aside(target: Path) -> Path:
    """Move a run out of the way under a name that no reader takes for a run."""
    aside = target.with_name(f"{_PARTIAL}{atomic.owner_mark()}_old-{target.name}")
    target.rename(aside)
    return aside


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _digest(document: Any) -> str:
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]

"""The record of a run: what it was, where it was made, how it ended, what it found.

One typed document, written and read in this package and nowhere else. A field that is added
later has a default, so that older records can still be read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from dglbench.runs.protocol import Protocol
from dglbench.task import setting_name

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FIGURES",
    "FINAL_STATES",
    "FORMAT_VERSION",
    "Environment",
    "Identity",
    "Regrets",
    "RunOutput",
    "RunRecord",
    "Selected",
    "Status",
    "Summary",
    "WarmStartSummary",
    "digest",
    "without_defaults",
]

FORMAT_VERSION = 3

FINAL_STATES = ("done", "failed", "timeout", "interrupted", "diverged")


@dataclass(frozen=True)
class Identity:
    """Everything that can change a regret; the run id is made from it."""

    task: str
    settings: Mapping[str, Any]
    seed: int
    method: str
    options: Mapping[str, Any]
    solver: str
    dual_rule: str
    """Which optimal duals are taken where there are several: the method's or the solver's rule."""
    protocol: Protocol
    source: str
    """Hash of the code that computes the run."""
    threads: int = 1
    data_digest: str | None = None
    """Content hash of the data; None for bundled tasks, whose settings and seed decide them."""
    train_seed: int = 0
    """Which initial weights and batches."""
    lead_in: Mapping[str, Any] | None = None
    """Method, epochs and options of the lead-in; None without one."""
    predictor: str = "linear"
    """What was trained, with its options, such as ``mlp:hidden=16``."""
    format: int = FORMAT_VERSION

    @property
    def setting(self) -> str:
        """A short name such as ``matching-50``."""
        return setting_name(self.task, self.settings)

    @property
    def has_own_predictor(self) -> bool:
        """Whether the method fits a predictor of its own, which then bears its name."""
        return self.predictor == self.method

    @cached_property
    def run_id(self) -> str:
        """A readable name that ends in a hash of the identity."""
        return f"{self.setting}-s{self.seed}-{self.method}-{digest(without_defaults(self))}"

    @cached_property
    def asked(self) -> str:
        """Hash of what was asked for, without the code: a run and its stale versions share it."""
        document = without_defaults(self)
        return digest({key: document[key] for key in document if key not in ("source", "format")})


@dataclass(frozen=True)
class Environment:
    """Code, machine and load. Runs are compared only under the same library versions."""

    python: str | None = None
    platform: str | None = None
    cpu: str | None = None
    cores: int | None = None
    memory_gib: int | None = None
    machine: str | None = None
    """A fingerprint: the same for all runs made on one machine."""
    versions: Mapping[str, str | None] = field(default_factory=dict)
    git_revision: str | None = None
    git_dirty: bool | None = None
    threads: int | None = None
    concurrency: int | None = None
    """How many runs were under way at the same time."""
    load_1min: float | None = None


@dataclass(frozen=True)
class Status:
    """How the run ended."""

    state: str
    """One of `FINAL_STATES`."""
    message: str | None = None
    traceback: str | None = None
    started: str | None = None
    finished: str | None = None
    wall_s: float = 0.0


@dataclass(frozen=True)
class Regrets:
    """The figures of one split at the selected epoch."""

    relative_regret: float
    pooled_regret: float
    absolute_regret: float
    mse: float
    relative_regret_ci: tuple[float, float] | None = None
    """95 % bootstrap interval over instances; for test."""
    pooled_regret_ci: tuple[float, float] | None = None


FIGURES = tuple(each.name for each in fields(Regrets) if not each.name.endswith("_ci"))
"""The figures of `Regrets` that logs have columns for; a later one is None in older records."""


@dataclass(frozen=True)
class Selected:
    """The epoch that counts (`dglbench.runs.selection`), and what it took to reach it."""

    epoch: int
    elapsed_s: float
    solves: int
    val: Regrets | None
    """None where the data have no validation instances."""
    test: Regrets


@dataclass(frozen=True)
class WarmStartSummary:
    """The shared predictor that the run started from."""

    id: str
    seconds: float
    epochs: int
    val_relative_regret: float | None = None
    test_relative_regret: float | None = None
    val_pooled_regret: float | None = None
    test_pooled_regret: float | None = None


@dataclass(frozen=True)
class Summary:
    """The result of the run, in numbers."""

    epochs_run: int
    train_s: float
    solves: Mapping[str, int]
    """Instances solved, by purpose."""
    instances: Mapping[str, int]
    """Instances by split."""
    groups: int
    options: int
    label_scale: float
    sense: str = "maximise"
    """Maximise or minimise: which optimal and achieved values in the tables are better."""
    integral: bool | None = None
    """Whether the relaxation has integer optima for all values; None if unknown."""
    setup_s: float | None = None
    warm_start: WarmStartSummary | None = None
    selected: Selected | None = None
    outside_s: float | None = None
    """Wall seconds outside training: evaluation and logging, without the shared warm start."""
    peak_memory_mb: float | None = None
    """Most memory the process held during the run, the dataset and libraries included."""
    judged_by: Literal["relative", "pooled"] = "relative"
    """Which regret chooses epochs and configurations; the same for all runs of the data."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """By split, instances whose optimum is too near 0 for a relative regret."""
    evaluated: Mapping[str, int] = field(default_factory=dict)
    """By split, instances that each evaluation looked at; fewer than ``instances`` where all would
    have taken longer than training. The selected epoch of a finished run is judged on all."""
    diagnostics: bool = False
    """Whether the method was asked to report on itself (`Method.diagnostics`)."""

    bounds: Mapping[str, int] = field(default_factory=dict)
    """By split, instances whose optimum is only bounded: their regrets are against that bound."""

    @property
    def training_solves(self) -> int:
        """Instances solved in timed training: for all purposes but evaluation."""
        return sum(count for purpose, count in self.solves.items() if purpose != "evaluate")

    @property
    def remarks(self) -> list[str]:
        """Say in sentences what is unusual about how the run was judged."""
        said = []
        if not self.instances.get("val", 1):
            said.append("no validation instances: nothing was chosen by regret")
        said += [
            f"{count} of {self.instances[split]} {split} instances have an optimum near 0 and "
            "count in pooled and absolute regret only"
            for split, count in self.excluded.items()
            if count
        ]
        said += [
            f"{count} of {self.instances[split]} {split} regrets are against a bound: the search "
            "for the best decision was stopped (see optimum_gap in the logs)"
            for split, count in self.bounds.items()
        ]
        if self.judged_by == "pooled":
            said.append("judged by pooled regret: too many optima are near 0 to divide by each")
        if part := [s for s, count in self.evaluated.items() if count < self.instances[s]]:
            numbers = " and ".join(f"{self.evaluated[s]} of {self.instances[s]} {s}" for s in part)
            said.append(
                f"evaluated on {numbers} instances; the first, selected and last epoch on all"
            )
        return said


@dataclass(frozen=True)
class RunRecord:
    """The whole document."""

    run_id: str
    identity: Identity
    environment: Environment
    status: Status
    summary: Summary | None = None
    """None if the run ended during its set-up."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What the method reports."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Name to sha256 of every other file of the run."""

    @property
    def state(self) -> str:
        """One of `FINAL_STATES`."""
        return self.status.state

    @property
    def selected(self) -> Selected | None:
        """The selected epoch, None if the run ended before its first evaluation."""
        return self.summary.selected if self.summary else None

    def document(self) -> dict[str, Any]:
        """Return the record as a JSON-ready document."""
        return asdict(self)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> RunRecord:
        """Read a document, ignoring unknown fields; raise a ValueError if it is not a record."""
        return cls._checked(_adapter().validate_python(document))

    @classmethod
    def parse_json(cls, document: str) -> RunRecord:
        """Read the same from text, several times faster."""
        return cls._checked(_adapter().validate_json(document))

    @staticmethod
    def _checked(record: RunRecord) -> RunRecord:
        if record.state not in FINAL_STATES:
            raise ValueError(f"unknown state {record.state!r}")
        if record.state == "done" and record.selected is None:
            raise ValueError("a finished run without a selected epoch")
        return record


@dataclass(frozen=True)
class RunOutput:
    """Everything a run produced, ready to be written here or sent to the process that writes."""

    record: RunRecord
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    weights: bytes | None = None


def without_defaults(values: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are not at their default, nested ones likewise.

    So a field that is added later, at its default, changes no hash of what is left.
    """
    left = {}
    for each in fields(values):
        value = getattr(values, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if value != default:
            left[each.name] = without_defaults(value) if is_dataclass(value) else value
    return left


def digest(document: Any) -> str:
    """Return a short hash of a JSON-ready document."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(RunRecord)

"""One method on one dataset: ``dglbench.train`` is ``dglbench train``, in memory or to a folder."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dglbench.api.progress import run_bar
from dglbench.errors import OptionError, RunError
from dglbench.plugins import find_task, offer_task
from dglbench.runs.record import RunOutput, RunRecord, Selected
from dglbench.runs.schemas import TABLES
from dglbench.runs.selection import best_record
from dglbench.runs.store import WEIGHTS, read_record
from dglbench.runs.tables import read_tables
from dglbench.sweep import read_request
from dglbench.sweep.request.defaults import DEFAULT_SEED
from dglbench.sweep.request.specs import repeated_specs
from dglbench.task import Dataset, Task
from dglbench.training.compatibility import check_fit
from dglbench.training.evaluation import load_data
from dglbench.training.run import run_to_folder, run_to_memory
from dglbench.training.spec import RunSpec
from dglbench.training.train import Progress
from dglbench.training.warm_start import fresh_predictor

if TYPE_CHECKING:
    import polars as pl
    from torch import nn

_Watch = Callable[[Progress], None]

__all__ = ["TrainedRun", "TrainedRuns", "train"]


@dataclass(frozen=True)
class TrainedRun:
    """What a run left: its record, its tables and its selected weights."""

    record: RunRecord
    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    """``timing``, ``regret``, ``decisions``, ``phases`` if the method logs any, and with
    ``diagnostics`` ``duals``, ``bound`` and ``theorem2`` if it has them; docs/logs.md has the
    columns."""
    weights: bytes | None = field(repr=False)
    """The predictor's state dict at the selected epoch, as `torch.save` writes it."""
    dataset: Dataset = field(repr=False)
    folder: Path | None = None
    """Where the run was written, None in memory."""

    @property
    def state(self) -> str:
        """``done``, ``failed``, ``timeout`` or ``diverged``."""
        return self.record.state

    @property
    def selected(self) -> Selected:
        """The epoch that counts, by ``choose``; a `RunError` if the run got nowhere."""
        if self.record.selected is None:
            why = self.record.status.message or "it ended before its first evaluation"
            raise RunError(f"run {self.record.run_id} {self.state}: {why.rstrip('.')}.")
        return self.record.selected

    @property
    def test_regret(self) -> float:
        """Test relative regret at the selected epoch."""
        return self.selected.test.relative_regret

    def predictor(self) -> nn.Module:
        """Return the predictor with the weights of the selected epoch, in evaluation mode."""
        import torch

        if self.weights is None:
            raise RunError(f"run {self.record.run_id} {self.state} before it had weights to keep.")
        task = find_task(self.dataset.spec.task)
        predictor = fresh_predictor(self.record.identity.predictor, task, self.dataset)
        predictor.load_state_dict(torch.load(io.BytesIO(self.weights), weights_only=True))
        return predictor.eval()

    def export(self, path: str | Path, *, force: bool = False) -> None:
        """Write the predictor to a ``.pt2`` file that runs with torch alone."""
        import torch

        from dglbench.training.export import export_network

        network = self.predictor().to(getattr(torch, self.record.identity.protocol.dtype))
        example = torch.from_numpy(self.dataset.features[:1])
        export_network(network, example, Path(path), force=force)


@dataclass(frozen=True)
class TrainedRuns(Sequence[TrainedRun]):
    """The repeats of one run, in the order of their training seeds."""

    runs: tuple[TrainedRun, ...]

    @property
    def best(self) -> TrainedRun:
        """The run with the lowest validation regret; a `RunError` if none has a result."""
        record = best_record(run.record for run in self.runs)
        if record is None:
            states = ", ".join(run.state for run in self.runs)
            raise RunError(f"no repeat of {self.runs[0].record.run_id} has a result: {states}.")
        return next(run for run in self.runs if run.record is record)

    @overload
    def __getitem__(self, index: int) -> TrainedRun: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[TrainedRun, ...]: ...

    def __getitem__(self, index: int | slice) -> TrainedRun | tuple[TrainedRun, ...]:
        """Return a run, or those of a slice."""
        return self.runs[index]

    def __len__(self) -> int:
        """Count the repeats."""
        return len(self.runs)


@overload
def train(
    task: str | Task | Dataset,
    method: str = "dgl-1",
    *,
    predictor: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    train_seed: int | None = None,
    repeats: None = None,
    option: Mapping[str, Any] | None = None,
    solver: str = "ortools",
    threads: int = 1,
    time_limit: float | None = None,
    lead_in: str | None = None,
    diagnostics: bool = False,
    out: str | Path | None = None,
    force: bool = False,
    watch: _Watch | None = None,
    progress: bool = False,
    **protocol: Any,
) -> TrainedRun: ...


@overload
def train(
    task: str | Task | Dataset,
    method: str = "dgl-1",
    *,
    repeats: int,
    **request: Any,
) -> TrainedRuns: ...


def train(
    task: str | Task | Dataset,
    method: str = "dgl-1",
    *,
    predictor: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    train_seed: int | None = None,
    repeats: int | None = None,
    option: Mapping[str, Any] | None = None,
    solver: str = "ortools",
    threads: int = 1,
    time_limit: float | None = None,
    lead_in: str | None = None,
    diagnostics: bool = False,
    out: str | Path | None = None,
    force: bool = False,
    watch: _Watch | None = None,
    progress: bool = False,
    **protocol: Any,
) -> TrainedRun | TrainedRuns:
    """Train a predictor with one method, as ``dglbench train`` does.

    ``task`` is a name such as ``"matching"``, a `Task` of your own, or a `Dataset` (which
    brings its settings and seed). ``set`` holds the task's settings and ``option`` the method's
    options; what is left open has the method's defaults. ``protocol`` takes any field of
    the training protocol, such as ``epochs``, ``batch_size`` and ``patience``.
    ``predictor`` is what is trained, such as ``"mlp:hidden=16"``; by default ``linear``, or the
    task's own model.
    ``diagnostics=True`` has the method report on itself, which changes no regret.
    ``lead_in`` is a method and its epochs to train with first, such as
    ``"dgl-none:5"`` or ``"dgl-none:5,tau=0.5"``. Without ``out`` nothing is written; with it, a
    run that is there already is returned, unless ``force``. ``watch`` is called after every
    evaluation; ``progress=True`` shows a bar instead, in a terminal or a notebook.

    ``repeats=8`` makes eight runs, with the training seeds 0 to 7, and returns them as
    `TrainedRuns`, whose ``best`` is the best by validation.

    What goes wrong inside the run is in the result's ``state`` and ``record.status``.
    """
    given = task if isinstance(task, Dataset) else None
    if given is not None and (set or seed is not None):
        raise OptionError("a Dataset brings its own settings and seed; leave both out.")
    asked = {
        "tasks": None if given is not None else [offer_task(task)],  # type: ignore[arg-type]
        "methods": [method],
        "predictor": predictor,
        "set": set or {},
        "seeds": None if given is not None else [DEFAULT_SEED if seed is None else seed],
        "train_seeds": None if train_seed is None else [train_seed],
        "repeats": repeats,
        "option": {method: option or {}},
        "solver": solver,
        "threads": threads,
        "diagnostics": diagnostics,
        "time_limit": time_limit,
        "lead_in": lead_in,
        **protocol,
    }
    request = replace(read_request(asked, "train"), dataset=given)
    runs = []
    for spec in repeated_specs([request]):
        title = f"{spec.method} on {spec.setting}"
        title += "" if repeats is None else f", repeat {spec.train_seed}"
        shown = run_bar(title) if progress and watch is None else nullcontext(watch)
        with shown as watching:
            runs.append(_trained(spec, out, force=force, watch=watching, time_limit=time_limit))
    return runs[0] if repeats is None else TrainedRuns(tuple(runs))


def _trained(
    spec: RunSpec,
    out: str | Path | None,
    *,
    force: bool,
    watch: _Watch | None,
    time_limit: float | None,
) -> TrainedRun:
    if out is None:
        loaded = load_data(spec.data, spec.data_digest)
        check_fit(spec, loaded.dataset)
        output = run_to_memory(spec, loaded, watch=watch, time_limit=time_limit)
        trained = _in_memory(output, loaded.dataset)
    else:
        folder, _ = run_to_folder(spec, Path(out), force=force, watch=watch, time_limit=time_limit)
        trained = _from_folder(folder, load_data(spec.data, spec.data_digest).dataset)
    if trained.state == "interrupted":
        raise KeyboardInterrupt
    return trained


def _in_memory(output: RunOutput, dataset: Dataset) -> TrainedRun:
    import polars as pl

    tables = {name: pl.DataFrame(table) for name, table in output.tables.items()}
    return TrainedRun(output.record, tables, output.weights, dataset)


def _from_folder(folder: Path, dataset: Dataset) -> TrainedRun:
    tables = {
        name: read_tables(name, [folder], lists=True).rows
        for name in TABLES
        if (folder / f"{name}.parquet").is_file()
    }
    weights = folder / WEIGHTS
    kept = weights.read_bytes() if weights.is_file() else None
    return TrainedRun(read_record(folder), tables, kept, dataset, folder)

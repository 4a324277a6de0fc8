"""One run from start to folder: resolve, load, warm-start, train, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from dglbench.data.dataset_file import dataset_digest, read_dataset
from dglbench.data.source import identify
from dglbench.errors import OptionError, RunError
from dglbench.plugins import find_method, find_setting, find_task
from dglbench.runs.out_folder import check_folder, make_folder
from dglbench.runs.record import Identity, RunRecord
from dglbench.runs.store import clean_partial, damage, read_record, write_run
from dglbench.task import TaskSpec
from dglbench.training.evaluation import Evaluator, Loaded, load_data
from dglbench.training.fit import check_fit
from dglbench.training.resolve import (
    named_setting,
    resolve_data,
    resolve_protocol,
    resolve_run,
)
from dglbench.training.spec import RunSpec
from dglbench.training.train import Progress, train
from dglbench.training.warm_start import load_or_train

__all__ = ["RunPlace", "RunRequest", "like", "run_once"]


@dataclass(frozen=True)
class RunRequest:
    """A run as a user asks for it; what is left open is filled in by `resolve`."""

    task: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 25
    data_file: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    solver: str = "ortools"
    threads: int = 1
    time_limit: float | None = None


class RunPlace(NamedTuple):
    """Where the run is, and whether it was there before."""

    folder: Path
    existed: bool


def like(folder: Path) -> RunRequest:
    """Return the request whose run has the identity of the run in ``folder``."""
    identity = _read(folder).identity
    fixed = find_method(identity.method).from_name
    return RunRequest(
        task=identity.task,
        method=identity.method,
        settings=identity.settings,
        seed=identity.seed,
        options={name: value for name, value in identity.options.items() if name not in fixed},
        protocol=identity.protocol,
        solver=identity.solver,
        threads=identity.threads,
    )


def run_once(
    request: RunRequest,
    out: Path,
    *,
    force: bool = False,
    expected: Identity | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> RunPlace:
    """Train one run and write its folder, unless the same run is there already."""
    spec, loaded = _resolve(request)
    if expected is not None and expected.data_digest != spec.data_digest:
        raise OptionError(
            f"that run was trained on other data (content {_short(expected.data_digest)}, here "
            f"{_short(spec.data_digest)}); give its dataset file with --data."
        )
    folder = out / spec.run_id
    if not force and _stands(folder):
        return RunPlace(folder, existed=True)
    check_folder(out)
    loaded = loaded or load_data(spec.data, spec.data_digest)
    check_fit(spec, loaded.dataset.problem)  # refused before anything is written
    make_folder(out)
    clean_partial(out)
    warm_start = None
    if spec.protocol.warm_start:
        task = find_task(spec.data.task)
        warm_start = load_or_train(task, loaded.dataset, spec.protocol, out, spec.data_digest)
    output = train(
        spec,
        loaded.dataset,
        warm_start,
        evaluator=loaded.evaluator,
        watch=watch,
        time_limit=request.time_limit,
    )
    return RunPlace(write_run(output, out, replace=True), existed=False)


def _resolve(request: RunRequest) -> tuple[RunSpec, Loaded | None]:
    """Check the request; a dataset file is read once, and what was hashed is trained on."""
    (task, settings), loaded = named_setting(request.task, request.settings), None
    if request.data_file is None:
        data = resolve_data(task, settings, request.seed)
        digest = identify(data)
    else:
        dataset = read_dataset(request.data_file)
        data, digest = dataset.spec, dataset_digest(dataset)
        if data.task != task.name or find_setting(request.task)[1] not in ({}, _size(data)):
            raise OptionError(
                f"{request.data_file} holds {data.setting_name} data; train {data.task} on it."
            )
        loaded = Loaded(dataset, Evaluator(task, dataset))
    spec = resolve_run(
        data,
        request.method,
        given_options=request.options,
        protocol=resolve_protocol(task, request.protocol),
        solver=request.solver,
        threads=request.threads,
        data_digest=digest,
    )
    return spec, loaded


def _stands(folder: Path) -> bool:
    """Say whether a run is there, whole and ended by itself."""
    try:
        record = read_record(folder)
    except RunError:
        return False
    return record.state != "interrupted" and damage(folder, record) is None


def _read(folder: Path) -> RunRecord:
    try:
        return read_record(folder)
    except RunError as error:
        raise RunError(
            f"{folder} holds no run that can be read ({error}); give the folder of a run, such as "
            "results/matching-50-s25-dgl-5-0123456789ab."
        ) from error


def _size(data: TaskSpec) -> dict[str, int]:
    return {"n": data.settings.n}


def _short(digest: str | None) -> str:
    return "by settings and seed" if digest is None else digest[:12]

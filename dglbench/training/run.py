"""One run from start to folder: resolve, load, warm-start, train, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from dglbench.data.dataset_file import dataset_digest
from dglbench.data.loading import identify, read_file
from dglbench.errors import OptionError, RunError
from dglbench.plugins import find_method, find_setting, find_task
from dglbench.runs.out_folder import check_folder, make_folder
from dglbench.runs.record import Identity, RunOutput, RunRecord
from dglbench.runs.store import clean_partial, damage, read_record, run_folder, write_run
from dglbench.task import Dataset, TaskSpec
from dglbench.training import memory
from dglbench.training.compatibility import check_fit
from dglbench.training.cost_model import with_rhythm
from dglbench.training.evaluation import Evaluator, Loaded, load_data
from dglbench.training.resolve import (
    named_setting,
    resolve_data,
    resolve_protocol,
    resolve_run,
)
from dglbench.training.spec import RunSpec
from dglbench.training.train import Progress, train
from dglbench.training.warm_start import fresh_predictor, load_or_train

__all__ = [
    "RunPlace",
    "RunRequest",
    "like",
    "resolve",
    "run_once",
    "run_to_folder",
    "run_to_memory",
]


@dataclass(frozen=True)
class RunRequest:
    """A run as a user asks for it; what is left open is filled in by `resolve`."""

    task: str | None
    """None where a dataset file says it."""
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 25
    data_file: Path | None = None
    dataset: Dataset | None = None
    """The data themselves, for callers that have them at hand."""
    options: Mapping[str, Any] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    solver: str = "ortools"
    threads: int = 1
    train_seed: int = 0
    time_limit: float | None = None
    lead_in_options: Mapping[str, Any] = field(default_factory=dict)
    """Of the method that leads in, where the method's name says that one does."""


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
        protocol=asdict(identity.protocol),
        solver=identity.solver,
        threads=identity.threads,
        train_seed=identity.train_seed,
        lead_in_options=_lead_in_options(identity),
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
    spec, loaded = resolve(request)
    if expected is not None and expected.data_digest != spec.data_digest:
        raise OptionError(
            f"that run was trained on other data (content {_short(expected.data_digest)}, here "
            f"{_short(spec.data_digest)}); give its dataset file with --data."
        )
    return run_to_folder(spec, loaded, out, force=force, watch=watch, time_limit=request.time_limit)


def run_to_folder(
    spec: RunSpec,
    loaded: Loaded | None,
    out: Path,
    *,
    force: bool = False,
    watch: Callable[[Progress], None] | None = None,
    time_limit: float | None = None,
) -> RunPlace:
    """Write what `run_to_memory` makes, unless the same run is there already."""
    folder = run_folder(out, spec.run_id)
    if not force and _stands(folder):
        return RunPlace(folder, existed=True)
    check_folder(out)
    loaded = loaded or load_data(spec.data, spec.data_digest)
    check_fit(spec, loaded.dataset.problem)  # refused before anything is written
    make_folder(out)
    clean_partial(out)
    output = run_to_memory(spec, loaded, warm_starts=out, watch=watch, time_limit=time_limit)
    return RunPlace(write_run(output, out, replace=True), existed=False)


def run_to_memory(
    spec: RunSpec,
    loaded: Loaded,
    *,
    warm_starts: Path | None = None,
    watch: Callable[[Progress], None] | None = None,
    time_limit: float | None = None,
) -> RunOutput:
    """Train one run that fits its problem; ``warm_starts`` is the folder that keeps them.

    It also keeps what evaluations of the dataset share.
    """
    memory.keep_freed()
    warm_start = None
    if spec.protocol.warm_start:
        task, digest = find_task(spec.data.task), spec.data_digest
        warm_start = load_or_train(
            task, loaded.dataset, spec.protocol, warm_starts, digest, spec.train_seed
        )
    else:  # refuse a predictor that does not fit before the run begins
        fresh_predictor(find_task(spec.data.task), loaded.dataset, spec.train_seed)
    if warm_starts is not None:
        loaded.evaluator.share(warm_starts, spec.data_digest)
    return train(
        spec,
        loaded.dataset,
        warm_start,
        evaluator=loaded.evaluator,
        watch=watch,
        time_limit=time_limit,
    )


def resolve(request: RunRequest) -> tuple[RunSpec, Loaded | None]:
    """Check the request; a dataset file is read once, and what was hashed is trained on."""
    loaded = None
    digest: str | None
    if request.dataset is not None:
        data, digest = request.dataset.spec, dataset_digest(request.dataset)
        task = find_task(data.task)
        loaded = Loaded(request.dataset, Evaluator(task, request.dataset))
    elif request.data_file is None:
        task, settings = named_setting(request.task or "", request.settings)
        data = resolve_data(task, settings, request.seed)
        digest = identify(data)
    else:
        dataset, digest = read_file(request.data_file, request.settings)
        data, task = dataset.spec, find_task(dataset.spec.task)
        if request.task is not None and not _is_about(request.task, data):
            raise OptionError(
                f"{request.data_file} holds {data.setting_name} data; leave out {request.task}."
            )
        loaded = Loaded(dataset, Evaluator(task, dataset))
    protocol = resolve_protocol(task, request.protocol)
    spec = resolve_run(
        data,
        request.method,
        given_options=request.options,
        protocol=with_rhythm(protocol, loaded.dataset) if loaded else protocol,
        solver=request.solver,
        threads=request.threads,
        data_digest=digest,
        train_seed=request.train_seed,
        lead_in_options=request.lead_in_options,
    )
    return spec, loaded


def _lead_in_options(identity: Identity) -> dict[str, Any]:
    if identity.lead_in is None:
        return {}
    fixed = find_method(identity.lead_in["method"]).from_name
    return {k: v for k, v in identity.lead_in["options"].items() if k not in fixed}


def _stands(folder: Path) -> bool:
    """Say whether a whole run is there that was not interrupted."""
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


def _is_about(name: str, data: TaskSpec) -> bool:
    """Say whether a task or setting such as ``matching-50`` is that of the data."""
    task, size = find_setting(name)
    return task.name == data.task and size in ({}, {"n": data.settings.n})


def _short(digest: str | None) -> str:
    return "by settings and seed" if digest is None else digest[:12]

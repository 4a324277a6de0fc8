"""One run from start to folder: resolve, load, warm-start, train, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dglbench.errors import OptionError
from dglbench.plugins import find_task
from dglbench.runs.store import clean_partial, load_status, write_run
from dglbench.training.resolve import load_data, resolve_data, resolve_protocol, resolve_run
from dglbench.training.train import Progress, train
from dglbench.training.warm_start import load_or_train

__all__ = ["Finished", "run_once"]


class Finished(NamedTuple):
    """Where the run is, and whether it was there before."""

    folder: Path
    existed: bool


def run_once(
    *,
    task: str,
    settings: Mapping[str, Any],
    seed: int,
    data_file: Path | None,
    method: str,
    method_options: Mapping[str, Any],
    protocol: Mapping[str, Any],
    solver: str,
    threads: int,
    time_limit: float | None,
    out: Path,
    force: bool,
    watch: Callable[[Progress], None] | None = None,
) -> Finished:
    """Train one run and write its folder, unless the same run is there already."""
    plugin = find_task(task)
    digest = None
    if data_file is None:
        data = resolve_data(plugin, settings, seed)
    else:
        from dglbench.data.dataset_file import dataset_digest, read_dataset

        dataset = read_dataset(data_file)
        data, digest = dataset.spec, dataset_digest(dataset)
        if data.task != task:
            raise OptionError(f"{data_file} holds {data.task} data; train {data.task} on it.")
    resolved = resolve_protocol(plugin, protocol)
    spec = resolve_run(
        data,
        method,
        given_options=method_options,
        protocol=resolved,
        solver=solver,
        threads=threads,
        data_digest=digest,
    )
    folder = out / spec.run_id
    known = load_status(folder)
    if known and known["status"] != "interrupted" and not force:
        return Finished(folder, existed=True)
    out.mkdir(parents=True, exist_ok=True)
    clean_partial(out)
    loaded = load_data(data, data_file)
    warm_start = None
    if spec.protocol.warm_start:
        warm_start = load_or_train(plugin, loaded.dataset, spec.protocol, out, digest)
    record = train(
        spec,
        loaded.dataset,
        warm_start,
        evaluator=loaded.evaluator,
        watch=watch,
        time_limit=time_limit,
    )
    return Finished(write_run(record, out, replace=True), existed=False)

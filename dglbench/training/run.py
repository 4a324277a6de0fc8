"""One run from its spec to its folder: load, warm-start, train, write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from dglbench.errors import RunError
from dglbench.plugins import find_task
from dglbench.runs.out_folder import check_folder, make_folder
from dglbench.runs.record import RunOutput
from dglbench.runs.store import clean_partial, damage, read_record, run_folder, write_run
from dglbench.training import memory
from dglbench.training.compatibility import check_fit
from dglbench.training.evaluation import Loaded, load_data
from dglbench.training.spec import RunSpec
from dglbench.training.train import Progress, train
from dglbench.training.warm_start import fresh_predictor, load_or_train

__all__ = ["RunPlace", "run_to_folder", "run_to_memory"]


class RunPlace(NamedTuple):
    """Where the run is, and whether it was there before."""

    folder: Path
    existed: bool


def run_to_folder(
    spec: RunSpec,
    out: Path,
    *,
    force: bool = False,
    watch: Callable[[Progress], None] | None = None,
    time_limit: float | None = None,
) -> RunPlace:
    """Write what `run_to_memory` makes, unless the same run is there already."""
    folder = run_folder(out, spec.run_id)
    if not force and _stands(folder, spec):
        return RunPlace(folder, existed=True)
    check_folder(out)
    loaded = load_data(spec.data, spec.data_digest)
    check_fit(spec, loaded.dataset)  # refused before anything is written
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
    if spec.starts_warm:
        task, digest = find_task(spec.data.task), spec.data_digest
        warm_start = load_or_train(
            spec.predictor, task, loaded.dataset, spec.protocol, warm_starts, digest
        )
    else:  # refuse a predictor that does not fit before the run begins
        fresh_predictor(spec.predictor, find_task(spec.data.task), loaded.dataset, spec.train_seed)
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


def _stands(folder: Path, spec: RunSpec) -> bool:
    """Say whether a whole run is there that was not interrupted and lacks nothing asked for."""
    try:
        record = read_record(folder)
    except RunError:
        return False
    if record.state == "interrupted" or spec.lacks_diagnostics(record):
        return False
    return damage(folder, record) is None

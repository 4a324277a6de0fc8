"""How long a run may take where none has been made yet: from the project's reference runs.

``reference_pace.toml`` holds wall seconds an epoch (evaluation included) by setting, solver family
and method, on one thread; ``benchmarks/reference_pace.py`` writes it from ``results/reference``.
Other sizes are scaled from the nearest one by the number of instances and their size, and a family
without runs takes another's. Own data and tasks of plugins take the runs of whichever task is
nearest in size. So the estimate is rough and says the order of magnitude.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from dglbench.task import Dataset
from dglbench.training.spec import RunSpec

__all__ = ["FILE", "reference_seconds"]

FILE = "reference_pace.toml"


def reference_seconds(spec: RunSpec, dataset: Dataset | None = None) -> float | None:
    """Estimate a run's wall seconds, None for a method without reference runs.

    A task without reference runs needs its dataset, whose size is compared with other tasks'.
    """
    known = [
        (entry, per_epoch)
        for entry in _table()
        if (per_epoch := _of_method(entry["seconds"], spec.method)) is not None
    ]
    own = [pair for pair in known if pair[0]["task"] == spec.data.task]
    if own:
        settings = spec.data.settings
        instances = settings.train + settings.val + settings.test
        known, size, measure = own, settings.n, "n"
    elif known and dataset is not None:
        instances, size, measure = len(dataset.labels), dataset.problem.size, "size"
    else:
        return None

    def unlike(pair: tuple[dict[str, Any], float]) -> tuple[bool, float]:
        return pair[0]["solver"] != spec.solver, abs(math.log(pair[0][measure] / size))

    nearest, per_epoch = min(known, key=unlike)
    scale = size / nearest[measure] * instances / nearest["instances"]
    return float(per_epoch * spec.protocol.epochs * scale)


def _of_method(seconds: Mapping[str, float], method: str) -> float | None:
    """Return a method's seconds; a period that was not run takes the nearest one's."""
    if method in seconds:
        return seconds[method]
    stem, _, period = method.rpartition("-")
    if not period.isdigit():
        return None
    periods = {
        name: int(name.rpartition("-")[2])
        for name in seconds
        if name.startswith(f"{stem}-") and name.rpartition("-")[2].isdigit()
    }
    if not periods:
        return None
    return seconds[min(periods, key=lambda name: abs(periods[name] - int(period)))]


@functools.cache
def _table() -> list[dict[str, Any]]:
    text = resources.files("dglbench.sweep.plan").joinpath(FILE).read_text("utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text)["pace"]
    return entries

"""How long a run may take where none has been made yet: from the project's reference runs.

``reference_pace.toml`` holds wall seconds an epoch (evaluation included) by setting and
method, with OR-Tools on one thread; ``benchmarks/reference_pace.py`` writes it from
``results/reference``. Other sizes are scaled from the nearest one by the number of
instances and their size, so the estimate is rough and says the order of magnitude.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from dglbench.training.spec import RunSpec

__all__ = ["FILE", "reference_seconds"]

FILE = "reference_pace.toml"


def reference_seconds(spec: RunSpec) -> float | None:
    """Estimate a run's wall seconds, None for a task or method without reference runs."""
    task, settings = spec.data.task, spec.data.settings
    known = [entry for entry in _table() if entry["task"] == task]
    if not known:
        return None
    nearest = min(known, key=lambda entry: abs(entry["n"] - settings.n))
    per_epoch = _of_method(nearest["seconds"], spec.method)
    if per_epoch is None:
        return None
    instances = settings.train + settings.val + settings.test
    size = settings.n / nearest["n"]
    return float(per_epoch * spec.protocol.epochs * size * instances / nearest["instances"])


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
    text = resources.files("dglbench.sweep").joinpath(FILE).read_text("utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text)["pace"]
    return entries

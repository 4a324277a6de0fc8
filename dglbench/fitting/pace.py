"""How long a run takes, measured on a few instances before the time is spent.

Each method trains one epoch on at most `_SAMPLE` training instances; set-up and epoch grow with
the number of instances. So a fit says after a few seconds how many runs fit into the time, trains
fewer epochs where the first round would take too long, and leaves out what is too slow at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dglbench.fitting.kinds import BASELINES, Kind, side
from dglbench.task import Dataset
from dglbench.training.cost_model import SUBSET, decide_s, evaluates_all
from dglbench.training.spec import RunSpec
from dglbench.training.train import train
from dglbench.words import rough_seconds

__all__ = ["Budget", "fitting", "run_seconds", "usual_epochs"]

_SAMPLE = 32
_JUDGED = 8
_TRIAL_S = 10.0
FIRST_ROUND = 0.4
"""Share of the time that the first round may take."""
LONGEST_RUN = 1 / 3
"""Share of the time that one run may take."""
FEWEST_EPOCHS = 10
TYPICAL_EPOCHS = 60
"""After which training for accuracy has mostly ended: of twelve runs on own data nine had by 52."""


class Budget(NamedTuple):
    """What fits into the time."""

    epochs: int
    too_slow: tuple[str, ...]
    """Methods of which one run would take more than `LONGEST_RUN` of the time."""
    runs: int
    """About how many."""
    shortest_s: float
    """Of one run."""
    words: str


def run_seconds(kinds: Sequence[Kind], dataset: Dataset) -> dict[str, tuple[float, float]]:
    """Measure by method the seconds of a run's set-up and of an epoch, evaluation included.

    Methods without gradients are not measured.
    """
    small = _few(dataset)
    grows = len(dataset.rows("train")) / len(small.rows("train"))
    found: dict[str, tuple[float, float]] = {}
    for kind in kinds:
        spec = kind.spec
        if spec.method in found or spec.method in BASELINES:
            continue
        output = train(_short(spec), small, None, time_limit=_TRIAL_S)
        summary = output.record.summary
        if summary is None or not summary.epochs_run:  # even that took too long, or it failed
            found[spec.method] = (_TRIAL_S * grows, _TRIAL_S * grows)
            continue
        set_up = summary.setup_s or 0.0
        epoch = (summary.train_s - set_up) * grows
        found[spec.method] = (set_up * grows, epoch + _evaluation_s(spec, dataset))
    return found


def fitting(
    kinds: Sequence[Kind], measured: dict[str, tuple[float, float]], seconds: float, jobs: int
) -> Budget:
    """Return how many epochs let the first round fit, and what is too slow even so."""

    # Those that train for accuracy have epochs of their own, and end long before the last of them.
    own = {
        kind.spec.method: min(kind.spec.protocol.epochs, TYPICAL_EPOCHS)
        for kind in kinds
        if kind.own_epochs
    }

    def takes(method: str, epochs: int) -> float:
        set_up, epoch = measured.get(method, (0.0, 0.0))
        return set_up + own.get(method, epochs) * epoch

    usual = usual_epochs(kinds)
    methods = [kind.spec.method for kind in kinds if kind.spec.method in measured]
    round_s = sum(takes(method, usual) for method in methods)
    allowed = FIRST_ROUND * seconds * jobs
    epochs = usual
    if round_s > allowed:
        epochs = min(usual, max(int(usual * allowed / round_s), FEWEST_EPOCHS))
    each = {method: takes(method, epochs) for method in dict.fromkeys(methods)}
    # Those that train for accuracy end by themselves, long before their last epoch, and are what
    # the others are compared with: they are never left out.
    slow = tuple(
        method
        for method, took in each.items()
        if took > LONGEST_RUN * seconds and side(method) != "accurate"
    )
    left = [each[method] for method in methods if method not in slow]
    runs = int(seconds * jobs / max(sum(left) / len(left), 1e-3)) if left else 0
    shown = ", ".join(f"{method} {rough_seconds(took)}" for method, took in each.items())
    return Budget(epochs, slow, runs, min(each.values(), default=0.0), shown)


def usual_epochs(kinds: Sequence[Kind]) -> int:
    """Return the epochs of the kinds that share them; of all, if none do."""
    shared = [kind.spec.protocol.epochs for kind in kinds if not kind.own_epochs]
    return max(shared or [kind.spec.protocol.epochs for kind in kinds])


def _few(dataset: Dataset) -> Dataset:
    sizes = {"train": _SAMPLE, "val": _JUDGED, "test": _JUDGED}
    rows = np.sort(np.concatenate([dataset.rows(name)[:most] for name, most in sizes.items()]))
    return dataclasses.replace(
        dataset,
        problem=dataset.problem.take(rows),
        features=dataset.features[rows],
        labels=dataset.labels[rows],
        split=dataset.split[rows],
    )


def _short(spec: RunSpec) -> RunSpec:
    options = spec.options
    if hasattr(options, "start"):
        options = dataclasses.replace(options, start="fresh")
    protocol = dataclasses.replace(spec.protocol, epochs=1, evaluate_every=1)
    return dataclasses.replace(spec, options=options, protocol=protocol)


def _evaluation_s(spec: RunSpec, dataset: Dataset) -> float:
    """Estimate what evaluation adds to an epoch."""
    on_all = evaluates_all(dataset, spec.protocol)
    count = sum(
        number if on_all else min(number, SUBSET)
        for number in (len(dataset.rows("val")), len(dataset.rows("test")))
    )
    return count * decide_s(dataset.problem) / (spec.protocol.evaluate_every or 1)

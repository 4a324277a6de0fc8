"""How long a run takes, measured on a few instances before the time is spent.

Each method trains one epoch on at most `_SAMPLE` training instances; set-up and epoch grow with
the number of instances. So a fit says after a few seconds how many runs fit into the time. Where
the first round would take too long, runs are evaluated less often, then trained for fewer epochs;
methods that are too slow even so are left out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dglbench.fitting.kinds import BASELINES, Kind, side
from dglbench.task import Dataset
from dglbench.training.cost_model import SUBSET, decide_s, evaluates_all
from dglbench.training.spec import RunSpec
from dglbench.training.train import train
from dglbench.words import rough_seconds

__all__ = ["Budget", "Pace", "fitting", "run_seconds", "usual_epochs", "usual_period"]

_SAMPLE = 32
_JUDGED = 4
_TRIAL_S = 10.0
FIRST_ROUND = 0.4
"""Share of the time that the first round may take."""
LONGEST_RUN = 1 / 3
"""Share of the time that one run may take."""
FEWEST_EPOCHS = 10
FEWEST_EVALUATIONS = 4
"""Of a run, where exact decisions take more time than training."""
TYPICAL_EPOCHS = 60
"""After which training for accuracy has mostly ended: of twelve runs on own data nine had by 52."""


class Pace(NamedTuple):
    """Seconds of a method's run on all instances."""

    set_up: float
    epoch: float
    evaluation: float
    """Of one evaluation."""


class Budget(NamedTuple):
    """What fits into the time."""

    epochs: int
    every: int
    """Epochs between evaluations."""
    too_slow: tuple[str, ...]
    """Methods of which one run would take more than `LONGEST_RUN` of the time."""
    runs: int
    """About how many."""
    shortest_s: float
    """Of one run."""
    words: str


def run_seconds(kinds: Sequence[Kind], dataset: Dataset) -> dict[str, Pace]:
    """Measure by method what a run's set-up and an epoch take; what evaluations take is estimated.

    Methods without gradients are not measured.
    """
    small = _few(dataset)
    grows = len(dataset.rows("train")) / len(small.rows("train"))
    found: dict[str, Pace] = {}
    for kind in kinds:
        spec = kind.spec
        if spec.method in found or spec.method in BASELINES:
            continue
        output = train(_short(spec), small, None, time_limit=_TRIAL_S)
        summary, judged = output.record.summary, _evaluation_s(spec, dataset)
        if summary is None or not summary.epochs_run:  # even that took too long, or it failed
            found[spec.method] = Pace(_TRIAL_S * grows, _TRIAL_S * grows, judged)
            continue
        set_up = summary.setup_s or 0.0
        found[spec.method] = Pace(set_up * grows, (summary.train_s - set_up) * grows, judged)
    return found


def fitting(
    kinds: Sequence[Kind], measured: Mapping[str, Pace], seconds: float, jobs: int
) -> Budget:
    """Return how many epochs and evaluations let the first round fit, and what is too slow."""
    # Those that train for accuracy have epochs of their own, and end long before the last of them.
    own = {
        kind.spec.method: (
            min(kind.spec.protocol.epochs, TYPICAL_EPOCHS),
            kind.spec.protocol.evaluate_every or 1,
        )
        for kind in kinds
        if kind.own_epochs
    }

    def takes(method: str, epochs: int, every: int) -> float:
        set_up, epoch, evaluation = measured.get(method, Pace(0.0, 0.0, 0.0))
        epochs, every = own.get(method, (epochs, every))
        return set_up + epochs * epoch + math.ceil(epochs / every) * evaluation

    methods = [kind.spec.method for kind in kinds if kind.spec.method in measured]

    def round_s(epochs: int, every: int) -> float:
        return sum(takes(method, epochs, every) for method in methods)

    allowed = FIRST_ROUND * seconds * jobs
    epochs, every = usual_epochs(kinds), usual_period(kinds)
    while every < epochs // FEWEST_EVALUATIONS and round_s(epochs, every) > allowed:
        every += 1
    # Where training is not what takes the time, fewer epochs would save nothing.
    shared = [measured[method] for method in methods if method not in own]
    trained, judged = (sum(getattr(pace, of) for pace in shared) for of in ("epoch", "evaluation"))
    enough = math.ceil(FEWEST_EVALUATIONS * judged / trained) if trained else epochs
    while epochs > max(FEWEST_EPOCHS, enough) and round_s(epochs, every) > allowed:
        epochs -= 1
        every = min(every, max(epochs // FEWEST_EVALUATIONS, 1))
    each = {method: takes(method, epochs, every) for method in dict.fromkeys(methods)}
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
    return Budget(epochs, every, slow, runs, min(each.values(), default=0.0), shown)


def usual_epochs(kinds: Sequence[Kind]) -> int:
    """Return the epochs of the kinds that share them; of all, if none do."""
    shared = [kind.spec.protocol.epochs for kind in kinds if not kind.own_epochs]
    return max(shared or [kind.spec.protocol.epochs for kind in kinds])


def usual_period(kinds: Sequence[Kind]) -> int:
    """Return the epochs between evaluations of the kinds that share their epochs."""
    return max(
        [kind.spec.protocol.evaluate_every or 1 for kind in kinds if not kind.own_epochs] or [1]
    )


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
    """Estimate what one evaluation takes."""
    on_all = evaluates_all(dataset, spec.protocol)
    count = sum(
        number if on_all else min(number, SUBSET)
        for number in (len(dataset.rows("val")), len(dataset.rows("test")))
    )
    return count * decide_s(dataset.problem)

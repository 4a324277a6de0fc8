"""How long a run takes, measured on a few instances before the time is spent.

Each method trains one epoch on at most `_SAMPLE` training instances; set-up and epoch grow with
the number of instances. Exact decisions are measured too, because they take most of a run on
integer programs. So a fit says after a few seconds how many runs fit into the time. Where the
first round would take too long, runs are evaluated less often, then trained for fewer epochs;
methods that are too slow even so are left out. One run of the first decision-focused method is
made in any case, if need be with a single evaluation after its start.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dglbench.fitting.kinds import BASELINES, DECISION_FOCUSED, Kind, side
from dglbench.plugins import find_task
from dglbench.solvers import evaluation_solver
from dglbench.task import Dataset
from dglbench.training.cost_model import SUBSET, decide_s, evaluates_all
from dglbench.training.evaluation import Evaluator
from dglbench.training.spec import RunSpec
from dglbench.training.train import train
from dglbench.words import rough_seconds

__all__ = [
    "Budget",
    "Pace",
    "decision_seconds",
    "fitting",
    "run_seconds",
    "usual_epochs",
    "usual_period",
]

_SAMPLE = 32
_JUDGED = 2
_TRIAL_S, _TRIAL_SHARE = 10.0, 0.1
"""That a trial may take, and its share of the time."""
_MEASURED_S = 0.2
"""Solving for so long measures a decision well enough."""
FIRST_ROUND = 0.4
"""Share of the time that the first round may take."""
LONGEST_RUN = 1 / 3
"""Share of the time that one run may take."""
_SLOWER = 1.5
"""How much longer than estimated the first decision-focused run may take."""
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
    ends: float = 0.0
    """Of the start, and of what is judged on all instances after the last epoch."""


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
    longest_s: float
    """That a run may take."""
    both_sides_s: float
    """Of one run of each side, without which there is nothing to compare."""
    words: str


def decision_seconds(dataset: Dataset) -> float:
    """Measure an exact decision as evaluations make it, on more and more training instances.

    It is at least what the cost model expects: these decisions may be easier than those by
    predictions.
    """
    problem, rows = dataset.problem, dataset.rows("train")
    solver = evaluation_solver(find_task(dataset.spec.task), problem)
    values = problem.values(dataset.labels[rows])
    solver.decide(values[:1], rows[:1])  # the first call loads libraries
    count, took = 0, 0.0
    while took < _MEASURED_S and count < len(rows):
        count = min(4 * count or 1, len(rows))
        began = time.perf_counter()
        solver.decide(values[:count], rows[:count])
        took = time.perf_counter() - began
    return max(took / count, decide_s(problem))


def run_seconds(
    kinds: Sequence[Kind], dataset: Dataset, decision_s: float, seconds: float
) -> dict[str, Pace]:
    """Measure by method what a run's set-up and an epoch take; evaluations follow from a decision.

    Methods without gradients are not measured.
    """
    small = _few(dataset)
    evaluator = Evaluator(find_task(dataset.spec.task), small)
    grows = len(dataset.rows("train")) / len(small.rows("train"))
    most = min(_TRIAL_S, _TRIAL_SHARE * seconds)
    found: dict[str, Pace] = {}
    for kind in kinds:
        spec = kind.spec
        if spec.method in found or spec.method in BASELINES:
            continue
        for _ in range(1 if found else 2):  # the first call loads libraries
            output = train(_short(spec), small, None, evaluator=evaluator, time_limit=most)
        summary, judged = output.record.summary, _evaluations_s(spec, dataset, decision_s)
        if summary is None or not summary.epochs_run:  # even that took too long, or it failed
            found[spec.method] = Pace(most * grows, most * grows, *judged)
            continue
        set_up = summary.setup_s or 0.0
        found[spec.method] = Pace(set_up * grows, (summary.train_s - set_up) * grows, *judged)
    return found


def fitting(
    kinds: Sequence[Kind],
    measured: Mapping[str, Pace],
    seconds: float,
    jobs: int,
    once_s: float = 0.0,
    kept_s: float = 0.0,
) -> Budget:
    """Return how many epochs and evaluations let the first round fit, and what is too slow.

    ``once_s`` is what the true optima take, once for all runs; ``kept_s`` of the ``seconds`` are
    not for runs.
    """
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
        set_up, epoch, evaluation, ends = measured.get(method, Pace(0.0, 0.0, 0.0))
        epochs, every = own.get(method, (epochs, every))
        return set_up + epochs * epoch + math.ceil(epochs / every) * evaluation + ends

    def both_sides(epochs: int, every: int) -> float:
        # The first baseline is fitted in no time; judging it takes what a run's ends take.
        return once_s + takes(focused, epochs, every) + measured.get(focused, Pace(0, 0, 0)).ends

    methods = [kind.spec.method for kind in kinds if kind.spec.method in measured]
    focused = DECISION_FOCUSED[0]

    def round_s(epochs: int, every: int) -> float:
        return sum(takes(method, epochs, every) for method in methods)

    left_s = seconds - kept_s
    allowed = FIRST_ROUND * left_s * jobs - once_s
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
    while every < epochs and both_sides(epochs, every) > left_s:
        every += 1
    each = {method: takes(method, epochs, every) for method in dict.fromkeys(methods)}
    # Those that train for accuracy end by themselves, long before their last epoch, and are what
    # the others are compared with: they are never left out, and neither is the first of the others.
    slow = tuple(
        method
        for method, took in each.items()
        if took > LONGEST_RUN * seconds and side(method) != "accurate" and method != focused
    )
    left = [each[method] for method in methods if method not in slow]
    runs = int(left_s * jobs / max(sum(left) / len(left), 1e-3)) if left else 0
    shown = ", ".join(f"{method} {rough_seconds(took)}" for method, took in each.items())
    return Budget(
        epochs,
        every,
        slow,
        runs,
        shortest_s=min(each.values(), default=0.0),
        longest_s=max(LONGEST_RUN * seconds, _SLOWER * (once_s + each.get(focused, 0.0))),
        both_sides_s=both_sides(epochs, every),
        words=shown,
    )


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


def _evaluations_s(spec: RunSpec, dataset: Dataset, decision_s: float) -> tuple[float, float]:
    """Estimate what one evaluation takes, and what the start and the end take.

    Where evaluations look at a subset, the first, the selected and the last epoch are also judged
    on all instances.
    """
    numbers = [len(dataset.rows(split)) for split in ("val", "test")]
    every = sum(numbers) * decision_s
    if evaluates_all(dataset, spec.protocol):
        return every, every
    subset = sum(min(number, SUBSET) for number in numbers) * decision_s
    return subset, subset + 3 * every

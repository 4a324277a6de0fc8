"""How often a run is evaluated and how long its start is trained: from the sizes alone.

Evaluation is not timed, but it still costs wall time. By default the evaluations of a run are
to take no more than half of the training seconds of the cheapest method (a third of the run's
wall time), or 0.3 s: restarts and tuning are many short runs. What a solve and a step cost is
estimated, never measured, so that every method, machine and moment gets the same answer:

    step       2 µs + 0.02 µs · GS                  forward and backward pass, per instance
    decide     2 µs + 0.1 µs · GS                   paths, top-k, knapsacks of one row
               5 µs + 0.02 µs · GS · log2(GS)       other problems with integer vertices, up to
                                                    G·S³ = 100,000: solved as one batch
               5 µs + 0.7 µs · G + 0.2 µs · GS      beyond: min-cost flow, one by one
               65 µs · (GS + 100)                   integer programs
    relax      as decide; 1.6 µs · (GS + M + 50) for integer programs

G groups of S options, M rows. An evaluation decides for validation and test. Diagnostics, made on
request and outside the budget, relax training instances (the table ``duals``) and price validation
instances (``bound``); of each at most as many as are estimated to take a quarter of a second.

A run is evaluated at least ten times (every epoch if it has fewer than ten). Where that exceeds
the budget, evaluations look at a fixed subset of 50 instances per split; the first, the selected
and the last epoch are also judged on all.

The estimate leaves out the true optima and the regret of the start: the first run of a folder
pays for them, and runs that start from the same weights share them. Runs of few epochs on many
large instances may therefore still spend more time on evaluation than on training.

The warm start has at most 500 epochs, and no more than are estimated to take two minutes, but
at least 20.
"""

from __future__ import annotations

import dataclasses
import math

from dglbench.problem import Problem
from dglbench.task import Dataset
from dglbench.training.spec import Protocol

__all__ = [
    "SUBSET",
    "decide_s",
    "diagnosed_instances",
    "evaluates_all",
    "evaluation_period",
    "warm_start_epochs",
    "with_rhythm",
]

SUBSET = 50
"""Instances per split that an evaluation looks at where all would exceed the budget."""

_ALLOWED_S = 0.3
_FEWEST_EVALUATIONS = 10
_DIAGNOSED_S = 0.25  # for each of two tables: little beside the decisions
_WARM_START_S = 120.0
_FEWEST_EPOCHS, _MOST_EPOCHS = 20, 500
_SOLVED_IN_STEP = 100_000  # G · S³, as in `dglbench.solvers.batched_matching`


def with_rhythm(protocol: Protocol, dataset: Dataset) -> Protocol:
    """Fill in how often to evaluate and how long to train the start, where that is open."""
    if not protocol.is_open:
        return protocol
    problem = dataset.problem
    train, val, test = (len(dataset.rows(split)) for split in ("train", "val", "test"))
    every = evaluation_period(problem, train, val, test, protocol.epochs)
    return dataclasses.replace(
        protocol,
        evaluate_every=protocol.evaluate_every or every,
        warm_start_epochs=protocol.warm_start_epochs or warm_start_epochs(problem, train, val),
    )


def warm_start_epochs(problem: Problem, train: int, val: int) -> int:
    """Return the most epochs of the warm start; a forward pass is a third of a step."""
    epoch_s = (train + val / 3) * _step_s(problem)
    return min(max(int(_WARM_START_S / epoch_s), _FEWEST_EPOCHS), _MOST_EPOCHS)


def evaluation_period(problem: Problem, train: int, val: int, test: int, epochs: int) -> int:
    """Return the epochs between evaluations: as few as fit the budget, ten evaluations at least."""
    within_budget = math.ceil(epochs / _affordable(problem, train, val, test, epochs))
    return min(max(within_budget, 1), max(epochs // _FEWEST_EVALUATIONS, 1))


def evaluates_all(dataset: Dataset, protocol: Protocol) -> bool:
    """Say whether every evaluation looks at all instances, or most of them at `SUBSET` per split.

    So it does where the budget allows as many evaluations as the protocol asks for.
    """
    train, val, test = (len(dataset.rows(split)) for split in ("train", "val", "test"))
    affordable = _affordable(dataset.problem, train, val, test, protocol.epochs)
    asked = protocol.epochs / (protocol.evaluate_every or 1)
    return max(val, test) <= SUBSET or asked <= affordable


def _affordable(problem: Problem, train: int, val: int, test: int, epochs: int) -> float:
    """Return how many evaluations on all instances the budget allows."""
    cost = (val + test) * decide_s(problem)
    return max(_ALLOWED_S, epochs * train * _step_s(problem) / 2) / cost


def diagnosed_instances(problem: Problem) -> int:
    """Return how many instances of a split, the first ones, the diagnostics look at."""
    return max(int(_DIAGNOSED_S / _relax_s(problem)), 1)


def decide_s(problem: Problem) -> float:
    """Estimate the seconds of one exact decision."""
    if problem.is_path or problem.is_top_k or problem.is_knapsack:
        return 2e-6 + 1e-7 * problem.size
    if problem.is_integral and problem.size * problem.options**2 > _SOLVED_IN_STEP:
        return 5e-6 + 7e-7 * problem.groups + 2e-7 * problem.size
    if problem.is_integral:
        return 5e-6 + 2e-8 * problem.size * math.log2(max(problem.size, 2))
    return 65e-6 * (problem.size + 100)


def _relax_s(problem: Problem) -> float:
    if problem.is_integral or problem.is_knapsack:
        return decide_s(problem)
    return 1.6e-6 * (problem.size + problem.rows + 50)


def _step_s(problem: Problem) -> float:
    return 2e-6 + 2e-8 * problem.size

"""Small runs: every registered task, method and solver family, at a size that trains in a blink."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

from dglbench.errors import DglbenchError
from dglbench.options import describe
from dglbench.plugins import METHODS as METHOD_GROUP
from dglbench.plugins import SOLVERS as SOLVER_GROUP
from dglbench.plugins import TASKS as TASK_GROUP
from dglbench.plugins import find_method, find_solver, find_task, plugins
from dglbench.sweep.request.defaults import resolve_data
from dglbench.sweep.request.specs import single_run
from dglbench.training.evaluation import load_data
from dglbench.training.train import train
from dglbench.training.warm_start import load_or_train

# Sizes and rates that learn from 40 instances in a few epochs; the paper's rates suit 400.
# Where decisions are integer programs, ten milliseconds each, there are fewer instances.
FEW = {"train": 24, "val": 8, "test": 8}
SMALL: dict[str, dict[str, Any]] = {
    "knapsack": {"n": 10},
    "multi-knapsack": FEW,
    "offers": FEW,
    "shortest-path": {"n": 3},
    "top-k": {"k": 2},
    "transport": {"destinations": 3},
    "terrain": {"n": 6, "train": 32, "val": 24, "test": 8, "light": 0.1, "noise": 0.05},
    "cora": {"n": 8, "source": "made", "p": 0.1, "q": 0.1, **FEW},
    "scheduling": {"n": 4, "load": "drawn", "machines": 2, "slots": 8, **FEW},
}
RATES = {"knapsack": 0.01, "terrain": 0.02, "cora": 0.01}
# A line can only rise or fall; a small network has something to learn from every loss.
PREDICTORS = {"top-k": "mlp:hidden=8", "terrain": "cnn:channels=4", "cora": "mlp:hidden=32"}
# What single methods need to learn, or to be done soon, at these sizes.
METHOD_OPTIONS: dict[str, dict[str, Any]] = {
    "lodl": {"samples": 20},
    "pyepo-rfwo": {"max_iter": 5},
    "pyepo-rfyl": {"max_iter": 5},
}
OPTIONS: dict[tuple[str, str], dict[str, Any]] = {
    # Prices five epochs old teach the network the level of all scores and not their order,
    # which alone decides: its decisions stay what they were. Squared errors show it the order.
    ("top-k", "rdgl-5"): {"alpha": 0.5},
    ("terrain", "rdgl-auto"): {"alpha": 0.5},
    # Ways have many bases, of which only some are visited: a wider margin leaves a signal.
    ("terrain", "lava"): {"margin": 1.0, "lr": 0.01},
    # The mean of what binds at a way is nearly that of all bounds: ten epochs want projections too.
    ("terrain", "cave-hybrid"): {"solve_ratio": 0.6},
    # The untrained weights decide well there by luck: at these rates ten epochs get past them.
    ("matching", "dgl-1"): {"lr": 0.1},
    ("matching", "pyepo-imle"): {"lr": 0.1},
    ("knapsack", "pyepo-nid"): {"lr": 0.005},
    ("top-k", "dgl-none"): {"lr": 0.2},
    # Their smooth decision is at a vertex there for the default μ, and has no gradient.
    ("scheduling", "qptl"): {"mu": 1.0},
    ("terrain", "qptl"): {"mu": 1.0},
    ("terrain", "qptl-dual"): {"mu": 1.0},
}


def names(group):
    """Every name that can be asked for; a method with a number in its name at 1 and 5."""
    loaded = [plugin.name for plugin in plugins(group) if plugin.error is None]
    return tuple(
        written
        for name in loaded
        for written in (
            (f"{name[:-1]}1", f"{name[:-1]}5")
            if group == METHOD_GROUP and name.endswith("-U")
            else (name,)
        )
    )


def small_settings(task):
    """Few small instances, by the names most settings have."""
    small = {"n": 8, "train": 40, "val": 30, "test": 30, **SMALL.get(task, {})}
    known = {field.name for field in dataclasses.fields(find_task(task).Settings)}
    return {name: value for name, value in small.items() if name in known}


TASKS = {task: small_settings(task) for task in names(TASK_GROUP)}
# What is fitted at once has no epochs: tests/methods/test_fitted.py is about those.
FITTED = tuple(name for name in names(METHOD_GROUP) if find_method(name).cls.fits)
# PyEPO's losses are thirteen more and share one adapter: two tasks see all of them.
METHODS = tuple(
    name for name in names(METHOD_GROUP) if not name.startswith("pyepo-") and name not in FITTED
)
PYEPO_METHODS = tuple(name for name in names(METHOD_GROUP) if name.startswith("pyepo-"))
PYEPO_TASKS = ("matching", "knapsack")
SOLVERS = names(SOLVER_GROUP)
ASKING = ("spo", "dgl-5", "rdgl-auto")
"""Between them they ask a solver for all it answers; with these every family is tried."""


@functools.cache
def refusal(task, method, solver):
    """Say why a method or a solver cannot serve a task; None if it can."""
    plugin = find_task(task)
    problem = load_data(resolve_data(plugin, TASKS[task], 25)).dataset.problem
    try:
        find_solver(solver).build(plugin, problem)
    except DglbenchError as error:
        return str(error)
    return find_method(method).cls.refuses(problem)


def served():
    """Every task with every method and with every solver family, where they go together.

    All methods with the fastest family and all families with the methods in `ASKING`: a method
    sees nothing of a family but its answers, and those have tests of their own.
    """
    asked = [(t, m, fastest(t)) for t in TASKS for m in METHODS]
    asked += [(t, m, fastest(t)) for t in PYEPO_TASKS for m in PYEPO_METHODS]
    asked += [(t, m, s) for t in TASKS for s in SOLVERS if s != fastest(t) for m in ASKING]
    return [one for one in asked if not refusal(*one)]


def also_served():
    """All other combinations of task, method and solver family that go together."""
    known = {
        *served(),
        # The point at which a first-order method ends need be no vertex; LAVA says so.
        ("scheduling", "lava", "pdlp"),
        ("cora", "lava", "pdlp"),
        # Without a warm start they stay where they are: their decisions hardly change there.
        *(("top-k", f"pyepo-{name}", s) for name in ("nce", "nid", "pg") for s in SOLVERS),
        # Untrained weights are within half a percent there.
        *(("scheduling", "pyepo-nid", s) for s in SOLVERS),
    }
    asked = [(t, m, s) for t in TASKS for m in (*METHODS, *PYEPO_METHODS) for s in SOLVERS]
    return [one for one in asked if one not in known and not refusal(*one)]


def fastest(task):
    """The batched solvers where the task has one."""
    return "ortools" if refusal(task, "two-stage", "batched") else "batched"


class Ran(NamedTuple):
    """A run that was asked for, and what it left."""

    spec: Any
    record: Any
    tables: Any
    weights: Any


def start_option(method, start):
    """The option ``start``, for a method that has it."""
    names = {info.name for info in describe(find_method(method).cls.Options)}
    return {"start": start} if start and "start" in names else {}


def make_spec(
    task,
    method,
    solver=None,
    *,
    seed=25,
    options=None,
    threads=1,
    start=None,
    predictor=None,
    diagnostics=True,
    **protocol,
):
    given = {"epochs": 10, "batch_size": 16, "warm_start_epochs": 30, **protocol}
    return single_run(
        task,
        method,
        settings=TASKS[task],
        seed=seed,
        options={
            **({} if method in FITTED else {"lr": RATES.get(task, 0.05)}),
            **METHOD_OPTIONS.get(method, {}),
            **OPTIONS.get((task, method), {}),
            **start_option(method, start),
            **(options or {}),
        },
        solver=solver or fastest(task),
        threads=threads,
        predictor=predictor or PREDICTORS.get(task),
        diagnostics=diagnostics,
        **given,
    )


def run(spec, **keywords):
    plugin, loaded = find_task(spec.data.task), load_data(spec.data)
    warm = None
    if spec.starts_warm:
        warm = load_or_train(spec.predictor, plugin, loaded.dataset, spec.protocol, None)
    output = train(
        spec,
        loaded.dataset,
        warm,
        evaluator=loaded.evaluator,
        **keywords,
    )
    return Ran(spec, output.record, output.tables, output.weights)

"""Small runs: every task, method and solver family at a size that trains in a blink."""

from __future__ import annotations

from typing import Any, NamedTuple

from dglbench.plugins import find_task
from dglbench.training.evaluation import load_data
from dglbench.training.resolve import resolve_data, resolve_protocol, resolve_run
from dglbench.training.train import train
from dglbench.training.warm_start import load_or_train

TASKS = {
    "matching": {"n": 8, "train": 40, "val": 30, "test": 30},
    "knapsack": {"n": 10, "train": 40, "val": 30, "test": 30},
}
METHODS = ("two-stage", "spo", "qptl", "dgl-none", "dgl-1", "dgl-5", "dgl-auto")
SOLVERS = ("ortools", "batched")
# The paper's rates suit 400 instances; these learn from 40 in a few epochs.
RATES = {"matching": 0.05, "knapsack": 2.0}


class Ran(NamedTuple):
    """A run that was asked for, and what it left."""

    spec: Any
    record: Any
    tables: Any
    weights: Any


def make_spec(task, method, solver="batched", *, seed=25, options=None, threads=1, **protocol):
    plugin = find_task(task)
    given = {"epochs": 10, "batch_size": 16, "warm_start_epochs": 30, **protocol}
    return resolve_run(
        resolve_data(plugin, TASKS[task], seed),
        method,
        given_options={"lr": RATES[task], **(options or {})},
        protocol=resolve_protocol(plugin, given),
        solver=solver,
        threads=threads,
    )


def run(spec, **keywords):
    plugin, loaded = find_task(spec.data.task), load_data(spec.data)
    warm = load_or_train(plugin, loaded.dataset, spec.protocol, None)
    output = train(
        spec,
        loaded.dataset,
        warm if spec.protocol.warm_start else None,
        evaluator=loaded.evaluator,
        **keywords,
    )
    return Ran(spec, output.record, output.tables, output.weights)

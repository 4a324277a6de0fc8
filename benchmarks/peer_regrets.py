"""Regrets of the same predictions on PyEPO's data: by PyEPO's own metric and by dglbench.

For each grid and for the knapsack the data are PyEPO's, the predictor is one of PyEPO's users,
a linear model fitted by least squares, and both sides see the same predictions, rounded to the
single precision that PyEPO keeps. PyEPO's number is `pyepo.metric.regret`: Σ regret / Σ |z*|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pyepo.data.dataset import optDataset
from pyepo.metric import regret
from pyepo.model.ort import knapsackModel, shortestPathModel
from rich.console import Console
from rich.table import Table
from torch.utils.data import DataLoader

from dglbench.plugins import find_task
from dglbench.solvers import evaluation_solver, make_solver
from dglbench.task import Dataset

__all__ = ["SAME", "RegretRow", "compare_regrets"]

SAME = 1e-6
SEED = 25
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("shortest-path", {"n": 5}),
    ("shortest-path", {"n": 10}),
    ("multi-knapsack", {"n": 32}),
)


@dataclass(frozen=True)
class RegretRow:
    """One task, one kind of decision, two numbers for the same predictions."""

    setting: str
    decisions: str
    """exact: integer optima; relaxed: optima of the linear programming relaxation."""
    instances: int
    theirs: float
    """By PyEPO's solver and metric."""
    ours: float
    """By dglbench's solver, judged as `dglbench train` does."""

    @property
    def difference(self) -> float:
        """How far apart the two are."""
        return abs(self.theirs - self.ours)


class Fixed(torch.nn.Module):
    """A predictor in name only: its features are the predictions."""

    def forward(self, predictions: torch.Tensor) -> torch.Tensor:
        """Return what it is given."""
        return predictions


def compare_regrets(console: Console, test: int = 200) -> list[RegretRow]:
    """Judge the predictions of least squares on ``test`` instances a case, by both."""
    rows = []
    for name, settings in CASES:
        task = find_task(name)
        given = task.parse_settings({**settings, "train": 500, "val": 1, "test": test})
        dataset = task.generate(given, SEED)
        predictions = _least_squares(dataset)
        for decisions in ("exact", "relaxed"):
            ours = _ours(dataset, predictions, decisions)
            theirs = _theirs(dataset, predictions, decisions)
            label = dataset.spec.setting_name
            rows.append(RegretRow(label, decisions, test, theirs, ours))
    _show(rows, console)
    return rows


def _least_squares(dataset: Dataset) -> Any:
    """Fit a line to the train split; predictions of the test split as single precision numbers."""
    train, test = dataset.rows("train"), dataset.rows("test")
    inputs = np.column_stack([dataset.features, np.ones(len(dataset.features))])
    weights = np.linalg.lstsq(inputs[train], dataset.labels[train], rcond=None)[0]
    return (inputs[test] @ weights).astype(np.float32)


def _ours(dataset: Dataset, predictions: Any, decisions: str) -> float:
    task, problem, rows = find_task(dataset.spec.task), dataset.problem, dataset.rows("test")
    exact = evaluation_solver(task, problem)
    solver = make_solver("ortools", task, problem) if decisions == "relaxed" else exact
    solve = solver.relax if decisions == "relaxed" else solver.decide
    true = problem.values(dataset.labels[rows])
    best = (true * solve(true, rows)).sum(axis=(1, 2))
    taken = solve(problem.values(predictions.astype(np.float64)), rows)
    lost = best - (true * taken).sum(axis=(1, 2))
    return float(lost.sum() / np.abs(best).sum())


def _theirs(dataset: Dataset, predictions: Any, decisions: str) -> float:
    settings, labels = dataset.spec.settings, dataset.labels[dataset.rows("test")]
    # Flow variables between 0 and 1 are all that PyEPO's model has: GLOP solves the relaxation,
    # SCIP the same program by branch and bound; both end at a path.
    solver = "scip" if decisions == "exact" else "glop"
    model: Any
    if dataset.spec.task == "shortest-path":
        model = shortestPathModel(settings.grid, solver)
    else:
        weights, capacity = np.array(dataset.constants["weights"]), np.array(dataset.problem.b)
        model = knapsackModel(weights, capacity, solver)
        model = model.relax() if decisions == "relaxed" else model
    if decisions == "exact":  # by default SCIP stops within 0.01 % of the optimum
        model._model.SetSolverSpecificParametersAsString("limits/gap = 0")
    labelled = optDataset(model, predictions, labels.astype(np.float32))
    return float(regret(Fixed(), model, DataLoader(labelled, batch_size=100)))


def _show(rows: list[RegretRow], console: Console) -> None:
    table = Table(title="Regret of the same predictions, Σ regret / Σ |z*|")
    for name in ("setting", "decisions", "instances", "pyepo.metric.regret", "dglbench", "differs"):
        table.add_column(name, justify="left" if name in ("setting", "decisions") else "right")
    for row in rows:
        table.add_row(row.setting, row.decisions, f"{row.instances}", f"{row.theirs:.9f}",
                      f"{row.ours:.9f}", f"{row.difference:.1e}")  # fmt: skip
    console.print(table)

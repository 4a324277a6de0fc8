"""How good decisions are: regret against the true optimum, off the clock."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dglbench.data.source import load_dataset
from dglbench.errors import SolverError
from dglbench.plugins import find_task
from dglbench.problem import Array, Mask, Problem
from dglbench.solvers import Solver, evaluation_solver
from dglbench.statistics import SMALLEST_VALUE
from dglbench.task import Dataset, Task, TaskSpec

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["Evaluation", "Evaluator", "SplitEvaluator"]

# Sums over groups are right to about 1e-13 of the sum of their terms' sizes; far from a wrong
# decision, which costs some term.
_ROUNDING = 1e-9


class Evaluation(NamedTuple):
    """The decisions' worth on one split."""

    optimal: Array
    """(K,): f*, the true value of the best decision, in the task's own sense and unit."""
    achieved: Array
    """(K,): f, the true value of the decision the predictions led to."""
    mse: float
    """Mean squared error of what is predicted, in label units."""
    minimised: bool = False
    """Whether the task minimises, so that f ≥ f*."""

    @property
    def regret(self) -> Array:
        """(K,): how much worse f is than f*: f* − f, or f − f* where the task minimises.

        Negative only within rounding and the evaluation solver's own error.
        """
        return self.achieved - self.optimal if self.minimised else self.optimal - self.achieved

    @property
    def relative(self) -> Array:
        """(K,): regret over |f*|."""
        return self.regret / np.maximum(np.abs(self.optimal), SMALLEST_VALUE)

    def metrics(self) -> dict[str, Any]:
        """Return the four figures that are logged."""
        size = max(float(np.abs(self.optimal).sum()), SMALLEST_VALUE)
        return {
            "relative_regret": float(self.relative.mean()),
            "pooled_regret": float(self.regret.sum() / size),
            "absolute_regret": float(self.regret.mean()),
            "mse": self.mse,
        }


@dataclass
class SplitEvaluator:
    """Judges predictors on one split."""

    instances: np.ndarray[Any, np.dtype[np.intp]]
    features: torch.Tensor
    labels: Array
    """(K, …): parameters, as the dataset holds them."""
    solver: Solver
    problem: Problem
    """Of all instances of the dataset, as the solver's."""

    @cached_property
    def values(self) -> Array:
        """(K, G, S): true option values, to maximise."""
        return self.problem.values(self.labels)

    @cached_property
    def optimal(self) -> Array:
        """True value of the best decision, solved once."""
        return self._worth(self.values)

    @cached_property
    def _counted(self) -> Mask:
        return self.problem.take(self.instances).counted

    def predict(self, predictor: nn.Module) -> Array:
        """Return the predictions for the split, in label units."""
        import torch

        with torch.no_grad():
            return predictor(self.features).numpy()  # type: ignore[no-any-return]

    def judge(self, predictions: Array) -> Evaluation:
        """Decide by the predictions, then value the decisions by the truth."""
        achieved = self._worth(self.problem.values(predictions))
        minimised = self.problem.sense == "minimise"
        error = predictions - self.labels
        shared = self._counted.ndim < error.ndim
        error = error[:, self._counted] if shared else error[self._counted]
        outcome = Evaluation(self.optimal, achieved, float(np.mean(np.square(error))), minimised)
        self._check(outcome)
        return outcome

    def _worth(self, values: Array) -> Array:
        """What the best decisions for these values are truly worth."""
        decisions = self.solver.decide(values, self.instances)
        return self.problem.objective(self.values, decisions)

    @cached_property
    def _allowance(self) -> Array:
        """(K,): how far a decision may come out above the best one found."""
        existing = np.where(self.problem.take(self.instances).mask, self.values, 0.0)
        size = np.abs(existing).max(axis=2).sum(axis=1)
        allowance: Array = self.solver.decision_error(existing) + _ROUNDING * size
        return allowance

    def _check(self, outcome: Evaluation) -> None:
        """Refuse decisions better than the best: the solver that judges is wrong."""
        beyond = np.flatnonzero(-outcome.regret > self._allowance)
        if beyond.size:
            k = int(beyond[0])
            raise SolverError(
                f"instance {self.instances[k]}: the decision taken is worth "
                f"{outcome.achieved[k]:.12g}, better than the optimum {self.optimal[k]:.12g}, so "
                f"{type(self.solver).__name__}, which found both for the evaluation, is wrong; "
                "mend that solver."
            )


class Evaluator:
    """Judges predictors on validation and test with one exact solver for every run of a task."""

    def __init__(self, task: Task, dataset: Dataset) -> None:
        import torch

        self.solver = evaluation_solver(task, dataset.problem)
        self.splits = {
            split: SplitEvaluator(
                instances=dataset.rows(split),
                features=torch.from_numpy(dataset.features[dataset.rows(split)]),
                labels=dataset.labels[dataset.rows(split)],
                solver=self.solver,
                problem=dataset.problem,
            )
            for split in ("val", "test")
        }


class Loaded(NamedTuple):
    """A dataset and the evaluator that knows its optima; shared by runs of one process."""

    dataset: Dataset
    evaluator: Evaluator


@lru_cache(maxsize=4)
def load_data(data: TaskSpec, digest: str | None = None) -> Loaded:
    """Load a dataset and prepare to judge by it; kept for the next run of this process."""
    dataset = load_dataset(data, digest)
    return Loaded(dataset, Evaluator(find_task(data.task), dataset))

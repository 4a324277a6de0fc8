"""How good decisions are: regret against the true optimum, off the clock."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dglbench.data.source import load_dataset
from dglbench.plugins import find_task
from dglbench.problem import Array, Mask, Problem
from dglbench.solvers import evaluation_solver
from dglbench.streams import stream
from dglbench.task import Dataset, Task, TaskSpec

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["Evaluation", "Evaluator", "SplitEvaluator", "bootstrap_interval"]

# Relative regret divides by |f*|; an instance whose best value is 0 would divide by nothing.
_SMALLEST_VALUE = 1e-12


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
        """(K,): how much worse f is than f*; never negative beyond rounding."""
        lost = self.achieved - self.optimal if self.minimised else self.optimal - self.achieved
        return np.maximum(lost, 0.0)

    @property
    def relative(self) -> Array:
        """(K,): regret over |f*|."""
        return self.regret / np.maximum(np.abs(self.optimal), _SMALLEST_VALUE)

    def metrics(self) -> dict[str, Any]:
        """Return the four figures that are logged."""
        size = max(float(np.abs(self.optimal).sum()), _SMALLEST_VALUE)
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
    solver: Any
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
        error = predictions - self.labels
        shared = self._counted.ndim < error.ndim
        error = error[:, self._counted] if shared else error[self._counted]
        mse = float(np.mean(np.square(error)))
        return Evaluation(self.optimal, achieved, mse, self.problem.sense == "minimise")

    def _worth(self, values: Array) -> Array:
        """What the best decisions for these values are truly worth."""
        decisions = self.solver.decide(values, self.instances)
        return self.problem.objective(self.values, decisions)


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


def bootstrap_interval(
    values: Array, *, level: float = 0.95, resamples: int = 2000
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean over instances."""
    draws = stream(0, "bootstrap").integers(0, len(values), (resamples, len(values)))
    means = values[draws].mean(axis=1)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)

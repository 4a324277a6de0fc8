"""How good decisions are: regret against the true optimum, off the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dglbench.data.loading import load_dataset
from dglbench.errors import SolverError
from dglbench.plugins import find_task
from dglbench.problem import Array, Mask, Problem
from dglbench.solvers import Solver, evaluation_solver
from dglbench.statistics import SMALLEST_VALUE
from dglbench.task import Dataset, Task, TaskSpec
from dglbench.training.cost_model import decide_s
from dglbench.training.shared_answers import SharedAnswers

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
    name: str = ""
    shared: SharedAnswers | None = None
    """Where what all runs of the dataset need is kept, if anywhere."""

    @cached_property
    def values(self) -> Array:
        """(K, G, S): true option values, to maximise."""
        return self.problem.values(self.labels)

    @cached_property
    def optimal(self) -> Array:
        """True value of the best decision, solved once."""
        return self.once("optimal", lambda: self._worth(self.values))

    def once(self, what: str, solve: Callable[[], Array]) -> Array:
        """Solve what does not depend on the run, or take what an earlier run solved."""
        if self.shared is None:
            return solve()
        reckoned = len(self.instances) * decide_s(self.problem)
        return self.shared.get(f"{what}-{self.name}", reckoned, solve)

    @cached_property
    def _counted(self) -> Mask:
        return self.problem.take(self.instances).counted

    def predict(self, predictor: nn.Module) -> Array:
        """Return the predictions for the split, in label units."""
        import torch

        kind = next((weight.dtype for weight in predictor.parameters()), self.features.dtype)
        with torch.no_grad():
            predicted = predictor(self.features.to(kind)).to(torch.float64)
        return predicted.numpy()  # type: ignore[no-any-return]

    def judge(self, predictions: Array, start: str | None = None) -> Evaluation:
        """Decide by the predictions, then value the decisions by the truth.

        ``start`` names predictions that other runs have too: those of a shared warm start.
        """

        def worth() -> Array:
            return self._worth(self.problem.values(predictions))

        achieved = worth() if start is None else self.once(start, worth)
        minimised = self.problem.sense == "minimise"
        error = predictions - self.labels
        shared = self._counted.ndim < error.ndim
        if shared and self._counted.all():
            error = error.reshape(len(error), -1)
        else:
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

        self._task, self._data = task, dataset.spec
        self._val_label_duals: Array | None = None
        self.solver = evaluation_solver(task, dataset.problem)
        self.splits = {
            split: SplitEvaluator(
                instances=dataset.rows(split),
                features=torch.from_numpy(dataset.part(dataset.features, split)),
                labels=dataset.part(dataset.labels, split),
                solver=self.solver,
                problem=dataset.problem,
                name=split,
            )
            for split in ("val", "test")
        }

    def share(self, folder: Path, digest: str | None) -> None:
        """Keep in this folder, for other runs and processes, what they need of the dataset."""
        shared = SharedAnswers(folder, self._task, self._data, digest, self.solver)
        for judge in self.splits.values():
            judge.shared = shared

    def val_label_duals(self, scale: float, count: int) -> Array:
        """(count, M): optimal duals of the first validation labels over ``scale``, solved once."""
        judge = self.splits["val"]
        known = self._val_label_duals
        if known is None or len(known) != count:
            known = judge.once(
                f"label-duals-{count}",
                lambda: self.solver.duals(judge.values[:count] / scale, judge.instances[:count]),
            )
            self._val_label_duals = known
        return known


class Loaded(NamedTuple):
    """A dataset and the evaluator that knows its optima; shared by runs of one process."""

    dataset: Dataset
    evaluator: Evaluator


def load_data(data: TaskSpec, digest: str | None = None) -> Loaded:
    """Load a dataset and prepare to judge by it; kept as long as the dataset is at hand."""
    dataset = load_dataset(data, digest)
    if dataset not in _evaluators:
        _evaluators[dataset] = Evaluator(find_task(data.task), dataset)
    return Loaded(dataset, _evaluators[dataset])


_evaluators: WeakKeyDictionary[Dataset, Evaluator] = WeakKeyDictionary()

"""How good decisions are: their regret against the true optimum; evaluation is not timed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from dglbench.data.loading import load_dataset
from dglbench.errors import SolverError
from dglbench.plugins import find_task
from dglbench.problem import Array, Mask, Problem
from dglbench.solvers import Solver, evaluation_solver
from dglbench.statistics import MOST_EXCLUDED, SMALLEST_VALUE, has_relative_regret
from dglbench.streams import stream
from dglbench.task import Dataset, Task, TaskSpec
from dglbench.training.cost_model import SUBSET, decide_s
from dglbench.training.predictor import predict
from dglbench.training.shared_answers import SharedAnswers

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["Evaluation", "Evaluator", "Loaded", "SplitEvaluator", "load_data"]

Rows = np.ndarray[Any, np.dtype[np.intp]]
Choices = npt.NDArray[np.unsignedinteger[Any]]

# Sums over groups are right to about 1e-13 of the sum of their terms' sizes; far from a wrong
# decision, which costs some term.
_ROUNDING = 1e-9


class Evaluation(NamedTuple):
    """What the decisions on one split are worth."""

    optimal: Array
    """(K,): f*, the true value of the best decision, in the task's own sense and unit; a bound
    on it where the search for it was stopped."""
    achieved: Array
    """(K,): f, the true value of the decision the predictions led to."""
    mse: float
    """Mean squared error of what is predicted, in label units."""
    minimised: bool = False
    """Whether the task minimises, so that f ≥ f*."""
    divided: Mask | None = None
    """(K,): the instances that have a relative regret; None for all."""
    choices: Choices | None = None
    """(K, G): the option taken in each group."""
    gaps: Array | None = None
    """(K,): how far the best decision found is from f*, where f* is a bound; 0 elsewhere."""
    added: float = 0.0
    """What the data's published figures add to Σ |f*| (`Task.added_to_optima`)."""

    @property
    def regret(self) -> Array:
        """(K,): how much worse f is than f*: f* − f, or f − f* where the task minimises.

        Negative only within rounding and the evaluation solver's own error.
        """
        return self.achieved - self.optimal if self.minimised else self.optimal - self.achieved

    @property
    def relative(self) -> Array:
        """Regret over |f*|, of the instances that have one."""
        rows = slice(None) if self.divided is None else self.divided
        return self.regret[rows] / np.abs(self.optimal[rows])

    @property
    def sizes(self) -> Array:
        """(K,): what pooled regret divides by, in sum: |f*|, and an equal share of ``added``."""
        return np.abs(self.optimal) + self.added / len(self.optimal)

    def metrics(self) -> dict[str, Any]:
        """Return the figures that are logged; a mean over no instance is NaN."""
        size = max(float(np.abs(self.optimal).sum()) + self.added, SMALLEST_VALUE)
        relative = self.relative
        return {
            "relative_regret": float(relative.mean()) if relative.size else math.nan,
            "pooled_regret": float(self.regret.sum() / size),
            "absolute_regret": float(self.regret.mean()),
            "mse": self.mse,
            "optimum_gap": 0.0 if self.gaps is None else float(self.gaps.sum() / size),
        }


@dataclass
class SplitEvaluator:
    """Judges predictors on one split, or on some instances of it."""

    instances: Rows
    features: torch.Tensor
    labels: Array
    """(K, …): parameters, as the dataset holds them."""
    solver: Solver
    problem: Problem
    """Of all instances of the dataset, as the solver's."""
    name: str = ""
    shared: SharedAnswers | None = None
    """Where what all runs of the dataset need is kept, if anywhere."""
    whole: SplitEvaluator | None = None
    """The evaluator of the whole split, where this is one of some instances."""
    added: float = 0.0
    """See `Evaluation.added`."""

    @cached_property
    def values(self) -> Array:
        """(K, G, S): true option values, to maximise."""
        return self.problem.values(self.labels)

    @cached_property
    def optima(self) -> Array:
        """(2, K): true values of the best decisions or bounds on them, and `gaps`; solved once."""
        solved: Array = self.once("optima", self._solve_optima)
        return solved

    def _solve_optima(self) -> Array:
        found = self.solver.decide_bounded(self.values, self.instances)
        worth = self.worth(found.x.argmax(axis=2))
        reached = worth if self.problem.sense == "maximise" else -worth
        better = found.bound - reached
        # Sums in another order differ by rounding.
        gaps = np.where(better > _ROUNDING * np.abs(reached), better, 0.0)
        return np.stack([worth + (gaps if self.problem.sense == "maximise" else -gaps), gaps])

    @property
    def optimal(self) -> Array:
        """(K,): true values of the best decisions, bounds where the search was stopped."""
        best: Array = self.optima[0]
        return best

    @property
    def gaps(self) -> Array:
        """(K,): how far the best decision found is from such a bound; 0 where it is the best."""
        gaps: Array = self.optima[1]
        return gaps

    @cached_property
    def divided(self) -> Mask:
        """(K,): the instances that have a relative regret, by the optima alone."""
        return has_relative_regret(self.optimal)

    @property
    def bounds(self) -> int:
        """How many of the optima are bounds."""
        return int((self.gaps > 0).sum())

    @property
    def excluded(self) -> int:
        """How many instances have an optimum too near 0 for a relative regret."""
        return int((~self.divided).sum())

    def part(self, rows: Rows) -> SplitEvaluator:
        """Return the evaluator of these rows of the split; the split's optima stay its own."""
        part = SplitEvaluator(
            self.instances[rows],
            self.features[rows],
            self.labels[rows],
            self.solver,
            self.problem,
            f"{self.name}-{len(rows)}",
            whole=self,
            added=self.added,
        )
        part.optima, part.divided = self.optima[:, rows], self.divided[rows]
        return part

    def once(self, what: str, solve: Callable[[], Any]) -> Any:
        """Solve what does not depend on the run, or take what an earlier run solved."""
        shared = (self.whole or self).shared
        if shared is None:
            return solve()
        estimated_s = len(self.instances) * decide_s(self.problem)
        return shared.get(f"{what}-{self.name}", estimated_s, solve)

    def label_duals(self, scale: float, count: int) -> Array:
        """(count, M): optimal duals of the first labels over ``scale``, solved once."""
        known: Array | None = self._label_duals.get(count)
        if known is None:
            known = self._label_duals[count] = self.once(
                f"label-duals-{count}",
                lambda: self.solver.duals(self.values[:count] / scale, self.instances[:count]),
            )
        return known

    @cached_property
    def _label_duals(self) -> dict[int, Array]:
        return {}

    @cached_property
    def _counted(self) -> Mask:
        return self.problem.take(self.instances).counted

    def predict(self, predictor: nn.Module) -> Array:
        """Return the predictions for the split, in label units and in evaluation mode."""
        predicted: Array = predict(predictor, self.features).numpy()
        return predicted

    def judge(self, predictions: Array, start: str | None = None) -> Evaluation:
        """Decide by the predictions, then value the decisions by the truth.

        ``start`` names predictions that other runs have too: those of a shared warm start.
        """

        def choose() -> Choices:
            return self._choose(self.problem.values(predictions))

        choices = choose() if start is None else self.once(start, choose)
        outcome = self.value(choices, self.mse(predictions))
        self._check(outcome)
        return outcome

    def mse(self, predictions: Array) -> float:
        """Return the mean squared error of what is predicted, in label units."""
        error = predictions - self.labels
        shared = self._counted.ndim < error.ndim
        if shared and self._counted.all():
            error = error.reshape(len(error), -1)
        else:
            error = error[:, self._counted] if shared else error[self._counted]
        return float(np.mean(np.square(error)))

    def value(self, choices: Choices, mse: float) -> Evaluation:
        """Value decisions by the truth."""
        return Evaluation(
            optimal=self.optimal,
            achieved=self.worth(choices),
            mse=mse,
            minimised=self.problem.sense == "minimise",
            divided=self.divided,
            choices=choices,
            gaps=self.gaps,
            added=self.added,
        )

    def _choose(self, values: Array) -> Choices:
        """Return the best option of each group for these values."""
        decisions = self.solver.decide(values, self.instances)
        smallest = np.min_scalar_type(self.problem.options - 1)
        choices: Choices = decisions.argmax(axis=2).astype(smallest)
        return choices

    def worth(self, choices: Choices) -> Array:
        """Return what these options are truly worth, in the task's own sense."""
        taken = np.take_along_axis(self.values, choices[:, :, None].astype(np.intp), axis=2)
        worth: Array = taken.sum(axis=(1, 2))
        return worth if self.problem.sense == "maximise" else -worth

    @cached_property
    def allowance(self) -> Array:
        """(K,): how far a decision may come out above the best one found."""
        existing = np.where(self.problem.take(self.instances).mask, self.values, 0.0)
        size = np.abs(existing).max(axis=2).sum(axis=1)
        allowance: Array = self.solver.decision_error(existing) + _ROUNDING * size
        return allowance

    def _check(self, outcome: Evaluation) -> None:
        """Refuse decisions better than the best: the solver that judges is wrong."""
        beyond = np.flatnonzero(-outcome.regret > self.allowance)
        if beyond.size:
            k = int(beyond[0])
            raise SolverError(
                f"instance {self.instances[k]}: the decision taken is worth "
                f"{outcome.achieved[k]:.12g}, better than the optimum {self.optimal[k]:.12g}, so "
                f"{type(self.solver).__name__}, which found both for the evaluation, is wrong; "
                "fix that solver."
            )


class Evaluator:
    """Judges predictors on validation and test with one exact solver for every run of a task.

    Data without validation instances are judged on test alone.
    """

    def __init__(self, task: Task, dataset: Dataset) -> None:
        import torch

        self._task, self._data = task, dataset.spec
        self.solver = evaluation_solver(task, dataset.problem)
        self.splits = {
            split: SplitEvaluator(
                instances=dataset.rows(split),
                features=torch.from_numpy(dataset.part(dataset.features, split)),
                labels=dataset.part(dataset.labels, split),
                solver=self.solver,
                problem=dataset.problem,
                name=split,
                added=task.added_to_optima(dataset.spec.settings),
            )
            for split in ("val", "test")
            if len(dataset.rows(split))
        }

    def share(self, folder: Path, digest: str | None) -> None:
        """Keep in this folder, for other runs and processes, what they need of the dataset."""
        shared = SharedAnswers(folder, self._task, self._data, digest, self.solver)
        for judge in self.splits.values():
            judge.shared = shared

    @property
    def judged_by(self) -> Literal["relative", "pooled"]:
        """By which regret runs are judged: pooled where too many optima are near 0."""
        shares = (judge.excluded / len(judge.instances) for judge in self.splits.values())
        return "pooled" if max(shares) > MOST_EXCLUDED else "relative"

    @cached_property
    def subset(self) -> dict[str, SplitEvaluator]:
        """At most `SUBSET` instances of each split, the same for every run of the data."""
        return {split: judge.part(self._drawn(judge)) for split, judge in self.splits.items()}

    def _drawn(self, judge: SplitEvaluator) -> Rows:
        draws = stream(self._data.seed, "evaluation subset", judge.name)
        number = len(judge.instances)
        return np.sort(draws.choice(number, min(SUBSET, number), replace=False))


class Loaded(NamedTuple):
    """A dataset and the evaluator that knows its optima; shared by runs of one process."""

    dataset: Dataset
    evaluator: Evaluator


def load_data(data: TaskSpec, digest: str | None = None) -> Loaded:
    """Load a dataset with its evaluator, which is kept as long as the dataset is in memory."""
    dataset = load_dataset(data, digest)
    if dataset not in _evaluators:
        _evaluators[dataset] = Evaluator(find_task(data.task), dataset)
    return Loaded(dataset, _evaluators[dataset])


_evaluators: WeakKeyDictionary[Dataset, Evaluator] = WeakKeyDictionary()

"""What every training method is: options, one preparation, a loss for a batch.

A method knows a problem, a solver and predictions, never a task's name. The solver
and the layers it is handed count and time themselves; what else it wants timed or
counted it gives to the meter. Values, predictions and labels are divided by the task's
label scale before a method sees them, so that τ, α and μ mean the same on every task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from annotated_types import Gt
from typing_extensions import Doc

from dglbench.methods.diagnostics import duals_row
from dglbench.problem import Array, Problem

if TYPE_CHECKING:
    import torch

    from dglbench.layers import MeteredLayer
    from dglbench.training.clock import EvaluationSolver, Meter, MeteredSolver

__all__ = ["Batch", "Constraints", "LearningRate", "Method", "Snapshot", "Training"]

LearningRate = Annotated[float, Gt(0), Doc("learning rate of Adam")]


class Batch(NamedTuple):
    """One mini-batch, in scaled units."""

    rows: torch.Tensor
    """(B,): which training instances these are."""
    predictions: torch.Tensor
    """(B, G, S): ŷ, with gradient."""
    labels: torch.Tensor
    """(B, G, S): y."""


class Constraints:
    """A problem's A, b and groups as tensors."""

    def __init__(self, problem: Problem) -> None:
        import torch

        self.problem = problem
        # Copies: a Problem's arrays are read-only, which torch does not know of.
        self.A = torch.tensor(problem.flat_A)
        self.b = torch.tensor(problem.b)
        self.mask = torch.tensor(problem.mask)
        self.predicted = torch.tensor(problem.predicted)
        self.groups = problem.groups

    @cached_property
    def ragged(self) -> bool:
        """Whether some options are padding."""
        return not bool(self.mask.all())

    @cached_property
    def _all_predicted(self) -> bool:
        return bool(self.predicted.all())

    def usage(self, x: torch.Tensor) -> torch.Tensor:
        """A x for decisions (B, G, S), as (B, M)."""
        return x.reshape(len(x), -1) @ self.A.T

    def prices(self, duals: torch.Tensor) -> torch.Tensor:
        """Aᵀλ for duals (B, M), as (B, G, S)."""
        return (duals @ self.A).reshape(len(duals), *self.mask.shape)

    def padded_scores(self, scores: torch.Tensor) -> torch.Tensor:
        """Give padding a score of −∞, so that it is never chosen."""
        return scores.masked_fill(~self.mask, -float("inf")) if self.ragged else scores

    def mse(self, predictions: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Mean squared error over the options whose value is predicted."""
        error = predictions - labels
        if not self._all_predicted:
            error = error[:, self.predicted]
        return error.square().mean()


@dataclass(frozen=True)
class Training:
    """What a method is handed once, before training."""

    constraints: Constraints
    labels: torch.Tensor
    """(K, G, S): y of every training instance."""
    solver: MeteredSolver
    predict: Callable[[], torch.Tensor]
    """Current ŷ of every training instance, without gradient."""
    meter: Meter
    """Times (``phase``) and counts (``count``) anything of the method's own."""
    layer: Callable[..., MeteredLayer]
    """``layer(name, **options)`` builds one of the method's `layers`, counted and timed."""


@dataclass(frozen=True)
class Snapshot:
    """What a method is shown at every evaluation, off the clock, to say how it fares.

    All in scaled units; V is the number of validation instances.
    """

    epoch: int
    constraints: Constraints
    predict: Callable[[], torch.Tensor]
    """ŷ of every training instance, (K, G, S)."""
    refreshed: int
    """Training instances solved for ``refresh`` in the last epoch, or at set-up."""
    val_labels: torch.Tensor
    """(V, G, S): y."""
    val_predictions: torch.Tensor
    """(V, G, S): ŷ."""
    val_regret: Array
    """(V,): f* − f."""
    solver: EvaluationSolver
    """The exact solver of the evaluation; its answers are counted as ``evaluate``."""


class Method(ABC):
    """A way to train; subclasses are one short file each."""

    summary: ClassVar[str]
    Options: ClassVar[type[Any]]
    """A frozen dataclass with at least ``lr``."""
    warm_starts: ClassVar[bool] = True
    """Whether runs begin at the shared MSE-trained predictor."""
    layers: ClassVar[tuple[str, ...]] = ()
    """The layers it uses, by name; their code is part of a run's identity."""
    dual_rule: ClassVar[str | None] = None
    """Which duals it uses, if not those of the run's solver; part of a run's spec."""

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def prepare(self, training: Training) -> None:
        """Do what is done once: label solves, first duals, layers. Timed as set-up."""

    def start_epoch(self, epoch: int) -> None:  # noqa: B027 - optional
        """Act before epoch ``epoch`` (0, 1, …), for example refresh duals."""

    @abstractmethod
    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the scalar loss of a batch; its gradient trains the predictor."""

    def current_duals(self) -> torch.Tensor | None:
        """Return the duals now in use, (K, M), if the method is guided by any."""
        return None

    def diagnostics(self, snapshot: Snapshot) -> Mapping[str, Mapping[str, Any]]:
        """Return a row for each table the method has something to say in, without the epoch.

        The tables are ``duals`` and ``bound`` of `dglbench.runs.schemas`.
        """
        duals = self.current_duals()
        return {} if duals is None else {"duals": duals_row(snapshot, duals)}

    def problems(self) -> str | None:
        """Say what went wrong badly enough to end the run as failed, if anything did."""
        return None

    def notes(self) -> dict[str, Any]:
        """Return what the run's status should mention, such as failed instances."""
        return {}

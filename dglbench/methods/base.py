"""What every training method is: options, one preparation, a loss for a batch.

A method knows a problem, a solver and predictions, never a task's name. The solver
and the layers it is given count and time themselves; the meter times and counts anything
else. Predictions and labels are option values to maximise
(`Problem.values`), divided by the task's label scale before a method sees them, so
that τ, α and μ mean the same on every task. Squared errors act on what is predicted:
`Constraints.mse`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Gt
from typing_extensions import Doc

from dglbench.layout import Table
from dglbench.losses.batch import Batch, Constraints
from dglbench.methods.diagnostics import duals_row
from dglbench.problem import Array, Problem
from dglbench.streams import stream

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import nn

    from dglbench.clock import Meter
    from dglbench.layers import MeteredLayer
    from dglbench.solvers.metered import EvaluationSolver, MeteredSolver

__all__ = [
    "Batch",
    "Claims",
    "Constraints",
    "Fitting",
    "LearningRate",
    "Method",
    "Snapshot",
    "Start",
    "Training",
]

LearningRate = Annotated[float, Gt(0), Doc("learning rate of Adam")]
Start = Annotated[
    Literal["warm", "fresh"],
    Doc("begin at the shared MSE-trained predictor, or at random initial weights"),
]
"""The option ``start`` of every decision-focused method."""


def _draws_of_seed_0(name: str) -> np.random.Generator:
    return stream(0, name)


@dataclass(frozen=True)
class Fitting:
    """What a method that fits a model of its own is given."""

    network: nn.Module
    """The model, whose parameters and buffers are to be set (``load_state_dict``)."""
    table: Callable[[str], Table]
    """``table("train")``: the rows of a split; none for ``"val"`` without validation instances."""
    shared: int = 0
    """How many features, the first ones, act alike on every output (`Layout.shared`)."""


@dataclass(frozen=True)
class Training:
    """What a method is given once, before training."""

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
    parameter_labels: torch.Tensor | None = None
    """(K, …): p of every training instance, in the shape of the task's labels; None where they
    are the values."""
    draws: Callable[[str], np.random.Generator] = _draws_of_seed_0
    """``draws(name)`` is the run's random stream of that name; all a method draws comes from it."""
    fitting: Fitting | None = None
    """For a method that `fits`."""


@dataclass(frozen=True)
class Snapshot:
    """What a method is shown at every evaluation, untimed, for its diagnostics.

    All in scaled units; V is the number of validation instances.
    """

    epoch: int
    constraints: Constraints
    """Of the training instances."""
    predict: Callable[[], torch.Tensor]
    """ŷ of every training instance, (K, G, S)."""
    refreshed: int
    """Training instances solved for ``refresh`` in the last epoch, or at set-up."""
    val_constraints: Constraints
    """Of the validation instances; the same where all instances share them."""
    val_labels: torch.Tensor
    """(V, G, S): y."""
    val_predictions: torch.Tensor
    """(V, G, S): ŷ."""
    val_regret: Array
    """(V,): how much worse f is than f*."""
    solver: EvaluationSolver
    """The exact solver of the evaluation, for ``rows`` of training instances; its answers are
    counted as ``evaluate``."""
    val_solver: EvaluationSolver
    """The same, for ``rows`` of validation instances."""
    most: int | None = None
    """How many instances of a split to solve for, the first ones; None for all."""
    label_duals: Callable[[int], torch.Tensor] | None = None
    """(count, M): duals of the first validation labels, solved once for all runs."""

    def sample(self, instances: int) -> range:
        """Return which instances of a split to solve for: all, unless they are very large."""
        return range(instances if self.most is None else min(instances, self.most))


@dataclass(frozen=True)
class Claims:
    """What a method says of its gradient; ``dglbench check-method`` checks it."""

    descends: bool = True
    """A step against it lowers the regret of decisions that are smoothed by noise."""
    of_loss: bool = True
    """It is the gradient of the loss that the method returns, whatever is kept being fixed."""
    stationary: bool = False
    """It is 0 where predictions are the labels."""


class Method(ABC):
    """A way to train; subclasses are one short file each."""

    summary: ClassVar[str]
    group: ClassVar[str] = "further methods"
    """Under which heading ``dglbench list --methods`` shows it."""
    Options: ClassVar[type[Any]]
    """A frozen dataclass; with ``lr``, unless the method `fits`, and with ``start``, unless it
    itself trains for accuracy."""
    warm_starts: ClassVar[bool] = True
    """Whether runs begin at the shared MSE-trained predictor, where no option ``start`` decides."""
    fits: ClassVar[bool] = False
    """Whether it fits the predictor of its own name at once, without epochs
    (`dglbench.methods.fitted`)."""
    for_accuracy: ClassVar[bool] = False
    """Whether it is trained until validation MSE stops improving, as the warm start is, whatever
    epochs other methods have."""
    claims: ClassVar[Claims] = Claims()
    layers: ClassVar[tuple[str, ...]] = ()
    """The layers it uses, by name; their code is part of a run's identity."""
    dual_rule: ClassVar[str | None] = None
    """Which duals it uses, if not those of the run's solver; part of a run's spec."""

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """Say in one sentence why the method cannot serve a problem; None if it can.

        Asked by ``--plan`` and before a run is written.
        """
        return None

    @classmethod
    def starts_warm(cls, options: Any) -> bool:
        """Say whether a run with these options begins at the shared MSE-trained predictor."""
        start = getattr(options, "start", None)
        return cls.warm_starts if start is None else start == "warm"

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

    def loss_and_gradient(self, batch: Batch) -> tuple[float, torch.Tensor] | None:
        """Return the loss and its gradient (B, G, S) in the predictions, if both are known.

        None, as by default, leaves the gradient to autograd and `loss`. A class with a `loss` of
        its own does not use its parent's answer.
        """
        return None

    def current_duals(self) -> torch.Tensor | None:
        """Return the duals now in use, (K, M), if the method is guided by any."""
        return None

    def diagnostics(self, snapshot: Snapshot) -> Mapping[str, Mapping[str, Any]]:
        """Return a row for each table the method has something to say in, without the epoch.

        The tables are ``duals`` and ``bound`` of `dglbench.runs.schemas`, and ``theorem2``, whose
        columns are arrays with an entry for each of the first validation instances.
        """
        duals = self.current_duals()
        return {} if duals is None else {"duals": duals_row(snapshot, duals)}

    def problems(self) -> str | None:
        """Say what went wrong badly enough to end the run as failed, if anything did."""
        return None

    def notes(self) -> dict[str, Any]:
        """Return what the run's status should mention, such as failed instances."""
        return {}

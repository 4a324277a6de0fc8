"""What every method of PyEPO's shares: its loss module, fed by our solver and data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le
from typing_extensions import Doc

from dglbench.losses.batch import Batch
from dglbench.methods.base import LearningRate, Method, Start, Training
from dglbench.methods.pyepo.border import expected_interface, installed_version, misfit
from dglbench.methods.pyepo.model import Oracle, as_dataset, as_model
from dglbench.problem import Problem

if TYPE_CHECKING:
    import torch

__all__ = ["PyepoMethod", "PyepoOptions", "Target"]

Target = Annotated[
    Literal["objective", "l1", "mse"],
    Doc("what is asked of the decision: its value, or its distance to the optimal one (L1, MSE)"),
]


@dataclass(frozen=True)
class PyepoOptions:
    """Options of all of them; further ones are named as PyEPO names its own."""

    lr: LearningRate = 0.01
    start: Start = "warm"
    oracle: Annotated[
        Literal["relax", "decide"], Doc("solve the LP relaxation, or the integer problem")
    ] = "relax"
    solve_ratio: Annotated[
        float, Ge(0), Le(1), Doc("share of batches solved; others take the best known solutions")
    ] = 1.0


class PyepoMethod(Method):
    """A loss of ``pyepo.func`` on all training instances.

    PyEPO's data and solution pools are float32, so predictions are cast to it on the way in and
    the loss back to float64 on the way out. A batch, with all its perturbed copies, is solved
    in one call. Solver calls: x*(y) once per instance at set-up; then see each loss.
    Reference: Tang and Khalil, PyEPO: A PyTorch-based End-to-End Predict-then-Optimize
    Library, 2024.
    """

    group: ClassVar[str] = "PyEPO's losses"
    Options: ClassVar[type[Any]] = PyepoOptions
    module: ClassVar[str]
    """Its name in ``pyepo.func``."""
    takes: ClassVar[tuple[str, ...]] = ()
    """What its ``forward`` takes beside predicted costs: true_cost, true_sol, true_obj."""
    own: ClassVar[tuple[str, ...]] = ("lr", "start", "oracle", "target")
    """Options that are not keywords of its module."""
    pooled: ClassVar[bool] = False
    """Whether it compares with known solutions even if all batches are solved."""

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `Method.refuses`."""
        if problem.varies:
            return (
                "PyEPO knows one feasible set, and here rows, capacities or options differ by "
                "instance."
            )
        return misfit(cls.module, cls._keywords())

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        # Imported now, because `prepare` is timed.
        if (reason := misfit(self.module, self._keywords())) is None:
            with expected_interface():
                import pyepo.func  # noqa: F401
        self._reason = reason

    def prepare(self, training: Training) -> None:
        """Solve every training instance with its true values, and build PyEPO's loss."""
        if self._reason:
            from dglbench.errors import PluginError

            raise PluginError(self._reason)
        self._oracle = oracle = Oracle(training, self.options.oracle)
        costs = oracle.costs(training.labels)
        decisions = oracle.optima(costs, "label")
        objectives = (costs * decisions).sum(dim=1, keepdim=True)
        self._known = {"true_cost": costs, "true_sol": decisions, "true_obj": objectives}
        with expected_interface():
            self._loss = self._build(training)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return what PyEPO makes of the batch."""
        known = {name: values[batch.rows] for name, values in self._known.items()}
        costs = self._oracle.costs(batch.predictions)
        with expected_interface():
            outcome = self._loss(costs, **{name: known[name] for name in self.takes})
        target = getattr(self.options, "target", None)
        loss: torch.Tensor = outcome if target is None else _compare(outcome, known, target)
        return loss.double()

    def notes(self) -> dict[str, Any]:
        """Say whose code it was."""
        return {"pyepo": installed_version()}

    def arguments(self, seed: int) -> dict[str, Any]:
        """Return the keywords of PyEPO's module; ``seed`` is for one that draws."""
        return {name: getattr(self.options, name) for name in self._keywords()}

    @classmethod
    def _keywords(cls) -> list[str]:
        fields = dataclasses.fields(cls.Options)
        return [field.name for field in fields if field.name not in cls.own]

    def _build(self, training: Training) -> Any:
        import numpy as np
        import pyepo.func

        model = as_model(self._oracle)
        known = self._known
        further = {}
        if self.pooled or self.options.solve_ratio < 1:
            further["dataset"] = as_dataset(
                model, known["true_cost"], known["true_sol"], known["true_obj"]
            )
        draws = training.draws("pyepo")
        seeds = draws.integers(2**31, size=2)
        loss = getattr(pyepo.func, self.module)(model, **self.arguments(int(seeds[0])), **further)
        # Most of its losses have no seed for the choice between solving and the pool.
        if not isinstance(loss._branch_rng, np.random.RandomState):
            raise TypeError("its choice between solving and the pool cannot be seeded")
        loss._branch_rng = np.random.RandomState(int(seeds[1]))
        return loss


def _compare(decisions: torch.Tensor, known: dict[str, torch.Tensor], target: str) -> torch.Tensor:
    """The losses that PyEPO's manual puts on decisions."""
    from torch.nn.functional import l1_loss, mse_loss

    if target == "objective":
        achieved = (known["true_cost"] * decisions).sum(dim=1, keepdim=True)
        return l1_loss(achieved, known["true_obj"])
    return (l1_loss if target == "l1" else mse_loss)(decisions, known["true_sol"])

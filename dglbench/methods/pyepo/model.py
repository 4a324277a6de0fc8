"""Our metered solver as the optimisation model that PyEPO's losses ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dglbench.methods.base import Training

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

__all__ = ["Oracle", "as_dataset", "as_model"]


class Oracle:
    """Optima of one problem for cost vectors, which are the values of the options that matter.

    Those are the options that are predicted or have a value known beforehand: of a knapsack
    the *take* options alone, as PyEPO's own knapsack has it. Always to maximise.
    """

    def __init__(self, training: Training, question: str) -> None:
        import torch

        constraints = training.constraints
        self._ask = getattr(training.solver, question)
        self._shape = constraints.problem.shape
        used = (constraints.predicted | (training.labels != 0).any(dim=0)) & constraints.mask
        self.kept = used.flatten().nonzero().squeeze(1)
        """(D,): where the costs are among the G·S options."""
        predicted = constraints.predicted.flatten()[self.kept]
        self.predicted: npt.NDArray[np.intp] | None = None
        """Which of the D are predicted, where not all are: noise must not touch the others."""
        if not bool(predicted.all()):
            self.predicted = predicted.nonzero().squeeze(1).numpy()
        self._torch = torch

    def costs(self, values: torch.Tensor) -> torch.Tensor:
        """Option values (B, G, S) as PyEPO's costs, (B, D) in float32, with gradient."""
        return values.flatten(1)[:, self.kept].float()

    def optima(self, costs: torch.Tensor, purpose: str) -> torch.Tensor:
        """Solve all cost vectors (N, D) at once; decisions (N, D) in float32."""
        flat = self._torch.zeros((len(costs), self._shape[0] * self._shape[1])).double()
        flat[:, self.kept] = costs.double()
        decisions: torch.Tensor = self._ask(flat.reshape(-1, *self._shape), purpose=purpose)
        return decisions.flatten(1)[:, self.kept].float()


def as_model(oracle: Oracle) -> Any:
    """Return the `optModel` around an oracle.

    PyEPO solves instance by instance, except where a model is an `optMpaxModel`: that one is
    handed the whole batch. So this is one, without its solver.
    """
    from pyepo import EPO
    from pyepo.model.mpax import optMpaxModel
    from pyepo.model.opt import optModel

    class Metered(optMpaxModel):  # type: ignore[misc]  # untyped
        """Answers a batch through our solver."""

        modelSense = EPO.MAXIMIZE  # noqa: N815 - PyEPO's name

        def __init__(self) -> None:
            optModel.__init__(self)  # past its parent's, which asks for JAX

        def _getModel(self) -> tuple[None, list[Any]]:  # noqa: N802 - PyEPO's name
            return None, []

        @property
        def num_cost(self) -> int:
            return len(oracle.kept)

        @property
        def c_pred_index(self) -> Any:
            return oracle.predicted

        def setObj(self, c: torch.Tensor) -> None:  # noqa: N802 - PyEPO's name
            self.c = -c  # PyEPO's batched models minimise; it turns the objective back

        def batch_optimize(self, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
            decisions = oracle.optima(-c, "train")
            return decisions, (c * decisions).sum(dim=1), None

    return Metered()


def as_dataset(
    model: Any, costs: torch.Tensor, decisions: torch.Tensor, objectives: torch.Tensor
) -> Any:
    """Return the `optDataset` of labels that are solved already; it fills the solution pool."""
    from pyepo.data.dataset import optDataset

    class Solved(optDataset):  # type: ignore[misc]  # untyped
        """Knows its optima."""

        def _get_sols(self) -> tuple[Any, Any]:
            return decisions.numpy(), objectives.numpy()

    return Solved(model, costs, costs)

"""What losses that compare with the best decision of each label share: it is found once per row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch

from dglbench.errors import OptionError, ProblemError
from dglbench.losses.base import DecisionLoss
from dglbench.losses.batch import Batch
from dglbench.losses.row_store import ByRow
from dglbench.problem import Problem
from dglbench.solvers import Solver
from dglbench.solvers.metered import MeteredSolver

__all__ = ["KeptOptima", "check_oracle"]


class KeptOptima(DecisionLoss):
    """A loss that keeps x*(y) of every row, taken at its first visit; ``state_dict`` has them."""

    def __init__(
        self,
        problem: Problem,
        *,
        solver: str | Solver | MeteredSolver | None = None,
        label_scale: float = 1.0,
    ) -> None:
        super().__init__(problem, solver=solver, label_scale=label_scale)
        self._kept = ByRow()

    def solve_labels(self, values: torch.Tensor, rows: torch.Tensor) -> None:
        """Take x*(y) of distinct rows from their scaled labels, and keep it."""
        self._kept.put(rows, {"best": self._label_optima(values, rows)})

    @abstractmethod
    def _label_optima(self, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return x*(y), (B, G, S), counted as ``label``."""

    def _best(self, batch: Batch) -> torch.Tensor:
        """Return x*(y) of a batch."""
        if new := self._kept.missing(batch.rows):
            self.solve_labels(batch.labels[new], batch.rows[new])
        return self._kept["best"].index_select(0, self._kept.places(batch.rows))

    def get_extra_state(self) -> dict[str, Any]:
        """Return what ``state_dict`` saves: every row's x*(y)."""
        return dict(self._kept.state("best"))

    def set_extra_state(self, state: Mapping[str, Any]) -> None:
        """Take over what was saved, in place of all that is known."""
        self._kept = ByRow()
        if "rows" not in state:
            return
        shape = self.problem.shape
        if tuple(state["best"].shape[1:]) != shape:
            raise ProblemError(
                f"the saved optima have shape {tuple(state['best'].shape[1:])}, decisions of this "
                f"problem {shape}; load them into the loss of the problem they were saved with."
            )
        self._kept.put(state["rows"].cpu(), {"best": state["best"].cpu().clone()})


def check_oracle(oracle: str) -> None:
    """Refuse an oracle that is neither the relaxation nor the integer problem."""
    if oracle not in ("relax", "decide"):
        raise OptionError(f"oracle must be relax or decide, got {oracle!r}.")

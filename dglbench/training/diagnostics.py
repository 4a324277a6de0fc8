"""What a method reports about itself: the tables ``duals``, ``bound`` and ``theorem2``.

Nothing else of a run depends on it: without these calls all other logs are the same.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from dglbench.errors import PluginError
from dglbench.losses.batch import Constraints
from dglbench.methods.base import Snapshot
from dglbench.problem import Array
from dglbench.runs import schemas
from dglbench.solvers.metered import EvaluationSolver
from dglbench.training.cost_model import diagnosed_instances
from dglbench.training.evaluation import Evaluation, SplitEvaluator
from dglbench.training.learner import Learner

__all__ = ["Diagnostics"]


class Diagnostics:
    """Asks a learner's method about itself, on the validation instances of an evaluation."""

    def __init__(self, learner: Learner, judge: SplitEvaluator) -> None:
        self._learner, self._judge = learner, judge
        self._most = diagnosed_instances(learner.dataset.problem)

    def rows(
        self, epoch: int, refreshed: int, predictions: Array, outcome: Evaluation
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the method's rows by table; those of `schemas.SELECTED` have one per instance."""
        learner, judge = self._learner, self._judge
        found: dict[str, list[dict[str, Any]]] = {}
        snapshot = self._snapshot(epoch, refreshed, predictions, outcome)
        for table, row in learner.method.diagnostics(snapshot).items():
            if table not in schemas.DIAGNOSTICS:
                raise PluginError(
                    f"method {learner.spec.method} returns a row for the table '{table}'; "
                    f"allowed are {', '.join(schemas.DIAGNOSTICS)}."
                )
            per_instance = table in schemas.SELECTED
            columns = {"instance" if per_instance else "epoch", *row}
            if columns != set(schemas.TABLES[table].names):
                raise PluginError(
                    f"method {learner.spec.method} returns the columns {', '.join(row)} for the "
                    f"table '{table}'; it has {', '.join(schemas.TABLES[table].names[1:])}."
                )
            if per_instance:
                rows = {"instance": judge.instances.tolist(), **row}
                found[table] = [
                    dict(zip(rows, entries, strict=True))
                    for entries in zip(*rows.values(), strict=False)  # the first, if in part
                ]
            else:
                found[table] = [{"epoch": epoch, **row}]
        return found

    def _snapshot(
        self, epoch: int, refreshed: int, predictions: Array, outcome: Evaluation
    ) -> Snapshot:
        import torch

        learner, judge = self._learner, self._judge
        lead_in = learner.spec.lead_in
        # Each method counts its own epochs from 0, its set-up.
        own_epoch = epoch + lead_in.epochs + 1 if lead_in and epoch < 0 else epoch
        return Snapshot(
            epoch=own_epoch,
            constraints=learner.constraints,
            predict=learner.predict,
            refreshed=refreshed,
            val_constraints=self._val_constraints,
            val_labels=torch.from_numpy(judge.values) / learner.scale,
            val_predictions=judge.problem.values(torch.from_numpy(predictions), learner.scale),
            val_regret=outcome.regret / learner.scale,
            solver=EvaluationSolver(judge.solver, learner.meter, learner.dataset.rows("train")),
            val_solver=EvaluationSolver(judge.solver, learner.meter, judge.instances),
            most=self._most,
            label_duals=self._label_duals,
        )

    @cached_property
    def _val_constraints(self) -> Constraints:
        return Constraints(self._judge.problem.take(self._judge.instances))

    def _label_duals(self, count: int) -> Any:
        import torch

        self._learner.ledger.count("evaluate", count)
        return torch.tensor(self._judge.label_duals(self._learner.scale, count))

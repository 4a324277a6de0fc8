"""The predictor that a task brings itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dglbench.errors import PluginError
from dglbench.layout import KINDS, Kind, Layout
from dglbench.predictors.base import Predictor
from dglbench.task import Dataset, Task

if TYPE_CHECKING:
    from torch import nn

__all__ = ["TaskModel"]


class TaskModel(Predictor):
    """The network of `Task.predictor`: what is known of the task is built into it."""

    name: ClassVar[str] = "task"
    summary: ClassVar[str] = "the task's own model, where it has one"
    kinds: ClassVar[tuple[Kind, ...]] = KINDS

    def refuses(self, task: Task, dataset: Dataset) -> str | None:
        """Refuse a task without a model of its own."""
        return None if task.has_predictor() else "it has no model of its own"

    def network(self, layout: Layout) -> nn.Module:
        """Refuse: the task builds it whole."""
        raise PluginError("predictor task has no network apart from its task's; use its build().")

    def build(self, task: Task, dataset: Dataset) -> nn.Module:
        """Have the task build it."""
        return task.predictor(dataset)

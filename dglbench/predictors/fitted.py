"""Models that one method fits itself: no gradient reaches them, and no other method trains them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dglbench.layout import Kind, Layout, Table, option_window
from dglbench.predictors.base import VECTORS, Predictor
from dglbench.problem import Problem
from dglbench.task import Dataset, Task

if TYPE_CHECKING:
    from torch import nn

    from dglbench.predictors.frame import Frame

__all__ = ["Fitted", "LeastSquaresModel", "TreesModel", "table"]


class Fitted(Predictor):
    """What the method of the same name fits.

    Its outputs are standardised labels, without the link that a task asks of networks: a fit in
    closed form or by trees has none. Where the link keeps predictions above 0, they are raised to
    the lowest training label.
    """

    fitted: ClassVar[bool] = True
    kinds: ClassVar[tuple[Kind, ...]] = tuple(kind for kind in VECTORS if kind != "sides")
    """The two sides of a pair are never put side by side, as a table of rows would have them."""

    def build(self, task: Task, dataset: Dataset) -> nn.Module:
        """Build the empty model in its frame."""
        from torch import nn

        from dglbench.predictors.frame import AtLeast, framed

        layout = task.layout(dataset)
        assert layout is not None  # `refuses` comes first
        plain = dataclasses.replace(layout, link="identity")
        frame = framed(self.network(layout), plain, dataset)
        if layout.link == "softplus":
            labels = dataset.problem.pack(dataset.part(dataset.labels, "train"))
            frame.outputs = nn.Sequential(frame.outputs, AtLeast(float(labels.min())))
        return frame.double()


class LeastSquaresModel(Fitted):
    """The linear model of method ``least-squares``."""

    name: ClassVar[str] = "least-squares"
    summary: ClassVar[str] = "linear model, for the method of that name alone"

    def network(self, layout: Layout) -> nn.Module:
        """Build a layer of zeros, or the two of a pair."""
        from torch import nn

        from dglbench.predictors.modules import PairLinear

        built: nn.Module
        if layout.shared:
            built = PairLinear(layout.features[0], layout.shared, layout.outputs)
        else:
            built = nn.Linear(layout.features[0], layout.outputs)
        for weight in built.parameters():
            nn.init.zeros_(weight)
        return built


class TreesModel(Fitted):
    """The trees of method ``boosted-trees``."""

    name: ClassVar[str] = "boosted-trees"
    summary: ClassVar[str] = "boosted trees, for the method of that name alone"

    def network(self, layout: Layout) -> nn.Module:
        """Build a module without trees."""
        from dglbench.predictors.trees import Trees

        return Trees(layout.outputs)


def table(frame: Frame, layout: Layout, dataset: Dataset, split: str) -> Table:
    """Return the rows of a split as a fitted model sees them: standardised, a row per answer."""
    import torch

    features = torch.from_numpy(dataset.part(dataset.features, split))
    inputs = frame.inputs(features).numpy().reshape(-1, layout.features[0])
    rescale = next(each for each in frame.outputs.modules() if hasattr(each, "level"))
    level, unit = rescale.level.numpy(), float(rescale.unit)  # type: ignore[operator, arg-type]
    labels = dataset.part(dataset.labels, split)
    problem = dataset.problem.take(dataset.rows(split))
    counted = np.broadcast_to(problem.counted, labels.shape)
    targets = (_by_row(labels, layout, problem) - level) / unit
    return Table(inputs, targets, _by_row(counted, layout, problem).astype(bool))


def _by_row(labels: Any, layout: Layout, problem: Problem) -> Any:
    """Return what is predicted from each row, (rows, outputs): what the frame's place undoes."""
    if layout.kind == "instance":
        return problem.pack(labels)
    if layout.kind in ("item", "pair") and problem.value_map.matrix is None:
        first, end = option_window(problem)
        labels = labels[:, :, first:end]
    return labels.reshape(-1, layout.outputs)

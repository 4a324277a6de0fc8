"""What a predictor is: options, the layouts it serves, and a network for one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dglbench.layout import Kind, Layout
from dglbench.task import Dataset, Task

if TYPE_CHECKING:
    from torch import nn

__all__ = ["VECTORS", "NoOptions", "Predictor"]

VECTORS: tuple[Kind, ...] = ("instance", "item", "pair", "option", "sides")
"""The layouts whose rows are vectors."""

_ROWS: dict[Kind, str] = {
    "instance": "one vector per instance",
    "item": "one vector per item",
    "pair": "one vector per item, with features for each option",
    "option": "one vector per option",
    "sides": "one vector for each of two sides, whose pairs are the options",
    "image": "one image per instance",
}


@dataclass(frozen=True)
class NoOptions:
    """A predictor that leaves nothing to choose."""


class Predictor(ABC):
    """A family of networks: from the features of one row to the numbers that come out of it.

    The frame around the network (`dglbench.predictors.frame`) standardises its inputs, brings its
    outputs into the unit of the labels and puts them where the labels are.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Any]] = NoOptions
    """A frozen dataclass, every field with a default."""
    kinds: ClassVar[tuple[Kind, ...]] = VECTORS
    """The layouts it serves."""

    fitted: ClassVar[bool] = False
    """Whether the method of the same name fits it, and no other method trains it."""

    def __init__(self, options: Any) -> None:
        self.options = options

    @property
    def raw(self) -> bool:
        """Whether the network sees raw features and answers in raw label units."""
        return False

    def refuses(self, task: Task, dataset: Dataset) -> str | None:
        """Say why no network can be built for a task's data, or None."""
        layout = task.layout(dataset)
        if layout is None:
            return (
                f"its features of shape {dataset.features.shape} lie in no known way for labels "
                f"of shape {dataset.labels.shape}"
            )
        if layout.kind not in self.kinds:
            served = " or ".join(_ROWS[kind] for kind in self.kinds)
            return f"its features are {_ROWS[layout.kind]}, and {self.name} needs {served}"
        return self.refuses_layout(layout)

    def refuses_layout(self, layout: Layout) -> str | None:
        """Say why it cannot serve a layout of its kinds, or None."""
        return None

    @abstractmethod
    def network(self, layout: Layout) -> nn.Module:
        """Build an untrained network from rows (…, F) to outputs (…, outputs).

        Of images, (K, C, H, W) to (K, outputs). Weights are drawn from torch's own generator,
        which is seeded for the run.
        """

    def build(self, task: Task, dataset: Dataset) -> nn.Module:
        """Build the network in its frame: from features to predictions of the labels' shape."""
        from dglbench.predictors.frame import framed

        layout = task.layout(dataset)
        assert layout is not None  # `refuses` comes first
        return framed(self.network(layout), layout, dataset, raw=self.raw)

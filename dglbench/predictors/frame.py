"""What every network stands in: standardised inputs, outputs in the labels' unit and place.

    ŷ = unit · link(level + f((x − mean) / spread))

Mean and spread are those of each feature (each channel of an image) over the train split, and 0
and 1 for indicators. ``unit``
is the standard deviation of the train labels and ``level`` what makes f = 0 predict their mean,
by output; behind a sigmoid the unit is 1, so that f is a logit. One learning rate therefore suits
labels of any unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from dglbench.layout import Layout, Link, option_window
from dglbench.problem import Array, Problem
from dglbench.task import Dataset

__all__ = ["AtLeast", "Frame", "framed"]


def framed(network: nn.Module, layout: Layout, dataset: Dataset, *, raw: bool = False) -> Frame:
    """Put a network into the frame for a dataset; ``raw`` leaves inputs and outputs as they are."""
    place = _place(layout, dataset.problem)
    if layout.kind == "sides":
        network = Sides(network, dataset.problem.groups)
    if raw:
        rescale = Rescale(np.zeros(()), 1.0, layout.link)
        return Frame(nn.Identity(), network, rescale, place).double()
    standardise = Standardise(*_standardiser(layout, dataset))
    return Frame(
        standardise, network, Rescale(*_units(layout, dataset), layout.link), place
    ).double()


class Frame(nn.Module):
    """A network between its inputs' standardisation and its outputs' unit and place."""

    def __init__(
        self, inputs: nn.Module, network: nn.Module, outputs: nn.Module, place: nn.Module
    ) -> None:
        super().__init__()
        self.inputs, self.network, self.outputs, self.place = inputs, network, outputs, place

    def forward(self, features: Tensor) -> Tensor:
        """Predict in the labels' shape and unit."""
        answer: Tensor = self.place(self.outputs(self.network(self.inputs(features))))
        return answer


class Sides(nn.Module):
    """A network of pairs, (…, 2F) to (…, 1), asked about all pairs of two sides.

    Its first layer is linear in both rows of a pair, so each row passes it once: a hundred papers
    of 1,433 words, not 2,500 pairs of 2,866.
    """

    def __init__(self, network: nn.Module, left: int) -> None:
        super().__init__()
        self.left, self.whole = left, network

    def forward(self, rows: Tensor) -> Tensor:
        """Answer rows (K, L + R, F) with (K, L, R)."""
        layers = list(self.whole) if isinstance(self.whole, nn.Sequential) else [self.whole]
        first = layers[0]
        left, right = rows[:, : self.left], rows[:, self.left :]
        if isinstance(first, nn.Linear):
            ours, theirs = first.weight.chunk(2, dim=1)
            one = nn.functional.linear(left, ours, first.bias)
            other = nn.functional.linear(right, theirs)
            answers = one[:, :, None] + other[:, None]
            layers = layers[1:]
        else:
            shape = (len(rows), left.shape[1], right.shape[1], rows.shape[2])
            both = (left[:, :, None].expand(shape), right[:, None].expand(shape))
            answers = torch.cat(both, dim=-1)
        for layer in layers:
            answers = layer(answers)
        return answers.squeeze(-1)


class Standardise(nn.Module):
    """(x − mean) / spread."""

    mean: Tensor
    spread: Tensor

    def __init__(self, mean: Array, spread: Array) -> None:
        super().__init__()
        self.register_buffer("mean", _own(mean))
        self.register_buffer("spread", _own(spread))

    def forward(self, features: Tensor) -> Tensor:
        """Shift and scale the features."""
        return (features - self.mean).div_(self.spread)


class Rescale(nn.Module):
    """unit · link(level + z); the identity has its unit multiplied into the level."""

    level: Tensor
    unit: Tensor

    def __init__(self, level: Array, unit: float, link: Link) -> None:
        super().__init__()
        self.link = link
        self.alike = link == "identity" and unit == 1.0 and not np.any(level)
        """Whether outputs are in the labels' unit and place as they are."""
        self.register_buffer("level", _own(level * unit if link == "identity" else level))
        self.register_buffer("unit", torch.tensor(unit, dtype=torch.float64))

    def forward(self, outputs: Tensor) -> Tensor:
        """Bring outputs into label units."""
        if self.alike:
            return outputs
        if self.link == "identity":
            return torch.addcmul(self.level, outputs, self.unit)
        if self.link == "sigmoid":  # in its argument's place: large instances need the memory
            return torch.sigmoid_(self.level + outputs)
        return self.unit * nn.functional.softplus(self.level + outputs)


class AtLeast(nn.Module):
    """max(lowest, ·)."""

    def __init__(self, lowest: float) -> None:
        super().__init__()
        self.lowest = lowest

    def forward(self, outputs: Tensor) -> Tensor:
        """Raise what is below."""
        return outputs.clamp_min(self.lowest)


class Place(nn.Module):
    """Outputs per option of a group, (K, G, outputs), between options that are not predicted.

    ``whole`` outputs are there for every option, predicted or not.
    """

    predicted: Tensor

    def __init__(self, problem: Problem, *, whole: bool = False) -> None:
        super().__init__()
        first, end = (0, problem.options) if whole else option_window(problem)
        self.padding = (first, problem.options - end)
        self.partly = not problem.predicted[:, first:end].all()
        self.register_buffer("predicted", _own(problem.predicted), persistent=False)

    def forward(self, outputs: Tensor) -> Tensor:
        """Pad to all options; what is not predicted is 0."""
        values = nn.functional.pad(outputs, self.padding) if any(self.padding) else outputs
        return torch.where(self.predicted, values, 0.0) if self.partly else values


class Scatter(nn.Module):
    """All predicted numbers of an instance, (K, P), to their options, (K, G, S)."""

    position: Tensor

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.shape = problem.shape
        position = np.flatnonzero(problem.predicted)
        self.register_buffer("position", _own(position), persistent=False)

    def forward(self, outputs: Tensor) -> Tensor:
        """Put each number at its option; what is not predicted is 0."""
        groups, options = self.shape
        values = outputs.new_zeros((outputs.shape[0], groups * options))
        filled = values.index_copy(1, self.position, outputs)
        return filled.reshape(outputs.shape[0], groups, options)


class Single(nn.Module):
    """One number per row: (…, 1) to (…)."""

    def forward(self, outputs: Tensor) -> Tensor:
        """Drop the last axis."""
        return outputs.squeeze(-1)


def _own(values: npt.NDArray[Any]) -> Tensor:
    """Copy values: restoring weights must not write into a dataset's own arrays."""
    return torch.from_numpy(np.array(values, order="C"))


def _place(layout: Layout, problem: Problem) -> nn.Module:
    parameters = problem.value_map.matrix is not None
    if layout.kind in ("instance", "image"):
        return nn.Identity() if parameters else Scatter(problem)
    if parameters:
        return Single()
    if layout.kind == "option":
        return nn.Sequential(Single(), Place(problem, whole=True))
    return Place(problem)


def _standardiser(layout: Layout, dataset: Dataset) -> tuple[Array, Array]:
    """Return mean and spread of what is standardised alike: a feature, a channel."""
    if layout.indicators:
        return np.zeros(()), np.ones(())
    if layout.kind != "image":
        return dataset.standardiser
    train = dataset.part(dataset.features, "train")
    mean, spread = (getattr(train, name)(axis=(0, 2, 3)) for name in ("mean", "std"))
    return mean[:, None, None], np.where(spread > 0, spread, 1.0)[:, None, None]


def _units(layout: Layout, dataset: Dataset) -> tuple[Array, float]:
    """Return the level of each output and the unit of all."""
    mean = _mean_by_output(layout, dataset)
    if layout.link == "sigmoid":
        share = np.clip(mean, 1e-6, 1 - 1e-6)
        return np.log(share / (1 - share)), 1.0
    unit = dataset.label_spread
    level: Array = mean / unit
    if layout.link == "softplus":  # its inverse; the labels' mean is above 0 where it is asked for
        level = np.log(np.expm1(np.maximum(level, 1e-6)))
    return level, unit


def _mean_by_output(layout: Layout, dataset: Dataset) -> Array:
    """Return the mean train label of each output, over all rows that it answers for."""
    problem, labels = dataset.problem, dataset.part(dataset.labels, "train")
    if layout.kind in ("instance", "image"):
        return np.asarray(problem.pack(labels).mean(axis=0))
    if problem.value_map.matrix is not None or layout.kind in ("option", "sides"):
        return np.asarray(problem.pack(labels).mean())
    first, end = option_window(problem)
    counted = np.broadcast_to(problem.take(dataset.rows("train")).counted, labels.shape)
    there = counted[:, :, first:end]
    total = labels[:, :, first:end].sum(axis=(0, 1), where=there)
    return np.asarray(total / np.maximum(there.sum(axis=(0, 1)), 1))

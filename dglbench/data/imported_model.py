"""The predictors for own data, apart from the task so that reading data needs no torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dglbench.task import Dataset

__all__ = ["OwnModel"]


class OwnModel(nn.Module):
    """One network f on standardised features, in whichever way the features are given:

        per instance (K, F):        ŷ = f(x), one output per predicted option
        per group    (K, G, F):     ŷ_g = f(x_g), one output per option, shared by all groups
        per option   (K, G, S, F):  ŷ_gs = f(x_gs), one output, shared by all options

    Outputs are in units of the labels' spread around their mean, so that one learning rate
    suits labels of any unit. What is not predicted (*leave*, padding) is 0.
    """  # fmt: skip

    mean: Tensor
    spread: Tensor
    level: Tensor
    unit: Tensor
    predicted: Tensor

    def __init__(self, dataset: Dataset) -> None:
        super().__init__()
        problem, settings = dataset.problem, dataset.spec.settings
        train = problem.pack(dataset.labels[dataset.rows("train")])
        mean, spread = dataset.standardiser
        for name, value in (
            ("mean", mean),
            ("spread", spread),
            ("level", train.mean()),
            ("unit", train.std() or 1.0),
        ):
            self.register_buffer(name, torch.as_tensor(value, dtype=torch.float64))
        self.register_buffer("predicted", torch.tensor(problem.predicted))
        per = dataset.features.ndim
        outputs = {2: int(problem.predicted.sum()), 3: self._width(), 4: 1}[per]
        self.network = _network(len(mean), settings.hidden, outputs)

    def forward(self, features: Tensor) -> Tensor:
        """Predict every option of every group, in label units."""
        answer: Tensor = self.level + self.unit * self.network((features - self.mean) / self.spread)
        if answer.ndim == 2:  # one output per predicted option
            values = answer.new_zeros((len(answer), *self.predicted.shape))
            values[:, self.predicted] = answer
            return values
        if features.ndim == 4:
            answer = answer.squeeze(-1)
        options = self.predicted.shape[1]
        if answer.shape[2] < options:  # items: only *take* is predicted
            answer = nn.functional.pad(answer, (0, options - answer.shape[2]))
        return torch.where(self.predicted, answer, 0.0)

    def _width(self) -> int:
        """Return how many options of a group have a value to predict in some group."""
        return int(self.predicted.any(dim=0).nonzero().max()) + 1


def _network(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Module:
    sizes = [inputs, *hidden, outputs]
    layers: list[nn.Module] = []
    for index in range(len(sizes) - 1):
        if index:
            layers.append(nn.ReLU())
        layers.append(nn.Linear(sizes[index], sizes[index + 1], dtype=torch.float64))
    return nn.Sequential(*layers)

"""A method in one file: perturbed Fenchel-Young loss (Berthet et al., 2020)."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

from dglbench.methods import LearningRate, Method


@dataclass(frozen=True)
class PerturbedOptions:
    lr: LearningRate = 0.01
    sigma: Annotated[float, Gt(0)] = 0.5


class Perturbed(Method):
    """Gradient in ŷ: x(ŷ + σ·noise) − x*(y). One solve per instance and step."""

    summary = "perturbed Fenchel-Young; one solve per instance and step"
    Options = PerturbedOptions

    def prepare(self, training):
        import torch

        self.solver = training.solver
        self.best = training.solver.relax(training.labels, purpose="label")
        self.noise = torch.Generator().manual_seed(0)

    def loss(self, batch):
        import torch

        noise = torch.randn(batch.labels.shape, generator=self.noise, dtype=torch.float64)
        moved = batch.predictions.detach() + self.options.sigma * noise
        chosen = self.solver.relax(moved, purpose="train")
        gap = batch.predictions * (chosen - self.best[batch.rows])
        return gap.sum(dim=(1, 2)).mean()

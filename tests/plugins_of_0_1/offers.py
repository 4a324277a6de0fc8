"""A task in one file: one offer for each customer, within a budget."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge

from dglbench.problem import Problem
from dglbench.streams import stream
from dglbench.task import Dataset, Task, TaskSpec, split_sizes_to_rows

COSTS = np.array([0.0, 1.0, 3.0])  # no offer, a small one, a large one


@dataclass(frozen=True)
class OffersSettings:
    n: Annotated[int, Ge(1)] = 20
    budget: Annotated[float, Ge(0)] = 15.0
    train: Annotated[int, Ge(1)] = 200
    val: Annotated[int, Ge(1)] = 100
    test: Annotated[int, Ge(1)] = 100


class Offers(Task):
    name, summary, sizes, Settings = "offers", "one offer a customer", (20,), OffersSettings

    def generate(self, settings, seed):
        count = settings.train + settings.val + settings.test
        features = stream(seed, "offers", "features").normal(size=(count, settings.n, 4))
        weights = stream(seed, "offers", "weights").normal(size=(4, 3))
        labels = np.abs(features @ weights) * COSTS
        split = (settings.train, settings.val, settings.test)
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, {}),
            constants={},
            features=features,
            labels=labels,
            split=split_sizes_to_rows(split, np.arange(count)),
        )

    def problem(self, settings, constants):
        return Problem.build(np.tile(COSTS, (1, settings.n, 1)), [settings.budget])

    def predictor(self, dataset):
        from torch import float64, nn

        return nn.Linear(4, 3, dtype=float64)

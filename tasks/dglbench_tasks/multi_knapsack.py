"""Knapsack with several capacities, with the data of PyEPO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from dglbench.errors import OptionError
from dglbench.layout import Kind
from dglbench.problem import Array, Problem
from dglbench.task import Dataset, LabelAxis, TaskSpec, split_sizes_to_rows
from dglbench_tasks.polynomial import draws_of, features_and_costs, rounded_to_single
from dglbench_tasks.published import (
    PublishedTask,
    Source,
    draw_run,
    imply_sizes,
    published_split,
)

__all__ = ["MultiKnapsack", "MultiKnapsackSettings"]


@dataclass(frozen=True)
class MultiKnapsackSettings:
    """How many items and capacities, and how values depend on the features."""

    n: Annotated[int, Ge(1), Doc("items")] = 32
    dimensions: Annotated[int, Ge(1), Doc("capacities that all have to be kept")] = 2
    capacity: Annotated[
        float, Gt(0), Doc("each capacity; items weigh 3 to 7.99 in every dimension")
    ] = 20.0
    features: Annotated[int, Ge(1), Doc("features of an instance")] = 5
    degree: Annotated[
        int, Ge(1), Doc("degree of the polynomial; beyond 1 a linear predictor cannot fit it")
    ] = 6
    noise: Annotated[float, Ge(0), Le(1), Doc("values are multiplied by 1 ± this, uniformly")] = 0.5
    train: Annotated[int, Ge(1), Doc("training instances")] = 400
    val: Annotated[int, Ge(0), Doc("validation instances")] = 100
    test: Annotated[int, Ge(1), Doc("test instances")] = 200
    source: Source = "generated"

    def __post_init__(self) -> None:
        """Take the sizes that published runs fix."""
        imply_sizes(self)


class MultiKnapsack(PublishedTask):
    """Take the items worth most, within a capacity in every dimension.

        maximise Σ v_i x_i   subject to   Σ w_mi x_i ≤ capacity for every m,  x_i ∈ {0, 1}

    A group is an item with the options *take* and *leave*. Weights are drawn once; values are
    a polynomial of the features of the whole instance, times noise, rounded up to whole
    numbers (`polynomial.features_and_costs`). The relaxation is fractional.

    Instances are those of one call of PyEPO's ``knapsack.genData`` with train + val + test
    data points and the same seed, split in that order, equal to the last bit. With
    source=published they are those of one run of PyEPO's experiments (`published`).

    Reference: Tang and Khalil (2024), PyEPO.
    """

    name: ClassVar[str] = "multi-knapsack"
    summary: ClassVar[str] = "take the items worth most within several capacities (PyEPO's)"
    integral: ClassVar[bool | None] = False
    sizes: ClassVar[tuple[int, ...]] = (32,)
    Settings: ClassVar[type[Any]] = MultiKnapsackSettings
    rows: ClassVar[Kind | None] = "instance"

    def generate(self, settings: MultiKnapsackSettings, seed: int) -> Dataset:
        """Draw as PyEPO does: weights first."""
        sizes = (settings.train, settings.val, settings.test)

        def draw(state: np.random.RandomState) -> tuple[Array, Array, Array]:
            weights = state.choice(range(300, 800), size=(settings.dimensions, settings.n)) / 100
            number, shape = sum(sizes), (settings.features, settings.n)
            features, values = features_and_costs(
                state, number, *shape, settings.degree, settings.noise, scale=5
            )
            return weights, features, np.ceil(values)

        if settings.source == "published":
            split_by, drawn = draw_run(self.name, settings.source, seed, draw)
            weights, features, values = drawn
            split = published_split(split_by, sum(sizes))
        else:
            weights, features, values = draw(draws_of(self.name, seed))
            values = rounded_to_single(values)
            split = split_sizes_to_rows(sizes, np.arange(sum(sizes)))
        # With a capacity below every weight all decisions are worth 0 and regret has no meaning.
        lightest = float(weights.max(axis=0).min())
        if settings.capacity < lightest:
            raise OptionError(
                f"task {self.name}: capacity must hold at least the lightest item, {lightest:g}, "
                f"or nothing can be taken, got {settings.capacity:g}."
            )
        constants = {"weights": weights.tolist()}
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, constants),
            constants=constants,
            features=features,
            labels=values,
            split=split,
        )

    def problem(self, settings: MultiKnapsackSettings, constants: Mapping[str, Any]) -> Problem:
        """One row for every dimension."""
        return Problem.knapsack(
            constants["weights"], np.full(settings.dimensions, settings.capacity)
        )

    def label_axis(self, settings: MultiKnapsackSettings) -> LabelAxis:
        """Place each value at its item's number."""
        return LabelAxis("item", np.arange(1, settings.n + 1))

"""Pick the k best of n items whose scores a linear model cannot fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge
from typing_extensions import Doc

from dglbench.layout import Kind
from dglbench.options import LATER
from dglbench.problem import Problem
from dglbench.streams import stream
from dglbench.task import Dataset, LabelAxis, Task, TaskSpec, split_sizes_to_rows

__all__ = ["TopK", "TopKSettings", "score"]


@dataclass(frozen=True)
class TopKSettings:
    """How many items, how many of them are picked, and by what model they are predicted."""

    n: Annotated[int, Ge(2), Doc("items of an instance")] = 50
    k: Annotated[int, Ge(1), Doc("items to pick")] = 1
    noise: Annotated[
        float, Ge(0), LATER, Doc("standard deviation of noise added to every score")
    ] = 0.0
    train: Annotated[int, Ge(1), Doc("training instances")] = 400
    val: Annotated[int, Ge(1), Doc("validation instances")] = 100
    test: Annotated[int, Ge(1), Doc("test instances")] = 400

    def __post_init__(self) -> None:
        if self.k >= self.n:
            raise ValueError(f"k must be less than the {self.n} items, got {self.k}.")


class TopK(Task):
    """Pick exactly k of n items.

        maximise Σ y_i x_i   subject to   Σ x_i = k,  x_i ∈ {0, 1},   y = 10 (x³ − 0.65 x)

    with one feature x ~ U(−1, 1) per item. The best items have x near 1, where the cubic is
    steepest; least squares over all of (−1, 1) gives a line that falls, and picks the worst
    items. A line that rises fits worse and decides far better: accuracy and decisions part.

    A group is an item with the options *take* and *leave*; the one row counts what is taken,
    exactly, so its multiplier may have either sign. The relaxation is integral.

    Reference: Shah et al. (2022), Decision-Focused Learning without Decision-Making: learning
    locally optimized decision losses (LODL), section "Linear model".
    """

    name: ClassVar[str] = "top-k"
    summary: ClassVar[str] = "pick the k best items; a cubic that a line cannot fit (LODL's)"
    sizes: ClassVar[tuple[int, ...]] = (50,)
    Settings: ClassVar[type[Any]] = TopKSettings
    rows: ClassVar[Kind | None] = "item"

    def generate(self, settings: TopKSettings, seed: int) -> Dataset:
        """Draw one feature per item; the score follows, with noise if asked for."""
        sizes = (settings.train, settings.val, settings.test)
        shape = (sum(sizes), settings.n)
        features = stream(seed, "top-k", "features").uniform(-1.0, 1.0, shape)
        labels = score(features)
        if settings.noise:
            labels += settings.noise * stream(seed, "top-k", "noise").normal(size=shape)
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, {}),
            constants={},
            features=features[..., None],
            labels=labels,
            split=split_sizes_to_rows(sizes, np.arange(sum(sizes))),
        )

    def problem(self, settings: TopKSettings, constants: Mapping[str, Any]) -> Problem:
        """One row: the number of items taken is k."""
        return Problem.top_k(settings.n, settings.k)

    def label_axis(self, settings: TopKSettings) -> LabelAxis:
        """Place each score at its item's number."""
        return LabelAxis("item", np.arange(1, settings.n + 1))


def score(feature: Any) -> Any:
    """y = 10 (x³ − 0.65 x)."""
    return 10.0 * (feature**3 - 0.65 * feature)

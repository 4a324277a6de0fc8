"""The data behind published tables: PyEPO's own experiments, run by run.

Their ten runs come from one generator, numpy's global one seeded with 135. Each run draws its
seed s from it, seeds it with s and draws its data, so that the next s comes from what drawing
left behind:

    state ← 135;  for each run:  s = state.randint(999),  state ← s,  data ~ state

The test set are the first 1,000 instances of ``RandomState(s).permutation``, and all others are
for training; there is no validation set. Costs stay in double precision. A `RandomState` of our
own goes the same way, so nothing global is touched.

Test figures there are Σ regret / (Σ |z*| + 0.001).

Reference: Tang and Khalil (2024), PyEPO: a PyTorch-based end-to-end predict-then-optimize
library, and the results that its repository kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from typing_extensions import Doc

from dglbench.errors import OptionError
from dglbench.options import LATER
from dglbench.task import Task, split_sizes_to_rows

__all__ = ["RUNS", "PublishedTask", "Source", "draw_run", "imply_sizes", "published_split"]

T = TypeVar("T")

RUNS = 10
_SEED = 135
_SEEDS_BELOW = 999
_TEST = 1000
_ADDED_TO_OPTIMA = 1e-3

Source = Annotated[
    Literal["generated", "published"],
    Doc(
        "data of the seed, or data and split of that run (0 to 9) of PyEPO's published "
        "experiments, which have 1000 test and no validation instances"
    ),
    LATER,
]


def imply_sizes(settings: Any) -> None:
    """Set what the published split fixes; refuse another size in the words of a settings class."""
    if settings.source != "published":
        return
    defaults = {field.name: field.default for field in dataclasses.fields(settings)}
    for name, implied in (("val", 0), ("test", _TEST)):
        given = getattr(settings, name)
        if given not in (implied, defaults[name]):
            raise ValueError(
                f"source=published has {_TEST} test and no validation instances, so {name} must "
                f"be {implied}, got {given}; leave it out."
            )
        object.__setattr__(settings, name, implied)


def draw_run(task: str, run: int, draw: Callable[[np.random.RandomState], T]) -> tuple[int, T]:
    """Return the seed and the data of one run; ``draw`` makes the data of any of them."""
    if run >= RUNS:
        raise OptionError(
            f"task {task} with source=published has the data seeds 0 to {RUNS - 1}, one for each "
            f"published run, got {run}; write --seed 0 (or --seeds 0-{RUNS - 1} in a sweep)."
        )
    state = np.random.RandomState(_SEED)
    for _ in range(run + 1):
        seed = int(state.randint(_SEEDS_BELOW))
        state.seed(seed)
        drawn = draw(state)
    return seed, drawn


def published_split(seed: int, instances: int) -> npt.NDArray[np.int8]:
    """Return the split (K,) of a run's instances: the first of a permutation are the test set."""
    order = np.random.RandomState(seed).permutation(instances)
    return split_sizes_to_rows((instances - _TEST, 0, _TEST), np.roll(order, -_TEST))


class PublishedTask(Task):
    """A task whose settings have a `Source`: what the published experiments fix beside data."""

    def protocol(self, settings: Any) -> Mapping[str, Any]:
        """Train a fixed number of epochs and keep the last, as the published runs did."""
        return {"choose": "last"} if settings.source == "published" else {}

    def added_to_optima(self, settings: Any) -> float:
        """Return what the published figures add to Σ |z*|."""
        return _ADDED_TO_OPTIMA if settings.source == "published" else 0.0

"""The data behind published tables: the experiments of others, run by run.

A `Source` names an experiment; a data seed is then one of its runs, with the data and the split
of that run. Costs stay in double precision, 1,000 instances are for testing, all others for
training, and there is no validation set. The split is that of a permutation by a generator of
its own, whose first 1,000 are the test set.

========== ======= ========================================= ==========
experiment seeds   data from                                 split from
========== ======= ========================================= ==========
published  0–9     s of a chain that begins at 135           s
cave       42–51   the data seed                             135
notebook   42      the data seed                             42
========== ======= ========================================= ==========

*published* are PyEPO's own experiments: numpy's global generator, seeded with 135. Each run draws
its seed s from it, seeds it with s and draws its data, so that the next s comes from what drawing
left behind:

    state ← 135;  for each run:  s = state.randint(999),  state ← s,  data ~ state

A `RandomState` of our own goes the same way, so nothing global is touched. *cave* are the
experiments of CaVE, *notebook* is the notebook *Training and Testing* of PyEPO 2.2.

Test figures there are Σ regret / (Σ |z*| + a), a = 0.001, or 1e-7 in the later two.

Reference: Tang and Khalil (2024), PyEPO: a PyTorch-based end-to-end predict-then-optimize
library, and CaVE: a cone-aligned approach for fast predict-then-optimize with binary linear
programs; their repositories, which hold the code of these experiments and their results.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from typing_extensions import Doc

from dglbench.errors import OptionError
from dglbench.options import LATER
from dglbench.task import Dataset, Task, split_sizes_to_rows

__all__ = [
    "RUNS",
    "PathSource",
    "PublishedTask",
    "Source",
    "draw_run",
    "imply_sizes",
    "published_split",
]

T = TypeVar("T")

_SEED = 135
_SEEDS_BELOW = 999
_TEST = 1000


class Experiment(NamedTuple):
    """What an experiment fixes beside its way of drawing."""

    seeds: range
    """The data seeds, one for each run."""
    split: int | None
    """The seed of every split; None where it is that of the run's data."""
    added_to_optima: float
    """What its figures add to Σ |z*|."""
    scaled: bool = True
    """Whether methods see values in units of the labels' spread, as elsewhere in dglbench. The
    published sizes of perturbations are in the labels' own unit."""


_EXPERIMENTS = {
    "published": Experiment(range(10), None, 1e-3),
    "cave": Experiment(range(42, 52), 135, 1e-7, scaled=False),
    "notebook": Experiment(range(42, 43), 42, 1e-7, scaled=False),
}
RUNS = len(_EXPERIMENTS["published"].seeds)

Source = Annotated[
    Literal["generated", "published"],
    Doc(
        "data of the seed, or data and split of that run (0 to 9) of PyEPO's published "
        "experiments, which have 1000 test and no validation instances"
    ),
    LATER,
]
PathSource = Annotated[
    Literal["generated", "published", "cave", "notebook"],
    Doc(
        "data of the seed, or data and split of that run of published experiments, which have "
        "1000 test and no validation instances: PyEPO's (0 to 9), CaVE's (42 to 51), or PyEPO's "
        "notebook (42)"
    ),
    LATER,
]


def imply_sizes(settings: Any) -> None:
    """Set what the published split fixes; refuse another size in the words of a settings class."""
    if settings.source not in _EXPERIMENTS:
        return
    defaults = {field.name: field.default for field in dataclasses.fields(settings)}
    for name, implied in (("val", 0), ("test", _TEST)):
        given = getattr(settings, name)
        if given not in (implied, defaults[name]):
            raise ValueError(
                f"source={settings.source} has {_TEST} test and no validation instances, so "
                f"{name} must be {implied}, got {given}; leave it out."
            )
        object.__setattr__(settings, name, implied)


def draw_run(
    task: str, source: str, run: int, draw: Callable[[np.random.RandomState], T]
) -> tuple[int, T]:
    """Return the seed of the split and the data of one run; ``draw`` makes the data of any."""
    seeds, split, *_ = _EXPERIMENTS[source]
    if run not in seeds:
        first, last = seeds[0], seeds[-1]
        there = f"the data seeds {first} to {last}, one for each published run"
        ask = f"--seed {first} (or --seeds {first}-{last} in a sweep)"
        if first == last:
            there, ask = f"the data seed {first} alone", f"--seed {first}"
        raise OptionError(f"task {task} with source={source} has {there}, got {run}; write {ask}.")
    if split is not None:
        return split, draw(np.random.RandomState(run))
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
        return {"choose": "last"} if settings.source in _EXPERIMENTS else {}

    def added_to_optima(self, settings: Any) -> float:
        """Return what the published figures add to Σ |z*|."""
        experiment = _EXPERIMENTS.get(settings.source)
        return experiment.added_to_optima if experiment else 0.0

    def label_scale(self, dataset: Dataset) -> float:
        """Return the standard deviation of the train labels, which grows with the degree."""
        experiment = _EXPERIMENTS.get(dataset.spec.settings.source)
        return dataset.label_spread if experiment is None or experiment.scaled else 1.0

"""What a task plugin supplies, and the data it makes.

A task turns its settings and a seed into a `Dataset`, says which `Problem` the
instances share, and says how the features lie that a predictor learns from. It does not depend
on methods. Register a subclass of `Task` under the entry-point group
``dglbench.tasks`` and every command finds it.
"""

from __future__ import annotations

import dataclasses
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench import options
from dglbench.errors import DatasetError, OptionError, PluginError
from dglbench.layout import Kind, Layout, Link
from dglbench.problem import Array, Problem

if TYPE_CHECKING:
    from torch import nn

    from dglbench.solvers import Solver

__all__ = [
    "SPLITS",
    "Dataset",
    "LabelAxis",
    "Shown",
    "Task",
    "TaskSpec",
    "last_in_order",
    "setting_name",
    "split_sizes_to_rows",
]

SPLITS = ("train", "val", "test")


def setting_name(task: str, settings: Mapping[str, Any]) -> str:
    """Name a comparison by its task and size, ``matching-50``; own data by its name."""
    if task == "own":
        return str(settings["name"])
    return f"{task}-{settings['n']}" if "n" in settings else task


@dataclass(frozen=True)
class TaskSpec:
    """Which data: a task's name, its resolved settings and the data seed."""

    task: str
    settings: Any
    seed: int

    @property
    def setting_name(self) -> str:
        """A short name such as ``matching-50``."""
        return setting_name(self.task, options.as_dict(self.settings))

    @property
    def full_name(self) -> str:
        """The short name and the settings that are not default, size aside."""
        changed = (
            f"{field.name}={_written(value)}"
            for field in dataclasses.fields(self.settings)
            for value in [getattr(self.settings, field.name)]
            if field.name not in ("n", "name") and value != field.default
        )
        return " ".join([self.setting_name, *changed])


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(map(_written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Instances of one problem, with the split each belongs to."""

    spec: TaskSpec
    problem: Problem
    constants: Mapping[str, Any]
    """What the problem needs beyond the settings (weights, capacities), JSON-ready."""
    features: Array
    """(K, …): predictor inputs, not standardised."""
    labels: Array
    """(K, G, S): true values, 0 where the problem predicts nothing; or (K, P) parameters.

    In the task's own sense and unit: costs stay costs. `Problem.values` turns them into what
    is maximised.
    """
    split: npt.NDArray[np.int8]
    """(K,): index into `SPLITS`."""

    def __post_init__(self) -> None:
        expected = self.problem.label_shape
        if self.labels.shape[1:] != expected:
            raise DatasetError(
                f"labels must have shape (instances, {', '.join(map(str, expected))}), "
                f"got {self.labels.shape}."
            )
        if self.problem.instances not in (None, len(self.labels)):
            raise DatasetError(
                f"the problem has {self.problem.instances} instances, the labels have "
                f"{len(self.labels)}; both need one entry per instance."
            )

    def rows(self, split: str) -> npt.NDArray[np.intp]:
        """Return the instances of one split, in order."""
        return np.flatnonzero(self.split == SPLITS.index(split))

    def part(self, array: Array, split: str) -> Array:
        """Return the rows of one split of an array; a view where they are contiguous."""
        rows = self.rows(split)
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            return array[rows[0] : rows[-1] + 1]
        chosen: Array = array[rows]
        return chosen

    @cached_property
    def standardiser(self) -> tuple[Array, Array]:
        """Mean and standard deviation of each feature over the train split."""
        train = self.part(self.features, "train").reshape(-1, self.features.shape[-1])
        spread = train.std(axis=0)
        return train.mean(axis=0), np.where(spread > 0, spread, 1.0)

    @property
    def label_spread(self) -> float:
        """The standard deviation of what is predicted over the train split; 1 if that is 0."""
        return float(self.problem.pack(self.part(self.labels, "train")).std()) or 1.0


class LabelAxis(NamedTuple):
    """The position of each predicted value in pictures of the data: a location, an hour."""

    title: str
    positions: npt.NDArray[Any]
    """(P,): one position per predicted option."""


class Shown(NamedTuple):
    """One instance with its optimum, for a picture of it."""

    row: int
    """Which of the dataset's instances."""
    labels: Array
    """(G, S) or (P,): its true labels, in the task's own sense and unit."""
    decision: Array
    """(G, S): an exact optimum for them, 1 where an option is picked."""
    optimum: float
    """What that is worth, or costs, in the task's own sense."""


class Task(ABC):
    """A family of predict-then-optimise problems."""

    name: ClassVar[str]
    summary: ClassVar[str]
    sizes: ClassVar[tuple[int, ...]]
    """The sizes the paper reports."""
    Settings: ClassVar[type[Any]]
    """A frozen dataclass with at least the field ``n``, every field with a default."""
    integral: ClassVar[bool | None] = None
    """Whether the relaxation has integer optima whatever the values; None if unknown.

    Not needed where the problem's structure decides it (`Problem.is_integral`).
    """

    rows: ClassVar[Kind | None] = None
    """What one row of features describes (`dglbench.layout`); None: the shapes say it."""
    link: ClassVar[Link] = "identity"
    """What keeps predictions in range, such as ``softplus`` for costs of paths."""

    @abstractmethod
    def generate(self, settings: Any, seed: int) -> Dataset:
        """Draw or load all instances; a pure function of its arguments."""

    @abstractmethod
    def problem(self, settings: Any, constants: Mapping[str, Any]) -> Problem:
        """Build the problem from the settings and a dataset's constants.

        What differs by instance is added by `generate`, with `Problem.vary`.
        """

    def layout(self, dataset: Dataset) -> Layout | None:
        """Say how the features lie and what comes out; None if that is no layout.

        Every predictor of `dglbench.predictors` is built for it, in units of the labels.
        """
        return Layout.of(dataset.features.shape, dataset.problem, kind=self.rows, link=self.link)

    def predictor(self, dataset: Dataset) -> nn.Module:
        """Build an untrained model of the task's own, for a task that has one.

        In float64, from features to predictions in the labels' shape and unit; it standardises
        its inputs with the train split's statistics itself. It is then called ``task`` and is
        the default; a task without one is learnt by ``linear``.
        """
        raise PluginError(f"task {self.name} has no predictor of its own; choose linear or mlp.")

    def has_predictor(self) -> bool:
        """Say whether the task has a model of its own."""
        return type(self).predictor is not Task.predictor

    def label_scale(self, dataset: Dataset) -> float:
        """Return what labels are divided by before τ, α and μ act on them."""
        return 1.0

    def protocol(self, settings: Any) -> Mapping[str, Any]:
        """Return what these data ask of the training protocol, over the task's own defaults."""
        return {}

    def added_to_optima(self, settings: Any) -> float:
        """Return what is added to Σ |f*| when pooled regret divides by it; 0 but for old tables."""
        return 0.0

    def label_axis(self, settings: Any) -> LabelAxis | None:
        """Return the position of each predicted value, or None if there is nothing to draw."""
        return None

    def picture(self, dataset: Dataset, shown: Shown) -> Any:
        """Draw one instance and its optimum as a plotnine plot, for ``generate --plot``.

        Or leave it to the function ``picture`` of a module of the task's name in a folder
        ``pictures`` beside the task's module: found by name, it is not part of the code that
        identifies a run. Without either, the distribution of the labels is drawn.
        """
        return None

    def remark(self, settings: Any) -> str | None:
        """Say what a reader of a plan should know about this data, None if nothing."""
        return None

    def batched_solver(self, problem: Problem) -> Solver | None:
        """Return the task's own solver that answers whole batches, None if it has none.

        The family ``batched`` then takes the one that fits the problem's structure.
        """
        return None

    def parse_settings(self, given: Mapping[str, Any]) -> Any:
        """Check settings given as values or text."""
        self.refuse_predictor_settings(given)
        return options.parse(self.Settings, given, owner=f"task {self.name}")

    def refuse_predictor_settings(self, given: Mapping[str, Any]) -> None:
        """Refuse what was a setting before predictors could be chosen for every task."""
        own = {info.name for info in options.describe(self.Settings)}
        if moved := [name for name in ("predictor", "hidden") if name in given and name not in own]:
            raise OptionError(
                f"{moved[0]} is no setting of task {self.name}: write --predictor mlp, or for "
                "example --predictor mlp:hidden=64,layers=2."
            )

    def paper(self) -> dict[str, Any]:
        """Read the paper's settings and search spaces: the TOML file beside the task's module.

        Its learning rates are of predictors in raw units. Where the labels' standard deviation is
        far from 1, the file names it as ``label_scale``, and the rates are divided by it: Adam
        moves an output in units of the labels by that much less.
        """
        module = type(self).__module__
        package, _, stem = module.rpartition(".")
        if not package:
            return {}
        file = resources.files(package).joinpath(f"{stem}.toml")
        return _in_label_units(tomllib.loads(file.read_text("utf-8"))) if file.is_file() else {}


def _in_label_units(paper: dict[str, Any]) -> dict[str, Any]:
    """Divide every learning rate of a task's file by its ``label_scale``."""
    scale = paper.get("label_scale", 1.0)

    def divided(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: divided(each) for key, each in value.items()}
        if isinstance(value, list):
            return [divided(each) for each in value]
        return float(f"{value / scale:.3g}")  # three digits are enough for any rate

    def walked(table: Any) -> Any:
        if not isinstance(table, Mapping):
            return table
        return {key: divided(v) if key == "lr" else walked(v) for key, v in table.items()}

    return paper if scale == 1.0 else walked(paper)


def split_sizes_to_rows(
    sizes: tuple[int, int, int], order: npt.NDArray[np.intp]
) -> npt.NDArray[np.int8]:
    """Assign the first instances of ``order`` to train, the next to val, the rest to test."""
    if sum(sizes) != len(order):
        raise OptionError(f"train + val + test must be {len(order)}, got {sum(sizes)}.")
    split = np.empty(len(order), dtype=np.int8)
    split[order] = np.repeat(np.arange(3, dtype=np.int8), sizes)
    return split


def last_in_order(
    sizes: tuple[int, int, int], order: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Keep the last instances of ``order``: which, rising, and their order among themselves.

    With fewer for training, validation and test stay what they were.
    """
    last = order[len(order) - sum(sizes) :]
    kept = np.sort(last)
    return kept, np.searchsorted(kept, last)

"""Transport: send units of supply to destinations that ask for a number of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from typing_extensions import Doc

from dglbench.layout import Kind
from dglbench.problem import Array, Problem
from dglbench.streams import stream
from dglbench.task import Dataset, LabelAxis, Task, TaskSpec, split_sizes_to_rows

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Transport", "TransportSettings"]


@dataclass(frozen=True)
class TransportSettings:
    """How many units go where, and how what a way costs depends on the features."""

    n: Annotated[int, Ge(2), Doc("units of supply")] = 30
    destinations: Annotated[
        int, Ge(2), Doc("destinations; demand=one has as many as there are units")
    ] = 5
    demand: Annotated[
        Literal["even", "drawn", "one"],
        Doc("as equal as n allows, drawn at random, or one unit each (optimal transport)"),
    ] = "drawn"
    features: Annotated[int, Ge(1), Doc("features of an instance, such as traffic")] = 5
    degree: Annotated[
        int, Ge(1), Doc("degree of the polynomial; beyond 1 the predictor cannot fit it")
    ] = 4
    noise: Annotated[float, Ge(0), Le(1), Doc("costs are multiplied by 1 ± this, uniformly")] = 0.5
    train: Annotated[int, Ge(1), Doc("training instances")] = 400
    val: Annotated[int, Ge(1), Doc("validation instances")] = 100
    test: Annotated[int, Ge(1), Doc("test instances")] = 200

    def __post_init__(self) -> None:
        if self.demand != "one" and self.destinations > self.n:
            raise ValueError(
                f"every destination asks for a unit at least, so destinations must be at most "
                f"n = {self.n}, got {self.destinations}."
            )

    @property
    def places(self) -> int:
        """How many destinations there are."""
        return self.n if self.demand == "one" else self.destinations


class Transport(Task):
    """Send every unit of supply to one destination; arrivals meet the demand exactly.

        minimise Σ c_ij x_ij   subject to   Σ_i x_ij = demand_j,   Σ_j x_ij = 1

    Units start at points of the unit square, new ones in every instance; destinations are
    fixed. A way costs its length times how busy its destination is, which is PyEPO's
    polynomial of the instance's features z ~ N(0, I_p), times noise:

        c_ij = |a_i − b_j| · ((β_j·z/√p + 3)^degree + 1) / 3.5^degree · ε_ij,
        β_j ~ Bernoulli(½)^p,   ε ~ U(1 − noise, 1 + noise)

    The predictor knows the lengths and is linear in z for every destination: right at degree
    1, misspecified beyond. With demand=one there are as many destinations as units and each
    takes one: discrete optimal transport between unit masses. The relaxation is integral.
    """

    name: ClassVar[str] = "transport"
    summary: ClassVar[str] = "send units to destinations that ask for some; optimal transport too"
    sizes: ClassVar[tuple[int, ...]] = (30,)
    Settings: ClassVar[type[Any]] = TransportSettings
    rows: ClassVar[Kind | None] = "item"

    def generate(self, settings: TransportSettings, seed: int) -> Dataset:
        """Draw points, demands and costs."""
        sizes = (settings.train, settings.val, settings.test)
        count, n, places, p = sum(sizes), settings.n, settings.places, settings.features
        units = stream(seed, "transport", "units").random((count, n, 2))
        destinations = stream(seed, "transport", "destinations").random((places, 2))
        features = stream(seed, "transport", "features").standard_normal((count, p))
        incidence = stream(seed, "transport", "incidence").integers(0, 2, (places, p))
        busy = (features @ incidence.T / np.sqrt(p) + 3) ** settings.degree + 1
        busy /= 3.5**settings.degree
        lengths = np.linalg.norm(units[:, :, None, :] - destinations, axis=-1)
        width = settings.noise
        noise = stream(seed, "transport", "noise").uniform(1 - width, 1 + width, lengths.shape)
        constants = {
            "destinations": destinations.tolist(),
            "demand": _demand(settings, seed).tolist(),
        }
        context = np.broadcast_to(features[:, None, :], (count, n, p))
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=self.problem(settings, constants),
            constants=constants,
            features=np.concatenate([units, context], axis=-1),
            labels=lengths * busy[:, None, :] * noise,
            split=split_sizes_to_rows(sizes, np.arange(count)),
        )

    def problem(self, settings: TransportSettings, constants: Mapping[str, Any]) -> Problem:
        """Build the rows that count arrivals."""
        return Problem.assignment(settings.n, constants["demand"], exactly=True, sense="minimise")

    def predictor(self, dataset: Dataset) -> nn.Module:
        """Build the model that knows lengths and learns how busy destinations are."""
        from dglbench_tasks.transport_model import TravelModel

        mean, spread = dataset.standardiser
        destinations = np.asarray(dataset.constants["destinations"])
        train = dataset.rows("train")
        lengths = np.linalg.norm(dataset.features[train][:, :, None, :2] - destinations, axis=-1)
        level = float(dataset.labels[train].mean() / lengths.mean())
        return TravelModel(mean[2:], spread[2:], destinations, level)

    def label_scale(self, dataset: Dataset) -> float:
        """Return the standard deviation of the train costs, which grows with the degree."""
        return dataset.label_spread

    def label_axis(self, settings: TransportSettings) -> LabelAxis:
        """Place each cost at its destination."""
        return LabelAxis("destination", np.tile(np.arange(1, settings.places + 1), settings.n))


def _demand(settings: TransportSettings, seed: int) -> Array:
    """Return how many units each destination asks for; at least one, n in all."""
    places = settings.places
    if settings.demand == "drawn":
        spare = stream(seed, "transport", "demand").multinomial(
            settings.n - places, np.full(places, 1 / places)
        )
        return 1.0 + spare.astype(np.float64)
    share, over = divmod(settings.n, places)
    return np.where(np.arange(places) < over, share + 1, share).astype(np.float64)

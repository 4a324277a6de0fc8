"""Many-to-one matching: send n individuals to a few locations with limited room.

The synthetic refugee-assignment task of the Dual-Guided Loss paper (section
"Many-to-One Matching"). Individual i has base and location features, zero-mean
Gaussian, each feature's standard deviation drawn once from (0, 5]. The utility
of sending i to location j is

    u_ij = sigmoid(y_base_i + location_weight · y_loc_ij + noise)

* y_base: integer coefficients 1…4 on the base features, standardised over
  individuals. It is the same at every location, so only y_loc decides.
* y_loc: integer coefficients −5…5, drawn for each location, on the absolute
  location features, plus one such coefficient on the product of the first two;
  standardised over all pairs (i, j).

Cohorts, as a resettlement office has them week by week: with ``fewest`` an instance has from
that many to n individuals, evenly distributed, and the others are absent (one option, worth 0,
of no use); with ``room = "drawn"`` the places of a week are shared out anew among the locations,
each place to any of them alike.

The predictor is a logistic regression on pair inputs, which cannot express the
absolute values and the product: it is misspecified on purpose, and that is
where training for decisions can win.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt
from typing_extensions import Doc

from dglbench.layout import Kind, Layout, Link
from dglbench.options import LATER
from dglbench.problem import Array, Problem
from dglbench.streams import stream
from dglbench.task import Dataset, LabelAxis, Task, TaskSpec, split_sizes_to_rows

__all__ = ["Matching", "MatchingSettings"]

# Individuals whose location term is computed at once; bounds the memory that a
# large dataset needs beyond its own features and labels.
_CHUNK = 50_000


@dataclass(frozen=True)
class MatchingSettings:
    """Every number of the matching task; the defaults are the paper's."""

    n: Annotated[int, Ge(1), Doc("individuals per instance")] = 50
    locations: Annotated[int, Ge(1), Doc("locations to send them to")] = 3
    train: Annotated[int, Ge(1), Doc("training instances")] = 400
    val: Annotated[int, Ge(1), Doc("validation instances")] = 400
    test: Annotated[int, Ge(1), Doc("test instances")] = 200
    base_features: Annotated[int, Ge(1), Doc("features that act alike at every location")] = 10
    location_features: Annotated[int, Ge(2), Doc("features that act by location")] = 5
    max_std: Annotated[float, Gt(0), Doc("largest standard deviation of a feature")] = 5.0
    base_coefficient: Annotated[int, Ge(1), Doc("base coefficients are 1 … this")] = 4
    location_coefficient: Annotated[int, Ge(1), Doc("location coefficients are -this … this")] = 5
    location_weight: Annotated[float, Ge(0), Doc("weight of the location term")] = 1.0
    noise: Annotated[float, Ge(0), Doc("standard deviation of noise on the utility's logit")] = 0.0
    slack: Annotated[float, Ge(0), Doc("spare room: capacity is ceil((1 + slack) n / L)")] = 0.0
    capacities: Annotated[
        tuple[int, ...] | None, Doc("room at each location, instead of slack")
    ] = None
    fewest: Annotated[
        int | None, Ge(1), Doc("individuals of the smallest cohort; none: always n"), LATER
    ] = None
    room: Annotated[
        Literal["even", "drawn"],
        Doc("places: as many everywhere, or shared out by instance"),
        LATER,
    ] = "even"

    def __post_init__(self) -> None:
        if self.fewest is not None and self.fewest > self.n:
            raise ValueError(f"fewest must be at most n = {self.n}, got {self.fewest}.")
        if self.capacities is None:
            return
        if self.room == "drawn":
            raise ValueError("capacities and room=drawn both say what room there is; keep one.")
        if len(self.capacities) != self.locations:
            raise ValueError(
                f"capacities needs one number for each of the {self.locations} locations, "
                f"got {len(self.capacities)}."
            )
        if min(self.capacities) < 0 or sum(self.capacities) < self.n:
            raise ValueError(
                f"capacities must be ≥ 0 and hold all {self.n} individuals, "
                f"got {', '.join(map(str, self.capacities))}."
            )

    @property
    def cohorts(self) -> bool:
        """Whether individuals may be absent."""
        return self.fewest is not None

    def places(self, individuals: int) -> list[int]:
        """Return the capacity of each location for that many individuals."""
        if self.capacities is not None:
            return list(self.capacities)
        return [math.ceil((1 + self.slack) * individuals / self.locations)] * self.locations


class Matching(Task):
    """Assign individuals to locations (an integral polytope: relaxation and optimum agree)."""

    name: ClassVar[str] = "matching"
    summary: ClassVar[str] = "send individuals to locations with limited room (synthetic)"
    sizes: ClassVar[tuple[int, ...]] = (10, 50)
    Settings: ClassVar[type[Any]] = MatchingSettings
    rows: ClassVar[Kind | None] = "pair"
    link: ClassVar[Link] = "sigmoid"

    def generate(self, settings: MatchingSettings, seed: int) -> Dataset:
        """Draw features and utilities; memory stays near features + utilities."""
        count = settings.train + settings.val + settings.test
        people = count * settings.n
        width = settings.base_features + settings.location_features

        stds = settings.max_std * (1 - stream(seed, "matching", "std").random(width))
        features = stream(seed, "matching", "features").standard_normal((people, width))
        features *= stds

        logits = _location_term(features[:, settings.base_features :], settings, seed)
        logits *= settings.location_weight
        logits += _base_term(features[:, : settings.base_features], settings, seed)[:, None]
        if settings.noise:
            for start in range(0, people, _CHUNK):  # the noise never exists as one large array
                part = logits[start : start + _CHUNK]
                draws = stream(seed, "matching", "noise", str(start)).standard_normal(part.shape)
                part += settings.noise * draws
        utilities = _sigmoid_in_place(logits).reshape(count, settings.n, settings.locations)

        constants = {"capacities": settings.places(settings.n)}
        problem = self.problem(settings, constants)
        if settings.cohorts or settings.room == "drawn":
            problem, utilities = _by_week(problem, utilities, settings, seed)
        order = np.arange(count)
        return Dataset(
            spec=TaskSpec(self.name, settings, seed),
            problem=problem,
            constants=constants,
            features=features.reshape(count, settings.n, width),
            labels=utilities,
            split=split_sizes_to_rows((settings.train, settings.val, settings.test), order),
        )

    def problem(self, settings: MatchingSettings, constants: Mapping[str, Any]) -> Problem:
        """Build the rows that count heads at each location."""
        return Problem.assignment(settings.n, constants["capacities"], absent=settings.cohorts)

    def layout(self, dataset: Dataset) -> Layout | None:
        """Say that base features act alike at every location."""
        shared = dataset.spec.settings.base_features
        return Layout.of(
            dataset.features.shape, dataset.problem, kind=self.rows, link=self.link, shared=shared
        )

    def label_axis(self, settings: MatchingSettings) -> LabelAxis:
        """Place each utility at its location."""
        return LabelAxis("location", np.tile(np.arange(1, settings.locations + 1), settings.n))


def _by_week(
    problem: Problem, utilities: Array, settings: MatchingSettings, seed: int
) -> tuple[Problem, Array]:
    """Give each instance its own cohort and room; the last of the n individuals are absent."""
    count, n, locations = utilities.shape
    heads: npt.NDArray[np.int64] = np.full(count, n)
    if settings.fewest is not None:
        draws = stream(seed, "matching", "cohorts")
        heads = np.asarray(draws.integers(settings.fewest, n, count, endpoint=True))
    places = np.array([settings.places(int(number)) for number in heads])
    if settings.room == "drawn":
        odds = np.full(locations, 1 / locations)
        places = stream(seed, "matching", "room").multinomial(places.sum(axis=1), odds)
    if not settings.cohorts:
        return problem.vary(b=places), utilities
    present = np.arange(n) < heads[:, None]
    exists = np.repeat(present[:, :, None], locations + 1, axis=2)
    exists[:, :, -1] = ~present
    known = np.zeros((count, n, locations + 1))
    known[:, :, :-1] = utilities * present[:, :, None]
    return problem.vary(b=places, mask=exists), known


def _base_term(base: Array, settings: MatchingSettings, seed: int) -> Array:
    draws = stream(seed, "matching", "base coefficients")
    coefficients = draws.integers(1, settings.base_coefficient, base.shape[1], endpoint=True)
    return _standardised(base @ coefficients.astype(np.float64))


def _location_term(local: Array, settings: MatchingSettings, seed: int) -> Array:
    """Return y_loc for all individuals and locations, as (people, locations)."""
    bound = settings.location_coefficient
    shape = (settings.locations, local.shape[1] + 1)
    draws = stream(seed, "matching", "location coefficients")
    coefficients = draws.integers(-bound, bound, shape, endpoint=True).astype(np.float64)
    term = np.empty((len(local), settings.locations))
    for start in range(0, len(local), _CHUNK):
        part = local[start : start + _CHUNK]
        inputs = np.column_stack([np.abs(part), part[:, 0] * part[:, 1]])
        term[start : start + _CHUNK] = inputs @ coefficients.T
    return _standardised(term)


def _standardised(values: Array) -> Array:
    """Shift and scale to zero mean and unit variance in place; constants become 0."""
    values -= values.mean()
    spread = math.sqrt(float(np.vdot(values, values)) / values.size)
    if spread > 0:
        values /= spread
    return values


def _sigmoid_in_place(logits: Array) -> Array:
    """Return 1 / (1 + exp(−logits)), reusing the array; stable for large |logits|."""
    np.tanh(np.multiply(logits, 0.5, out=logits), out=logits)
    logits += 1.0
    logits *= 0.5
    return logits

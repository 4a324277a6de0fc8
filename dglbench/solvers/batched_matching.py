"""Many-to-one matching for a whole batch at once: exact assignments and central duals.

maximise Σ_i u_{i,a(i)}   subject to   #{i : a(i) = j} ≤ b_j   for every location j
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from dglbench.problem import Array, Mask, Problem
from dglbench.solvers.base import Solver
from dglbench.solvers.matching_centre import central_prices
from dglbench.solvers.matching_flow import flow_error, flow_match, settle
from dglbench.solvers.matching_relocation import (
    Indices,
    Matching,
    head_count,
    match,
    match_places,
)

__all__ = ["BatchedMatching"]

# Numbers in one working array: 4 MB. Larger chunks are no faster, as they leave the cache.
CHUNK_NUMBERS = 2**19
# Successive shortest paths take about n·L³ steps at worst, a flow far fewer, but each instance
# alone. They are as fast at about 3,700 × 3, 800 × 5 and 100 × 10; beyond ten locations the
# sweeps over all pairs of them cost more than a flow at any n.
MOST_LOCATIONS = 10
MOST_STEPS = 100_000


class BatchedMatching(Solver):
    """Assignment problems in which all may go everywhere, with integer capacities.

    Capacities may differ by instance, individuals may be absent from some (a mask with the
    last option alone), and all or none of those present may take an option that uses no row.

    `decide` and `relax` (the relaxation is integral): individuals start at their best location
    at prices that a few rising sweeps find. Locations still overfull then send one individual
    at a time along the shortest path of moves j → k, of length

        c[j, k] = min over i at j of (u_ij - u_ik),

    to a location with room (successive shortest paths, all instances in step). Larger instances
    (`MOST_STEPS`, `MOST_LOCATIONS`) go one by one to min-cost flow, the largest along few arcs
    first (`dglbench.solvers.matching_flow`). `duals` follow from c alone. All steps are
    elementwise over instances or pick minima, so an instance's answer has the same bits alone,
    in any batch and in any order.

    The dual rule is ``centre``: optimal λ are those with λ_j - λ_k ≤ c[j, k], λ ≥ 0, and
    λ_j = 0 where there is room; `central_prices` takes a point in the relative interior of
    that set, so individuals keep a margin wherever some optimal λ gives them one. Two cases
    have no upper end. If capacities sum to n, λ is known only up to a shift, which changes no
    softmax: the centre of the differences is taken, with min λ = 0. A location without
    capacity gets the lowest price at which no individual prefers it, plus the spread of the
    instance's values. Demands that must be met exactly (= rows) all bind, and sum to n: the same.

    Reference: Ahuja, Magnanti and Orlin, Network Flows (1993), section 9.7.
    """

    family: ClassVar[str] = "batched"
    dual_rule: ClassVar[str] = "centre"

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `Solver.refuses`."""
        if not (problem.is_assignment and _everywhere(problem)):
            return (
                "batched matching needs an assignment problem in which every individual may go "
                "to every location; use the ortools solver."
            )
        if (problem.b != np.floor(problem.b)).any():
            return (
                f"batched matching needs integer capacities, got {problem.b}; round them down "
                "or use the ortools solver."
            )
        if problem.equality.any() and not (
            problem.equality.all() and problem.rows == problem.options
        ):
            return (
                "batched matching needs either capacities or exact demands, the same for all "
                "locations; use the ortools solver."
            )
        return None

    def decision_error(self, values: Array) -> Array:
        """(K,): 0 for shortest paths, what rounding can cost where min-cost flow decides."""
        groups, options = self.problem.shape
        if _few_moves(values.transpose(0, 2, 1)):
            return np.zeros(len(values))
        ever = self.problem.ever
        best = np.where(ever, values, -np.inf).max(axis=2)
        worst = np.where(ever, values, np.inf).min(axis=2)
        error: Array = flow_error(groups, options) * (best - worst).max(axis=1)
        return error

    def _decide(self, values: Array, at: Problem) -> Array:
        x = np.zeros(values.shape)
        for chunk in self._chunks(values, at):
            if _few_moves(chunk.utilities):
                found = match_places(chunk.utilities, chunk.rooms)
            else:
                found = flow_match(chunk.utilities, chunk.rooms)
            place = chunk.places[found]
            part = x[chunk.rows]  # a view where rows are a slice
            np.put_along_axis(part, place[:, :, None], 1.0, axis=2)
            if not isinstance(chunk.rows, slice):
                x[chunk.rows] = part
        return x

    def _relax(self, values: Array, at: Problem) -> Array:
        return self._decide(values, at)

    def _duals(self, values: Array, at: Problem) -> Array:
        duals = np.zeros((len(values), at.rows))
        for chunk in self._chunks(values, at):
            if _few_moves(chunk.utilities):
                found = match(chunk.utilities, chunk.rooms)
            else:
                place = flow_match(chunk.utilities, chunk.rooms)
                found = settle(chunk.utilities, chunk.rooms, place)
            prices = self._central(chunk, found)
            part = duals[chunk.rows]
            priced = chunk.places[chunk.places < at.rows]
            part[:, priced] = prices[:, : len(priced)]
            if chunk.closed.size:
                score = chunk.utilities - prices[:, :, None]
                attained = np.take_along_axis(score, found.place[:, None, :], axis=1)[:, 0]
                mask = None if at.mask.ndim == 2 else at.mask[chunk.rows]
                part[:, chunk.closed] = _deterring(values[chunk.rows], mask, attained, chunk.closed)
            duals[chunk.rows] = part
        return duals

    @staticmethod
    def _central(chunk: _Chunk, found: Matching) -> Array:
        """Move the prices of all places to the centre, (K, L)."""
        # What absent individuals do bounds no price.
        kept = slice(0, len(chunk.places) - chunk.has_absent)
        rooms = chunk.rooms[..., kept]
        heads = head_count(found.place, len(chunk.places))[:, kept]
        full = (rooms.sum(axis=-1) == heads.sum(axis=1)) & chunk.has_no_outside
        prices = np.zeros(found.prices.shape)
        for fit in (False, True):
            some = full == fit
            if not (some.any() and kept.stop):
                continue
            some = slice(None) if some.all() else np.flatnonzero(some)
            prices[some, kept] = central_prices(
                found.prices[some, kept],
                found.gaps[some, kept, kept],
                heads[some] < (rooms if rooms.ndim == 1 else rooms[some]),
                fit,
            )
        return prices

    def _chunks(self, values: Array, at: Problem) -> Iterator[_Chunk]:
        """Cut the batch into parts whose open locations are the same, utilities as (K, L, n)."""
        outside = np.arange(at.rows, at.options)
        # A place for n + 1 never fills, so more room than that changes nothing.
        rooms = np.minimum(at.b, at.groups + 1).astype(np.intp)
        has_absent = at.mask.ndim == 3 and at.rows < at.options and _is_absence(self.problem)
        step = max(1, CHUNK_NUMBERS // at.size)
        for rows, is_open in _alike(rooms > 0):
            open_, closed = np.flatnonzero(is_open), np.flatnonzero(~is_open)
            places = np.concatenate([open_, outside])
            everywhere = len(places) == at.options
            for start in range(0, len(values) if rows is None else len(rows), step):
                part = slice(start, start + step) if rows is None else rows[start : start + step]
                room = rooms[open_] if rooms.ndim == 1 else rooms[part][:, open_]
                unlimited = np.full((*room.shape[:-1], len(outside)), at.groups + 1, dtype=np.intp)
                chosen = values[part] if everywhere else values[part][:, :, places]
                utilities = chosen.transpose(0, 2, 1)
                if at.mask.ndim == 3:
                    exists = at.mask[part][:, :, places].transpose(0, 2, 1)
                    utilities = np.where(exists, utilities, -np.inf)
                yield _Chunk(
                    part,
                    # A flow takes them by individual, as they come.
                    np.ascontiguousarray(utilities) if _few_moves(utilities) else utilities,
                    np.concatenate([room, unlimited], axis=-1),
                    places,
                    closed,
                    has_absent,
                    has_absent or not outside.size,
                )


def _few_moves(utilities: Array) -> bool:
    """Whether shortest paths are faster than a flow for utilities (K, L, n): by the sizes alone."""
    _, locations, individuals = utilities.shape
    return bool(locations <= MOST_LOCATIONS and individuals * locations**3 <= MOST_STEPS)


class _Chunk(NamedTuple):
    """Instances that are solved together."""

    rows: slice | Indices
    """Where they are in the batch."""
    utilities: Array
    """(K, L, n): of the places that have room, −∞ where one may not go."""
    rooms: Indices
    """(L,) or (K, L)"""
    places: Indices
    """(L,): which options these are."""
    closed: Indices
    """The locations without room."""
    has_absent: bool
    """Whether the last place is where absent individuals are, and no others may be."""
    has_no_outside: bool
    """Whether those present need one of the locations."""


def _everywhere(problem: Problem) -> bool:
    """Whether all present may go to every location, and all or none of them outside."""
    if problem.mask.all():
        return True
    return problem.mask.ndim == 3 and (problem.rows < problem.options) and _is_absence(problem)


def _is_absence(problem: Problem) -> bool:
    """Whether everyone has either all locations or the last option alone."""
    present = problem.mask[..., : problem.rows]
    absent = problem.mask[..., problem.rows :]
    return (
        problem.options == problem.rows + 1
        and bool((present == present[..., :1]).all())
        and bool((absent != present[..., :1]).all())
    )


def _alike(is_open: Mask) -> Iterator[tuple[Indices | None, Mask]]:
    """Yield instances together whose locations with room are the same; None for all of them."""
    if is_open.ndim == 1:
        yield None, is_open
        return
    patterns, which = np.unique(is_open, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == number), pattern


def _deterring(values: Array, mask: Mask | None, attained: Array, closed: Indices) -> Array:
    """Price locations without capacity so that no individual prefers one to their own."""
    envied, low, high = values[:, :, closed], values, values
    if mask is not None:
        envied = np.where(mask[:, :, closed], envied, -np.inf)
        low, high = np.where(mask, values, np.inf), np.where(mask, values, -np.inf)
    envy = (envied - attained[:, :, None]).max(axis=1)
    spread = high.max(axis=(1, 2)) - low.min(axis=(1, 2))
    deterring: Array = np.maximum(envy, 0.0) + spread[:, None]
    return deterring

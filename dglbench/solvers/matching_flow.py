"""Assignments of large instances by min-cost flow, one instance after the other.

Most arcs of a large instance are in no optimum. A sample of the individuals, with its share of
the room, has nearly the prices of all; a flow along the arcs that are close to the best at these
prices is then checked against all arcs, and arcs that would improve it join (column generation).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dglbench.errors import SolverError
from dglbench.problem import Array, Mask
from dglbench.solvers.matching_relocation import Indices, Matching, gaps_of, head_count
from dglbench.solvers.ortools_flow import flows, largest_cost
from dglbench.solvers.ortools_integer import rounding_share, to_integers

__all__ = ["flow_error", "flow_match", "settle"]

# Arcs from which a sample pays: at 1,000 × 20 it makes no difference, at 3,000 × 50 the flow
# along the arcs kept and all checks take a third of the whole flow's time.
SIFT_FROM = 50_000
# Individuals in the smallest sample, for each location: with half as many some kept arcs do not
# fit all individuals, and the flow has to be solved again.
SAMPLE_A_LOCATION = 12
SAMPLE_EVERY = 8
# Arcs kept for each individual, on average, as long as these are a minority.
KEPT_ARCS = 4.0
MOST_KEPT = 0.4


class _Prices(NamedTuple):
    """The least prices at which no move gains, (K, L), and whether there are any, (K,)."""

    prices: Array
    found: Mask


def flow_error(individuals: int, places: int) -> float:
    """How much a flow's choice may miss, as a share of the largest difference inside a group."""
    return rounding_share(individuals, largest_cost(individuals + places + 1))


def flow_match(utilities: Array, rooms: Indices) -> Indices:
    """Return the location (K, n) of every individual; arguments as in `match`."""
    place = np.empty((len(utilities), utilities.shape[2]), dtype=np.intp)
    for instance, by_location in enumerate(utilities):
        room = rooms if rooms.ndim == 1 else rooms[instance]
        place[instance] = _best_places(np.ascontiguousarray(by_location.T), room)
    return place


def settle(utilities: Array, rooms: Indices, place: Indices) -> Matching:
    """Return optimal places (K, n) with their gaps and the least optimal prices."""
    gaps = gaps_of(utilities, place, rooms.shape[-1])
    prices = _least_prices(gaps, np.stack([_unit(one.T) for one in utilities])).prices
    # What rounding leaves of a price where there is room.
    prices[head_count(place, rooms.shape[-1]) < rooms] = 0.0
    return Matching(place, prices, gaps)


def _best_places(utilities: Array, room: Indices) -> Indices:
    """Return the best location of each individual, for utilities (n, L)."""
    allowed = np.isfinite(utilities)
    place = None
    if _sample_step(utilities) > 1:
        place = _sifted(utilities, room, allowed)
    if place is None:
        place = _flow(utilities, room, allowed)
    if place is None:
        raise SolverError(
            "min-cost flow found no assignment; check that the capacities fit all individuals "
            "where they may go."
        )
    return place


def _sample_step(utilities: Array) -> int:
    """Which individuals stand for all in a sample: every how many; 1 for no sample."""
    individuals, locations = utilities.shape
    if individuals * locations < SIFT_FROM:
        return 1
    return int(min(SAMPLE_EVERY, individuals // (SAMPLE_A_LOCATION * locations)))


def _sifted(utilities: Array, room: Indices, allowed: Mask) -> Indices | None:
    """Solve along few arcs, and check against all; None if these few are of no help."""
    step = _sample_step(utilities)
    sample = np.ascontiguousarray(utilities[::step])
    share = np.ceil(room * (len(sample) / len(utilities))).astype(np.intp)
    try:
        place = _best_places(sample, share)
    except SolverError:  # by chance more of a sample are present than its share of the room holds
        return None
    behind = utilities - _prices_at(sample, place, None).prices[0]
    behind = behind.max(axis=1, keepdims=True) - behind
    ranked = np.sort(behind[::step], axis=None)
    kept_arcs = min(KEPT_ARCS, MOST_KEPT * utilities.shape[1])
    kept = behind <= ranked[int(kept_arcs * len(sample))]
    for _ in range(4):
        found = _flow(utilities, room, kept)
        if found is None:
            return None
        full = _prices_at(utilities, found, None)
        spare = np.bincount(found, minlength=len(room)) < room
        if full.found[0] and (full.prices[0, spare] <= _unit(utilities)).all():
            return found
        score = utilities - _prices_at(utilities, found, kept).prices[0]
        kept |= (score >= np.take_along_axis(score, found[:, None], axis=1)) & allowed
    return None


def _prices_at(utilities: Array, place: Indices, kept: Mask | None) -> _Prices:
    """Return the least prices of one instance, (1, L), if individuals had the arcs ``kept``."""
    among = utilities
    if kept is not None:
        among = np.where(kept, utilities, -np.inf)
    gaps = gaps_of(among.T[None], place[None], utilities.shape[1])
    return _least_prices(gaps, _unit(utilities)[None])


def _unit(utilities: Array) -> Array:
    """What rounding to a flow's integers can add to the length of a path of moves, ()."""
    individuals, locations = utilities.shape
    finite = np.where(np.isfinite(utilities), utilities, np.nan)
    spread = np.nanmax(finite) - np.nanmin(finite)
    return np.asarray(4 * locations * spread / largest_cost(individuals + locations + 1))


def _least_prices(gaps: Array, tolerance: Array) -> _Prices:
    """Raise prices from 0 until no move gains: λ_k = max(λ_k, λ_j − c[j, k]), Bellman-Ford.

    Gaps are (K, L, L), tolerances (K,). Minima and maxima only, instance by instance.
    """
    prices = np.zeros(gaps.shape[:2])
    active = np.arange(len(gaps))
    for _ in range(gaps.shape[1] + 1):
        before = prices[active]
        raised = np.maximum(before, (before[:, :, None] - gaps[active]).max(axis=1))
        prices[active] = raised
        active = active[((raised - before).max(axis=1) > tolerance[active])]
        if not active.size:
            break
    found = np.ones(len(gaps), dtype=bool)
    found[active] = False
    return _Prices(prices, found)


def _flow(utilities: Array, room: Indices, kept: Mask) -> Indices | None:
    """Solve for utilities (n, L) along the arcs ``kept`` (n, L); None if they do not fit all.

    An individual with a single arc takes it and is not a node of the network.
    """
    choices = kept.sum(axis=1)
    place: Indices = kept.argmax(axis=1)
    if not choices.all():
        return None
    open_ = np.flatnonzero(choices > 1)
    left = room
    if len(open_) < len(place):
        utilities, kept = utilities[open_], kept[open_]
        left = room - np.bincount(place[choices == 1], minlength=len(room))
        if (left < 0).any():
            return None
    if not len(open_):
        return place
    individuals, locations = utilities.shape
    arcs = _all_arcs(individuals, locations) if kept.all() else _arcs(kept)
    everywhere = len(arcs.numbers) == utilities.size
    among = utilities if everywhere else np.where(kept, utilities, -np.inf)
    loss = among.max(axis=1, keepdims=True) - utilities
    loss = loss.ravel() if everywhere else loss[kept]
    costs = np.zeros(len(arcs.tails), dtype=np.int64)
    costs[: len(loss)] = to_integers(loss, largest_cost(individuals + locations + 1))
    capacity = np.ones(len(costs), dtype=np.int64)
    capacity[len(loss) :] = np.minimum(left, individuals)
    flow, _ = flows(arcs.tails, arcs.heads, capacity, costs, arcs.ends, arcs.supplies, arcs.numbers)
    if flow is None:
        return None
    place[open_] = arcs.heads[np.flatnonzero(flow)] - individuals
    return place


class _Arcs(NamedTuple):
    """A network: individual → location where an arc is kept, then location → sink."""

    tails: Any
    heads: Any
    numbers: Any
    """Of the arcs of individuals, in their order."""
    ends: Any
    """The nodes that send or take in flow, with their supplies."""
    supplies: Any


def _arcs(kept: Mask) -> _Arcs:
    individuals, locations = kept.shape
    sink = individuals + locations
    individual, location = np.nonzero(kept)
    places = np.arange(individuals, sink)
    return _Arcs(
        np.concatenate([individual, places]).astype(np.int32),
        np.concatenate([individuals + location, np.full(locations, sink)]).astype(np.int32),
        np.arange(len(individual), dtype=np.int32),
        np.append(np.arange(individuals), sink).astype(np.int32),
        np.append(np.ones(individuals, dtype=np.int64), -individuals),
    )


@lru_cache(maxsize=4)
def _all_arcs(individuals: int, locations: int) -> _Arcs:
    return _arcs(np.ones((individuals, locations), dtype=bool))

"""Assignments of a batch by successive shortest paths between locations.

Shapes: K instances, L locations (each with room for at least one), n individuals. Utilities
come as (K, L, n) so that minima run over adjacent numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array, Mask

__all__ = ["Indices", "Matching", "gaps_of", "head_count", "match", "match_places"]

Indices = npt.NDArray[np.intp]

# Price sweeps before shortest paths take over; more no longer lower the number of paths much.
SWEEPS = 8


class Matching(NamedTuple):
    """Optimal assignments, with optimal prices."""

    place: Indices
    """(K, n): the location of each individual."""
    prices: Array
    """(K, L): optimal duals, though not central ones."""
    gaps: Array
    """(K, L, L): c[j, k], the least loss of moving someone from j to k; inf if j is empty."""


def match(utilities: Array, rooms: Indices) -> Matching:
    """Give every individual a location, at most ``rooms`` each, for the most total utility.

    Rooms are (L,), or (K, L) where they differ by instance; they must hold all n. A utility of
    −∞ keeps an individual away; each needs a finite one.
    """
    place, prices = _priced(utilities, rooms)
    found = Matching(place, prices, gaps_of(utilities, place, rooms.shape[-1]))
    _relocate(utilities, rooms, found)
    return found


def match_places(utilities: Array, rooms: Indices) -> Indices:
    """Return the places of `match` alone: gaps are only worked out where someone has to move."""
    place, prices = _priced(utilities, rooms)
    locations = rooms.shape[-1]
    crowded = np.flatnonzero((head_count(place, locations) > rooms).any(axis=1))
    if crowded.size:
        theirs, at = utilities[crowded], place[crowded]
        found = Matching(at, prices[crowded], gaps_of(theirs, at, locations))
        _relocate(theirs, rooms if rooms.ndim == 1 else rooms[crowded], found)
        place[crowded] = found.place
    return place


def _priced(utilities: Array, rooms: Indices) -> tuple[Indices, Array]:
    """Return where everyone goes at prices that leave no or little excess, and these prices."""
    prices = _rising_prices(utilities, rooms)
    place = _best_at(utilities, prices)
    unfilled = (head_count(place, rooms.shape[-1]) < rooms) & (prices > 0)
    # Ties can leave room at a price, which no optimum does: these instances start without prices.
    tied = np.flatnonzero(unfilled.any(axis=1))
    prices[tied] = 0.0
    place[tied] = _best_at(utilities[tied], prices[tied])
    return place, prices


def gaps_of(utilities: Array, place: Indices, locations: int) -> Array:
    """Return c[j, k] for all pairs of locations, as (K, L, L)."""
    pairs = np.indices((len(place), locations)).reshape(2, -1)
    return _gaps_from(utilities, place, *pairs).reshape(len(place), locations, locations)


def head_count(place: Indices, locations: int) -> Indices:
    """Return how many individuals each location has, as (K, L)."""
    return np.stack([(place == j).sum(axis=1) for j in range(locations)], axis=1)


def _rising_prices(utilities: Array, rooms: Indices) -> Array:
    """Raise the price of one overfull location after the other until its demand fits.

    Prices only rise, so a priced location keeps at least the demand that fills it. What is
    still overfull after the last sweep is left to shortest paths.
    """
    instances, locations, n = utilities.shape
    prices = np.zeros((instances, locations))
    if locations == 1:
        return prices
    score = utilities.copy()
    # The instances that had an overfull location in the last sweep; ``score`` is theirs alone.
    active = np.arange(instances)
    for _ in range(SWEEPS):
        raised = np.zeros(len(active), dtype=bool)
        for j in range(locations):
            room = int(rooms[j]) if rooms.ndim == 1 else rooms[active, j]
            if np.all(room >= n):
                continue
            others = np.delete(np.arange(locations), j)
            rival = score[:, others[0]].copy()
            for k in others[1:]:
                np.maximum(rival, score[:, k], out=rival)
            eagerness = score[:, j] - rival
            over = np.flatnonzero((eagerness > 0).sum(axis=1) > room)
            if not over.size:
                continue
            raised[over] = True
            # Halfway between the last who stays and the first who leaves.
            beyond = room if isinstance(room, int) else room[over]
            prices[active[over], j] += 0.5 * _around(eagerness[over], beyond)
            score[over, j] = utilities[active[over], j] - prices[active[over], j, None]
        if not raised.any():
            break
        if not raised.all():
            active, score = active[raised], score[raised]
    return prices


def _around(eagerness: Array, room: int | Indices) -> Array:
    """Return the sum of the room-th and the next largest number of each row."""
    n = eagerness.shape[1]
    if isinstance(room, int):
        last = n - room
        ranked = np.partition(eagerness, (last - 1, last), axis=1)
        both: Array = ranked[:, last - 1] + ranked[:, last]
        return both
    ranked = np.sort(eagerness, axis=1)
    every = np.arange(len(ranked))
    return np.asarray(ranked[every, n - room - 1] + ranked[every, n - room])


def _best_at(utilities: Array, prices: Array) -> Indices:
    """Return the location with the most utility less price, the first if several."""
    best = utilities[:, 0] - prices[:, 0, None]
    place = np.zeros(best.shape, dtype=np.intp)
    for j in range(1, utilities.shape[1]):
        score = utilities[:, j] - prices[:, j, None]
        better = score > best
        place[better] = j
        np.maximum(best, score, out=best)
    return place


def _gaps_from(utilities: Array, place: Indices, instances: Indices, source: Indices) -> Array:
    """Return c[j, ·] for location j = ``source`` of each instance, as (P, L)."""
    pair, who = np.nonzero(place[instances] == source[:, None])
    own = utilities[instances[pair], source[pair], who]
    losses = own[:, None] - utilities[instances[pair], :, who]
    heads = np.bincount(pair, minlength=len(instances))
    least = np.full((len(instances), utilities.shape[1]), np.inf)
    some = heads > 0
    # Members come grouped by pair; reduceat wants where each group starts.
    starts = (np.cumsum(heads) - heads)[some]
    if len(starts):
        least[some] = np.minimum.reduceat(losses, starts, axis=0)
    return least


def _relocate(utilities: Array, rooms: Indices, found: Matching) -> None:
    """Empty overfull locations, in place: one shortest path per instance and round.

    Prices stay such that c[j, k] - λ_j + λ_k ≥ 0, the length of the move j → k; clipping
    these at 0 keeps rounding from ever closing a negative cycle.
    """
    place, prices, gaps = found
    heads = head_count(place, rooms.shape[-1])
    active = np.flatnonzero((heads > rooms).any(axis=1))
    while active.size:
        price = prices[active]
        room = rooms if rooms.ndim == 1 else rooms[active]
        lengths = np.maximum(gaps[active] - price[:, :, None] + price[:, None, :], 0.0)
        distance, before = _shortest_paths(lengths, heads[active] > room)
        to_room = np.where(heads[active] < room, distance, np.inf)
        target = to_room.argmin(axis=1)
        reach = to_room.min(axis=1)[:, None]
        prices[active] = price + (reach - np.minimum(distance, reach))

        source = target.copy()
        touched = [target]
        touched_in = [active]
        walking = np.arange(len(active))
        while walking.size:
            to = source[walking]
            origin = before[walking, to]
            walking, to, origin = (part[origin >= 0] for part in (walking, to, origin))
            instances = active[walking]
            with np.errstate(invalid="ignore"):  # −∞ less −∞, of those who are elsewhere
                loss = utilities[instances, origin] - utilities[instances, to]
            loss[place[instances] != origin[:, None]] = np.inf
            place[instances, loss.argmin(axis=1)] = to
            touched.append(origin)
            touched_in.append(instances)
            source[walking] = origin
        heads[active, target] += 1
        heads[active, source] -= 1
        locations, instances = np.concatenate(touched), np.concatenate(touched_in)
        gaps[instances, locations] = _gaps_from(utilities, place, instances, locations)
        active = active[(heads[active] > room).any(axis=1)]


def _shortest_paths(lengths: Array, sources: Mask) -> tuple[Array, Indices]:
    """Return distances (P, L) from the nearest source and the node before (-1 at a source).

    Dijkstra's algorithm, one node of every instance per step.
    """
    distance = np.where(sources, 0.0, np.inf)
    before = np.full(distance.shape, -1, dtype=np.intp)
    pending = distance.copy()
    every = np.arange(len(distance))
    for _ in range(distance.shape[1]):
        node = pending.argmin(axis=1)
        via = distance[every, node, None] + lengths[every, node]
        shorter = via < distance
        np.copyto(distance, via, where=shorter)
        np.copyto(pending, via, where=shorter)
        np.copyto(before, node[:, None], where=shorter)
        pending[every, node] = np.inf
    return distance, before

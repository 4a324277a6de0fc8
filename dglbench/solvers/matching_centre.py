"""The centre of the optimal prices of a matching."""

from __future__ import annotations

import numpy as np

from dglbench.problem import Array, Mask

__all__ = ["central_prices"]


def central_prices(prices: Array, gaps: Array, room: Mask, exact_fit: bool) -> Array:
    """Move optimal prices to the centre of the optimal face.

    The face is {λ : λ_j - λ_k ≤ c[j, k], λ_j ≥ 0, λ_j = 0 where there is room}: difference
    constraints between the locations and a node 0 of price 0. With D the shortest distances
    for those lengths, D[·, r] and -D[r, ·] are its extreme points tight from and to r. The mean
    over all nodes r is in the relative interior, because λ_j - λ_k takes its greatest value at
    r = k and its least at r = j.

    ``exact_fit`` says that no location has room in any optimum. Node 0 then bounds nothing from
    above and is left out; the result is shifted to a least price of 0.

    Shapes: prices and room (K, L), gaps c (K, L, L).
    Reference: Ahuja, Magnanti and Orlin, Network Flows (1993), section 5.6 (Floyd-Warshall).
    """
    distances = _closed(_lengths(prices, gaps, room, exact_fit))
    nodes = distances.shape[1]
    centre = np.zeros(distances.shape[:2])
    # One addition after the other: numpy's own sums may round differently in other batch sizes.
    for r in range(nodes):
        centre += distances[:, :, r] - distances[:, :1, r]
        centre -= distances[:, r, :] - distances[:, r, :1]
    centre /= 2 * nodes
    if exact_fit:
        moved: Array = prices + centre
        moved -= moved.min(axis=1, keepdims=True)
        return moved
    # Adding 0 turns minus zero into zero, so that equal answers are equal to the last bit.
    return np.maximum(prices + centre[:, 1:], 0.0) + 0.0


def _lengths(prices: Array, gaps: Array, room: Mask, exact_fit: bool) -> Array:
    """Return the lengths c[j, k] - λ_j + λ_k ≥ 0 of all difference constraints, node 0 first."""
    between = np.maximum(gaps - prices[:, :, None] + prices[:, None, :], 0.0)
    if exact_fit:
        return between
    instances, locations = prices.shape
    lengths = np.zeros((instances, locations + 1, locations + 1))
    lengths[:, 1:, 1:] = between
    lengths[:, 0, 1:] = prices
    lengths[:, 1:, 0] = np.where(room, 0.0, np.inf)
    return lengths


def _closed(lengths: Array) -> Array:
    """Return all shortest distances (Floyd-Warshall); lengths ≥ 0, so no cycle is negative."""
    distances = lengths.copy()
    nodes = distances.shape[1]
    distances[:, np.arange(nodes), np.arange(nodes)] = 0.0
    for via in range(nodes):
        np.minimum(
            distances, distances[:, :, via, None] + distances[:, None, via, :], out=distances
        )
    return distances

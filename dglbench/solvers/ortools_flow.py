"""Exact integer decisions for one instance by min-cost flow: assignments and paths.

OR-Tools offers no change of costs in a built graph, so the arcs go in again, in one call,
for each instance. Costs are scaled to integers; see `dglbench.solvers.ortools_integer`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dglbench.errors import SolverError
from dglbench.problem import Array, Mask, Problem
from dglbench.solvers.ortools_integer import IntegerRule, rounding_share, to_integers
from dglbench.structure import Paths

__all__ = ["FlowRule", "PathRule", "flows", "largest_cost"]

Integers = npt.NDArray[np.int64]


def largest_cost(nodes: int) -> float:
    """The solver multiplies costs by the number of nodes, and adds them up along paths."""
    return float(2.0 ** (61 - 2 * int(np.ceil(np.log2(nodes + 1)))))


@cache
def _network() -> Any:
    from ortools.graph.python import min_cost_flow

    return min_cost_flow.SimpleMinCostFlow


def flows(
    tails: Any,
    heads: Any,
    room: Integers,
    costs: Integers,
    nodes: Any,
    supplies: Integers,
    wanted: Any,
) -> tuple[Any, str]:
    """Return the flow on the ``wanted`` arcs and how the solver ended."""
    network: Any = _network()()
    network.add_arcs_with_capacity_and_unit_cost(tails, heads, room, costs)
    network.set_nodes_supplies(nodes, supplies)
    status = network.solve()
    optimal = status == network.OPTIMAL
    return (network.flows(wanted) if optimal else None), status.name


class _Limits(NamedTuple):
    """What b and mask make of the network; kept while they stay the same."""

    b: Array
    mask: Mask
    exists: Array
    """1 where an arc from individual to place is open, 0 elsewhere."""
    room: Integers
    nodes: Any
    """Those that send or take in flow, with their supplies."""
    supplies: Integers


class FlowRule(IntegerRule):
    """Assignment problems with integer b.

    Individual → location → sink; an arc exists where the mask allows it and costs what the
    individual loses against its best location. A location that must be filled exactly is a
    sink of its own. Options that use no row lead to the sink without limit.
    """

    def __init__(self, problem: Problem) -> None:
        groups, options = problem.shape
        self._rows, self._equality = problem.rows, problem.equality
        individual, location = np.nonzero(problem.ever)
        sink = groups + options
        places = groups + np.arange(options)
        self._places = individual * options + location
        self._tails = np.concatenate([individual, places]).astype(np.int32)
        self._heads = np.concatenate([groups + location, np.full(options, sink)]).astype(np.int32)
        self._arcs = np.arange(len(individual), dtype=np.int32)
        self._largest_cost = largest_cost(sink + 1)
        self.error = rounding_share(groups, self._largest_cost)
        self._limits: _Limits | None = None

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the problem is an assignment with integer capacities."""
        return problem.is_assignment and bool((problem.b == np.floor(problem.b)).all())

    def choose(self, values: Array, b: Array, mask: Mask, instance: int) -> Array:
        """See `IntegerRule.choose`."""
        if self._limits is None or b is not self._limits.b or mask is not self._limits.mask:
            self._limits = self._limited(b, mask)
        limits = self._limits
        best = np.where(mask, values, -np.inf).max(axis=1, keepdims=True)
        loss = (best - values).take(self._places) * limits.exists
        costs = np.zeros(len(self._tails), dtype=np.int64)
        costs[: len(loss)] = to_integers(loss, self._largest_cost)
        flow, status = flows(
            self._tails, self._heads, limits.room, costs, limits.nodes, limits.supplies, self._arcs
        )
        if flow is None:
            raise SolverError(
                f"instance {instance}: min-cost flow ended {status}, not OPTIMAL; "
                "check that the capacities fit all individuals where they may go."
            )
        x = np.zeros(values.shape)
        x.ravel()[self._places] = flow
        return x

    def _limited(self, b: Array, mask: Mask) -> _Limits:
        groups, options = mask.shape
        exists = mask.take(self._places)
        room = np.full(options, groups, dtype=np.int64)
        room[: self._rows] = np.where(self._equality, 0, np.minimum(b, groups))
        demand = np.zeros(options, dtype=np.int64)
        demand[: self._rows] = np.where(self._equality, b, 0)
        sent = np.ones(groups, dtype=np.int64)
        supplies = np.concatenate([sent, -demand, [int(demand.sum()) - groups]])
        nodes = np.flatnonzero(supplies)
        return _Limits(
            b,
            mask,
            exists.astype(np.float64),
            np.concatenate([exists.astype(np.int64), room]),
            nodes.astype(np.int32),
            supplies[nodes],
        )


class PathRule(IntegerRule):
    """Paths through any directed graph.

    Every node is entered once at most, which an arc of capacity 1 from its entrance to its
    exit sees to; that arc costs what *not visited* would have been worth.
    """

    def __init__(self, problem: Problem) -> None:
        paths = problem.structure
        if not isinstance(paths, Paths):
            raise SolverError(f"path decisions need a path problem, got {paths.kind}.")
        self._paths = paths
        self._edges = np.flatnonzero(paths.usable)
        tail, head = paths.edges[self._edges].T
        inner, nodes = paths.inner, paths.nodes
        # Exits are the nodes' own numbers; entrances come after them. Sources have no entrance
        # in use, sinks no exit.
        self._tails = np.concatenate([tail, nodes + inner]).astype(np.int32)
        self._heads = np.concatenate([nodes + head, inner]).astype(np.int32)
        self._ends = np.array([paths.source, nodes + paths.sink], dtype=np.int32)
        self._supplies = np.array([1, -1], dtype=np.int64)
        self._wanted = np.arange(len(self._edges), dtype=np.int32)
        self._largest_cost = largest_cost(2 * nodes)
        # Costs are scaled by the largest |value|, at most twice the largest difference.
        self.error = 2.0 * rounding_share(2 * nodes, self._largest_cost)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether decisions are paths and every node but the source may be left out."""
        paths = problem.structure
        if not isinstance(paths, Paths) or problem.b.any():
            return False
        return bool(problem.mask[..., paths.group_of[paths.inner], -1].all())

    def choose(self, values: Array, b: Array, mask: Mask, instance: int) -> Array:
        """See `IntegerRule.choose`."""
        paths = self._paths
        option = paths.option_of[self._edges]
        visits = values[paths.group_of[paths.inner], -1]
        costs = to_integers(np.concatenate([-values.ravel()[option], visits]), self._largest_cost)
        room = np.ones(len(costs), dtype=np.int64)
        room[: len(option)] = mask.ravel()[option]
        flow, status = flows(
            self._tails, self._heads, room, costs, self._ends, self._supplies, self._wanted
        )
        if flow is None:
            raise SolverError(
                f"instance {instance}: min-cost flow ended {status}, not OPTIMAL; "
                "check that a path leads from the source to the sink."
            )
        x = np.zeros(values.shape)
        x.ravel()[option] = flow
        x[:, -1] = 1.0 - x[:, :-1].sum(axis=1)
        return x

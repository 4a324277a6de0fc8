"""Random problems of the whole class: exact rows, paths, counts, instances that differ."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dglbench.problem import Problem

INSTANCES = 4


@st.composite
def generators(draw: st.DrawFn) -> np.random.Generator:
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


@st.composite
def general(draw: st.DrawFn) -> Problem:
    """Any A, some rows exact; every instance has a choice of its own that fits."""
    rng = draw(generators())
    rows, groups, options = (draw(st.integers(1, top)) for top in (3, 4, 3))
    exact = rng.random(rows) < 0.5
    A = rng.integers(-1, 3, size=(rows, groups, options)).astype(float)
    choice = rng.integers(options, size=(INSTANCES, groups))
    mask = rng.random((INSTANCES, groups, options)) < 0.7
    np.put_along_axis(mask, choice[:, :, None], True, axis=2)
    x = np.zeros(mask.shape)
    np.put_along_axis(x, choice[:, :, None], 1.0, axis=2)
    b = np.einsum("mgs,kgs->km", A, x) + np.where(exact, 0.0, draw(st.sampled_from([0.0, 0.5])))
    by_instance = draw(st.sampled_from(["nothing", "b", "mask", "both"]))
    if by_instance == "mask":  # one b for all: the first instance's choice is open to everybody
        np.put_along_axis(mask, np.repeat(choice[:1, :, None], INSTANCES, axis=0), True, axis=2)
    if by_instance == "b":
        mask[:] = mask.any(axis=0)
    return Problem.build(
        A * (mask[0] if by_instance == "nothing" else mask.any(axis=0)),
        b if by_instance in ("b", "both") else b[0],
        mask if by_instance in ("mask", "both") else mask[0],
        equality=exact,
    )


@st.composite
def cohorts(draw: st.DrawFn) -> Problem:
    """Individuals come and go, and so do seats."""
    rng = draw(generators())
    groups, locations = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    present = rng.random((INSTANCES, groups)) < 0.7
    seats = rng.integers(0, 3, size=(INSTANCES, locations))
    lacking = np.maximum(present.sum(axis=1) - seats.sum(axis=1), 0)
    seats[np.arange(INSTANCES), rng.integers(locations, size=INSTANCES)] += lacking
    mask = np.repeat(present[:, :, None], locations + 1, axis=2)
    mask[:, :, -1] = ~present
    return Problem.assignment(groups, [groups] * locations, absent=True).vary(b=seats, mask=mask)


@st.composite
def weekly_seats(draw: st.DrawFn) -> Problem:
    """Everybody comes; seats differ by week, and some may stay away."""
    rng = draw(generators())
    groups, locations = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    away = draw(st.booleans())
    seats = rng.integers(0, 3, size=(INSTANCES, locations))
    if not away:
        seats[:, 0] += np.maximum(groups - seats.sum(axis=1), 0)
    return Problem.assignment(groups, [groups] * locations, absent=away).vary(b=seats)


@st.composite
def transports(draw: st.DrawFn) -> Problem:
    """Demands that must be met exactly, at some or all places."""
    rng = draw(generators())
    groups, places = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    demand = rng.multinomial(groups, np.full(places, 1 / places), size=INSTANCES)
    exact = draw(st.sampled_from([True, np.arange(places) == 0]))
    if draw(st.booleans()):
        return Problem.assignment(groups, demand[0], exactly=exact)
    return Problem.assignment(groups, demand, exactly=exact)


@st.composite
def acyclic(draw: st.DrawFn) -> Problem:
    """A random order of nodes, some edges closed in some instances, dead ends included."""
    rng = draw(generators())
    nodes = draw(st.integers(3, 6))
    edges = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if rng.random() < 0.6]
    label = rng.permutation(nodes)
    source, sink = int(label[0]), int(label[-1])
    path = [(0, nodes // 2), (nodes // 2, nodes - 1)]
    pairs = [(label[u], label[v]) for u, v in {*edges, *path}]
    problem = Problem.paths(pairs, source, sink, nodes=nodes)
    if not draw(st.booleans()):
        return problem
    closed = rng.random((INSTANCES, *problem.shape)) < 0.3
    closed[:, :, -1] = False
    for u, v in path:
        edge = pairs.index((label[u], label[v]))
        closed.reshape(INSTANCES, -1)[:, problem.structure.option_of[edge]] = False
    return problem.vary(mask=problem.mask & ~closed)


@st.composite
def cyclic(draw: st.DrawFn) -> Problem:
    rng = draw(generators())
    nodes = draw(st.integers(3, 5))
    chance = draw(st.sampled_from([0.3, 0.7]))
    edges = [(u, v) for u in range(nodes) for v in range(nodes) if rng.random() < chance]
    return Problem.paths([*edges, (0, 1), (1, nodes - 1)], 0, nodes - 1)


@st.composite
def counts(draw: st.DrawFn) -> Problem:
    rng = draw(generators())
    items = draw(st.integers(1, 6))
    exactly = draw(st.booleans())
    most = items if exactly else items + 1
    problem = Problem.top_k(items, draw(st.integers(0, most)), exactly=exactly)
    shape = draw(st.sampled_from(["shared", "k", "items"]))
    if shape == "k":
        return problem.vary(b=rng.integers(0, most, size=(INSTANCES, 1), endpoint=True))
    if shape == "items":
        mask = np.ones((INSTANCES, items, 2), dtype=bool)
        mask[:, :, 0] = rng.random((INSTANCES, items)) < 0.7
        return problem.vary(b=np.minimum(problem.b, mask[:, :, :1].sum(axis=1)), mask=mask)
    return problem


@st.composite
def weekly_knapsacks(draw: st.DrawFn) -> Problem:
    """Capacity differs by instance, and some items are not there."""
    rng = draw(generators())
    items = draw(st.integers(1, 6))
    weights = rng.integers(0, 6, size=items).astype(float)
    mask = np.ones((INSTANCES, items, 2), dtype=bool)
    mask[:, :, 0] = rng.random((INSTANCES, items)) < 0.8
    capacity = rng.integers(0, int(weights.sum()) + 2, size=(INSTANCES, 1))
    return Problem.knapsack(weights, 0.0).vary(b=capacity, mask=mask)


@st.composite
def weekly_rows(draw: st.DrawFn) -> Problem:
    """What options use differs by instance, and b and the mask may too; any row may be exact."""
    rng = draw(generators())
    rows, groups, options = (draw(st.integers(1, top)) for top in (3, 4, 3))
    exact = rng.random(rows) < 0.3
    whole = draw(st.booleans())
    A = rng.integers(-1, 3, size=(INSTANCES, rows, groups, options)).astype(float)
    if not whole:
        A += np.where(A == 0, 0.0, rng.random(A.shape).round(2))
    choice = rng.integers(options, size=(INSTANCES, groups))
    x = np.zeros((INSTANCES, groups, options))
    np.put_along_axis(x, choice[:, :, None], 1.0, axis=2)
    used = np.einsum("kmgs,kgs->km", A, x) + np.where(exact, 0.0, rng.integers(2, size=rows))
    mask = np.ones((groups, options), dtype=bool)
    if draw(st.booleans()):
        mask = (rng.random(x.shape) < 0.7) | (x == 1.0)
        A = A * mask.any(axis=0)
    if draw(st.booleans()) and not exact.any():
        return Problem.build(A, used.max(axis=0), mask, equality=exact)
    return Problem.build(A, used, mask, equality=exact)


@st.composite
def weekly_weights(draw: st.DrawFn) -> Problem:
    """Items that weigh another amount every week, in one or two knapsacks."""
    rng = draw(generators())
    items, rows = draw(st.integers(1, 6)), draw(st.integers(1, 2))
    A = np.zeros((INSTANCES, rows, items, 2))
    A[..., 0] = rng.integers(0, 6, size=(INSTANCES, rows, items))
    capacity = rng.integers(0, 3 * items, size=rows).astype(float)
    predicted = np.broadcast_to(np.array([True, False]), (items, 2))
    return Problem.build(A, capacity, predicted=predicted)


PROBLEMS = {
    "general": general(),
    "cohorts": cohorts(),
    "weekly-seats": weekly_seats(),
    "transport": transports(),
    "acyclic": acyclic(),
    "cyclic": cyclic(),
    "top-k": counts(),
    "weekly-knapsack": weekly_knapsacks(),
    "weekly-rows": weekly_rows(),
    "weekly-weights": weekly_weights(),
}

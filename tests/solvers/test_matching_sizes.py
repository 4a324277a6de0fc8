"""Small and large assignments take different roads to the same answers."""

from collections.abc import Iterator

import numpy as np
import pytest
from class_cases import INSTANCES, PROBLEMS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solver_cases import (
    KINDS,
    brute_force,
    check_feasible,
    close,
    coefficients,
    matching,
    matchings,
    scores,
    value,
)

from dglbench.plugins import find_task
from dglbench.problem import Problem
from dglbench.solvers import batched_matching, matching_flow
from dglbench.solvers.batched_matching import BatchedMatching
from dglbench.solvers.ortools import OrtoolsSolver

ROADS = ("flow", "sifted flow")
CASES = {
    "shared": matchings(),
    "cohorts": PROBLEMS["cohorts"],
    "weekly-seats": PROBLEMS["weekly-seats"],
    "transport": PROBLEMS["transport"],
}


@pytest.fixture
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Send even the smallest instance to a flow, along all arcs or along few."""
    monkeypatch.setattr(batched_matching, "MOST_STEPS", 0)
    if request.param == "sifted flow":
        monkeypatch.setattr(matching_flow, "SIFT_FROM", 0)
        monkeypatch.setattr(matching_flow, "SAMPLE_A_LOCATION", 1)
        monkeypatch.setattr(matching_flow, "KEPT_ARCS", 1.0)  # so that arcs have to join
    return request.param


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("road", ROADS, indirect=True)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_flows_obey_the_laws(
    case: str, road: str, data: st.DataObject, kind: str, seed: int
) -> None:
    problem: Problem = data.draw(CASES[case])
    if BatchedMatching.refuses(problem):
        return
    rows = np.arange(INSTANCES)
    values = coefficients(kind, (INSTANCES, *problem.shape), seed)
    values = np.where(problem.mask, values, 0.0)
    solver = BatchedMatching(problem)
    x, duals = solver.decide(values, rows), solver.duals(values, rows)
    check_feasible(problem, x)
    worth = value(values, x)
    assert (brute_force(problem, values) - worth <= solver.decision_error(values) + 1e-9).all()
    assert (duals >= 0)[:, ~problem.equality].all()
    best = scores(problem, values, duals).max(axis=2)
    assert close(best.sum(axis=1) + (duals * problem.b).sum(axis=1), worth, values)
    again = solver.duals(values[::-2], rows[::-2])
    assert again.tobytes() == np.ascontiguousarray(duals[::-2]).tobytes()


@pytest.mark.parametrize("road", ROADS, indirect=True)
@pytest.mark.parametrize("rooms", [[30, 30, 30, 30], [25, 25, 25, 25], [70, 0, 20, 20]])
def test_all_roads_lead_to_the_same_centre(
    road: str, rooms: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = matching(rooms, 100)
    values = coefficients("smooth", (10, 100, 4), 1)
    values += np.linspace(0, 0.3, 4)  # some locations are wanted more
    solver = BatchedMatching(problem)
    by_flow, prices = solver.decide(values), solver.duals(values)
    monkeypatch.setattr(batched_matching, "MOST_STEPS", 10**9)
    assert (by_flow == solver.decide(values)).all()
    assert prices == pytest.approx(solver.duals(values), abs=1e-9)


@pytest.mark.parametrize(("n", "locations"), [(300, 12), (1200, 45)])
def test_sizes_beyond_the_small_ones_agree_with_ortools(n: int, locations: int) -> None:
    task = find_task("matching")
    chosen = task.Settings(n=n, locations=locations, train=2, val=1, test=1, slack=0.01)
    dataset = task.generate(chosen, 3)
    problem = dataset.problem
    values = problem.values(dataset.labels)
    solver = BatchedMatching(problem)
    x, duals = solver.decide(values), solver.duals(values)
    check_feasible(problem, x)
    theirs = value(values, OrtoolsSolver(problem).decide(values))
    error = solver.decision_error(values)
    assert (error > 0).all()
    assert np.abs(value(values, x) - theirs).max() <= 2 * error.max()
    bound = scores(problem, values, duals).max(axis=2).sum(axis=1) + duals @ problem.b
    assert bound == pytest.approx(theirs, rel=1e-12)


def test_the_largest_need_few_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,200 × 45 is sifted: no flow sees more than a part of its 54,000 arcs."""
    seen = []
    plain = matching_flow._flow

    def watched(utilities: np.ndarray, room: np.ndarray, kept: np.ndarray) -> np.ndarray | None:
        seen.append(int(kept.sum()))
        return plain(utilities, room, kept)

    monkeypatch.setattr(matching_flow, "_flow", watched)
    problem = matching([27] * 45, 1200)
    BatchedMatching(problem).decide(coefficients("smooth", (1, 1200, 45), 0))
    assert len(seen) > 1
    assert max(seen) < 30_000

"""The shared problem: what is refused, and that arrays go through it unharmed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dglbench.errors import ProblemError
from dglbench.problem import Problem

HEADS = np.broadcast_to(np.eye(2)[:, None, :], (2, 3, 2))  # three people, two places
RAGGED = np.array([[True, True], [True, False]])


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"A": np.ones((2, 3)), "b": [1]}, r"shape \(rows, groups, options\), got \(2, 3\)"),
        ({"A": np.ones((1, 0, 2)), "b": [1]}, "at least one row, group and option"),
        ({"A": np.ones((1, 2, 2)), "b": [5, 5]}, r"one entry per row of A \(1\), got \(2,\)"),
        ({"A": np.ones((1, 2, 2)), "b": 5}, r"one entry per row of A \(1\), got \(\)"),
        ({"A": np.full((1, 2, 2), np.nan), "b": [1]}, "NaN or infinite"),
        ({"A": np.ones((1, 2, 2)), "b": [np.inf]}, "NaN or infinite"),
        ({"A": np.zeros((1, 2, 2)), "b": [1], "mask": np.ones((2, 3))}, "mask must have shape"),
        (
            {"A": np.zeros((1, 2, 2)), "b": [1], "predicted": np.ones(2)},
            "predicted must have shape",
        ),
        (
            {"A": np.zeros((1, 2, 2)), "b": [1], "mask": RAGGED, "predicted": np.ones((2, 2))},
            "does not exist cannot be predicted",
        ),
        ({"A": np.ones((1, 2, 2)), "b": [5], "mask": RAGGED}, "0 on options that do not exist"),
        (
            {"A": np.zeros((1, 2, 2)), "b": [5], "mask": [[True, True], [False, False]]},
            "group 1 has no option",
        ),
        ({"A": np.ones((1, 3, 2)), "b": [2]}, "row 0 cannot be met: .* at least 3, but only 2"),
        ({"A": HEADS, "b": [1, 1]}, "cannot all be met at once.*raise the total capacity"),
        ({"A": HEADS, "b": [-1, 5]}, "row 0 cannot be met"),
        ({"A": HEADS * 0.5, "b": [0.5, 0.75]}, "cannot all be met at once"),
    ],
)
def test_each_mistake_is_named(parts, says):
    with pytest.raises(ProblemError, match=says):
        Problem.build(**parts)


@pytest.mark.parametrize("b", [[2, 1], [0, 3], [3, 3], [2.5, 1.5]])
def test_tight_capacities_are_fine(b):
    assert Problem.build(HEADS, b).groups == 3


def test_half_a_seat_seats_nobody():
    # The relaxation could seat one and a half at each place, but 1 + 1 < 3.
    with pytest.raises(ProblemError, match="cannot all be met at once"):
        Problem.build(HEADS, [1.5, 1.5])


def test_feasible_only_by_mixing_options():
    # No single option of each group is best on both rows; a mix over groups fits.
    A = np.array([[[2.0, 0], [2, 0]], [[0, 2], [0, 2]]])
    assert Problem.build(A, [2, 2]).rows == 2
    with pytest.raises(ProblemError, match="cannot all be met"):
        Problem.build(A, [1.9, 1.9])


def test_a_problem_cannot_be_changed():
    problem = Problem.build(np.zeros((1, 2, 2)), [1])
    for array in (problem.A, problem.b, problem.mask, problem.predicted):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_caller_keeps_their_arrays():
    A, b = np.zeros((1, 2, 2)), np.ones(1)
    Problem.build(A, b)
    A[0, 0, 0] = 1.0  # the caller may go on using it
    b[0] = 2.0


def test_structure_is_recognised():
    assert Problem.build(HEADS, [2, 2]).is_assignment
    assert not Problem.build(HEADS * 2, [4, 4]).is_assignment
    take = np.array([[[3.0, 0], [5, 0]]])
    assert Problem.build(take, [5]).is_knapsack
    assert not Problem.build(take, [5]).is_assignment
    assert not Problem.build(take[:, :, ::-1], [5]).is_knapsack


def test_ragged_assignment():
    heads = np.eye(2)[:, None, :] * RAGGED[None]
    problem = Problem.build(heads, [1, 1], mask=RAGGED)
    assert problem.is_assignment
    assert problem.predicted.sum() == 3
    with pytest.raises(ProblemError, match="row 0 cannot be met"):
        Problem.build(heads, [0, 2], mask=RAGGED)


@given(
    values=hnp.arrays(float, (4, 3, 2), elements=st.floats(-1e6, 1e6)),
    predicted=hnp.arrays(bool, (3, 2)),
)
def test_pack_and_unpack(values, predicted):
    problem = Problem.build(np.zeros((1, 3, 2)), [1], predicted=predicted)
    packed = problem.pack(values)
    assert packed.shape == (4, predicted.sum())
    assert np.array_equal(problem.unpack(packed), np.where(predicted, values, 0.0))
    assert np.array_equal(problem.pack(problem.unpack(packed)), packed)


def test_a_matrix_of_each_instance():
    from scipy.sparse import csr_array

    A = np.zeros((4, 2, 3, 2))
    A[..., 0] = np.arange(24.0).reshape(4, 2, 3)
    problem = Problem.build(A, [30.0, 60.0])
    assert (problem.instances, problem.rows_vary, problem.is_knapsack) == (4, True, False)
    assert np.array_equal(problem.A, A)
    sparse = Problem.build([csr_array(one.reshape(2, 6)) for one in A], [30.0, 60.0], groups=3)
    assert np.array_equal(sparse.A, A)
    assert np.array_equal(Problem.build(A[0], [30.0, 60.0]).vary(A=A).A, A)
    assert np.array_equal(problem.take([3, 1]).A, A[[3, 1]])
    single = Problem.build(A[:, :1], [30.0]).alone(2)
    assert single.is_knapsack
    assert np.array_equal(single.A, A[2, :1])
    with pytest.raises(ProblemError, match=r"no single matrix; ask for one with problem\.alone"):
        problem.matrix  # noqa: B018 - asking is what is refused
    with pytest.raises(ValueError, match="read-only"):
        problem.structure.use[0] = 1.0


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"A": np.full((3, 1, 2, 2), 2.0)}, "instance 0: row 0 cannot be met"),
        ({"A": np.stack([np.zeros((1, 2, 2)), np.full((1, 2, 2), 9.0)])}, "instance 1: row 0"),
        ({"A": np.zeros((3, 2, 2, 2))}, r"A must have shape \(instances, 1, 2, 2\), got"),
        ({"A": np.zeros((2, 2))}, r"A must be \(instances, rows, groups, options\)"),
        ({"A": np.full((3, 1, 2, 2), np.nan)}, "A and b must be finite"),
        ({"A": np.zeros((3, 1, 2, 2)), "b": [[1.0]] * 2}, r"instances differ \(A 3 and b 2\)"),
    ],
)
def test_matrices_of_each_instance_that_do_not_fit(changed, says):
    problem = Problem.build(np.zeros((1, 2, 2)), [1])
    with pytest.raises(ProblemError, match=says):
        problem.vary(**changed)


def test_padding_uses_nothing_in_any_instance():
    mask = np.array([[True, True], [True, False]])
    A = np.zeros((3, 1, 2, 2))
    assert Problem.build(A, [1], mask=mask).rows_vary
    A[1, 0, 1, 1] = 1.0
    with pytest.raises(ProblemError, match="A must be 0 on options that do not exist"):
        Problem.build(A, [1], mask=mask)
    with pytest.raises(ProblemError, match="A must be 0 on options that do not exist"):
        Problem.build(A[0], [1], mask=mask).vary(A=A)

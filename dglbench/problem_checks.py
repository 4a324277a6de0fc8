"""Refuse parts that do not fit and constraints that cannot be met, in one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dglbench.errors import ProblemError
from dglbench.structure import ColumnSums, Paths
from dglbench.structure.matrices import pick_one

if TYPE_CHECKING:
    from dglbench.feasible_set import Array, FeasibleSet, Mask
    from dglbench.problem import Problem

__all__ = ["allowance", "check_feasible", "check_mask", "check_parts", "extremes"]


def allowance(b: Array) -> Array:
    """How far rounding may carry use past b."""
    return np.asarray(1e-9 * np.maximum(1.0, np.abs(b)))


def check_parts(problem: Problem) -> None:
    """Check shapes and numbers, before the parts are used together."""
    rows, b = problem.rows, problem.b
    if min(rows, *problem.shape) < 1:
        raise ProblemError(
            f"a problem needs at least one row, group and option, got A of shape "
            f"{(rows, *problem.shape)}."
        )
    if b.ndim not in (1, 2) or b.shape[-1] != rows or (b.ndim == 2 and not len(b)):
        raise ProblemError(
            f"b must have one entry per row of A ({rows}), got {b.shape}; give (rows,), or "
            "(instances, rows) where it differs by instance."
        )
    check_mask(problem.mask, problem.shape)
    if problem.predicted.shape != problem.shape:
        raise ProblemError(
            f"predicted must have shape (groups, options) = {problem.shape}, "
            f"got {problem.predicted.shape}."
        )
    if problem.equality.shape != (rows,):
        raise ProblemError(
            f"equality must say yes or no for each row ({rows}), got {problem.equality.shape}."
        )
    counts = {
        "A": problem.structure.instances,
        "b": len(b) if b.ndim == 2 else None,
        "mask": len(problem.mask) if problem.mask.ndim == 3 else None,
    }
    known = {name: count for name, count in counts.items() if count is not None}
    if len(set(known.values())) > 1:
        told = " and ".join(f"{name} {count}" for name, count in known.items())
        raise ProblemError(
            f"the numbers of instances differ ({told}); all need one entry per instance."
        )
    if not (np.isfinite(problem.structure.numbers).all() and np.isfinite(b).all()):
        raise ProblemError("A and b must be finite; they hold NaN or infinite entries.")
    if problem.mask.ndim == 2 and (problem.predicted & ~problem.mask).any():
        raise ProblemError("an option that does not exist cannot be predicted.")


def check_mask(mask: Mask, shape: tuple[int, int]) -> None:
    """Check that the mask has its shape and leaves every group an option."""
    if mask.ndim not in (2, 3) or mask.shape[-2:] != shape or (mask.ndim == 3 and not len(mask)):
        raise ProblemError(
            f"mask must have shape (groups, options) = {shape}, or one such per instance, "
            f"got {mask.shape}."
        )
    empty = np.argwhere(~mask.any(axis=-1))
    if len(empty):
        where = "" if mask.ndim == 2 else f"instance {empty[0][0]}: "
        raise ProblemError(
            f"{where}group {empty[0][-1]} has no option; every group needs at least one: give it "
            "one that uses nothing, as dglbench import --allow-none does."
        )


class _Case(NamedTuple):
    """One right-hand side and mask, and the first instance that has it (None: all share it)."""

    b: Array
    mask: Mask
    instance: int | None


def check_feasible(problem: Problem) -> None:
    """Raise `ProblemError` if some instance has no feasible choice, as far as an LP can tell."""
    ends: tuple[Array, Array] | None = None
    for case in _cases(problem):
        at = problem.alone(case.instance or 0) if problem.rows_vary else problem
        if ends is None or problem.mask.ndim == 3 or problem.rows_vary:
            ends = extremes(at, case.mask)
        _check_rows(at, case, *ends)
        if not _jointly_feasible(at, case):
            raise ProblemError(_joint_sentence(at, case))


def _cases(problem: Problem) -> Iterator[_Case]:
    """Each different pair of b and mask once, or every instance where A differs too."""
    if not problem.varies:
        yield _Case(problem.b, problem.mask, None)
        return
    seen: set[bytes] = set()
    for instance in range(problem.instances or 0):
        b = problem.b[instance] if problem.b.ndim == 2 else problem.b
        mask = problem.mask[instance] if problem.mask.ndim == 3 else problem.mask
        key = b.tobytes() + (np.packbits(mask).tobytes() if problem.mask.ndim == 3 else b"")
        if key not in seen or problem.rows_vary:
            seen.add(key)
            yield _Case(b, mask, instance)


def extremes(problem: FeasibleSet, mask: Mask) -> tuple[Array, Array]:
    """Return the least and the most that any choice can use of each row, as (M,) each."""
    entries = problem.matrix.tocoo()
    exists = mask.ravel()[entries.col]
    row, group, use = entries.row[exists], entries.col[exists] // problem.options, entries.data
    use = use[exists]
    key = row.astype(np.int64) * problem.groups + group
    order = np.argsort(key, kind="stable")
    key, use = key[order], use[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    if not starts.size:
        return np.zeros(problem.rows), np.zeros(problem.rows)
    pair = key[starts]
    # Where a group also has options that use nothing of the row, 0 is possible too.
    counts = np.diff(np.append(starts, len(key)))
    free = counts < mask.sum(axis=1)[pair % problem.groups]
    ends: list[Array] = []
    for better in (np.minimum, np.maximum):
        each = better.reduceat(use, starts)
        each = np.where(free, better(each, 0.0), each)
        used = np.bincount(pair // problem.groups, each, minlength=problem.rows)
        ends.append(used.astype(np.float64))
    return ends[0], ends[1]


def _check_rows(problem: Problem, case: _Case, least: Array, most: Array) -> None:
    """Each row by itself."""
    room = allowance(case.b)
    short = least > case.b + room
    over = problem.equality & (most < case.b - room)
    if not (short | over).any():
        return
    row = int(np.flatnonzero(short | over)[0])
    where = "" if case.instance is None else f"instance {case.instance}: "
    if problem.equality[row]:
        raise ProblemError(
            f"{where}row {row} cannot be met: any choice uses between {least[row]:g} and "
            f"{most[row]:g}, but exactly {case.b[row]:g} is required; change b."
        )
    raise ProblemError(
        f"{where}row {row} cannot be met: any choice uses at least {least[row]:g}, but only "
        f"{case.b[row]:g} is available; raise its capacity."
    )


def _joint_sentence(problem: Problem, case: _Case) -> str:
    where = "" if case.instance is None else f"instance {case.instance}: "
    if isinstance(problem.structure, Paths):
        return (
            f"{where}there is no path from node {problem.structure.source} to node "
            f"{problem.structure.sink}; add edges."
        )
    written = np.array2string(case.b, threshold=8)
    if problem.equality.any():
        return (
            f"{where}the rows cannot all be met at once: no choice of one option per group gives "
            f"b = {written} where it must be exact; change b."
        )
    return (
        f"{where}the capacities cannot all be met at once: no choice of one option per group "
        f"fits b = {written}; raise the total capacity."
    )


def _jointly_feasible(problem: Problem, case: _Case) -> bool:
    if isinstance(problem.structure, Paths):
        return _has_path(problem.structure, case.mask)
    if isinstance(problem.structure, ColumnSums):
        answer = _seats_suffice(problem, case)
        if answer is not None:
            return answer
    elif problem.rows == 1 and not problem.equality.any():
        return True  # the row by itself was all there is
    if not problem.equality.any() and _thrifty_choice_fits(problem, case):
        return True
    return _relaxation_feasible(problem, case)


def _thrifty_choice_fits(problem: Problem, case: _Case) -> bool:
    """Try the option of least total use in every group: cheap, and enough for most problems."""
    total = np.asarray(problem.matrix.sum(axis=0)).reshape(problem.shape)
    choice = np.where(case.mask, total, np.inf).argmin(axis=1)
    columns = np.arange(problem.groups) * problem.options + choice
    used = np.asarray(problem.matrix[:, columns].sum(axis=1)).ravel()
    return bool((used <= case.b).all())


def _seats_suffice(problem: Problem, case: _Case) -> bool | None:
    """Count heads and seats; None if some may go to some places only: counting is not enough."""
    places = case.mask[:, : problem.rows]
    sent = places.any(axis=1)
    if not places[sent].all():
        return None
    outside = case.mask[:, problem.rows :].any(axis=1)
    seats = np.floor(case.b + allowance(case.b)).clip(0)
    exact = problem.equality
    if (np.abs(seats - case.b)[exact] > allowance(case.b)[exact]).any():
        return False
    must, may = int((sent & ~outside).sum()), int(sent.sum())
    return bool(max(must, seats[exact].sum()) <= min(may, seats.sum()))


def _has_path(paths: Paths, mask: Mask) -> bool:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    used = np.flatnonzero(paths.usable)
    used = used[mask.ravel()[paths.option_of[used]]]
    tail, head = paths.edges[used].T
    graph = coo_array((np.ones(len(used)), (tail, head)), shape=(paths.nodes, paths.nodes))
    reached = breadth_first_order(graph.tocsr(), paths.source, return_predecessors=False)
    return bool((reached == paths.sink).any())


def _relaxation_feasible(problem: Problem, case: _Case) -> bool:
    """Ask an LP whether the pick-one and global rows can hold together."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    b = case.b
    if isinstance(problem.structure, ColumnSums):
        b = np.where(problem.equality, b, np.floor(b + allowance(b)))  # half a seat seats nobody
    exact, limits = problem.equality, ~problem.equality
    upper = case.mask.ravel().astype(np.float64)
    answer: Any = linprog(
        np.zeros(upper.size),
        A_ub=problem.matrix[np.flatnonzero(limits)] if limits.any() else None,
        b_ub=b[limits] if limits.any() else None,
        A_eq=vstack([pick_one(problem.shape), problem.matrix[np.flatnonzero(exact)]]).tocsr(),
        b_eq=np.concatenate([np.ones(problem.groups), b[exact]]),
        bounds=np.stack([np.zeros(upper.size), upper], axis=1),
        method="highs",
    )
    return bool(answer.status == 0)

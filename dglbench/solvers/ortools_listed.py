"""Exact decisions of knapsacks so small that all that can be taken together can be listed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dglbench.problem import Array, Mask, Problem
from dglbench.problem_checks import allowance
from dglbench.solvers.ortools_integer import IntegerRule
from dglbench.structure import TakeLeave

__all__ = ["MOST_ENTRIES", "ListRule", "fullest_choices"]

MOST_ENTRIES = 1_000_000
"""Entries of the list, choices times items: longer ones are slower than branch and bound."""


class ListRule(IntegerRule):
    """Knapsacks of any weights ≥ 0 with few choices: the best one of a list, made once.

    The list has the choices to which no item can be added. An optimum is a part of one of them:
    the one whose gains of *take* over *leave* above 0 sum to most, without its other items.
    """

    def __init__(self, problem: Problem) -> None:
        choices = fullest_choices(problem)
        if choices is None:
            raise ValueError("the choices of this problem cannot be listed")
        self._choices = choices
        self._sums = choices.astype(np.float64)
        self.error = problem.groups * float(np.finfo(np.float64).eps)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the problem is a knapsack, the same for all instances, with few choices."""
        return fullest_choices(problem) is not None

    def choose(self, values: Array, b: Array, mask: Mask, instance: int) -> Array:
        """See `IntegerRule.choose`."""
        gains = np.maximum(values[:, 0] - values[:, 1], 0.0)
        take = self._choices[(self._sums @ gains).argmax()] & (gains > 0)
        return np.stack([take, ~take], axis=1).astype(np.float64)


def fullest_choices(problem: Problem) -> npt.NDArray[np.bool_] | None:
    """List what can be taken together and leaves no room for another item, (choices, items).

    None if the problem is no knapsack, differs by instance, or has too long a list.
    """
    structure = problem.structure
    if not isinstance(structure, TakeLeave) or problem.varies or problem.ragged:
        return None
    weights = structure.weights
    if problem.equality.any() or weights.min() < 0:
        return None
    items = problem.groups
    room = problem.b + allowance(problem.b)
    found: list[npt.NDArray[np.bool_]] = []
    # Choices of 0, 1, 2, … items, each reached once: by adding its items in their order.
    taken = np.zeros((1, items), dtype=bool)
    last = np.array([-1])
    listed = 1
    while len(taken):
        used = taken @ weights.T
        fits = ~taken
        for row, limit in enumerate(room):
            fits &= used[:, row, None] + weights[row] <= limit
        found.append(taken[~fits.any(axis=1)])
        choice, item = np.nonzero(fits & (np.arange(items) > last[:, None]))
        listed += len(choice)
        if listed * items > MOST_ENTRIES:
            return None
        taken, last = taken[choice], item
        taken[np.arange(len(item)), item] = True
    return np.concatenate(found)

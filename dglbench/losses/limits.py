"""Which problems a loss cannot serve; apart from the losses, so that a plan needs no torch."""

from dglbench.problem import Problem

__all__ = ["no_cache", "too_large"]

_MOST_NUMBERS = 500_000
"""Of a simplex tableau: 4 MB for each basis that is visited."""


def too_large(problem: Problem) -> str | None:
    """Say why the vertices of this problem cannot be enumerated; None if they can."""
    numbers = (problem.groups + problem.rows) * (problem.size + problem.rows)
    if numbers <= _MOST_NUMBERS:
        return None
    return (
        f"its simplex tableau would have {numbers:,} numbers, and adjacent vertices are searched "
        f"for up to {_MOST_NUMBERS:,}; use a smaller problem, or another method."
    )


def no_cache(problem: Problem) -> str | None:
    """Say why decisions of this problem cannot be cached; None if they can."""
    if not problem.varies:
        return None
    return (
        "its rows, capacities or options differ by instance, and a cache of decisions needs one "
        "feasible set for all of them; use spo, which solves every instance."
    )

"""Cut a network of papers into instances of two sides, by its citations alone.

The published instances came from a partition that is not public; this is one of our own. Parts
grow from a paper by adding, one after the other, the paper with most citations into the part; then
papers change places in pairs as long as that keeps more citations inside parts. The same is
done with the two sides of each part, for citations between the sides. Words and fields are
never looked at. All draws come from one random stream.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Partition", "partition"]

Indices = npt.NDArray[np.intp]
Links = npt.NDArray[np.int16]

_MOST_PASSES = 50


class Partition(NamedTuple):
    """Which papers meet."""

    sides: Indices
    """(instances, 2, n): the papers on the left and on the right of each instance."""
    inside: float
    """The share of all citations that are between two papers of one instance."""
    across: float
    """The share of all citations that are between the two sides of one instance."""


def partition(
    citations: Indices, papers: int, instances: int, n: int, draws: np.random.Generator
) -> Partition:
    """Cut ``papers`` into ``instances`` of two sides of ``n``; a few may be left over."""
    linked = np.zeros((papers, papers), dtype=np.int16)
    linked[citations[:, 0], citations[:, 1]] = linked[citations[:, 1], citations[:, 0]] = 1
    part = _grown(linked, instances, 2 * n, draws)
    _exchange(linked, part, draws)
    sides = np.empty((instances, 2, n), dtype=np.intp)
    for number in range(instances):
        members = draws.permutation(np.flatnonzero(part == number))
        half = np.arange(2 * n) % 2
        # Citations between sides are what a pair of parts is to keep: those inside count against.
        _exchange(-linked[np.ix_(members, members)], half, draws)
        sides[number] = members[half == 0], members[half == 1]
    place = np.full(papers, -1)
    side = np.zeros(papers, dtype=np.intp)
    for number, (left, right) in enumerate(sides):
        place[left] = place[right] = number
        side[right] = 1
    one, other = citations.T
    together = (place[one] == place[other]) & (place[one] >= 0)
    apart = together & (side[one] != side[other])
    total = max(len(citations), 1)
    return Partition(sides, float(together.sum() / total), float(apart.sum() / total))


def _grown(linked: Links, parts: int, size: int, draws: np.random.Generator) -> Indices:
    """Return the part of each paper; those left over are in one more part."""
    papers = len(linked)
    part = np.full(papers, parts)
    tie = draws.random(papers)
    for number in range(parts):
        free = part == parts
        # Start where most citations are still free, so that no part gets only what is left.
        open_links = linked[:, free].sum(axis=1) * free
        member = int(np.argmax(open_links + tie * free))
        into = np.zeros(papers)
        for _ in range(size):
            part[member] = number
            free[member] = False
            into += linked[member]
            member = int(np.argmax(np.where(free, into + tie, -1.0)))
    return part


def _exchange(linked: Links, part: Indices, draws: np.random.Generator) -> None:
    """Let papers change places in pairs, in place, while the links inside parts gain by it."""
    count = int(part.max()) + 1
    papers = np.arange(len(part))
    degree = np.zeros((len(part), count), dtype=np.int64)
    for number in range(count):
        degree[:, number] = linked[:, part == number].sum(axis=1)
    for _ in range(_MOST_PASSES):
        changed = False
        for one in draws.permutation(len(part)):
            home = part[one]
            theirs = degree[papers, part]
            gain = degree[one, part] - degree[one, home] + degree[:, home] - theirs
            gain = np.where(part == home, -1, gain - 2 * linked[one])
            other = int(np.argmax(gain))
            if gain[other] <= 0:
                continue
            away = part[other]
            part[one], part[other] = away, home
            moved = linked[other] - linked[one]  # of symmetric links, rows and columns are the same
            degree[:, home] += moved
            degree[:, away] -= moved
            changed = True
        if not changed:
            return

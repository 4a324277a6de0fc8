"""A fit as a sweep: one search whose rounds ask for runs of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dglbench.fitting.kinds import Kind
from dglbench.fitting.rounds import FitRounds
from dglbench.sweep.plan.plan import Plan
from dglbench.sweep.request.specs import Group
from dglbench.sweep.search.group_search import GroupSearch

__all__ = ["FitPlan"]


@dataclass(frozen=True)
class FitPlan(Plan):
    """The plan of one fit; what it chose is written by `dglbench.fitting.conclude`."""

    kinds: Sequence[Kind] = ()
    runs: int | None = None

    @property
    def group(self) -> Group:
        """What the search is about: the data, and the first run of every kind."""
        spec = self.kinds[0].spec
        return Group(spec.data, "fit", spec.solver, tuple(kind.spec for kind in self.kinds))

    def searches(self) -> list[list[GroupSearch]]:
        """Return the search anew."""

        def rounds() -> FitRounds:
            return FitRounds(self.kinds, self.kinds[0].spec.data.seed, self.runs)

        return [[GroupSearch(self.group, "none", rounds)]]

    def begin(self) -> None:
        """A fit keeps its state in fit.json."""

    def keep(self, searches: Sequence[GroupSearch]) -> None:
        """A fit chooses once, at its end."""

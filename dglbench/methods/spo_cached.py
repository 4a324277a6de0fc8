"""SPO+ with solution caching: most batches look among decisions that were optimal before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from typing_extensions import Doc

from dglbench.losses.limits import no_cache
from dglbench.methods.base import Claims, Training
from dglbench.methods.spo import SpoOptions, SpoPlus
from dglbench.problem import Problem

__all__ = ["SpoCached", "SpoCachedOptions"]


@dataclass(frozen=True)
class SpoCachedOptions(SpoOptions):
    """Options of `SpoCached`."""

    solve_ratio: Annotated[
        float, Ge(0), Le(1), Doc("share of batches that are solved; others use the cache")
    ] = 0.05


class SpoCached(SpoPlus):
    """`dglbench.losses.spo_cached` on all training instances.

    Solver calls: x*(y) once per instance at set-up, then ``solve_ratio`` per instance and step
    on average; one draw per batch. Look-ups are counted as ``cache``.
    """

    summary: ClassVar[str] = "SPO+ over a cache of decisions; solves a share of the batches"
    claims: ClassVar[Claims] = Claims(of_loss=False, stationary=True)
    group: ClassVar[str] = "other losses"
    Options: ClassVar[type[Any]] = SpoCachedOptions

    @classmethod
    def refuses(cls, problem: Problem) -> str | None:
        """See `no_cache`."""
        return no_cache(problem)

    def _loss_class(self) -> Any:
        from dglbench.losses.spo_cached import CachedSPOPlus

        return CachedSPOPlus

    def _further(self, training: Training) -> dict[str, Any]:
        return {
            "solve_ratio": self.options.solve_ratio,
            "draws": training.draws("solution cache"),
        }

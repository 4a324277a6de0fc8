"""SPO+ of the entropy-smoothed problem, on the dual layer."""

from __future__ import annotations

from typing import Any, ClassVar

from dglbench.methods.fenchel_young import FenchelYoungMethod

__all__ = ["SpoSmoothed"]


class SpoSmoothed(FenchelYoungMethod):
    """`dglbench.losses.spo_smoothed` on all training instances: gradient 2 (z(2ŷ − y) − z(y)).

    Solver calls: one entropic program per instance at set-up and one per instance and step,
    never differentiated through; no other solver.
    """

    summary: ClassVar[str] = "SPO+ of the entropy-smoothed problem, no Jacobian"

    def _loss_class(self) -> Any:
        from dglbench.losses.spo_smoothed import SmoothedSPOPlus

        return SmoothedSPOPlus

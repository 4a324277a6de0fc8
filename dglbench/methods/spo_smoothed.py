"""SPO+ on the entropy-smoothed dual layer."""

from __future__ import annotations

from typing import Any, ClassVar

from dglbench.methods.fenchel_young import FenchelYoungMethod

__all__ = ["SpoSmoothed"]


class SpoSmoothed(FenchelYoungMethod):
    """`dglbench.losses.spo_smoothed` on all training instances: gradient 2 (z(2ŷ − y) − x*(y)).

    Solver calls: as `FenchelYoungMethod`.
    """

    summary: ClassVar[str] = "SPO+ on the entropy-smoothed layer, no Jacobian"

    def _loss_class(self) -> Any:
        from dglbench.losses.spo_smoothed import SmoothedSPOPlus

        return SmoothedSPOPlus

"""The linear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from typing_extensions import Doc

from dglbench.layout import Layout
from dglbench.predictors.base import Predictor

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Linear", "LinearOptions"]


@dataclass(frozen=True)
class LinearOptions:
    """In which units the weights are."""

    units: Annotated[
        Literal["labels", "raw"],
        Doc("standardised features and label units, or both as they are, as torch starts them"),
    ] = "labels"


class Linear(Predictor):
    """z = W x + c, the same W and c for every row.

    Of a pair (see `dglbench.layout`) z_j = w·x_shared + V_j·x_own + c_j, the linear model on the
    pair's inputs, which are never made. W starts as torch's default, c at 0; with units=raw, c as
    torch's default too.

    References: Elmachtoub and Grigas (2022); Mandi et al. (2020).
    """

    name: ClassVar[str] = "linear"
    summary: ClassVar[str] = "one linear layer"
    Options: ClassVar[type[LinearOptions]] = LinearOptions

    @property
    def raw(self) -> bool:
        """Whether features and labels are taken as they are."""
        return bool(self.options.units == "raw")

    def network(self, layout: Layout) -> nn.Module:
        """Build the layer, or the two of a pair."""
        from torch import nn

        from dglbench.predictors.modules import PairLinear, last_layer

        if layout.shared:
            return PairLinear(layout.features[0], layout.shared, layout.outputs, raw=self.raw)
        if self.raw:
            return nn.Linear(layout.features[0], layout.outputs)
        return last_layer(layout.features[0], layout.outputs)

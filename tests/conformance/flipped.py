"""Three methods whose signs are wrong, each in another way; a plugin file."""

from typing import ClassVar

from dglbench.methods.base import Claims
from dglbench.methods.dgl import DglNone
from dglbench.methods.pyepo.losses import Dbb
from dglbench.methods.spo import SpoPlus


class ClimbingSpo(SpoPlus):
    """SPO+ with its loss and gradient negated: they fit each other, and lead the wrong way."""

    def loss(self, batch):
        return -super().loss(batch)

    def loss_and_gradient(self, batch):
        value, gradient = super().loss_and_gradient(batch)
        return -value, -gradient


class MisstatedDgl(DglNone):
    """A dual-guided loss whose gradient is handed over with the wrong sign."""

    def loss_and_gradient(self, batch):
        value, gradient = super().loss_and_gradient(batch)
        return value, -gradient


class BackwardsDbb(Dbb):
    """PyEPO's black box as it was on maximisation before 2.2.1: the gradient turned round."""

    claims: ClassVar[Claims] = Claims(of_loss=False, stationary=True)

    def loss(self, batch):
        return -super().loss(batch)

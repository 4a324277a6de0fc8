"""When training for accuracy ends: the rule of `two-stage` and of the warm start."""

from __future__ import annotations

import math

__all__ = ["Patience"]


class Patience:
    """Watches a squared error from epoch to epoch; it ends after so many without a lower one."""

    def __init__(self, epochs: int) -> None:
        self._most, self._waited = epochs, 0
        self.lowest = math.inf

    def improves(self, error: float) -> bool:
        """Take an epoch's error, and say whether it is the lowest so far."""
        if error < self.lowest:
            self.lowest, self._waited = error, 0
            return True
        self._waited += 1
        return False

    @property
    def ends(self) -> bool:
        """Whether the last epochs have not improved it."""
        return self._waited >= self._most

"""Checks that a method of training is what it says: signs, gradients, stationary points, units.

`check_method` runs them on small problems of its own, for the test of every method and for
``dglbench check-method``.
"""

from dglbench.conformance.checks import CHECKS, Outcome, check_method

__all__ = ["CHECKS", "Outcome", "check_method"]

"""Predictors: one file each, built for the way in which a task's features lie.

A class defined elsewhere is registered under the entry-point group ``dglbench.predictors`` and
behaves like one of these.
"""

from dglbench.predictors.base import Predictor

__all__ = ["Predictor"]

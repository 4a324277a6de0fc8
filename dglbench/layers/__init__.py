"""Smooth decisions with a gradient, one file each; found through the group ``dglbench.layers``."""

from dglbench.layers.base import Layer, MeteredLayer

__all__ = ["Layer", "MeteredLayer"]

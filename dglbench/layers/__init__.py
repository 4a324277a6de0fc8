"""Smooth decisions with a gradient, for methods that differentiate through the optimiser."""

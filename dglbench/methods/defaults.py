"""How the defaults in the options of all methods were found; docs/methods.md has more."""

__all__ = ["DEFAULTS_FOUND"]

DEFAULTS_FOUND = (
    "the same on every task; rates, temperatures and starts were found on matching-30, knapsack-36 "
    "and shortest-path-4, data seed 1001, which no reference result uses"
)
"""What `dglbench list` and every report say of the methods' defaults."""

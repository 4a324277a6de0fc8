"""The report: figures, tables and claims drawn from logs alone.

Reads Parquet and JSON, never torch or a solver, so it works on a laptop that
holds nothing but a copy of ``results/``.
"""

from dglbench.report.load import Report, load

__all__ = ["FIGURE_NAMES", "Report", "load"]

FIGURE_NAMES = (
    "time-vs-regret",
    "solves-vs-regret",
    "per-seed",
    "ranks",
    "profile",
    "anytime",
    "time-split",
    "complexity",
    "scaling",
    "dual-health",
    "regret-bound",
    "pipelines",
)
"""The figures' names, for a help text that should not wait for the plotting library."""

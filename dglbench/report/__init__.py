"""The report: figures, tables and claims drawn from logs alone.

Reads Parquet and JSON, never torch or a solver, so it works on a laptop that
holds nothing but a copy of ``results/``.
"""

from dglbench.report.load import Report, load

__all__ = ["Report", "load"]

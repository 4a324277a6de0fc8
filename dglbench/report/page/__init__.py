"""The report as one HTML page."""

from dglbench.report.page.document import build, steps, write

__all__ = ["build", "steps", "write"]

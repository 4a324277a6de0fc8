"""The figures and tables there are, by name; imported by the help text, so nothing heavy."""

__all__ = ["CHANGES", "FIGURE_NAMES", "TABLE_NAMES"]

FIGURE_NAMES = (
    "restarts", "spread", "tuning", "time-vs-regret", "solves-vs-regret", "per-seed", "by-degree",
    "when-it-pays", "predictors", "forms", "ranks", "profile", "anytime", "time-split",
    "complexity", "scaling", "dual-health", "regret-bound", "pipelines",
)  # fmt: skip
"""`dglbench.report.figures` has a file for each, with underscores for hyphens."""
TABLE_NAMES = (
    "summary", "leaderboard", "ranks", "equivalence", "profile", "anytime", "seeds", "restarts",
    "pairwise", "rivals", "power", "best-known", "selected", "budget", "total", "resources",
    "runs", "published",
)  # fmt: skip
"""`dglbench.report.tables` has a file for each, with underscores for hyphens."""
CHANGES = "changes"
"""The one table that compares two folders."""

"""The few values of a run that the `Run` interface has no property for, each read in one place."""

from __future__ import annotations

from dglbench.report.load import Run

__all__ = ["outside_s", "peak_memory_mb"]


def peak_memory_mb(run: Run) -> float | None:
    """Return the most memory the run's process held, in megabytes; None where not logged."""
    return run.record.summary.peak_memory_mb if run.record.summary else None


def outside_s(run: Run) -> float | None:
    """Return the wall seconds the run spent outside training: evaluating, logging.

    Where it is not logged as such, wall time less training time.
    """
    summary = run.record.summary
    if summary and summary.outside_s is not None:
        return summary.outside_s
    wall, train = run.record.status.wall_s, run.train_s
    return max(wall - train, 0.0) if wall and train is not None else None

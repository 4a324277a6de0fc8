"""The few values of a run that the `Run` interface has no property for, each read in one place."""

from __future__ import annotations

from dglbench.report.load import Run

__all__ = ["code_version", "finished", "outside_s", "peak_memory_mb", "train_s"]


def peak_memory_mb(run: Run) -> float | None:
    """Return the most memory the run's process held, in megabytes; None where not logged."""
    return _number(run, "peak_memory_mb")


def outside_s(run: Run) -> float | None:
    """Return the wall seconds the run spent outside training: evaluating, logging.

    Where it is not logged as such, wall time less training time.
    """
    logged = _number(run, "outside_s")
    if logged is not None:
        return logged
    wall, train = _number(run, "wall_s"), train_s(run)
    return None if wall is None or train is None else max(wall - train, 0.0)


def train_s(run: Run) -> float | None:
    """Return the training seconds of the whole run."""
    return _number(run, "train_s")


def finished(run: Run) -> str:
    """Return when the run ended, as an ISO date and time; empty if unknown."""
    return str(run.status.get("finished") or "")


def code_version(run: Run) -> str:
    """Return the digest of the code that decides the run's regrets."""
    return str(run.identity.get("source") or "")


def _number(run: Run, name: str) -> float | None:
    value = run.status.get(name)
    return float(value) if isinstance(value, int | float) else None

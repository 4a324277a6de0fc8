"""All checks of a pack, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from dglbench.verify.data import check_data
from dglbench.verify.decisions import check_decisions
from dglbench.verify.fairness import check_fairness
from dglbench.verify.files import check_files
from dglbench.verify.logs import check_logs
from dglbench.verify.reruns import check_reruns
from dglbench.verify.verdict import Verdict

__all__ = ["verify"]


def verify(
    path: Path, *, rerun: int = 0, seed: int = 0, watch: Callable[[str], None] | None = None
) -> Iterator[Verdict]:
    """Yield each check's verdict; a pack that cannot be opened has only the first."""
    files, subject = check_files(path)
    yield files
    if subject is None:
        return
    yield check_logs(subject)
    data, made = check_data(subject)
    yield data
    yield check_decisions(subject, made)
    yield check_fairness(subject)
    if rerun:
        yield check_reruns(subject, rerun, seed, watch)

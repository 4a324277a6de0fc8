"""What a fit keeps of itself beside its runs, so that the same command goes on.

``fit.json`` names the data, and what was settled at the start: the solver, the epochs, the
evaluations and the kinds that are left out because a run would take too long. The seconds used so
far count: with ``minutes`` a fit that was stopped goes on for what is left, and one that is
complete only judges again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dglbench import atomic
from dglbench.errors import RunError
from dglbench.runs.out_folder import make_folder

__all__ = ["JOURNAL", "Journal", "open_journal"]

JOURNAL = "fit.json"


@dataclass(frozen=True)
class Journal:
    """The state of a fit."""

    data: str
    solver: str
    epochs: int | None = None
    """None while the task's own."""
    every: int | None = None
    """Epochs between evaluations, None while from what one costs."""
    too_slow: tuple[str, ...] = ()
    """Methods left out."""
    longest_s: float | None = None
    """That a run may take, where this was estimated."""
    seconds: float = 0.0
    """Used so far, by all commands together."""

    def keep(self, out: Path, seconds: float) -> Journal:
        """Save the state with the seconds used so far."""
        kept = replace(self, seconds=seconds)
        atomic.write_text(out / JOURNAL, json.dumps(asdict(kept), indent=2) + "\n")
        return kept


def open_journal(out: Path, data: str, solver: str) -> Journal | None:
    """Return the state of the fit in a folder, None if there is none; refuse one of other data."""
    make_folder(out)
    try:
        text = (out / JOURNAL).read_text("utf-8")
    except FileNotFoundError:
        return None
    try:
        document = json.loads(text)
        journal = Journal(**{**document, "too_slow": tuple(document["too_slow"])})
    except (ValueError, TypeError, KeyError) as error:
        raise RunError(
            f"{out / JOURNAL} is damaged; delete it to judge and choose anew by the runs that are "
            "there, or choose another --out."
        ) from error
    if journal.data != data:
        raise RunError(f"{out} holds a fit of other data; choose another --out.")
    if journal.solver != solver:
        raise RunError(
            f"{out} holds a fit with --solver {journal.solver}, not {solver}; choose another --out."
        )
    return journal

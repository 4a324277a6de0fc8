"""In what share of settings is a method within a factor of the quickest?"""

from __future__ import annotations

import numpy as np

from dglbench.report.loading import Report
from dglbench.report.statistics.profiles import not_everywhere, times_to_target
from dglbench.report.statistics.time_to_regret import NEAR, Reach
from dglbench.report.style.palette import style
from dglbench.report.style.titles import plural
from dglbench.report.tables.sheet import METHOD, Cell, Column, Sheet, mark_best
from dglbench.words import percent

__all__ = ["FACTORS", "profile"]

FACTORS = (1, 2, 5, 10, 100)
"""Where the table reads the profile off."""
_WITHIN = f"{100 * NEAR:.0f} %"


def profile(report: Report, reach: Reach | None = None) -> Sheet:
    """List the share of settings in which each method is within a factor of the quickest."""
    times = times_to_target(report, reach)
    if not times.settings:
        return Sheet("profile", "Performance profile", _PROFILE, (), times.left_out)
    reached = np.isfinite(times.seconds).mean(axis=0)
    rows = []
    for at, method in enumerate(times.methods):
        shares = [times.share(method, factor) for factor in FACTORS]
        rows.append(
            (
                Cell(style(method).label, method),
                *(Cell(percent(share, 0), share) for share in shares),
                Cell(percent(float(reached[at]), 0), float(reached[at])),
            )
        )
    rows = mark_best(rows, max, range(1, len(_PROFILE)))
    note = (
        f"share of {plural(len(times.settings), 'setting')} in which the method came within "
        f"{_WITHIN} of the setting's lowest test regret in at most so many times the training "
        "seconds of the method that was quickest to do so; ever: at any time. Over repeats: the "
        "time one expects."
    )
    notes = [note, *not_everywhere(times, times.methods), *times.left_out]
    return Sheet("profile", "Performance profile", _PROFILE, tuple(rows), tuple(notes))


_PROFILE = (
    METHOD,
    Column("within_1", "quickest", "share of settings in which none was quicker", numeric=True),
    *(
        Column(f"within_{f}", f"within {f}×", f"at most {f} times the quickest", numeric=True)
        for f in FACTORS[1:]
    ),
    Column("ever", "ever", "share of settings in which it got there at all", numeric=True),
)

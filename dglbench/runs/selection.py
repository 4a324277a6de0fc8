"""The one rule by which an epoch or a configuration is chosen.

The lowest validation regret wins, relative or pooled as the run's data decide
(`Summary.judged_by`); test is never used. Among equal epochs the earliest wins. A protocol with
``choose=last`` takes the last epoch instead, whatever its regret.

Among equal configurations the one with more epochs wins, then the one with smaller option values,
options in alphabetical order. A run without a finite validation regret is never chosen; runs
whose data have no validation instances are all equal.

The recorder chooses epochs, the search and the report choose runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dglbench.runs.record import RunRecord

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "MEASURE",
    "MEASURES",
    "best_record",
    "improves",
    "improving",
    "measure",
    "ranked",
    "validation_regret",
]


MEASURE = "relative_regret"
"""The figure that is compared where a record does not say otherwise."""
MEASURES = {"relative": MEASURE, "pooled": "pooled_regret"}
"""By `Summary.judged_by`: the figure of the validation split that is compared, a column of the
regret log and a field of `Regrets`."""


def measure(record: RunRecord) -> str:
    """Return the figure that a run is judged by."""
    return MEASURES[record.summary.judged_by] if record.summary else MEASURE


def improves(regret: float | None, best: float | None, choose: str = "best") -> bool:
    """Say whether an epoch takes the place of the best before it.

    ``regret`` is its validation regret, None where there are no validation instances.
    """
    if choose == "last":
        return True
    return regret is not None and math.isfinite(regret) and (best is None or regret < best)


def improving(column: str, *, of: str) -> pl.Expr:
    """Say for ``choose=best`` the same of a column of regrets, the epochs of each run in order."""
    import polars as pl

    regret = pl.when(pl.col(column).is_finite()).then(pl.col(column))
    lowest_before = regret.cum_min().forward_fill().shift(1)
    return (regret.is_not_null() & (lowest_before.is_null() | (regret < lowest_before))).over(of)


def validation_regret(record: RunRecord) -> float:
    """Return the figure by which runs are chosen; infinite if the run has no result."""
    if record.state != "done" or record.selected is None:
        return math.inf
    if record.selected.val is None:
        return 0.0  # none to choose by: all such runs are equal
    regret: float = getattr(record.selected.val, measure(record))
    return regret if math.isfinite(regret) else math.inf


def ranked(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the records that may be chosen, best first."""
    return sorted((r for r in records if math.isfinite(validation_regret(r))), key=_rank)


def best_record(records: Iterable[RunRecord]) -> RunRecord | None:
    """Return the best record, None if none has a result."""
    return min((r for r in records if math.isfinite(validation_regret(r))), key=_rank, default=None)


def _rank(record: RunRecord) -> tuple[Any, ...]:
    identity = record.identity
    options = [(name, *_sortable(identity.options[name])) for name in sorted(identity.options)]
    return validation_regret(record), -identity.protocol.epochs, options, record.run_id


def _sortable(value: Any) -> tuple[str, Any]:
    """Make any values comparable: numbers as numbers, everything else as text."""
    if isinstance(value, (int, float)):
        return "number", value
    return type(value).__name__, str(value)

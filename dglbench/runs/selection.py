"""The one rule by which an epoch or a configuration is chosen.

The lowest validation relative regret wins; test is never looked at. Of equals, an
epoch wins by being earlier. A configuration wins by having been given more epochs
(a search may cut some short), then by its options in alphabetical order, smaller
values first. What has no finite validation regret is never chosen.

The recorder chooses epochs, the search and the report choose runs. A search with
rungs chooses among the finished runs of all rungs, so that a configuration which
diverges when it is trained for longer still has the result of its shorter run.
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


def improves(regret: float, best: float | None) -> bool:
    """Say whether an epoch's validation regret takes the place of the best one before it."""
    return math.isfinite(regret) and (best is None or regret < best)


def improving(column: str, *, of: str) -> pl.Expr:
    """Say the same of a column of regrets, the epochs of each run (``of``) in order."""
    import polars as pl

    regret = pl.when(pl.col(column).is_finite()).then(pl.col(column))
    lowest_before = regret.cum_min().forward_fill().shift(1)
    return (regret.is_not_null() & (lowest_before.is_null() | (regret < lowest_before))).over(of)


def validation_regret(record: RunRecord) -> float:
    """Return the figure all choices are made by; infinite if the run has no result."""
    if record.state != "done" or record.selected is None:
        return math.inf
    regret: float = getattr(record.selected.val, measure(record))
    return regret if math.isfinite(regret) else math.inf


def ranked(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the records that may be chosen, best first."""
    return sorted((r for r in records if math.isfinite(validation_regret(r))), key=_rank)


def best_record(records: Iterable[RunRecord]) -> RunRecord | None:
    """Return the record that stands for its method, None if none has a result."""
    return min((r for r in records if math.isfinite(validation_regret(r))), key=_rank, default=None)


def _rank(record: RunRecord) -> tuple[Any, ...]:
    identity = record.identity
    options = [(name, *_sortable(identity.options[name])) for name in sorted(identity.options)]
    return validation_regret(record), -identity.protocol.epochs, options, record.run_id


def _sortable(value: Any) -> tuple[str, Any]:
    """Let numbers be compared as numbers, and anything else without an error."""
    if isinstance(value, (int, float)):
        return "number", value
    return type(value).__name__, str(value)

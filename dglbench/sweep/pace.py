"""How long the rest may take, from the runs that have ended."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from dglbench.runs import RunRecord, RunSpec
from dglbench.sweep.search import GroupSearch
from dglbench.sweep.survey import Survey

__all__ = ["Pace"]


class Pace:
    """Seconds per epoch by setting and method, of this sweep and of the folder."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._here: dict[tuple[str, str], list[float]] = {}

    def add(self, record: RunRecord) -> None:
        """Learn from a run that ended."""
        if record.state == "done":
            per_epoch = float(record.status["wall_s"]) / max(int(record.status["epochs_run"]), 1)
            self._here.setdefault((record.spec.setting, record.spec.method), []).append(per_epoch)

    def left(self, searches: Iterable[GroupSearch], slots: int) -> float | None:
        """Estimate the seconds until all is done; None while nothing has ended.

        A method that nothing is known of counts as the mean of those that are known.
        """
        known, unknown = [], 0
        for search in searches:
            for spec in (*search.pending.values(), *search.running.values()):
                seconds = self._seconds(spec)
                unknown += seconds is None
                known += [] if seconds is None else [seconds]
        if not known and not unknown:
            return 0.0
        rates = [rate for rates in self._here.values() for rate in rates]
        if unknown and not known and not rates:
            return None
        mean = fmean(known) if known else fmean(rates)
        return (sum(known) + unknown * mean) / slots

    def _seconds(self, spec: RunSpec) -> float | None:
        here = self._here.get((spec.setting, spec.method))
        if here:
            return fmean(here) * spec.protocol.epochs
        return self._survey.seconds(spec)

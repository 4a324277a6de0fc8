"""How long the rest may take, from the runs that have ended."""

from __future__ import annotations

import time
from collections.abc import Iterable
from statistics import fmean

from dglbench.runs.record import RunRecord
from dglbench.sweep.plan.survey import Survey
from dglbench.sweep.search.group_search import GroupSearch
from dglbench.training.spec import RunSpec

__all__ = ["Pace"]


class Pace:
    """Seconds per epoch by setting and method: of running runs, of ended ones, of the folder."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._ended: dict[tuple[str, str], list[float]] = {}
        self._first: dict[str, tuple[float, int]] = {}
        self._last: dict[str, tuple[float, int]] = {}

    def hear(self, run_id: str, epoch: int) -> None:
        """Learn from a run that has come further."""
        now = (time.monotonic(), epoch)
        self._first.setdefault(run_id, now)
        self._last[run_id] = now

    def add(self, record: RunRecord) -> None:
        """Learn from a run that ended."""
        self._first.pop(record.run_id, None)
        self._last.pop(record.run_id, None)
        if record.state == "done" and record.summary:
            key = (record.identity.setting, record.identity.method)
            per_epoch = record.status.wall_s / max(record.summary.epochs_run, 1)
            self._ended.setdefault(key, []).append(per_epoch)

    def left(self, searches: Iterable[GroupSearch], slots: int) -> float | None:
        """Estimate the seconds until all is done; None while nothing is known.

        A method that nothing is known of counts as the mean of those that are known.
        """
        known: list[float] = []
        unknown = 0
        for search in searches:
            running = {run_id: self._rate(run_id) for run_id in search.running}
            live = [rate for rate in running.values() if rate is not None]
            for run_id, spec in (*search.running.items(), *search.pending.items()):
                rate = running.get(run_id) or (fmean(live) if live else self._known_rate(spec))
                if rate is None:
                    unknown += 1
                    continue
                done = self._last.get(run_id, (0.0, 0))[1]
                known.append(rate * (spec.protocol.epochs - done))
        if unknown and not known:
            return None
        return (sum(known) + unknown * (fmean(known) if known else 0.0)) / slots

    def _rate(self, run_id: str) -> float | None:
        """Seconds an epoch takes in a run that is under way."""
        if run_id not in self._first:
            return None
        (began, first), (now, last) = self._first[run_id], self._last[run_id]
        return (now - began) / (last - first) if last > first else None

    def _known_rate(self, spec: RunSpec) -> float | None:
        ended = self._ended.get((spec.setting, spec.method))
        if ended:
            return fmean(ended)
        seconds = self._survey.seconds(spec)
        return None if seconds is None else seconds / spec.protocol.epochs

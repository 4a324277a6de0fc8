"""How far a fit is, for whoever shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from dglbench.fitting.journal import Journal
from dglbench.fitting.kinds import side
from dglbench.runs.record import Identity, RunRecord
from dglbench.runs.selection import validation_regret
from dglbench.sweep.jobs import Job, News
from dglbench.training.spec import RunSpec
from dglbench.words import percent, rough_seconds

__all__ = ["Lines", "Progress", "Show", "Watch", "configuration"]

_SAVE_EVERY_S = 2.0
_LINE_EVERY_S = 30.0


def configuration(identity: Identity) -> str:
    """Name what was trained: ``rdgl-newton, mlp:hidden=64, fresh start``."""
    start = identity.options.get("start")
    parts = [identity.method]
    if "start" in identity.options or identity.method == "two-stage":
        parts.append(identity.predictor)
    return ", ".join([*parts, f"{start} start"] if start else parts)


@dataclass(frozen=True)
class Progress:
    """Time used, runs made, and the best of each side so far."""

    seconds: float
    """Used so far."""
    of_seconds: float | None
    """Granted; None where a number of runs is."""
    runs: int
    of_runs: int | None
    best: dict[str, RunRecord] = field(default_factory=dict)
    """By side: the run with the lowest validation regret."""
    running: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """All of it in one line."""
        used = rough_seconds(self.seconds)
        time_words = f"{used} of {rough_seconds(self.of_seconds)}" if self.of_seconds else used
        runs = f"{self.runs} of {self.of_runs} runs" if self.of_runs else f"{self.runs} runs"
        best = [f"{each} {percent(validation_regret(r))}" for each, r in self.best.items()]
        return f"{time_words}, {runs}" + (f"; best {', '.join(best)}" if best else "")


class Show(Protocol):
    """Whoever shows a fit to the user."""

    def tell(self, sentence: str) -> None:
        """Show a sentence."""

    def better(self, sentence: str) -> None:
        """Show that the best of a side has changed."""

    def update(self, progress: Progress) -> None:
        """Take in how far the fit is."""


class Lines:
    """Shows a fit in plain lines: when the best changes, and now and then how far it is."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say, self._clock = say, clock
        self._last = clock()

    def tell(self, sentence: str) -> None:
        """Say it."""
        self._say(sentence)

    def better(self, sentence: str) -> None:
        """Say it; that is news enough for a while."""
        self._last = self._clock()
        self._say(sentence)

    def update(self, progress: Progress) -> None:
        """Say how far the fit is, if nothing was said for a while."""
        if self._clock() - self._last >= _LINE_EVERY_S:
            self._last = self._clock()
            self._say(progress.words)


class Watch:
    """Listens to the driver (`dglbench.sweep.jobs.Listener`) and keeps the time."""

    def __init__(
        self,
        show: Show,
        journal: Journal,
        out: Path,
        *,
        of_seconds: float | None,
        of_runs: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show, self._journal, self._out, self._clock = show, journal, out, clock
        self._began, self._saved = clock() - journal.seconds, 0.0
        self._progress = Progress(journal.seconds, of_seconds, 0, of_runs)

    @property
    def seconds(self) -> float:
        """Used so far, by all commands together."""
        return self._clock() - self._began

    def begin(self, total: int, left_s: float | None) -> None:
        """The runs begin."""
        self._update()

    def started(self, job: Job) -> None:
        """A job has begun."""
        what = configuration(job.spec.identity)
        self._update(running=(f"warm start, {job.spec.predictor}" if job.is_warm_start else what,))

    def news(self, key: str, news: News) -> None:
        """A run has come further."""
        self._update()

    def ended(self, spec: RunSpec, state: str, record: RunRecord) -> None:
        """A run has ended: is it the best of its side?"""
        self._update(runs=self._progress.runs + (record.state != "interrupted"))
        if record.state not in ("done", "interrupted"):
            why = (record.status.message or record.state).rstrip(".")
            self._show.tell(f"{configuration(record.identity)} ended as {record.state}: {why}.")
        regret, of = validation_regret(record), side(record.identity.method)
        known = self._progress.best.get(of)
        if regret < (float("inf") if known is None else validation_regret(known)):
            best = {**self._progress.best, of: record}
            self._progress = replace(self._progress, best={key: best[key] for key in sorted(best)})
            if state == "skipped":  # of an earlier command, which has said so
                return
            self._show.better(
                f"{rough_seconds(self.seconds)}, run {self._progress.runs}: best {of} "
                f"{percent(regret)} ({configuration(record.identity)})"
            )
        if self._clock() - self._saved > _SAVE_EVERY_S:
            self.save()

    def left(self, seconds: float | None) -> None:
        """The driver's estimate is of what was asked for so far, so it is not shown."""
        self._update()

    def tell(self, sentence: str) -> None:
        """Pass it on."""
        self._show.tell(sentence)

    def judging(self) -> None:
        """The runs are over: what was chosen is judged."""
        self._update(running=("choosing and judging",))

    def save(self) -> Journal:
        """Keep the time that was used."""
        self._saved = self._clock()
        return self._journal.keep(self._out, self.seconds)

    def _update(self, **changes: object) -> None:
        self._progress = replace(self._progress, seconds=self.seconds, **changes)  # type: ignore[arg-type]
        self._show.update(self._progress)

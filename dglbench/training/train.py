"""One run: train a predictor with one method, evaluate it, keep its best epoch.

The clock runs around training work only (`dglbench.training.learner`). Between epochs,
while it is stopped, the predictor is judged on validation and test
(`dglbench.training.recorder`); the epoch with the lowest validation regret is kept, or the last
(`dglbench.runs.selection`). Test is logged and never used for a choice.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from dglbench.plugins import find_task
from dglbench.runs import provenance
from dglbench.runs.record import RunOutput, RunRecord, Status
from dglbench.streams import repetition, torch_seed
from dglbench.task import Dataset
from dglbench.training import memory
from dglbench.training.evaluation import Evaluator
from dglbench.training.learner import Diverged, Learner
from dglbench.training.patience import Patience
from dglbench.training.process_state import training_state, warm_process
from dglbench.training.recorder import Recorder
from dglbench.training.spec import RunSpec
from dglbench.training.warm_start import WarmStart

__all__ = ["Progress", "RunStop", "train", "warm_process"]


@dataclass(frozen=True)
class Progress:
    """What a run reports to its observer after every evaluation."""

    epoch: int
    epochs: int
    loss: float
    val_regret: float | None
    """None without validation instances."""
    best_val_regret: float | None
    phases: dict[str, float]
    """Training seconds by phase so far."""
    elapsed_s: float
    solves: dict[str, int]
    wall_s: float
    lead_in: int = 0
    """Epochs of the lead-in; ``epoch`` counts them as −lead_in … −1."""

    @property
    def where(self) -> str:
        """How far the run has come, in words."""
        if self.epoch < 0:
            return f"lead-in {self.lead_in + self.epoch + 1}/{self.lead_in}"
        return f"epoch {self.epoch}/{self.epochs}"

    @property
    def regret_words(self) -> str:
        """The validation regret in words; empty without validation instances."""
        if self.val_regret is None:
            return ""
        best = math.nan if self.best_val_regret is None else self.best_val_regret
        return f"validation regret {self.val_regret:.4f} (best {best:.4f})"

    @property
    def left_s(self) -> float:
        """Estimated wall seconds left, at the pace so far."""
        done = self.lead_in + self.epoch + (self.epoch < 0)
        return self.wall_s / done * (self.lead_in + self.epochs - done)


class RunStop(BaseException):
    """Ends a run early with a state and a reason, keeping what was logged.

    Not an `Exception`, so that a method which catches those cannot keep the run going.
    """

    def __init__(
        self, state: Literal["timeout", "diverged", "failed", "interrupted"], reason: str
    ) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


def train(
    spec: RunSpec,
    dataset: Dataset,
    warm_start: WarmStart | None,
    *,
    evaluator: Evaluator | None = None,
    watch: Callable[[Progress], None] | None = None,
    time_limit: float | None = None,
    at_limit: Literal["timeout", "interrupted"] = "timeout",
    concurrency: int = 1,
    guard: AbstractContextManager[None] | None = None,
) -> RunOutput:
    """Train as the spec says and return everything the run produced.

    Never raises for what happens inside the run: a failure, a divergence, the time limit or
    Ctrl-C become the record's state, and everything logged so far is kept. ``guard`` surrounds
    the training alone; what it raises ends the run in the same way. ``at_limit`` is the state of a
    run that the time limit stops: an interrupted one counts as not made.
    """
    warm_process()
    memory.keep_freed()
    environment = provenance.environment(spec.threads, concurrency)
    memory.forget_peak()
    started, wall = datetime.now(UTC), time.perf_counter()
    limit = _Limit(math.inf if time_limit is None else wall + time_limit, at_limit)
    state, message, trace = "done", None, None
    recorder: Recorder | None = None
    seed = torch_seed(spec.data.seed, "torch", *repetition(spec.train_seed))
    with training_state(spec.threads, seed):
        try:
            with guard or nullcontext():
                evaluator = evaluator or Evaluator(find_task(spec.data.task), dataset)
                learner = Learner(spec, dataset, warm_start)
                recorder = Recorder(learner, evaluator)
                _run(learner, recorder, watch, wall, limit)
        except RunStop as stop:
            state, message = stop.state, stop.reason
        except Diverged as divergence:
            state, message = "diverged", str(divergence)
        except KeyboardInterrupt:
            state, message = "interrupted", "stopped by the user"
        except Exception as error:  # recorded: a failing run must not stop its sweep
            state, message = "failed", f"{type(error).__name__}: {error}"
            trace = traceback.format_exc()
        status = Status(
            state=state,
            message=message,
            traceback=trace,
            started=started.isoformat(timespec="seconds"),
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            wall_s=time.perf_counter() - wall,
        )
        summary = recorder.summary(warm_start) if recorder else None
        if summary:
            outside = max(status.wall_s - summary.train_s, 0.0)
            summary = replace(summary, outside_s=outside, peak_memory_mb=memory.peak_mb())
        notes = recorder.notes() if recorder and summary else {}
    record = RunRecord(spec.run_id, spec.identity, environment, status, summary, notes)
    if recorder is None:
        return RunOutput(record)
    return RunOutput(record, recorder.tables(), recorder.best_weights)


class _Limit(NamedTuple):
    """When a run must end, and how it has ended then."""

    at: float
    """By `time.perf_counter`."""
    state: Literal["timeout", "interrupted"]


def _run(
    learner: Learner,
    recorder: Recorder,
    watch: Callable[[Progress], None] | None,
    wall: float,
    limit: _Limit,
) -> None:
    """Train the lead-in, if there is one, as epochs below 0; then the method itself."""
    protocol, lead_in = learner.spec.protocol, learner.spec.lead_in

    def check_time() -> None:
        if time.perf_counter() > limit.at:
            raise RunStop(limit.state, f"the time limit of {limit.at - wall:g} s was reached")

    def train_stage(epochs: range, patience: int | None, accuracy: Patience | None = None) -> int:
        """Set up, train every epoch, evaluate as often as the protocol asks; return the last.

        ``accuracy`` ends a method that is trained until validation MSE stops improving.
        """
        before, waited, epoch = epochs.start - 1, 0, epochs.start - 1
        recorder.log_lap(before, math.nan, learner.set_up())
        recorder.evaluate(before)
        for epoch in epochs:
            loss, seconds = learner.epoch(check_time)
            recorder.log_lap(epoch, loss, seconds)
            if problem := learner.method.problems():
                raise RunStop("failed", problem)
            over = epoch == epochs[-1]
            if accuracy is not None and not accuracy.improves(recorder.val_mse()):
                over = over or accuracy.ends
            if (epoch - before) % (protocol.evaluate_every or 1) and not over:
                continue
            waited = 0 if recorder.evaluate(epoch) else waited + 1
            learner.judged(recorder.val_regret)
            if watch is not None:
                watch(_progress(learner, recorder, epoch, loss, wall))
            if over or (patience is not None and waited >= patience):
                break
        return epoch

    if lead_in is not None:
        train_stage(range(-lead_in.epochs, 0), patience=None)
        learner.move_on()
    epochs = 0 if learner.method.fits else protocol.epochs
    accuracy = (
        Patience(protocol.warm_start_patience)
        if learner.method.for_accuracy and protocol.choose == "best"
        else None
    )
    recorder.finish(train_stage(range(1, epochs + 1), protocol.patience, accuracy))


def _progress(
    learner: Learner, recorder: Recorder, epoch: int, loss: float, wall: float
) -> Progress:
    return Progress(
        epoch=epoch,
        epochs=learner.spec.protocol.epochs,
        loss=loss,
        val_regret=recorder.val_regret,
        best_val_regret=recorder.best_regret,
        phases=recorder.phase_seconds(),
        elapsed_s=recorder.elapsed_s,
        solves=dict(learner.ledger.total),
        wall_s=time.perf_counter() - wall,
        lead_in=learner.spec.lead_in.epochs if learner.spec.lead_in else 0,
    )

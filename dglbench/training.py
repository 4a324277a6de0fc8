"""One run: train a predictor with one method, watch it, keep its best epoch.

The clock runs around training work only. Between epochs, while it stands still,
the predictor is judged on validation and test; the epoch with the lowest
validation relative regret is kept. Test is logged and never used for a choice.
"""

from __future__ import annotations

import functools
import io
import math
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dglbench import logs, provenance
from dglbench.clock import Clock, Ledger, MeteredLayer, MeteredSolver
from dglbench.diagnostics import dual_health, regret_bound
from dglbench.evaluation import Evaluator, Outcome, bootstrap_interval
from dglbench.methods.base import Batch, Constraints, Method, Training
from dglbench.plugins import find_method, find_task
from dglbench.runs import RunRecord, RunSpec
from dglbench.solvers import make_solver
from dglbench.solvers.quadratic import QuadraticLayer
from dglbench.streams import stream
from dglbench.task import Dataset
from dglbench.warm_start import WarmStart, fresh_predictor

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["Progress", "RunStop", "train", "warm_process"]


@dataclass(frozen=True)
class Progress:
    """What a run tells whoever watches it, after every epoch."""

    epoch: int
    epochs: int
    loss: float
    val_regret: float
    best_val_regret: float
    phases: dict[str, float]
    """Training seconds by phase so far."""
    elapsed_s: float
    solves: dict[str, int]
    wall_s: float


class RunStop(BaseException):
    """Ends a run early with a state and a reason, keeping what was logged.

    Not an `Exception`, so that a method which catches those cannot hold a run up.
    """

    def __init__(self, state: Literal["timeout", "diverged", "failed"], reason: str) -> None:
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
    concurrency: int = 1,
    guard: AbstractContextManager[object] | None = None,
) -> RunRecord:
    """Train as the spec says and return everything the run leaves behind.

    Never raises for what happens inside the run: a failure, a divergence, the
    time limit or Ctrl-C become the record's state, with all that was logged.
    ``guard`` is entered for as long as the run may be stopped from outside, by
    a signal handler that raises `RunStop` or `KeyboardInterrupt`.
    """
    import torch
    from threadpoolctl import threadpool_limits

    warm_process()
    torch.set_num_threads(spec.threads)
    environment = provenance.environment(spec.threads, concurrency)
    started, wall = datetime.now(UTC), time.perf_counter()
    state, message, trace = "done", None, None
    run: _Run | None = None
    with threadpool_limits(spec.threads):
        try:
            with guard or nullcontext():
                run = _Run(spec, dataset, warm_start, evaluator, watch, wall, time_limit)
                run.go()
        except RunStop as stop:
            state, message = stop.state, stop.reason
        except KeyboardInterrupt:
            state, message = "interrupted", "stopped by the user"
        except Exception as error:  # recorded: a failing run must not stop its sweep
            state, message = "failed", f"{type(error).__name__}: {error}"
            trace = traceback.format_exc()
        status = {
            "status": state,
            "message": message,
            "traceback": trace,
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "wall_s": time.perf_counter() - wall,
            **(run.summary() if run else {}),
        }
    tables = run.tables() if run else {}
    return RunRecord(spec, status, environment, tables, run.best_weights if run else None)


@functools.cache
def warm_process() -> None:
    """Pay for what torch imports at its first step (seconds), before any clock or time limit."""
    import torch

    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.Adam([weight], fused=True)
    weight.sum().backward()  # type: ignore[no-untyped-call]
    optimiser.step()


class _Run:
    """The state of one run, from set-up to its summary."""

    def __init__(
        self,
        spec: RunSpec,
        dataset: Dataset,
        warm_start: WarmStart | None,
        evaluator: Evaluator | None,
        watch: Callable[[Progress], None] | None,
        wall: float,
        time_limit: float | None,
    ) -> None:
        import torch

        self.spec, self.dataset, self.watch = spec, dataset, watch
        self.wall, self.time_limit = wall, time_limit
        task = find_task(spec.data.task)
        self.clock, self.ledger = Clock(), Ledger()
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in logs.TABLES}
        self.best_weights: bytes | None = None
        self.best: dict[str, Any] | None = None
        self.best_test: Outcome | None = None
        self.start_regret: dict[str, float] = {}
        self.warm_start = warm_start
        self.elapsed = 0.0

        self.evaluator = evaluator or Evaluator(task, dataset)
        self.scale = task.label_scale(dataset)
        self.constraints = Constraints(dataset.problem)
        train_rows = dataset.rows("train")
        self.features = torch.from_numpy(dataset.features[train_rows])
        self.labels = torch.from_numpy(dataset.labels[train_rows]) / self.scale

        self.predictor = fresh_predictor(task, dataset)
        if warm_start:
            warm_start.apply(self.predictor)
        self.solver = make_solver(spec.solver, task, dataset.problem)
        self.method: Method = find_method(spec.method).cls(spec.options)

    # -- training -----------------------------------------------------------------

    def go(self) -> None:
        """Set up, train every epoch, judge as often as asked."""
        import torch

        protocol = self.spec.protocol
        self._warm_up()
        self.clock.start()
        self.method.prepare(self._training())
        self._log_lap(0, math.nan)
        self._evaluate(0)

        optimiser = torch.optim.Adam(
            self.predictor.parameters(), lr=self.spec.options.lr, fused=True
        )
        draws = stream(self.spec.data.seed, "batches")
        waited = 0
        for epoch in range(1, protocol.epochs + 1):
            order = torch.from_numpy(draws.permutation(len(self.labels)))
            self.clock.start()
            loss = self._epoch(epoch, order, optimiser)
            self._log_lap(epoch, loss)
            if problem := self.method.problems():
                raise RunStop("failed", problem)
            if epoch % protocol.evaluate_every and epoch < protocol.epochs:
                continue
            waited = 0 if self._evaluate(epoch) else waited + 1
            self._report(epoch, loss)
            if protocol.patience is not None and waited >= protocol.patience:
                break

    def _epoch(self, epoch: int, order: torch.Tensor, optimiser: torch.optim.Optimizer) -> float:
        import torch

        phase = self.clock.phase
        self.method.start_epoch(epoch - 1)
        total = torch.zeros((), dtype=torch.float64)
        for rows in torch.split(order, self.spec.protocol.batch_size):
            labels, features = self.labels[rows], self.features[rows]
            with phase("predict"):
                predictions = self.predictor(features) / self.scale
            loss = self.method.loss(Batch(rows, predictions, labels))
            with phase("backward"):
                optimiser.zero_grad(set_to_none=True)
                torch.autograd.backward(loss)
                optimiser.step()
            value = float(loss.detach())
            if not math.isfinite(value):
                self.clock.stop()
                raise RunStop("diverged", f"the loss became {value} in epoch {epoch}")
            total += value * len(rows)
            self._check_time()
        return float(total) / len(order)

    def _training(self) -> Training:
        clock, ledger = self.clock, self.ledger

        def predict() -> torch.Tensor:
            import torch

            with clock.phase("predict"), torch.no_grad():
                predictions: torch.Tensor = self.predictor(self.features) / self.scale
                return predictions

        def layer(mu: float) -> MeteredLayer:
            built = QuadraticLayer(self.dataset.problem, mu, self.spec.threads)
            return MeteredLayer(built, clock, ledger)

        solver = MeteredSolver(self.solver, clock, ledger)
        return Training(self.constraints, self.labels, solver, predict, layer)

    def _warm_up(self) -> None:
        """Pay torch's own first-call costs before the clock starts; weights stay as they are."""
        import torch

        torch.autograd.backward(self.predictor(self.features[:1]).sum())
        self.predictor.zero_grad(set_to_none=True)

    def _check_time(self) -> None:
        if self.time_limit is not None and time.perf_counter() - self.wall > self.time_limit:
            raise RunStop("timeout", f"the time limit of {self.time_limit:g} s was reached")

    # -- watching -----------------------------------------------------------------

    def _log_lap(self, epoch: int, loss: float) -> None:
        seconds = self.clock.stop()
        self.elapsed += seconds
        lap = self.ledger.lap()
        self.rows["timing"].append(
            {
                "epoch": epoch,
                "loss": loss,
                **{f"{name}_s": value for name, value in self.clock.seconds.items()},
                "epoch_s": seconds,
                "elapsed_s": self.elapsed,
                **{f"solves_{name}": lap[name] for name in ("label", "train", "refresh")},
            }
        )
        self._refreshed = lap["refresh"]

    def _evaluate(self, epoch: int) -> bool:
        """Judge the predictor on both splits; True if validation regret is the best so far."""
        outcomes: dict[str, Outcome] = {}
        for split, judge in self.evaluator.splits.items():
            predictions = judge.predict(self.predictor)
            if not np.isfinite(predictions).all():
                raise RunStop("diverged", f"predictions are not finite after epoch {epoch}")
            outcomes[split] = judge.judge(predictions)
            self.ledger.count("evaluate", len(predictions))
            row = {"epoch": epoch, "elapsed_s": self.elapsed, "split": split}
            self.rows["regret"].append({**row, **outcomes[split].metrics()})
            if split == "val" and hasattr(self.spec.options, "tau"):
                self._log_bound(epoch, predictions, outcomes[split])
        self._log_duals(epoch)
        metrics = {split: outcome.metrics() for split, outcome in outcomes.items()}
        if epoch == 0:
            self.start_regret = {split: m["relative_regret"] for split, m in metrics.items()}
        better = (
            self.best is None
            or metrics["val"]["relative_regret"] < self.best["val"]["relative_regret"]
        )
        if better:
            spent = {name: self.ledger.total[name] for name in ("label", "train", "refresh")}
            self.best = {
                "epoch": epoch,
                "elapsed_s": self.elapsed,
                "solves": sum(spent.values()),
                **metrics,
            }
            self.best_test = outcomes["test"]
            self.best_weights = _saved(self.predictor)
        return better

    def _log_duals(self, epoch: int) -> None:
        in_use = self.method.current_duals()
        if in_use is None:
            return
        import torch

        with torch.no_grad():
            predictions = self.predictor(self.features) / self.scale
        relaxed = self.evaluator.solver.relax(predictions)
        self.ledger.count("evaluate", len(predictions))
        optimal = (predictions * relaxed).sum(dim=(1, 2))
        self.rows["duals"].append(
            {
                "epoch": epoch,
                **dual_health(self.constraints, predictions, in_use, optimal),
                "share_refreshed": self._refreshed / len(self.labels),
            }
        )

    def _log_bound(self, epoch: int, predictions: Any, outcome: Outcome) -> None:
        import torch

        judge = self.evaluator.splits["val"]
        labels = torch.from_numpy(judge.labels) / self.scale
        scaled = torch.from_numpy(predictions) / self.scale
        if epoch == 0:
            self._label_duals = self.evaluator.solver.duals(labels)
        predicted_duals = self.evaluator.solver.duals(scaled)
        self.ledger.count("evaluate", len(scaled))
        terms = regret_bound(
            self.constraints,
            labels,
            scaled,
            self._label_duals,
            predicted_duals,
            self.spec.options.tau,
        )
        self.rows["bound"].append(
            {
                "epoch": epoch,
                "split": "val",
                "regret": float(outcome.regret.mean()) / self.scale,
                **{name: float(values.mean()) for name, values in terms.items()},
            }
        )

    def _report(self, epoch: int, loss: float) -> None:
        if self.watch is None or self.best is None:
            return
        phases = {
            name: sum(row[f"{name}_s"] for row in self.rows["timing"]) for name in logs.PHASES
        }
        val = next(row for row in reversed(self.rows["regret"]) if row["split"] == "val")
        self.watch(
            Progress(
                epoch=epoch,
                epochs=self.spec.protocol.epochs,
                loss=loss,
                val_regret=val["relative_regret"],
                best_val_regret=self.best["val"]["relative_regret"],
                phases=phases,
                elapsed_s=self.elapsed,
                solves=dict(self.ledger.total),
                wall_s=time.perf_counter() - self.wall,
            )
        )

    # -- what is left behind --------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Return the figures of ``status.json``."""
        timing = self.rows["timing"]
        selected = None
        if self.best is not None and self.best_test is not None:
            interval = bootstrap_interval(self.best_test.relative)
            selected = {**self.best, "test": {**self.best["test"], "relative_regret_ci": interval}}
        warm = None
        if self.warm_start:
            info = self.warm_start.info
            warm = {
                "id": info["id"],
                "seconds": info["seconds"],
                "epochs": info["epochs"],
                **{f"{split}_relative_regret": r for split, r in self.start_regret.items()},
            }
        splits = {split: len(self.dataset.rows(split)) for split in ("train", "val", "test")}
        return {
            "epochs_run": max((row["epoch"] for row in timing), default=0),
            "selected_epoch": selected["epoch"] if selected else None,
            "setup_s": timing[0]["epoch_s"] if timing else None,
            "train_s": self.elapsed,
            "solves": dict(self.ledger.total),
            **(self.method.notes() if timing else {}),
            "instances": splits,
            "groups": self.dataset.problem.groups,
            "options": self.dataset.problem.options,
            "label_scale": self.scale,
            "warm_start": warm,
            "selected": selected,
        }

    def tables(self) -> dict[str, Any]:
        """Return the logged tables that have rows, with their schemas."""
        import pyarrow as pa

        rows = dict(self.rows)
        if self.best_test is not None:
            outcome, instances = self.best_test, self.evaluator.splits["test"].instances
            rows["decisions"] = [
                {"instance": int(i), "optimal_value": o, "achieved_value": a, "regret": r}
                for i, o, a, r in zip(
                    instances, outcome.optimal, outcome.achieved, outcome.regret, strict=True
                )
            ]
        return {
            name: pa.Table.from_pylist(rows[name], schema=schema)
            for name, schema in logs.TABLES.items()
            if rows[name]
        }


def _saved(predictor: nn.Module) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(predictor.state_dict(), buffer)
    return buffer.getvalue()

"""What is off the clock: judging a learner, keeping its best epoch, logging it all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dglbench.clock import PHASES
from dglbench.errors import PluginError
from dglbench.losses.batch import Constraints
from dglbench.methods.base import Snapshot
from dglbench.problem import Array
from dglbench.runs import schemas, selection
from dglbench.runs.record import Regrets, Selected, Summary, WarmStartSummary
from dglbench.solvers.metered import EvaluationSolver
from dglbench.statistics import bootstrap_interval
from dglbench.task import SPLITS
from dglbench.training.cost_model import diagnosed_instances
from dglbench.training.evaluation import Evaluation, Evaluator
from dglbench.training.learner import Diverged, Learner
from dglbench.training.warm_start import WarmStart, saved_state

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Recorder"]


class Recorder:
    """The logs of one run as they grow, and the epoch with the lowest validation regret."""

    def __init__(self, learner: Learner, evaluator: Evaluator) -> None:
        self._learner, self._evaluator = learner, evaluator
        self._diagnosed = diagnosed_instances(learner.dataset.problem)
        # Before the first epoch all runs that start from the same weights decide alike.
        weights = hashlib.sha256(saved_state(learner.predictor)).hexdigest()[:12]
        self._start = f"start-{weights}-{learner.spec.protocol.dtype}"
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in schemas.TABLES}
        self._latest: dict[str, list[dict[str, Any]]] = {}
        """By table, rows that are kept if this epoch is the best."""
        self._start_regret: dict[str, float] = {}
        self._best_test: Evaluation | None = None
        self._refreshed = 0
        self.elapsed_s = 0.0
        self._best: Selected | None = None
        self.best_weights: bytes | None = None

    def log_lap(self, epoch: int, loss: float, seconds: float) -> None:
        """Log the set-up (epoch 0) or an epoch that has just ended on the clock."""
        self.elapsed_s += seconds
        lap = self._learner.ledger.lap()
        self._rows["phases"] += [
            {"epoch": epoch, **asdict(own)} for own in self._learner.meter.lap()
        ]
        self._refreshed = lap["refresh"]
        self._rows["timing"].append(
            {
                "epoch": epoch,
                "loss": loss,
                **{f"{name}_s": spent for name, spent in self._learner.clock.seconds.items()},
                "epoch_s": seconds,
                "elapsed_s": self.elapsed_s,
                **{f"solves_{name}": lap[name] for name in ("label", "train", "refresh")},
            }
        )

    def evaluate(self, epoch: int) -> bool:
        """Judge the predictor on both splits; True if its validation regret is the best so far."""
        learner = self._learner
        outcomes: dict[str, Evaluation] = {}
        predictions: dict[str, Array] = {}
        for split, judge in self._evaluator.splits.items():
            predictions[split] = judge.predict(learner.predictor)
            if not np.isfinite(predictions[split]).all():
                raise Diverged(f"predictions are not finite after epoch {epoch}")
            start = None if self._start_regret else self._start
            outcomes[split] = judge.judge(predictions[split], start)
            learner.ledger.count("evaluate", len(predictions[split]))
            row = {"epoch": epoch, "elapsed_s": self.elapsed_s, "split": split}
            self._rows["regret"].append({**row, **outcomes[split].metrics()})
        self._log_diagnostics(epoch, predictions["val"], outcomes["val"])
        metrics = {split: outcome.metrics() for split, outcome in outcomes.items()}
        if not self._start_regret:
            self._start_regret = {split: m["relative_regret"] for split, m in metrics.items()}
        regret = metrics["val"][selection.MEASURE]
        leading = learner.spec.lead_in is not None and epoch <= 0
        better = not leading and selection.improves(regret, self.best_regret)
        if better:
            solves = sum(learner.ledger.total[name] for name in ("label", "train", "refresh"))
            regrets = {split: _kept(figures) for split, figures in metrics.items()}
            self._best = Selected(epoch, self.elapsed_s, solves, **regrets)
            self._best_test = outcomes["test"]
            self._rows |= self._latest
            self.best_weights = saved_state(learner.predictor)
        return better

    @property
    def best_regret(self) -> float | None:
        """Validation relative regret at the best epoch so far."""
        return self._best.val.relative_regret if self._best else None

    @property
    def val_regret(self) -> float:
        """Validation relative regret at the last evaluation."""
        last = next(row for row in reversed(self._rows["regret"]) if row["split"] == "val")
        return float(last["relative_regret"])

    def phase_seconds(self) -> dict[str, float]:
        """Return the training seconds so far, by phase."""
        return {name: sum(r[f"{name}_s"] for r in self._rows["timing"]) for name in PHASES}

    def summary(self, warm_start: WarmStart | None) -> Summary | None:
        """Return what came of the run, None if its set-up did not end."""
        learner, timing = self._learner, self._rows["timing"]
        if not timing:
            return None
        first = timing[0]["epoch"]  # with a lead-in, its set-up: below 0
        selected = self._best
        if selected is not None and self._best_test is not None:
            interval = bootstrap_interval(self._best_test.relative)
            test = replace(selected.test, relative_regret_ci=interval)
            selected = replace(selected, test=test)
        warm = None
        if warm_start:
            warm = WarmStartSummary(
                id=warm_start.info["id"],
                seconds=warm_start.info["seconds"],
                epochs=warm_start.info["epochs"],
                val_relative_regret=self._start_regret.get("val"),
                test_relative_regret=self._start_regret.get("test"),
            )
        dataset = learner.dataset
        return Summary(
            epochs_run=max(0, *(row["epoch"] for row in timing)),
            setup_s=sum(row["epoch_s"] for row in timing if row["epoch"] in (0, first)),
            train_s=self.elapsed_s,
            solves=dict(learner.ledger.total),
            instances={split: len(dataset.rows(split)) for split in SPLITS},
            groups=dataset.problem.groups,
            options=dataset.problem.options,
            sense=dataset.problem.sense,
            integral=learner.integral,
            label_scale=learner.scale,
            warm_start=warm,
            selected=selected,
        )

    def notes(self) -> dict[str, Any]:
        """Return what the method hands over, made JSON-ready."""
        return {str(name): _plain(value) for name, value in self._learner.method.notes().items()}

    def tables(self) -> dict[str, pa.Table]:
        """Return the logged tables that have rows, with their schemas."""
        import pyarrow as pa

        rows = dict(self._rows)
        if self._best_test is not None:
            outcome, instances = self._best_test, self._evaluator.splits["test"].instances
            rows["decisions"] = [
                {"instance": int(i), "optimal_value": o, "achieved_value": a, "regret": r}
                for i, o, a, r in zip(
                    instances, outcome.optimal, outcome.achieved, outcome.regret, strict=True
                )
            ]
        return {
            name: pa.Table.from_pylist(rows[name], schema=schema)
            for name, schema in schemas.TABLES.items()
            if rows[name]
        }

    @cached_property
    def _val_constraints(self) -> Constraints:
        judge = self._evaluator.splits["val"]
        return Constraints(judge.problem.take(judge.instances))

    def _label_duals(self, count: int) -> Any:
        import torch

        self._learner.ledger.count("evaluate", count)
        return torch.tensor(self._evaluator.val_label_duals(self._learner.scale, count))

    def _log_diagnostics(self, epoch: int, predictions: Array, outcome: Evaluation) -> None:
        """Ask the method what it has to say of itself, and log it."""
        import torch

        learner, judge, solver = (
            self._learner,
            self._evaluator.splits["val"],
            self._evaluator.solver,
        )
        lead_in = learner.spec.lead_in
        # Each method counts its own epochs from 0, its set-up.
        own_epoch = epoch + lead_in.epochs + 1 if lead_in and epoch < 0 else epoch
        snapshot = Snapshot(
            epoch=own_epoch,
            constraints=learner.constraints,
            predict=learner.predict,
            refreshed=self._refreshed,
            val_constraints=self._val_constraints,
            val_labels=torch.from_numpy(judge.values) / learner.scale,
            val_predictions=judge.problem.values(torch.from_numpy(predictions), learner.scale),
            val_regret=outcome.regret / learner.scale,
            solver=EvaluationSolver(solver, learner.meter, learner.dataset.rows("train")),
            val_solver=EvaluationSolver(solver, learner.meter, judge.instances),
            most=self._diagnosed,
            label_duals=self._label_duals,
        )
        self._latest = {}  # a lead-in's method may have had more to say
        for table, row in learner.method.diagnostics(snapshot).items():
            if table not in schemas.DIAGNOSTICS:
                raise PluginError(
                    f"method {learner.spec.method} hands over a row for the table '{table}'; "
                    f"there are {', '.join(schemas.DIAGNOSTICS)}."
                )
            each = table in schemas.SELECTED
            columns = {"instance" if each else "epoch", *row}
            if columns != set(schemas.TABLES[table].names):
                raise PluginError(
                    f"method {learner.spec.method} hands over the columns {', '.join(row)} for the "
                    f"table '{table}'; it has {', '.join(schemas.TABLES[table].names[1:])}."
                )
            if each:
                rows = {"instance": judge.instances.tolist(), **row}
                self._latest[table] = [
                    dict(zip(rows, entries, strict=True))
                    for entries in zip(*rows.values(), strict=False)  # the first, if in part
                ]
            else:
                self._rows[table].append({"epoch": epoch, **row})


def _kept(figures: dict[str, Any]) -> Regrets:
    """Keep the figures that the record has a field for."""
    names = {field.name for field in fields(Regrets)}
    return Regrets(**{name: value for name, value in figures.items() if name in names})


def _plain(value: Any) -> Any:
    """Keep what JSON can hold; anything else becomes text, so that no note can lose a run."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return str(value)

"""What is not timed: evaluating a learner, keeping its best epoch, logging it all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dglbench.clock import PHASES
from dglbench.problem import Array
from dglbench.runs import schemas, selection
from dglbench.runs.record import Regrets, Selected, Summary, WarmStartSummary
from dglbench.statistics import bootstrap_interval
from dglbench.task import SPLITS
from dglbench.training.cost_model import evaluates_all
from dglbench.training.diagnostics import Diagnostics
from dglbench.training.evaluation import Evaluation, Evaluator, SplitEvaluator
from dglbench.training.learner import Diverged, Learner
from dglbench.training.predictor import restore, saved_state
from dglbench.training.warm_start import WarmStart

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Recorder"]


class _Judged(NamedTuple):
    """One split at one epoch."""

    predictions: Array
    outcome: Evaluation
    figures: dict[str, Any]


class Recorder:
    """The logs of one run as they grow, and the epoch that counts (`dglbench.runs.selection`).

    An evaluation looks at all validation and test instances or, where that would take longer than
    training (`dglbench.training.cost_model`), at a fixed subset. The subset then chooses the epoch;
    the first, the selected and the last epoch are also judged on all.
    """

    def __init__(self, learner: Learner, evaluator: Evaluator) -> None:
        self._learner, self._evaluator = learner, evaluator
        self._on_all = evaluates_all(learner.dataset, learner.spec.protocol)
        self._panel = evaluator.splits if self._on_all else evaluator.subset
        # Methods report on themselves by validation instances; without any there is no report.
        self._diagnostics = (
            Diagnostics(learner, self._panel["val"])
            if learner.spec.diagnostics and "val" in self._panel
            else None
        )
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in schemas.TABLES}
        self._start_figures: dict[str, dict[str, Any]] = {}
        self._on_all_at: dict[int, dict[str, _Judged]] = {}
        """By epoch, what was judged on all instances beside a subset."""
        self._refreshed = 0
        self.elapsed_s = 0.0
        self.best_regret: float | None = None
        """Validation regret at the best epoch so far, by the measure that the run is judged by."""
        self._best: Selected | None = None
        self._best_test: Evaluation | None = None
        self.best_weights: bytes | None = None

    @property
    def measure(self) -> str:
        """The figure by which epochs are compared."""
        return selection.MEASURES[self._evaluator.judged_by]

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
        """Judge the predictor on both splits; True if the epoch is the one that counts so far."""
        first = not self._start_figures
        start = self._start_name() if first else None
        judged = self._judge(self._panel, epoch, "regret", start)
        if first:
            on_all = judged if self._on_all else self._judge_on_all(epoch, start)
            self._start_figures = {split: found.figures for split, found in on_all.items()}
        latest: dict[str, list[dict[str, Any]]] = {}
        if self._diagnostics is not None:
            val = judged["val"]
            latest = self._diagnostics.rows(epoch, self._refreshed, val.predictions, val.outcome)
        for table in latest.keys() - set(schemas.SELECTED):
            self._rows[table] += latest[table]
        spec, regret = self._learner.spec, self.val_regret
        leading = spec.lead_in is not None and epoch <= 0
        choose = spec.protocol.choose
        better = not leading and selection.improves(regret, self.best_regret, choose)
        if better:
            self.best_regret = regret
            self._select(epoch, judged)
            self._rows |= {table: latest.get(table, []) for table in schemas.SELECTED}
            self.best_weights = saved_state(self._learner.predictor)
        return better

    def finish(self, epoch: int) -> None:
        """Judge the last and the selected epoch on all instances, where a subset was used."""
        if self._on_all or self._best is None or self.best_weights is None:
            return
        if epoch not in self._on_all_at:
            self._judge_on_all(epoch)
        if self._best.epoch not in self._on_all_at:
            restore(self._learner.predictor, self.best_weights)
            self._judge_on_all(self._best.epoch, elapsed_s=self._best.elapsed_s)
        at = self._on_all_at[self._best.epoch]
        self._best = replace(self._best, **_regrets(at))
        self._best_test = at["test"].outcome

    def _start_name(self) -> str:
        """Name the weights before the first epoch: runs that start from the same decide alike."""
        weights = hashlib.sha256(saved_state(self._learner.predictor)).hexdigest()[:12]
        return f"start-{weights}-{self._learner.spec.protocol.dtype}"

    def _select(self, epoch: int, judged: Mapping[str, _Judged]) -> None:
        ledger = self._learner.ledger
        solves = sum(ledger.total[name] for name in ("label", "train", "refresh"))
        self._best = Selected(epoch, self.elapsed_s, solves, **_regrets(judged))
        self._best_test = judged["test"].outcome

    def _judge_on_all(
        self, epoch: int, start: str | None = None, elapsed_s: float | None = None
    ) -> dict[str, _Judged]:
        judged = self._judge(self._evaluator.splits, epoch, "full_regret", start, elapsed_s)
        self._on_all_at[epoch] = judged
        return judged

    def _judge(
        self,
        judges: Mapping[str, SplitEvaluator],
        epoch: int,
        table: str,
        start: str | None = None,
        elapsed_s: float | None = None,
    ) -> dict[str, _Judged]:
        """Judge the predictor as it is, and log a row per split."""
        found: dict[str, _Judged] = {}
        for split, judge in judges.items():
            predictions = judge.predict(self._learner.predictor)
            if not np.isfinite(predictions).all():
                raise Diverged(f"predictions are not finite after epoch {epoch}")
            outcome = judge.judge(predictions, start)
            found[split] = _Judged(predictions, outcome, outcome.metrics())
            self._learner.ledger.count("evaluate", len(predictions))
            row = {
                "epoch": epoch,
                "elapsed_s": self.elapsed_s if elapsed_s is None else elapsed_s,
                "split": split,
                "instances": len(predictions),
            }
            self._rows[table].append({**row, **found[split].figures})
        return found

    @property
    def val_regret(self) -> float | None:
        """Validation regret at the last evaluation; None without validation instances."""
        last = next((r for r in reversed(self._rows["regret"]) if r["split"] == "val"), None)
        return None if last is None else float(last[self.measure])

    def val_mse(self) -> float:
        """Return the squared error on all validation instances now; nothing is decided for it."""
        judge = self._evaluator.splits["val"]
        return judge.mse(judge.predict(self._learner.predictor))

    def phase_seconds(self) -> dict[str, float]:
        """Return the training seconds so far, by phase."""
        return {name: sum(r[f"{name}_s"] for r in self._rows["timing"]) for name in PHASES}

    def summary(self, warm_start: WarmStart | None) -> Summary | None:
        """Return what came of the run, None if its set-up did not end."""
        learner, timing = self._learner, self._rows["timing"]
        if not timing:
            return None
        first = timing[0]["epoch"]  # with a lead-in, its set-up: below 0
        dataset, splits = learner.dataset, self._evaluator.splits
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
            warm_start=self._warm_start_summary(warm_start) if warm_start else None,
            selected=self._with_intervals(self._best),
            judged_by=self._evaluator.judged_by if self._start_figures else "relative",
            excluded={split: judge.excluded for split, judge in splits.items()}
            if self._start_figures
            else {},
            evaluated={split: len(judge.instances) for split, judge in self._panel.items()},
            bounds={s: judge.bounds for s, judge in splits.items() if judge.bounds}
            if self._start_figures
            else {},
            diagnostics=learner.spec.diagnostics,
        )

    def _with_intervals(self, selected: Selected | None) -> Selected | None:
        """Add the intervals of the test regrets."""
        if selected is None or self._best_test is None:
            return selected
        outcome = self._best_test
        relative = outcome.relative
        test = replace(
            selected.test,
            relative_regret_ci=bootstrap_interval(relative) if relative.size else None,
            pooled_regret_ci=bootstrap_interval(outcome.regret, outcome.sizes),
        )
        return replace(selected, test=test)

    def _warm_start_summary(self, warm_start: WarmStart) -> WarmStartSummary:
        val, test = (self._start_figures.get(split, {}) for split in ("val", "test"))
        return WarmStartSummary(
            id=warm_start.info["id"],
            seconds=warm_start.info["seconds"],
            epochs=warm_start.info["epochs"],
            val_relative_regret=val.get("relative_regret"),
            test_relative_regret=test.get("relative_regret"),
            val_pooled_regret=val.get("pooled_regret"),
            test_pooled_regret=test.get("pooled_regret"),
        )

    def notes(self) -> dict[str, Any]:
        """Return what the method reports, made JSON-ready."""
        return {str(name): _plain(value) for name, value in self._learner.method.notes().items()}

    def tables(self) -> dict[str, pa.Table]:
        """Return the logged tables that have rows, with their schemas."""
        import pyarrow as pa

        tables = {
            name: pa.Table.from_pylist(self._rows[name], schema=schema)
            for name, schema in schemas.TABLES.items()
            if self._rows[name]
        }
        if self._best_test is not None:
            known = {
                len(judge.instances): judge.instances
                for judge in (self._panel["test"], self._evaluator.splits["test"])
            }
            instances = known[len(self._best_test.optimal)]
            tables["decisions"] = _decisions(instances, self._best_test)
        return tables


def _decisions(instances: Any, outcome: Evaluation) -> pa.Table:
    """Return the table of decisions, without a Python object per number."""
    import pyarrow as pa

    choices = outcome.choices
    if choices is None:
        raise ValueError("the outcome holds no decisions")
    number, groups = choices.shape
    kind = schemas.DECISIONS.field("options").type
    options = pa.ListArray.from_arrays(
        np.arange(0, number * groups + 1, groups, dtype=np.int32),
        pa.array(choices.ravel(), type=kind.value_type),
        type=kind,
    )
    gaps = np.zeros(number) if outcome.gaps is None else outcome.gaps
    columns = [instances, outcome.optimal, outcome.achieved, outcome.regret, gaps, options]
    return pa.Table.from_arrays(
        [
            pa.array(column, type=field.type)
            for column, field in zip(columns, schemas.DECISIONS, strict=True)
        ],
        schema=schemas.DECISIONS,
    )


def _regrets(judged: Mapping[str, _Judged]) -> dict[str, Any]:
    """Return the figures of both splits as the record has them."""
    kept = {split: _kept(found.figures) for split, found in judged.items()}
    return {"val": kept.get("val"), "test": kept["test"]}


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

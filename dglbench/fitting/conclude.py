"""The end of a fit: choose by validation, judge what was chosen on test, once.

Validation regret alone chooses: over all, on each side, and among the runs of each baseline. Then
the decisions of these few runs on the test instances are compared. How sure the choice is comes
from the best runs' regrets on the single validation instances, for which their weights decide
once more; in a fit with a time limit, of as many runs as its share of the time allows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dglbench.errors import RunError
from dglbench.fitting.kinds import BASELINES, side
from dglbench.fitting.statistics import Instances, chosen_shares, compare
from dglbench.fitting.verdict import Finalist, Sureness, Verdict
from dglbench.problem import Array
from dglbench.runs.record import RunRecord
from dglbench.runs.selection import ranked
from dglbench.runs.tables import read_tables
from dglbench.task import Dataset
from dglbench.training.apply import TrainedPredictor, load_predictor
from dglbench.training.evaluation import Loaded

__all__ = ["Reserve", "conclude", "reserve"]

_RESAMPLED = 10
"""Runs that take part in how sure the choice is, the best of each side always among them."""
_FILES_S = 5.0
"""For the picture, the exported model, and a run that ends two seconds after it should."""
_LOAD_S = 0.2
"""For a run's weights and data."""
_SURENESS_SHARE = 0.1
"""Of the time: after it no further run takes part in how sure the choice is."""


class Reserve(NamedTuple):
    """The seconds that a fit keeps for its end."""

    needed: float
    """All that it is expected to take."""
    kept: float
    """The same, but at most half of the time."""
    sureness: float
    """That how sure the choice is may take of it."""


def reserve(dataset: Dataset, decision_s: float, granted: float) -> Reserve:
    """Estimate what the end takes, from what a decision takes.

    The chosen model decides for validation and test once more, to say what a plan is worth; then
    at least two runs, and at most `_RESAMPLED` and the best of the other side, for validation.
    """
    val, test = (len(dataset.rows(split)) * decision_s for split in ("val", "test"))
    sureness = _SURENESS_SHARE * granted
    needed = _FILES_S + 3 * val + test + min((_RESAMPLED - 1) * (val + _LOAD_S), sureness)
    return Reserve(needed, min(needed, granted / 2), sureness)


class _Judged(NamedTuple):
    regret: Array
    optimal: Array


def conclude(
    out: Path,
    records: Iterable[RunRecord],
    loaded: Loaded,
    data: Path | None,
    sureness_s: float | None = None,
) -> tuple[Verdict, TrainedPredictor]:
    """Return the verdict on the runs of a folder, and the chosen model.

    ``data`` is the dataset file, where there is one; ``sureness_s`` is how long to ask how sure
    the choice is, None for as long as it takes.
    """
    made = list(records)
    best = ranked(made)
    if not best:
        states = sorted({record.state for record in made}) or ["none was made"]
        raise RunError(f"no run of the fit in {out} has a result ({', '.join(states)}).")
    judged_by = best[0].summary.judged_by if best[0].summary else "relative"
    first = {each: _first(best, each) for each in ("accurate", "decision-focused")}
    baselines = [_first_of(best, method) for method in BASELINES]
    roles = [(f"best {of}", record) for of, record in first.items()]
    roles += list(zip(BASELINES, baselines, strict=True))
    test: dict[str, _Judged] = {
        record.run_id: _test(out, record) for _, record in roles if record is not None
    }
    instances = Instances(test[best[0].run_id].optimal, judged_by)
    finalists = {
        role: Finalist(
            role,
            record,
            instances.estimate(test[record.run_id].regret),
            float(test[record.run_id].regret.mean()),
        )
        for role, record in roles
        if record is not None
    }
    accurate, focused = (finalists.get(f"best {each}") for each in first)
    model = load_predictor(out / best[0].run_id, data)
    chosen = next(each for each in finalists.values() if each.record is best[0])
    expected, realised = _worth(model)
    verdict = Verdict(
        chosen=chosen,
        accurate=accurate,
        focused=focused,
        baselines=tuple(finalists[name] for name in BASELINES if name in finalists),
        comparison=compare(
            test[accurate.record.run_id].regret, test[focused.record.run_id].regret, instances
        )
        if accurate and focused
        else None,
        sureness=_sureness(out, best, first, loaded, data, sureness_s),
        calibration=model.calibration,
        expected=expected,
        realised=realised,
        judged_by=judged_by,
        runs=sum(record.state != "interrupted" for record in made),
        test_instances=len(instances.optimal),
        minimise=loaded.dataset.problem.sense == "minimise",
    )
    return verdict, model


def _first(best: Sequence[RunRecord], of: str) -> RunRecord | None:
    return next((record for record in best if side(record.identity.method) == of), None)


def _first_of(best: Sequence[RunRecord], method: str) -> RunRecord | None:
    return next((record for record in best if record.identity.method == method), None)


def _test(out: Path, record: RunRecord) -> _Judged:
    """Read what a run's decisions on the test instances were worth."""
    found = read_tables("decisions", [out / record.run_id])
    if found.problems:
        raise RunError(f"{record.run_id} cannot be judged: {next(iter(found.problems.values()))}.")
    rows = found.rows.sort("instance")
    return _Judged(rows["regret"].to_numpy(), rows["optimal_value"].to_numpy())


def _sureness(
    out: Path,
    best: Sequence[RunRecord],
    first: dict[str, RunRecord | None],
    loaded: Loaded,
    data: Path | None,
    most_s: float | None,
) -> Sureness | None:
    judge = loaded.evaluator.splits.get("val")
    if judge is None or len(best) < 2:
        return None
    heads = sorted((each for each in first.values() if each), key=best.index)
    candidates = list({r.run_id: r for r in [*heads, *best[:_RESAMPLED]]}.values())
    features = loaded.dataset.part(loaded.dataset.features, "val")
    regrets: list[Array] = []
    began = time.monotonic()
    for record in candidates:
        if most_s is not None and len(regrets) >= 2 and time.monotonic() - began > most_s:
            break
        predictions = load_predictor(out / record.run_id, data).predict(features)
        regrets.append(judge.judge(predictions).regret)
    judged_by: Any = loaded.evaluator.judged_by
    shares = chosen_shares(regrets, Instances(judge.optimal, judged_by))
    kept = side(best[0].identity.method)
    other_side = sum(
        share
        for record, share in zip(candidates, shares, strict=False)
        if side(record.identity.method) != kept
    )
    return Sureness(1.0 - shares[0], other_side, len(regrets))


def _worth(model: TrainedPredictor) -> tuple[Any, float | None]:
    """Return what validation expects of the test instances' plans, and what they are worth."""
    if model.calibration is None:
        return None, None
    data, rows = model.dataset, model.dataset.rows("test")
    predictions = model.predict(data.features[rows])
    at = data.problem.take(rows) if data.problem.varies else None
    decisions = model.decide(predictions, at)
    realised = data.problem.objective(data.problem.values(data.labels[rows]), decisions)
    expected = model.calibration.expect(model.promised(predictions, decisions))
    return expected, float(np.mean(realised))

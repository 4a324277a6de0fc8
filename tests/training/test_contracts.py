"""What holds for every task, method and solver family."""

import io
import math

import pytest
import torch

from dglbench.plugins import find_task
from dglbench.runs import schemas
from dglbench.training.evaluation import load_data
from dglbench.training.warm_start import fresh_predictor

from .helpers import METHODS, SOLVERS, TASKS, make_spec, run

EPOCHS = 10


@pytest.fixture(scope="module")
def records():
    """One run of every combination, from untrained weights."""
    return {
        (task, method, solver): run(
            make_spec(task, method, solver, epochs=EPOCHS, warm_start=False)
        )
        for task in TASKS
        for method in METHODS
        for solver in SOLVERS
    }


@pytest.fixture(params=[(t, m, s) for t in TASKS for m in METHODS for s in SOLVERS], ids="-".join)
def ran(request, records):
    return records[request.param]


def rows(ran, table, **where):
    found = ran.tables[table].to_pylist()
    return [row for row in found if all(row[key] == value for key, value in where.items())]


def test_it_finishes_and_beats_the_untrained_predictor(ran):
    assert ran.record.state == "done", ran.record.status.traceback
    untrained, *_ = rows(ran, "regret", split="test", epoch=0)
    assert ran.record.selected.test.relative_regret < untrained["relative_regret"]


def test_logs_match_their_schemas(ran):
    guided = ran.spec.method.startswith("dgl")
    expected = {"timing", "regret", "decisions"} | ({"duals", "bound"} if guided else set())
    assert set(ran.tables) == expected
    for name, table in ran.tables.items():
        assert table.schema.equals(schemas.TABLES[name])
    assert [row["epoch"] for row in rows(ran, "timing")] == list(range(EPOCHS + 1))
    assert len(rows(ran, "regret")) == 2 * (EPOCHS + 1)


def test_phases_add_up_and_elapsed_runs_on(ran):
    elapsed = 0.0
    for row in rows(ran, "timing"):
        phases = sum(row[f"{name}_s"] for name in schemas.PHASES)
        assert phases == pytest.approx(row["epoch_s"], rel=0.02)
        assert min(row[f"{name}_s"] for name in schemas.PHASES) >= 0.0
        elapsed += row["epoch_s"]
        assert row["elapsed_s"] == pytest.approx(elapsed)
    assert ran.record.summary.train_s == pytest.approx(elapsed)


def test_each_method_pays_only_for_its_own_phases(ran):
    timing = rows(ran, "timing")[1:]
    spent = {name: sum(row[f"{name}_s"] for row in timing) for name in schemas.PHASES}
    method = ran.spec.method
    assert (spent["solve"] > 0) == (method in ("spo", "qptl"))
    assert (spent["differentiate"] > 0) == (method == "qptl")
    assert (spent["refresh"] > 0) == (method in ("dgl-1", "dgl-5", "dgl-auto"))
    assert spent["predict"] > 0
    assert spent["backward"] > 0


def test_solver_calls_equal_the_formula(ran):
    instances = TASKS[ran.spec.data.task]["train"]
    solves = ran.record.summary.solves
    expected = {
        "two-stage": (0, 0, 0),
        "spo": (instances, EPOCHS * instances, 0),
        "qptl": (1, EPOCHS * instances, 0),  # one program at set-up pays the first-call cost
        "dgl-none": (instances, 0, 0),
        "dgl-1": (0, 0, EPOCHS * instances),
        "dgl-5": (0, 0, EPOCHS // 5 * instances),
    }
    counted = (solves["label"], solves["train"], solves["refresh"])
    if ran.spec.method == "dgl-auto":
        assert counted[:2] == (0, 0)
        assert instances <= counted[2] <= (EPOCHS + 1) * instances
    else:
        assert counted == expected[ran.spec.method]
    for purpose in ("label", "train", "refresh"):
        logged = sum(row[f"solves_{purpose}"] for row in rows(ran, "timing"))
        assert logged == solves[purpose]


def test_regret_is_never_negative_and_decisions_tell_the_same(ran):
    for row in rows(ran, "regret"):
        assert row["relative_regret"] >= 0
        assert row["absolute_regret"] >= 0
    decisions = rows(ran, "decisions")
    relative = [row["regret"] / abs(row["optimal_value"]) for row in decisions]
    selected = ran.record.selected.test
    assert sum(relative) / len(relative) == pytest.approx(selected.relative_regret)
    low, high = selected.relative_regret_ci
    assert low <= selected.relative_regret <= high
    dataset = load_data(ran.spec.data).dataset
    assert [row["instance"] for row in decisions] == dataset.rows("test").tolist()


def test_the_selected_epoch_has_the_lowest_validation_regret(ran):
    curve = {row["epoch"]: row["relative_regret"] for row in rows(ran, "regret", split="val")}
    assert curve[ran.record.selected.epoch] == min(curve.values())


def test_weights_load_safely_and_are_those_of_the_selected_epoch(ran):
    loaded = load_data(ran.spec.data)
    predictor = fresh_predictor(find_task(ran.spec.data.task), loaded.dataset)
    predictor.load_state_dict(torch.load(io.BytesIO(ran.weights), weights_only=True))
    judge = loaded.evaluator.splits["test"]
    outcome = judge.judge(judge.predict(predictor))
    assert outcome.metrics()["relative_regret"] == pytest.approx(
        ran.record.selected.test.relative_regret, abs=1e-12
    )


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("method", METHODS)
def test_the_same_spec_gives_the_same_regrets_to_the_last_bit(task, method):
    first, second = (run(make_spec(task, method, epochs=3)) for _ in range(2))
    for name in ("regret", "decisions", "duals", "bound"):
        if name in first.tables:
            keep = [c for c in first.tables[name].column_names if not c.endswith("_s")]
            assert first.tables[name].select(keep).equals(second.tables[name].select(keep))
    losses = [[row["loss"] for row in rows(r, "timing")[1:]] for r in (first, second)]
    assert losses[0] == losses[1]
    assert all(math.isfinite(value) for value in losses[0])


@pytest.mark.parametrize("task", TASKS)
def test_duals_are_fresh_where_they_were_just_refreshed(task):
    """dual_gap is 0 at set-up for duals of the predictions, and above 0 for duals of the labels."""
    fresh = rows(run(make_spec(task, "dgl-5", epochs=2)), "duals", epoch=0)[0]
    stale = rows(run(make_spec(task, "dgl-none", epochs=2)), "duals", epoch=0)[0]
    assert fresh["dual_gap"] == pytest.approx(0, abs=1e-6)
    assert stale["dual_gap"] > 1e-3
    assert fresh["share_refreshed"] == 1.0

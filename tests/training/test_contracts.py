"""What holds for every task, method and solver family."""

import io
import math

import pytest
import torch

from dglbench.clock import PHASES
from dglbench.methods import Method
from dglbench.plugins import find_method, find_task
from dglbench.runs import schemas
from dglbench.runs.selection import measure
from dglbench.training.evaluation import load_data
from dglbench.training.warm_start import fresh_predictor

from .helpers import METHODS, PYEPO_METHODS, TASKS, also_served, make_spec, refusal, run, served

EPOCHS = 10


COMBINATIONS = [*served(), *(pytest.param(one, marks=pytest.mark.slow) for one in also_served())]


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
def ran(request):
    """One run of every combination, from untrained weights; made when its first test comes."""
    task, method, solver = request.param
    return run(make_spec(task, method, solver, epochs=EPOCHS, start="fresh"))


def method_class(ran):
    return find_method(ran.spec.method).cls


def evaluated(ran):
    """Return the epochs that are judged: the start, every so many, and the last."""
    every, last = ran.spec.protocol.evaluate_every, trained(ran)
    return [epoch for epoch in range(last + 1) if epoch % every == 0 or epoch == last]


def trained(ran):
    """Return the epochs trained: what trains for accuracy has its own, others all they may."""
    epochs = ran.record.summary.epochs_run
    assert epochs == EPOCHS or method_class(ran).for_accuracy
    return epochs


def rows(ran, table, **where):
    found = ran.tables[table].to_pylist()
    return [row for row in found if all(row[key] == value for key, value in where.items())]


def test_it_finishes_and_beats_the_untrained_predictor(ran):
    assert ran.record.state == "done", ran.record.status.traceback
    if (ran.spec.data.task, ran.spec.method) == ("offers", "cave"):
        pytest.skip("its one row binds everywhere: the row's normal has loss 0 and decides nothing")
    # On the instances that it is selected by: on the few others luck would have its say.
    (untrained,) = rows(ran, "regret", split="val", epoch=0)
    assert ran.record.selected.val.relative_regret < untrained["relative_regret"]


def test_logs_match_their_schemas(ran):
    guided = method_class(ran).current_duals is not Method.current_duals
    always = {"timing", "regret", "decisions"} | ({"duals"} if guided else set())
    assert always <= set(ran.tables) <= always | {"bound", "theorem2", "phases"}
    assert ("bound" in ran.tables) == guided == ("theorem2" in ran.tables)
    for name, table in ran.tables.items():
        assert table.schema.equals(schemas.TABLES[name])
    assert [row["epoch"] for row in rows(ran, "timing")] == list(range(trained(ran) + 1))
    assert [row["epoch"] for row in rows(ran, "regret", split="test")] == evaluated(ran)
    assert len(rows(ran, "regret")) == 2 * len(evaluated(ran))


def test_phases_add_up_and_elapsed_runs_on(ran):
    elapsed = 0.0
    for row in rows(ran, "timing"):
        phases = sum(row[f"{name}_s"] for name in PHASES)
        assert phases == pytest.approx(row["epoch_s"], rel=0.02)
        assert min(row[f"{name}_s"] for name in PHASES) >= 0.0
        elapsed += row["epoch_s"]
        assert row["elapsed_s"] == pytest.approx(elapsed)
    assert ran.record.summary.train_s == pytest.approx(elapsed)


def test_each_method_pays_only_for_its_own_phases(ran):
    timing = rows(ran, "timing")[1:]
    spent = {name: sum(row[f"{name}_s"] for row in timing) for name in PHASES}
    solves = {name: sum(row[f"solves_{name}"] for row in timing) for name in ("train", "refresh")}
    assert (spent["solve"] > 0) == (solves["train"] > 0)
    own = rows(ran, "phases") if "phases" in ran.tables else []
    tracked = any(row["epoch"] and row["count"] for row in own if row["name"] == "newton_steps")
    assert (spent["refresh"] > 0) == (solves["refresh"] > 0 or tracked)
    through = ran.spec.method.startswith("qptl")  # others with a layer need no derivative of it
    assert (spent["differentiate"] > 0) == through
    assert spent["predict"] > 0
    assert spent["backward"] > 0


# Instances solved for label, train and refresh, from K training instances over E epochs; a pair
# where a method decides for itself how many, the least and the most.
SOLVES = {
    "two-stage": lambda K, E: (0, 0, 0),
    "spo": lambda K, E: (K, E * K, 0),
    "qptl": lambda K, E: (1, E * K, 0),  # one program at set-up pays the first-call cost
    "dgl-none": lambda K, E: (K, 0, 0),
    "dgl-1": lambda K, E: (0, 0, E * K),
    "dgl-5": lambda K, E: (0, 0, E // 5 * K),
    "dgl-auto": lambda K, E: (0, 0, (K, (E + 1) * K)),
    "qptl-dual": lambda K, E: (1, E * K, 0),
    "rdgl-none": lambda K, E: (K, 0, 0),
    "rdgl-1": lambda K, E: (0, 0, E * K),
    "rdgl-5": lambda K, E: (0, 0, E // 5 * K),
    "rdgl-auto": lambda K, E: (0, 0, (K, (E + 1) * K)),
    "rdgl-step": lambda K, E: (0, 0, (E + 1) * K),
    "rdgl-newton": lambda K, E: (0, 0, K),
    "fenchel-young": lambda K, E: (K, E * K, 0),
    "spo-smoothed": lambda K, E: (K, E * K, 0),
    "spo-cached": lambda K, E: (K, (0, E * K), 0),
    "lodl": lambda K, E: (21 * K, 0, 0),  # 20 samples and the label itself
    "lava": lambda K, E: (K, 0, 0),
    **{name: lambda K, E: (K, 0, 0) for name in ("cave", "cave-plus", "cave-hybrid")},
    **{
        f"pyepo-{name}": lambda K, E: (K, E * K, 0) for name in ("spo", "nid", "nce", "cmap", "ltr")
    },
    **{f"pyepo-{name}": lambda K, E: (K, 2 * E * K, 0) for name in ("pg", "dbb")},
    **{f"pyepo-{name}": lambda K, E: (K, 10 * E * K, 0) for name in ("dpo", "pfyl")},
    **{f"pyepo-{name}": lambda K, E: (K, 20 * E * K, 0) for name in ("imle", "aimle")},
    # Frank–Wolfe ends by itself, after five steps at most.
    **{f"pyepo-{name}": lambda K, E: (K, (E * K + 1, 6 * E * K), 0) for name in ("rfwo", "rfyl")},
}


def test_every_method_says_how_much_it_solves():
    assert set(SOLVES) == {*METHODS, *PYEPO_METHODS}


def test_solver_calls_equal_the_formula(ran):
    method, solves = ran.spec.method, ran.record.summary.solves
    assert method in SOLVES, f"say in SOLVES how many instances {method} solves"
    formula = SOLVES[method](TASKS[ran.spec.data.task]["train"], EPOCHS)
    for purpose, expected in zip(("label", "train", "refresh"), formula, strict=True):
        least, most = expected if isinstance(expected, tuple) else (expected, expected)
        assert least <= solves[purpose] <= most
    for purpose in ("label", "train", "refresh"):
        logged = sum(row[f"solves_{purpose}"] for row in rows(ran, "timing"))
        assert logged == solves[purpose]


def test_evaluation_counts_every_solve_of_its_own(ran):
    """Two splits an evaluation; the diagnostics a relaxation, and duals of labels once."""
    sizes, evaluations = ran.record.summary.instances, len(evaluated(ran))
    expected = evaluations * (sizes["val"] + sizes["test"])
    if "duals" in ran.tables:
        expected += evaluations * sizes["train"]
    if "bound" in ran.tables:
        expected += (evaluations + 1) * sizes["val"]
    assert ran.record.summary.solves["evaluate"] == expected


def test_theorem_2_is_told_of_every_validation_instance_at_the_selected_epoch(ran):
    if "theorem2" not in ran.tables:
        return
    table = rows(ran, "theorem2")
    dataset = load_data(ran.spec.data).dataset
    assert [row["instance"] for row in table] == dataset.rows("val").tolist()
    (mean,) = rows(ran, "bound", epoch=ran.record.selected.epoch)
    for name in ("regret", "error_term", "adjusted_gap", "correction"):
        assert sum(row[name] for row in table) / len(table) == pytest.approx(mean[name])
    above = [
        row["regret"] > row["error_term"] + row["adjusted_gap"] + row["correction"] + 1e-9
        for row in table
    ]
    assert sum(above) / len(above) == pytest.approx(mean["share_above_error_bound"])


def test_regret_is_never_negative_and_decisions_tell_the_same(ran):
    for row in rows(ran, "regret"):
        assert row["relative_regret"] >= -1e-12
        assert row["absolute_regret"] >= -1e-9
    decisions = rows(ran, "decisions")
    relative = [row["regret"] / abs(row["optimal_value"]) for row in decisions]
    selected = ran.record.selected.test
    assert sum(relative) / len(relative) == pytest.approx(selected.relative_regret)
    low, high = selected.relative_regret_ci
    assert low <= selected.relative_regret <= high
    dataset = load_data(ran.spec.data).dataset
    assert [row["instance"] for row in decisions] == dataset.rows("test").tolist()


def test_the_selected_epoch_has_the_lowest_validation_regret(ran):
    curve = {row["epoch"]: row[measure(ran.record)] for row in rows(ran, "regret", split="val")}
    assert curve[ran.record.selected.epoch] == min(curve.values())


def test_weights_load_safely_and_are_those_of_the_selected_epoch(ran):
    loaded = load_data(ran.spec.data)
    predictor = fresh_predictor(ran.spec.predictor, find_task(ran.spec.data.task), loaded.dataset)
    predictor.load_state_dict(torch.load(io.BytesIO(ran.weights), weights_only=True))
    judge = loaded.evaluator.splits["test"]
    outcome = judge.judge(judge.predict(predictor))
    assert outcome.metrics()["relative_regret"] == pytest.approx(
        ran.record.selected.test.relative_regret, abs=1e-12
    )


@pytest.mark.parametrize(
    ("method", "task"), [(m, t) for m in METHODS for t in TASKS if not refusal(t, m, "ortools")]
)
def test_the_same_spec_gives_the_same_regrets_to_the_last_bit(task, method):
    first, second = (run(make_spec(task, method, epochs=2)) for _ in range(2))
    for name in ("regret", "decisions", "duals", "bound", "theorem2"):
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

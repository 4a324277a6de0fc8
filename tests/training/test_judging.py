"""By which regret runs are judged, on which instances, and the decisions they log."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dglbench.plugins import find_task
from dglbench.runs import selection
from dglbench.runs.record import Summary
from dglbench.runs.store import read_record, write_run
from dglbench.runs.tables import read_tables
from dglbench.training import cost_model
from dglbench.training.cost_model import evaluation_period
from dglbench.training.evaluation import Evaluation, Evaluator, load_data
from dglbench.training.predictor import fresh_predictor, restore
from dglbench.training.recorder import _decisions
from dglbench.training.train import train

from .helpers import make_spec, run


def judged(spec, near_zero=0, expensive=None, **keywords):
    """Train on data whose first validation and test instances have optima near 0."""
    loaded = load_data(spec.data)
    dataset = loaded.dataset
    labels = dataset.labels.copy()
    for split in ("val", "test"):
        labels[dataset.rows(split)[:near_zero]] *= 1e-6
    dataset = replace(dataset, labels=labels)
    evaluator = Evaluator(find_task(spec.data.task), dataset)
    return train(spec, dataset, None, evaluator=evaluator, **keywords), evaluator


def test_relative_regret_leaves_out_optima_near_zero():
    divided = np.array([True, False])
    outcome = Evaluation(np.array([10.0, 1e-9]), np.array([9.0, -1.0]), 0.0, divided=divided)
    assert outcome.metrics()["relative_regret"] == pytest.approx(0.1)
    assert outcome.metrics()["pooled_regret"] == pytest.approx(0.2)
    none = outcome._replace(divided=np.array([False, False]))
    assert np.isnan(none.metrics()["relative_regret"])


def test_many_optima_near_zero_have_a_run_judged_by_pooled_regret():
    spec = make_spec("matching", "spo", epochs=4, start="fresh")
    output, _ = judged(spec, near_zero=3)
    summary = output.record.summary
    assert summary.judged_by == "pooled"
    assert summary.excluded == {"val": 3, "test": 3}
    rows = [row for row in output.tables["regret"].to_pylist() if row["split"] == "val"]
    best = min(rows, key=lambda row: (row["pooled_regret"], row["epoch"]))
    assert summary.selected.epoch == best["epoch"]
    assert selection.validation_regret(output.record) == best["pooled_regret"]
    assert summary.selected.val.relative_regret < 10, "nothing was divided by almost 0"
    low, high = summary.selected.test.pooled_regret_ci
    assert low <= summary.selected.test.pooled_regret <= high
    assert any("judged by pooled regret" in remark for remark in summary.remarks)


def test_usual_data_are_judged_by_relative_regret():
    record = run(make_spec("matching", "spo", epochs=2)).record
    assert record.summary.judged_by == "relative"
    assert record.summary.excluded == {"val": 0, "test": 0}
    assert record.summary.remarks == []
    assert selection.validation_regret(record) == record.selected.val.relative_regret


def test_one_optimum_near_zero_in_a_hundred_is_counted_and_no_more():
    evaluator = Evaluator.__new__(Evaluator)

    def split(excluded):
        return type("Split", (), {"excluded": excluded, "instances": range(100)})

    evaluator.splits = {"val": split(1), "test": split(0)}
    assert evaluator.judged_by == "relative"
    evaluator.splits = {"val": split(0), "test": split(2)}
    assert evaluator.judged_by == "pooled"


def test_a_record_without_the_field_is_judged_by_relative_regret():
    assert Summary(1, 1.0, {}, {}, 1, 1, 1.0).judged_by == "relative"


@pytest.mark.parametrize("epochs", [1, 9, 10, 40, 99, 150])
def test_there_are_ten_evaluations_whatever_they_cost(epochs):
    problem = load_data(make_spec("multi-knapsack", "two-stage").data).dataset.problem
    every = evaluation_period(problem, 10, 5000, 5000, epochs)
    evaluated = {*range(every, epochs + 1, every), epochs}
    assert len(evaluated) >= min(epochs, 10)


@pytest.fixture
def expensive(monkeypatch):
    """Have every evaluation exceed its budget, with subsets of five instances."""
    monkeypatch.setattr(cost_model, "_ALLOWED_S", 0.0)
    monkeypatch.setattr(cost_model, "SUBSET", 5)
    monkeypatch.setattr("dglbench.training.evaluation.SUBSET", 5)
    monkeypatch.setattr(cost_model, "decide_s", lambda problem: 1.0)


def test_expensive_evaluations_look_at_one_subset(expensive):
    spec = make_spec("matching", "dgl-1", epochs=20, evaluate_every=None, start="fresh")
    assert spec.protocol.evaluate_every == 2
    output, evaluator = judged(spec)
    summary, tables = output.record.summary, output.tables
    assert output.record.state == "done"
    regret = tables["regret"].to_pylist()
    assert {row["instances"] for row in regret} == {5}
    assert [row["epoch"] for row in regret if row["split"] == "val"] == list(range(0, 21, 2))
    assert summary.evaluated == {"val": 5, "test": 5}
    assert "evaluated on 5 of 30 val and 5 of 30 test instances" in summary.remarks[0]

    best = min((r for r in regret if r["split"] == "val"), key=lambda r: r["relative_regret"])
    assert summary.selected.epoch == best["epoch"], "the subset chooses"
    full = tables["full_regret"].to_pylist()
    assert {row["instances"] for row in full} == {30}
    assert {row["epoch"] for row in full} == {0, summary.selected.epoch, 20}
    chosen = [row for row in full if row["epoch"] == summary.selected.epoch]
    for row in chosen:
        kept = getattr(summary.selected, row["split"])
        assert row["relative_regret"] == kept.relative_regret
        assert row["elapsed_s"] == summary.selected.elapsed_s
    assert tables["decisions"].num_rows == 30

    predictor = fresh_predictor("linear", find_task("matching"), load_data(spec.data).dataset)
    restore(predictor, output.weights)
    judge = evaluator.splits["test"]
    found = judge.judge(judge.predict(predictor)).metrics()["relative_regret"]
    assert found == summary.selected.test.relative_regret, "the weights are the selected ones"


def test_the_subset_is_the_same_for_every_run_of_the_data(expensive):
    spec = make_spec("matching", "two-stage")
    dataset = load_data(spec.data).dataset
    task = find_task("matching")
    one, two = (Evaluator(task, dataset).subset for _ in range(2))
    for split in ("val", "test"):
        assert one[split].instances.tolist() == two[split].instances.tolist()
        whole = Evaluator(task, dataset).splits[split]
        assert set(one[split].instances) < set(whole.instances)
        assert one[split].optimal.tolist() == [
            value
            for instance, value in zip(whole.instances, whole.optimal, strict=True)
            if instance in one[split].instances
        ]


def test_a_subset_run_that_stops_early_is_judged_on_all_where_it_ended(expensive):
    spec = make_spec("matching", "two-stage", epochs=100, patience=1, start="fresh")
    output, _ = judged(spec)
    last = output.record.summary.epochs_run
    assert last < 100
    epochs = {row["epoch"] for row in output.tables["full_regret"].to_pylist()}
    assert epochs == {0, output.record.selected.epoch, last}


def test_cheap_evaluations_look_at_everything():
    ran = run(make_spec("matching", "two-stage", epochs=2))
    assert "full_regret" not in ran.tables
    assert {row["instances"] for row in ran.tables["regret"].to_pylist()} == {30}
    assert ran.record.summary.evaluated == {"val": 30, "test": 30}


@pytest.mark.parametrize("task", ["matching", "knapsack", "shortest-path", "transport"])
def test_logged_options_are_the_decisions_taken(task, tmp_path):
    ran = run(make_spec(task, "two-stage", epochs=2))
    dataset = load_data(ran.spec.data).dataset
    output = train(ran.spec, dataset, None)
    folder = write_run(output, tmp_path)
    frame = read_tables("decisions", [folder], lists=True).rows
    options = np.array(frame["options"].to_list())
    problem = dataset.problem
    assert options.shape == (len(dataset.rows("test")), problem.groups)
    decisions = (options[:, :, None] == np.arange(problem.options)).astype(float)
    rows = frame["instance"].to_numpy()
    worth = problem.objective(problem.values(dataset.labels[rows]), decisions)
    assert worth == pytest.approx(frame["achieved_value"].to_numpy(), rel=1e-12)
    assert "options" not in read_tables("decisions", [folder]).rows.columns
    assert read_record(folder).state == "done"


def test_logged_options_of_very_large_instances_stay_small():
    choices = np.random.default_rng(0).integers(0, 50, (200, 10_000)).astype(np.uint8)
    numbers = np.zeros(200)
    table = _decisions(np.arange(200), Evaluation(numbers, numbers, 0.0, choices=choices))
    import pyarrow.parquet as pq

    from dglbench.runs.store import _PACKED

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="snappy", use_dictionary=_PACKED)
    assert buffer.tell() < 2_000_000, "six bits for each of two million options"
    assert (
        pq.read_table(buffer)["options"]
        .combine_chunks()
        .flatten()
        .equals(pa.array(choices.ravel(), pa.uint32()))
    )

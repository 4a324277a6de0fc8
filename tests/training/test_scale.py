"""How often runs are judged, what they share, what they log of time and memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglbench.problem import Problem
from dglbench.training.evaluation import Evaluator
from dglbench.training.rhythm import evaluation_period
from dglbench.training.shared_answers import FOLDER
from training.helpers import find_task, make_spec, run


def test_the_papers_sizes_are_judged_every_epoch():
    assert evaluation_period(Problem.assignment(10, [4] * 3), 400, 400, 200, 40) == 1
    assert evaluation_period(Problem.assignment(50, [17] * 3), 400, 400, 200, 40) == 1
    assert make_spec("matching", "two-stage").protocol.evaluate_every == 1


@given(st.integers(1, 300), st.integers(1, 8), st.integers(1, 500), st.integers(1, 60))
def test_larger_problems_are_never_judged_more_often(n, places, instances, epochs):
    def period(groups):
        problem = Problem.assignment(groups, [groups] * places)
        return evaluation_period(problem, 1, instances, instances, epochs)

    assert 1 <= period(n) <= period(4 * n) <= epochs


def test_true_optima_are_kept_checked_and_shared(tmp_path, monkeypatch):
    task = find_task("matching")
    dataset = task.generate(task.parse_settings({"n": 8, "train": 4, "val": 6, "test": 4}), 1)
    monkeypatch.setattr("dglbench.training.shared_answers._WORTH_KEEPING_S", 0.0)

    def judge():
        evaluator = Evaluator(task, dataset)
        evaluator.share(tmp_path, None)
        return evaluator.splits["val"]

    first = judge()
    optimal = first.optimal
    (kept,) = (tmp_path / FOLDER).iterdir()
    second = judge()
    monkeypatch.setattr(second, "_worth", lambda values: pytest.fail("solved again"))
    assert (second.optimal == optimal).all()
    kept.write_bytes(kept.read_bytes()[:-1] + b"\x55")
    assert (judge().optimal == optimal).all()  # what is damaged is solved again


def test_float32_is_another_run_and_float64_asks_what_it_always_did():
    usual, single = (make_spec("matching", "dgl-1", dtype=kind) for kind in ("float64", "float32"))
    assert "dtype" not in usual.identity.protocol
    assert usual.run_id != single.run_id
    ran = run(single)
    assert ran.record.state == "done"
    summary = ran.record.summary
    assert summary.outside_s >= 0
    assert summary.peak_memory_mb > 1

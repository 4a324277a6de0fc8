"""Warm starts, early stopping, endings and the clock."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dglbench.clock import Clock, Ledger, Meter, OwnPhase
from dglbench.errors import OptionError, SolverError
from dglbench.methods.dgl import DglEveryOptions
from dglbench.methods.two_stage import TwoStage
from dglbench.plugins import find_method, find_task
from dglbench.solvers.metered import MeteredSolver
from dglbench.solvers.ortools import OrtoolsSolver
from dglbench.statistics import bootstrap_interval
from dglbench.sweep.request.defaults import paper_options
from dglbench.sweep.request.request import from_preset, read_request
from dglbench.sweep.request.specs import one_spec, single_run
from dglbench.training import train as training
from dglbench.training.evaluation import Evaluation, SplitEvaluator, load_data
from dglbench.training.learner import Learner
from dglbench.training.recorder import Recorder
from dglbench.training.warm_start import load_or_train

from .helpers import make_spec, run


def test_every_decision_focused_run_starts_from_the_same_weights():
    starts = {
        method: run(make_spec("matching", method, epochs=1)).tables["regret"].to_pylist()[0]
        for method in ("spo", "dgl-none", "dgl-auto")
    }
    assert len({row["relative_regret"] for row in starts.values()}) == 1
    ran = run(make_spec("matching", "two-stage", epochs=1))
    assert ran.record.summary.warm_start is None
    assert ran.tables["regret"].to_pylist()[0] != starts["spo"]


def test_a_warm_start_is_cached_whole_and_mended_when_damaged(tmp_path):
    spec = make_spec("matching", "spo")
    task, dataset = find_task("matching"), load_data(spec.data).dataset
    first = load_or_train("linear", task, dataset, spec.protocol, tmp_path)
    (file,) = (tmp_path / "warm-starts").iterdir()
    again = load_or_train("linear", task, dataset, spec.protocol, tmp_path)
    assert again.weights == first.weights
    assert again.info == first.info
    file.write_bytes(file.read_bytes()[:100])
    mended = load_or_train("linear", task, dataset, spec.protocol, tmp_path)
    states = [torch.load(__import__("io").BytesIO(w.weights)) for w in (first, mended)]
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
    assert [path.name for path in (tmp_path / "warm-starts").iterdir()] == [file.name]


def test_the_warm_start_is_near_least_squares_on_knapsack():
    """The linear predictor has a closed form to compare with."""
    spec = make_spec("knapsack", "spo", warm_start_epochs=300)
    dataset = load_data(spec.data).dataset
    warm = load_or_train("linear", find_task("knapsack"), dataset, spec.protocol, None)
    train, val = dataset.rows("train"), dataset.rows("val")
    design = [
        np.column_stack([x, np.ones(len(x))])
        for x in (dataset.features[rows].reshape(-1, 8) for rows in (train, val))
    ]
    target = [dataset.labels[rows][:, :, 0].ravel() for rows in (train, val)]
    weights, *_ = np.linalg.lstsq(design[0], target[0], rcond=None)
    closed_form = np.mean((design[1] @ weights - target[1]) ** 2)
    assert warm.info["val_mse"] < 1.1 * closed_form


def test_patience_stops_early():
    ran = run(make_spec("matching", "two-stage", epochs=200, patience=2))
    assert ran.record.summary.epochs_run < 200
    assert ran.record.state == "done"


def test_evaluation_interval_is_kept_and_the_last_epoch_always_judged():
    ran = run(make_spec("matching", "dgl-1", epochs=7, evaluate_every=3))
    epochs = [r["epoch"] for r in ran.tables["regret"].to_pylist() if r["split"] == "val"]
    assert epochs == [0, 3, 6, 7]


def test_divergence_keeps_what_was_logged(monkeypatch):
    plain = TwoStage.loss
    calls = {"count": 0}

    def explode(self, batch):
        calls["count"] += 1
        loss = plain(self, batch)
        return loss * float("nan") if calls["count"] > 7 else loss

    monkeypatch.setattr(TwoStage, "loss", explode)
    ran = run(make_spec("matching", "two-stage", epochs=10))
    assert ran.record.state == "diverged"
    assert "nan" in ran.record.status.message
    assert [row["epoch"] for row in ran.tables["timing"].to_pylist()] == [0, 1, 2]
    assert ran.record.selected is not None


def test_a_failure_is_recorded_with_its_traceback(monkeypatch):
    def broken(self, batch):
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(TwoStage, "loss", broken)
    ran = run(make_spec("matching", "two-stage"))
    assert ran.record.state == "failed"
    assert ran.record.status.message == "ZeroDivisionError: on purpose"
    assert "on purpose" in ran.record.status.traceback
    assert "broken" in ran.record.status.traceback


def test_what_a_method_hands_over_can_overwrite_nothing(monkeypatch):
    notes = {"train_s": -1, "selected": None, "state": "failed", "strange": {1, 2}}
    monkeypatch.setattr(TwoStage, "notes", lambda self: notes)
    ran = run(make_spec("matching", "two-stage", epochs=1))
    assert ran.record.state == "done"
    assert ran.record.summary.train_s > 0
    assert ran.record.selected is not None
    assert ran.record.notes == {**notes, "strange": str({1, 2})}


def test_ctrl_c_keeps_what_was_logged(monkeypatch):
    def watch(progress):
        if progress.epoch == 3:
            raise KeyboardInterrupt

    ran = run(make_spec("matching", "dgl-1"), watch=watch)
    assert ran.record.state == "interrupted"
    assert ran.record.summary.epochs_run == 3


class HandClock:
    """A clock that moves only when told to."""

    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time

    def spend(self, seconds, work=None):
        """Return ``work`` as something that takes so long."""

        def slow(*args, **keywords):
            self.time += seconds
            return work(*args, **keywords) if work else None

        return slow


def test_the_time_limit_ends_a_run(monkeypatch):
    hand = HandClock()
    monkeypatch.setattr(training, "time", SimpleNamespace(perf_counter=hand))
    monkeypatch.setattr(TwoStage, "loss", hand.spend(1.0, TwoStage.loss))
    ran = run(make_spec("matching", "two-stage", epochs=1000), time_limit=10.5)
    assert ran.record.state == "timeout"
    assert ran.record.status.message == "the time limit of 10.5 s was reached"
    assert ran.record.summary.epochs_run == 3  # of three batches each; the eleventh was too many


@pytest.mark.parametrize("method", ["two-stage", "dgl-1"])
def test_evaluation_is_off_the_clock(monkeypatch, method):
    """Evaluation and diagnostics take hours here, a batch one second."""
    hand = HandClock()
    spec = make_spec("matching", method, epochs=2, start="fresh")
    loaded = load_data(spec.data)
    for question in ("decide", "relax", "duals"):
        slow = hand.spend(3600.0, getattr(loaded.evaluator.solver, question))
        monkeypatch.setattr(loaded.evaluator.solver, question, slow)
    cls = find_method(method).cls
    monkeypatch.setattr(cls, "loss", hand.spend(1.0, cls.loss))
    learner = Learner(spec, loaded.dataset, None, clock=Clock(now=hand))
    recorder = Recorder(learner, loaded.evaluator)
    recorder.log_lap(0, 0.0, learner.set_up())
    for epoch in (1, 2):
        recorder.evaluate(epoch - 1)
        recorder.log_lap(epoch, *learner.epoch())
    assert hand.time > 3600
    assert recorder.elapsed_s == 2 * 3.0
    assert recorder.phase_seconds()["other"] == 2 * 3.0


def test_the_clock_charges_one_phase_at_a_time():
    hand = HandClock()
    clock = Clock(now=hand)
    clock.start()
    hand.time += 1
    with clock.phase("solve"):
        hand.time += 2
        with clock.phase("refresh"):
            hand.time += 4
        hand.time += 8
    assert clock.stop() == 15
    spent = {name: seconds for name, seconds in clock.seconds.items() if seconds}
    assert spent == {"other": 1, "solve": 10, "refresh": 4}
    with clock.phase("solve"):  # after the lap: nobody's
        hand.time += 16
    assert sum(clock.seconds.values()) == 15


def test_a_disabled_clock_measures_only_the_whole():
    hand = HandClock()
    clock = Clock(enabled=False, now=hand)
    clock.start()
    with clock.phase("solve"):
        hand.time += 1
    assert clock.stop() == 1
    assert clock.seconds["solve"] == 0.0


def test_a_methods_own_phases_lie_over_the_six():
    hand = HandClock()
    clock = Clock(now=hand)
    meter = Meter(clock, Ledger())
    clock.start()
    with meter.phase("tracking"):
        hand.time += 1
        with meter.phase("solve"):
            hand.time += 2
            with meter.phase("tracking"), meter.phase("newton"):
                hand.time += 4
    meter.count("newton", 5)
    meter.count("newton")
    meter.count("steps", 3)
    assert clock.stop() == 7
    assert (clock.seconds["other"], clock.seconds["solve"]) == (1, 6)
    assert meter.lap() == [
        OwnPhase("newton", 4, 6),
        OwnPhase("tracking", 7, 0),
        OwnPhase("steps", 0, 3),
    ]
    with meter.phase("tracking"):
        hand.time += 8
    assert meter.lap() == []


def test_the_ledger_counts_by_purpose_and_lap():
    class Solver:
        def duals(self, values, rows):
            return values

    ledger = Ledger()
    solver = MeteredSolver(Solver(), Meter(Clock(), ledger))
    solver.duals(torch.zeros(5), purpose="refresh")
    assert ledger.lap()["refresh"] == 5
    solver.duals(torch.zeros(2), purpose="label")
    assert ledger.lap() == {"label": 2, "train": 0, "refresh": 0, "evaluate": 0}
    assert ledger.total["refresh"] == 5


def test_regret_of_perfect_predictions_is_zero():
    for task in ("matching", "knapsack"):
        loaded = load_data(make_spec(task, "two-stage").data)
        for split in loaded.evaluator.splits.values():
            metrics = split.judge(split.labels).metrics()
            assert metrics == dict.fromkeys(metrics, 0.0)


def test_metrics_are_what_they_say():
    outcome = Evaluation(np.array([10.0, 4.0]), np.array([9.0, 2.0]), 1.5)
    assert outcome.metrics() == {
        "relative_regret": pytest.approx((0.1 + 0.5) / 2),
        "pooled_regret": pytest.approx(3 / 14),
        "absolute_regret": pytest.approx(1.5),
        "mse": 1.5,
        "optimum_gap": 0.0,
    }
    against_a_bound = Evaluation(
        np.array([10.0, 4.0]), np.array([9.0, 2.0]), 1.5, gaps=np.array([0.7, 0.0])
    )
    assert against_a_bound.metrics()["optimum_gap"] == pytest.approx(0.7 / 14)


class FirstOption(OrtoolsSolver):
    """Decides badly for what looks like the truth, so that predictions seem to beat it."""

    def _decide(self, values, at):
        if (values >= 0).all():
            values = -values
        return super()._decide(values, at)


def judge_with(solver, split):
    return SplitEvaluator(split.instances, split.features, split.labels, solver, split.problem)


def test_regret_is_signed_and_a_wrong_evaluation_solver_is_named():
    assert Evaluation(np.array([1.0]), np.array([1.5]), 0.0).regret.tolist() == [-0.5]
    loaded = load_data(make_spec("knapsack", "two-stage").data)
    split = loaded.evaluator.splits["val"]
    assert (split.labels >= 0).all()
    wrong = judge_with(FirstOption(loaded.dataset.problem), split)
    with pytest.raises(
        SolverError, match=rf"instance {split.instances[0]}: the decision taken is "
    ):
        wrong.judge(split.labels - 1e-9)


def test_a_solver_may_miss_as_much_as_it_declares():
    class Declared(FirstOption):
        def decision_error(self, values):
            return np.full(len(values), 1e9)

    loaded = load_data(make_spec("knapsack", "two-stage").data)
    split = loaded.evaluator.splits["val"]
    outcome = judge_with(Declared(loaded.dataset.problem), split).judge(split.labels - 1e-9)
    assert (outcome.regret < 0).any()
    assert outcome.metrics()["absolute_regret"] == outcome.regret.mean()


def test_a_wrong_evaluation_solver_fails_the_run(monkeypatch):
    spec = make_spec("matching", "two-stage", epochs=1)
    loaded = load_data(spec.data)
    for split in loaded.evaluator.splits.values():
        monkeypatch.setitem(vars(split), "optima", split.optima - [[1.0], [0.0]])
    ran = run(spec)
    assert ran.record.state == "failed"
    assert ran.record.status.message.startswith("SolverError: instance ")


def test_bootstrap_interval_covers_the_mean_and_narrows_with_data():
    draws = np.random.default_rng(0).random(400)
    wide, narrow = bootstrap_interval(draws[:25]), bootstrap_interval(draws)
    assert wide[0] < draws[:25].mean() < wide[1]
    assert narrow[1] - narrow[0] < wide[1] - wide[0]
    assert bootstrap_interval(draws) == narrow


def test_the_papers_values_are_those_of_the_nearest_size():
    task = find_task("matching")
    assert paper_options(task, 60, find_method("dgl-none"))["alpha"] == 0.6
    assert paper_options(task, 60, find_method("dgl-7")) == paper_options(
        task, 60, find_method("dgl-5")
    )


def test_a_run_takes_its_methods_defaults_and_the_papers_sweep_the_papers_values():
    plain = single_run("matching", "dgl-7", settings={"n": 60}, options={"tau": "0.3"})
    assert plain.options == DglEveryOptions(tau=0.3, U=7)
    asked = {"tasks": ["matching-60"], "methods": ["dgl-7"], "option": {"tau": "0.3"}}
    paper = one_spec([from_preset("paper"), read_request({**asked, "seeds": [1]}, "flags")])
    assert (paper.options.U, paper.options.tau, paper.options.alpha) == (7, 0.3, 0.2)
    quick = one_spec([from_preset("quick"), read_request({**asked, "seeds": [1]}, "flags")])
    assert quick.options == plain.options


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ("dgl-1", {"tau": 0}, "tau must be a number > 0"),
        ("dgl-1", {"alpha": -1}, "alpha must be a number ≥ 0"),
        ("dgl-0", {}, "U must be a whole number ≥ 1"),
        ("dgl-5", {"U": 3}, "fixes U by its name"),
        ("dgl-auto", {"delta": -0.1}, "delta must be a number ≥ 0"),
        ("qptl", {"mu": 0}, "mu must be a number > 0"),
        ("spo", {"lr": 0}, "lr must be a number > 0"),
        ("spo", {"tau": 1}, "it has lr, start, oracle"),
        ("two-stage", {"alpha": 1}, "it has lr"),
    ],
)
def test_options_out_of_range_or_out_of_place_are_refused(method, options, sentence):
    with pytest.raises(OptionError, match=sentence):
        make_spec("matching", method, options={"lr": 0.1, **options})


def test_the_run_id_names_what_decides_the_run_and_nothing_else():
    spec = make_spec("matching", "dgl-5")
    assert spec.run_id.startswith("matching-8-s25-dgl-5-")
    assert spec.run_id == make_spec("matching", "dgl-5").run_id
    others = [
        make_spec("matching", "dgl-5", seed=10),
        make_spec("matching", "dgl-5", options={"tau": 0.7}),
        make_spec("matching", "dgl-5", "ortools"),
        make_spec("matching", "dgl-5", epochs=11),
        make_spec("matching", "dgl-5", threads=2),
    ]
    assert len({spec.run_id, *(other.run_id for other in others)}) == 6

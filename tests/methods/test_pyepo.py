"""PyEPO's losses through our solver: the same SPO+, honest counts, sentences for what is not."""

import subprocess
import sys

import pytest
from training.helpers import TASKS, fastest, make_spec, refusal, run

from dglbench.errors import PluginError
from dglbench.methods.pyepo import border
from dglbench.methods.pyepo.losses import Spo
from dglbench.plugins import METHODS as METHOD_GROUP
from dglbench.plugins import find_method, plugins

LOSSES = [plugin.name for plugin in plugins(METHOD_GROUP) if plugin.name.startswith("pyepo-")]
EPOCHS = 2
TOLERANCE = 1e-3
"""Of a relative regret: float32 may tip a decision that is as good as tied."""

needs_pyepo = pytest.mark.skipif(
    border.installed_version() is None, reason="the pyepo extra is not installed"
)

# Instances solved in training for each of K instances in each epoch.
SOLVES = {
    "pyepo-spo": 1, "pyepo-pg": 2, "pyepo-dbb": 2, "pyepo-nid": 1, "pyepo-dpo": 10,
    "pyepo-pfyl": 10, "pyepo-imle": 20, "pyepo-aimle": 20, "pyepo-nce": 1, "pyepo-cmap": 1,
    "pyepo-ltr": 1,
}  # fmt: skip
OTHER = {
    "pyepo-pfyl": [{"noise": "multiplicative", "sigma": 0.1}],
    "pyepo-dpo": [{"noise": "multiplicative", "sigma": 0.1}, {"target": "objective"}],
    "pyepo-imle": [{"two_sides": True}],
    "pyepo-ltr": [{"ranking": "pointwise"}, {"ranking": "listwise"}],
    "pyepo-spo": [{"solve_ratio": 0.3}, {"oracle": "decide"}],
}


def regrets(ran):
    assert ran.record.state == "done", ran.record.status.traceback
    return [row["relative_regret"] for row in ran.tables["regret"].to_pylist()]


def spec_of(task, method, **options):
    if method in ("pyepo-rfwo", "pyepo-rfyl"):
        options["max_iter"] = 5
    return make_spec(task, method, epochs=EPOCHS, start="fresh", options=options)


@needs_pyepo
@pytest.mark.parametrize("method", LOSSES)
@pytest.mark.parametrize("task", ["matching", "knapsack"])
def test_a_loss_trains_alike_every_time_and_counts_its_solves(task, method):
    first, second = (run(spec_of(task, method)) for _ in range(2))
    assert regrets(first) == regrets(second)
    assert len(set(regrets(first))) > 2, "nothing was learnt"
    solves, instances = first.record.summary.solves, TASKS[task]["train"]
    assert (solves["label"], solves["refresh"]) == (instances, 0)
    if method in SOLVES:
        assert solves["train"] == SOLVES[method] * EPOCHS * instances
    else:  # Frank–Wolfe ends by itself
        assert EPOCHS * instances < solves["train"] <= 6 * EPOCHS * instances
    assert first.record.notes["pyepo"] == border.installed_version()


@needs_pyepo
@pytest.mark.parametrize("task", TASKS)
def test_a_loss_serves_a_task_or_refuses_in_a_sentence(task):
    reason = refusal(task, "pyepo-spo", fastest(task))
    if reason:
        assert "PyEPO knows one feasible set" in reason
    else:
        regrets(run(spec_of(task, "pyepo-pfyl", n_samples=2)))


@needs_pyepo
@pytest.mark.parametrize(
    ("method", "options"), [(method, given) for method, all_ in OTHER.items() for given in all_]
)
def test_its_options_reach_it_and_leave_it_deterministic(method, options):
    plain = run(spec_of("knapsack", method))
    first, second = (run(spec_of("knapsack", method, **options)) for _ in range(2))
    assert regrets(first) == regrets(second)
    losses = [ran.tables["timing"]["loss"].to_pylist()[1:] for ran in (plain, first)]
    assert losses[0] != losses[1]


@needs_pyepo
@pytest.mark.parametrize("task", ["matching", "knapsack", "top-k", "shortest-path"])
def test_its_spo_follows_ours(task):
    """The same regret curve from the same start, up to float32 at the border."""
    ours, theirs = (run(make_spec(task, name, epochs=6)) for name in ("spo", "pyepo-spo"))
    assert regrets(theirs) == pytest.approx(regrets(ours), abs=TOLERANCE)
    losses = [ran.tables["timing"]["loss"].to_pylist()[1:] for ran in (ours, theirs)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)


@needs_pyepo
def test_solve_ratio_saves_solves():
    solves = run(spec_of("matching", "pyepo-nce", solve_ratio=0.0)).record.summary.solves
    assert (solves["label"], solves["train"]) == (TASKS["matching"]["train"], 0)


def test_without_pyepo_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(border, "installed_version", lambda: None)
    reason = refusal.__wrapped__("matching", "pyepo-spo", "batched")
    assert reason == "PyEPO is not installed; pip install 'dglbench[pyepo]' brings it."
    ran = run(spec_of("matching", "pyepo-spo"))  # a run that nobody asked whether it can be
    assert ran.record.state == "failed"
    assert "PyEPO is not installed" in ran.record.status.message


@needs_pyepo
def test_another_interface_is_a_sentence(monkeypatch):
    import pyepo.func

    monkeypatch.setattr(border, "installed_version", lambda: "3.0")
    problem_of = refusal.__wrapped__
    assert problem_of("matching", "pyepo-spo", "batched") is None  # other, but it fits
    monkeypatch.setattr(pyepo.func, "SPOPlus", lambda optmodel: None)
    reason = problem_of("matching", "pyepo-spo", "batched")
    assert reason.startswith("PyEPO 3.0 differs from PyEPO 2.2.7 (its SPOPlus takes no solve_ratio")
    monkeypatch.delattr(pyepo.func, "SPOPlus")
    assert "has no attribute 'SPOPlus'" in problem_of("matching", "pyepo-spo", "batched")
    sentence = pytest.raises(PluginError, match="brings the version that dglbench knows")
    with sentence, border.expected_interface():
        raise TypeError("forward() takes 2 arguments")


def test_listing_does_not_import_it():
    script = (
        "import sys; from dglbench.cli import main\n"
        "try: main(['list'])\n"
        "except SystemExit: pass\n"
        "assert 'dglbench.methods.pyepo.losses' in sys.modules\n"
        "assert not {'pyepo', 'torch'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_it_is_registered_by_its_name():
    assert find_method("PyEPO-SPO").cls is Spo

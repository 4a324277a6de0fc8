"""A solver family, a layer and methods that come from elsewhere are as good as ours."""

import pytest

from dglbench.clock import PHASES
from dglbench.errors import OptionError, PluginError
from dglbench.plugins import find_method, find_solver, find_task
from dglbench.runs import schemas
from dglbench.runs.code_hash import closure
from dglbench.training.evaluation import load_data

from .helpers import ASKING, METHODS, TASKS, make_spec, run

HIGHS = """
import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp
from dglbench.solvers import Solver

class Highs(Solver):
    family, dual_rule, summary = "highs", "highs-vertex", "HiGHS through SciPy; any task"
    solved = 0

    def __init__(self, problem):
        super().__init__(problem)
        self.pick_one = np.kron(np.eye(problem.groups), np.ones((1, problem.options)))
        self.upper = problem.mask.ravel().astype(float)
        self.equal, A, b = problem.equality, problem.flat_A, problem.b
        self.rows = {"A_ub": A[~self.equal], "b_ub": b[~self.equal],
                     "A_eq": np.vstack([self.pick_one, A[self.equal]]),
                     "b_eq": np.concatenate([np.ones(problem.groups), b[self.equal]])}

    def linear(self, values):
        Highs.solved += 1
        bounds = np.stack([np.zeros_like(self.upper), self.upper], axis=1)
        return linprog(-values.ravel(), **self.rows, bounds=bounds)

    def _relax(self, values):
        return np.array([self.linear(one).x for one in values]).clip(0, 1).reshape(values.shape)

    def _duals(self, values):
        duals = np.zeros((len(values), self.problem.rows))
        for row, one in zip(duals, values, strict=True):
            found = self.linear(one)
            row[~self.equal] = np.maximum(-found.ineqlin.marginals, 0.0)
            row[self.equal] = -found.eqlin.marginals[self.problem.groups:]
        return duals

    def _decide(self, values):
        Highs.solved += len(values)
        least = np.where(self.equal, self.problem.b, -np.inf)
        rows = [LinearConstraint(self.problem.flat_A, least, self.problem.b),
                LinearConstraint(self.pick_one, 1, 1)]
        return np.rint([milp(-one.ravel(), integrality=np.ones(one.size), constraints=rows,
                             bounds=(0, self.upper)).x for one in values]).reshape(values.shape)
"""

SMOOTH = """
from dataclasses import dataclass
import torch
from dglbench.layers import Layer
from dglbench.methods import LearningRate, Method

class Softmax(Layer):
    summary = "softmax in every group, whatever the rows say"

    def __init__(self, problem, *, tau, threads=1):
        super().__init__(problem, threads=threads)
        self.tau, self.mask = tau, torch.tensor(problem.mask)

    def solve(self, values):
        self.x = (values.detach() / self.tau).masked_fill(~self.mask, -torch.inf).softmax(-1)
        return self.x

    def pull_back(self, direction):
        return self.x * (direction - (self.x * direction).sum(-1, keepdim=True)) / self.tau

@dataclass(frozen=True)
class SmoothOptions:
    lr: LearningRate = 0.01

class Smooth(Method):
    summary, Options, layers = "task loss through the softmax layer", SmoothOptions, ("softmax",)
    dual_rule = "none-at-all"

    def prepare(self, training):
        self.meter = training.meter
        with self.meter.phase("warming up"):
            self.layer = training.layer("softmax", tau=0.5)

    def loss(self, batch):
        with self.meter.phase("weighing"):
            self.layer.solve(batch.predictions)
            gradient = self.layer.pull_back(-batch.labels)
            self.meter.count("weighing", len(batch.rows))
        return (batch.predictions * gradient).sum(dim=(1, 2)).mean()

class Undeclared(Smooth):
    layers = ()

class Talkative(Smooth):
    def diagnostics(self, snapshot):
        return {"gossip": {"value": 1.0}}

class Sketchy(Smooth):
    def diagnostics(self, snapshot):
        return {"duals": {"dual_gap": 1.0}}

class Old(Smooth):
    "As 0.1 had them: duals without diagnostics."
    def prepare(self, training):
        super().prepare(training)
        self.duals = training.solver.duals(training.labels, purpose="label")

    def current_duals(self):
        return self.duals
"""


@pytest.fixture
def highs(installed):
    installed("outside-highs", HIGHS, solvers={"highs": "outside_highs:Highs"})
    return find_solver("highs")


@pytest.fixture
def smooth(installed):
    names = ("Smooth", "Undeclared", "Talkative", "Sketchy", "Old")
    methods = {name.lower(): f"outside_smooth:{name}" for name in names}
    installed("outside-smooth", SMOOTH, layers={"softmax": "outside_smooth:Softmax"},
              methods=methods)  # fmt: skip


def with_one_matrix():
    """The tasks whose instances share A, which this family asks for."""
    return [task for task in TASKS if not problem_of(task).rows_vary]


def problem_of(task):
    return load_data(make_spec(task, "two-stage").data).dataset.problem


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_on_a_third_family(highs, method):
    """On one task each; on all tasks those that ask for every kind of answer."""
    for task in with_one_matrix() if method in ASKING else ["matching"]:
        spec = make_spec(task, method, "highs", epochs=2, start="fresh")
        own_rule = find_method(method).cls.dual_rule
        assert (spec.solver, spec.dual_rule) == ("highs", own_rule or "highs-vertex")
        assert spec.source != make_spec(task, method, "ortools").source
        before = highs.solved
        ran = run(spec)
        assert ran.record.state == "done", ran.record.status.traceback
        solves = ran.record.summary.solves
        # The layer's own programs are not the solver's, and evaluation has its own solver.
        purposes = ["label", "train", "refresh"]
        if find_method(method).cls.layers:
            purposes.remove("train")
        if method.startswith("qptl"):
            purposes.remove("label")
        own = sum(solves[purpose] for purpose in purposes)
        assert highs.solved - before == own


def test_a_third_family_agrees_with_ours(highs):
    for task in with_one_matrix():
        dataset = load_data(make_spec(task, "two-stage").data).dataset
        labels = dataset.problem.values(dataset.labels[:8])
        ours, theirs = (
            find_solver(name).build(find_task(task), dataset.problem)
            for name in ("ortools", "highs")
        )
        for question in ("decide", "relax"):
            values = [(labels * getattr(s, question)(labels)).sum() for s in (ours, theirs)]
            assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_a_layer_and_a_method_with_phases_of_its_own(smooth):
    spec = make_spec("matching", "smooth", epochs=3, start="fresh")
    assert spec.dual_rule == "none-at-all"
    ran = run(spec)
    assert ran.record.state == "done", ran.record.status.traceback
    assert ran.tables["phases"].schema.equals(schemas.OWN_PHASES)
    phases, timing = (ran.tables[name].to_pylist() for name in ("phases", "timing"))
    names = [(row["epoch"], row["name"], row["count"]) for row in phases]
    assert names == [(0, "warming up", 0), *((epoch, "weighing", 40) for epoch in (1, 2, 3))]
    for row, lap in zip(phases, timing, strict=True):
        assert 0 < row["seconds"] <= lap["epoch_s"]
        six = sum(lap[f"{name}_s"] for name in PHASES)
        assert six == pytest.approx(lap["epoch_s"])
    assert all(lap["differentiate_s"] > 0 for lap in timing[1:])
    assert ran.record.summary.solves["train"] == 3 * 40


def test_the_code_of_layers_and_of_the_evaluation_is_part_of_a_runs_identity(installed, smooth):
    source = "from outside_smooth import Smooth\nclass Bare(Smooth):\n    layers = ()\n"
    source += "class Quadratic(Smooth):\n    layers = ('cvxpylayers',)\n"
    entries = {name: f"layered:{name.title()}" for name in ("bare", "quadratic")}
    installed("layered", source, methods=entries)
    sources = {make_spec("matching", name).source for name in entries}
    assert len(sources) == 2
    # Whatever the family: tasks without a batched solver are judged by it.
    assert "dglbench.solvers.ortools" in closure("dglbench.training.train")


def test_only_methods_with_something_to_say_write_phases():
    assert "phases" not in run(make_spec("matching", "spo", epochs=1)).tables


def test_a_layer_must_be_named_beforehand(smooth):
    ran = run(make_spec("matching", "undeclared", epochs=1))
    assert ran.record.state == "failed"
    assert ran.record.status.message == (
        "PluginError: method undeclared uses the layer 'softmax' without declaring it; "
        "add it to `layers` of Undeclared."
    )


def test_a_layer_that_is_not_there_is_found_before_anything_is_spent(installed):
    source = "from dglbench.methods.two_stage import TwoStage\n"
    source += "class Lost(TwoStage):\n    layers = ('nowhere',)\n"
    installed("lost-method", source, methods={"lost": "lost_method:Lost"})
    with pytest.raises(PluginError, match="there is no layer 'nowhere'"):
        make_spec("matching", "lost")


def test_diagnostics_go_into_known_tables_only(smooth):
    said = [
        run(make_spec("matching", m, epochs=1)).record.status.message
        for m in ("talkative", "sketchy")
    ]
    assert said[0].endswith("a row for the table 'gossip'; allowed are duals, bound, theorem2.")
    assert "columns dual_gap for the table 'duals'; it has dual_gap, share_refreshed" in said[1]


def test_duals_of_a_method_written_for_0_1_are_logged(smooth):
    ran = run(make_spec("matching", "old", epochs=2, start="fresh"))
    assert [row["epoch"] for row in ran.tables["duals"].to_pylist()] == [0, 1, 2]
    assert "bound" not in ran.tables


def test_a_batched_solver_with_another_dual_rule_is_refused(installed):
    source = """
from dglbench.solvers.batched_matching import BatchedMatching
from dglbench_tasks.matching import Matching
class Corner(BatchedMatching):
    dual_rule = "corner"
class Odd(Matching):
    name = "odd"
    def batched_solver(self, problem):
        return Corner(problem)
"""
    installed("odd-rule", source, tasks={"odd": "odd_rule:Odd"})
    problem = load_data(make_spec("matching", "spo").data).dataset.problem
    with pytest.raises(OptionError, match="rule 'corner', the family promises 'centre'"):
        find_solver("batched").build(find_task("odd"), problem)

"""Runs on what 0.1's problem could not say: costs, edges, cohorts that differ by week."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from dglbench.errors import DglbenchError
from dglbench.plugins import find_method, find_task
from dglbench.solvers.batched_top_k import BatchedTopK
from dglbench.sweep.request.specs import single_run
from dglbench.training.evaluation import load_data

from .helpers import METHODS, run, start_option

SOURCE = '''
from dataclasses import dataclass
import numpy as np
from dglbench.methods import LearningRate, Method
from dglbench.problem import Problem
from dglbench.streams import stream
from dglbench.task import Dataset, Task, TaskSpec, split_sizes_to_rows

EDGES = [(v, v + 1) for v in range(9) if v % 3 < 2] + [(v, v + 3) for v in range(6)]
COUNTS = (24, 12, 12)

@dataclass(frozen=True)
class Settings:
    n: int = 6

class Base(Task):
    sizes, Settings, summary = (6,), Settings, "for a test"

    def dataset(self, settings, seed, problem, labels, features):
        split = split_sizes_to_rows(COUNTS, np.arange(sum(COUNTS)))
        return Dataset(TaskSpec(self.name, settings, seed), problem, {}, features, labels, split)

class Roads(Base):
    """The cheapest way through a grid of 3 x 3; edge costs are predicted."""
    name = "roads"

    def problem(self, settings, constants):
        return Problem.paths(EDGES, 0, 8)

    def generate(self, settings, seed):
        features = stream(seed, "roads").random(size=(sum(COUNTS), 4))
        weights = stream(seed, "weights").random(size=(4, len(EDGES)))
        return self.dataset(settings, seed, self.problem(settings, {}),
                            features @ weights + 0.1, features)

    def predictor(self, dataset):
        from torch import float64, nn
        return nn.Linear(4, len(EDGES), dtype=float64)

class Weeks(Base):
    """Individuals come and go by week, and so do seats; travel costs are minimised."""
    name = "weeks"

    def problem(self, settings, constants):
        return Problem.assignment(settings.n, [settings.n] * 3, absent=True, sense="minimise")

    def generate(self, settings, seed):
        draws = stream(seed, "weeks")
        present = draws.random((sum(COUNTS), settings.n)) < 0.7
        mask = np.repeat(present[:, :, None], 4, axis=2)
        mask[:, :, 3] = ~present
        seats = draws.integers(0, 3, size=(sum(COUNTS), 3))
        seats[:, 0] += np.maximum(present.sum(axis=1) - seats.sum(axis=1), 0)
        problem = self.problem(settings, {}).vary(b=seats, mask=mask)
        features = draws.normal(size=(sum(COUNTS), settings.n, 4))
        labels = np.abs(features @ draws.normal(size=(4, 4))) * problem.counted
        return self.dataset(settings, seed, problem, labels, features)

    def predictor(self, dataset):
        from torch import float64, nn
        return nn.Linear(4, 4, dtype=float64)

class Parcels(Base):
    """Parcels to carry or leave; what each weighs and how bulky it is differs by day."""
    name = "parcels"

    def problem(self, settings, constants):
        A = np.zeros((2, settings.n, 2))
        A[..., 0] = 2.0
        predicted = np.tile([True, False], (settings.n, 1))
        return Problem.build(A, [5.0, 6.5], predicted=predicted)

    def generate(self, settings, seed):
        draws = stream(seed, "parcels")
        A = np.zeros((sum(COUNTS), 2, settings.n, 2))
        A[..., 0] = draws.uniform(1, 4, size=A.shape[:-1]).round(1)
        features = draws.normal(size=(sum(COUNTS), settings.n, 4))
        labels = np.zeros((sum(COUNTS), settings.n, 2))
        labels[..., 0] = 3.0 + features @ draws.normal(size=4)
        problem = self.problem(settings, {}).vary(A=A)
        return self.dataset(settings, seed, problem, labels, features)

    def predictor(self, dataset):
        from torch import float64, nn
        class Worth(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 1, dtype=float64)
            def forward(self, features):
                return nn.functional.pad(self.linear(features), (0, 1))
        return Worth()

@dataclass(frozen=True)
class Options:
    lr: LearningRate = 0.01

class Choosy(Method):
    summary, Options = "serves no costs", Options

    @classmethod
    def refuses(cls, problem):
        return "it maximises only." if problem.sense == "minimise" else None

    def prepare(self, training): ...
    def loss(self, batch): return batch.predictions.sum()

class Early(Method):
    """Written for 0.1: it does not say which instances it solves."""
    summary, Options = "as of 0.1", Options

    def prepare(self, training):
        self.best = training.solver.relax(training.labels, purpose="label")
        self.constraints = training.constraints

    def loss(self, batch):
        return self.constraints.mse(batch.predictions, batch.labels)
'''


@pytest.fixture
def class_tasks(installed):
    installed(
        "whole-class",
        SOURCE,
        tasks={
            "roads": "whole_class:Roads",
            "weeks": "whole_class:Weeks",
            "parcels": "whole_class:Parcels",
        },
        methods={"choosy": "whole_class:Choosy", "early": "whole_class:Early"},
    )


def make(task, method, solver="batched", **protocol):
    given = {"epochs": 8, "batch_size": 8, **protocol}
    return single_run(
        task,
        method,
        seed=3,
        options={"lr": 0.05, **start_option(method, "fresh")},
        solver=solver,
        **given,
    )


@pytest.mark.parametrize("task", ["roads", "weeks"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_on_it_or_refuses(class_tasks, cli, task, method):
    spec = make(task, method)
    problem = load_data(spec.data).dataset.problem
    if reason := find_method(method).cls.refuses(problem):
        told = cli("train", task, "--method", method, "--solver", "batched")
        assert (told.code, reason in " ".join(told.err.split())) == (2, True)
        return
    ran = run(spec)
    assert ran.record.state == "done", ran.record.status
    assert ran.record.summary.sense == "minimise"
    regret = ran.tables["regret"].to_pylist()
    assert min(row["relative_regret"] for row in regret) > -1e-9
    tests = [row["relative_regret"] for row in regret if row["split"] == "test"]
    assert min(tests) < tests[0], "no epoch decides better than the untrained predictor"
    for row in ran.tables["decisions"].to_pylist():
        assert 0 <= row["optimal_value"] <= row["achieved_value"] + 1e-9  # costs
        assert row["regret"] == pytest.approx(row["achieved_value"] - row["optimal_value"])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_where_rows_differ_or_refuses(class_tasks, cli, method):
    spec = make("parcels", method, "ortools", epochs=5)
    problem = load_data(spec.data).dataset.problem
    if reason := find_method(method).cls.refuses(problem):
        told = cli("train", "parcels", "--method", method, "--solver", "ortools")
        assert (told.code, reason in " ".join(told.err.split())) == (2, True)
        return
    ran = run(spec)
    assert ran.record.state == "done", ran.record.status
    regret = ran.tables["regret"].to_pylist()
    assert min(row["relative_regret"] for row in regret) > -1e-9
    tests = [row["relative_regret"] for row in regret if row["split"] == "test"]
    assert min(tests) < tests[0], "no epoch decides better than the untrained predictor"


def test_a_solver_of_shared_rows_says_so(class_tasks, cli):
    told = cli("train", "parcels", "--method", "spo", "--solver", "batched")
    assert (told.code, "use --solver ortools" in " ".join(told.err.split())) == (2, True)
    problem = load_data(make("parcels", "spo", "ortools").data).dataset.problem
    with pytest.raises(DglbenchError, match="BatchedTopK needs one A for all instances"):
        type("BatchedTopK", (BatchedTopK,), {"refuses": classmethod(lambda *_: None)})(problem)


@pytest.mark.parametrize("task", ["roads", "weeks"])
def test_both_families_reach_the_same_optima(class_tasks, task):
    tables = [run(make(task, "two-stage", s)).tables for s in ("batched", "ortools")]
    values = [[row["optimal_value"] for row in t["decisions"].to_pylist()] for t in tables]
    assert values[0] == pytest.approx(values[1])


def test_optimal_values_are_shortest_ways_in_the_labels_unit(class_tasks):
    loaded = load_data(make("roads", "two-stage").data)
    judge = loaded.evaluator.splits["test"]
    tail, head = loaded.dataset.problem.structure.edges.T
    for costs, best in zip(judge.labels, judge.optimal, strict=True):
        graph = coo_array((costs, (tail, head)), shape=(9, 9)).tocsr()
        assert dijkstra(graph, indices=0)[8] == pytest.approx(best)


def test_squared_errors_act_on_what_is_predicted(class_tasks):
    loaded = load_data(make("roads", "two-stage").data)
    judge = loaded.evaluator.splits["val"]
    wrong = judge.labels + 2.0
    assert judge.judge(wrong).mse == pytest.approx(4.0)  # of edge costs, not of options
    weeks = load_data(make("weeks", "two-stage").data).evaluator.splits["val"]
    junk = np.where(weeks.problem.take(weeks.instances).counted, weeks.labels + 3.0, 1e6)
    assert weeks.judge(junk).mse == pytest.approx(9.0)  # absent individuals do not count
    assert weeks.judge(weeks.labels).regret == pytest.approx(0.0)


def test_a_method_of_the_first_version_is_told_what_it_lacks(class_tasks):
    ran = run(make("weeks", "early"))
    assert ran.record.state == "failed"
    assert "pass rows=, such as batch.rows" in ran.record.status.message
    ran = run(make("roads", "early"))
    assert ran.record.state == "failed"
    assert "call constraints.mse(batch)" in ran.record.status.message


def test_a_method_that_cannot_serve_refuses_before_anything_is_spent(class_tasks, cli, tmp_path):
    says = "method choosy cannot handle roads-6: it maximises only."
    planned = cli("sweep", "--tasks", "roads-6", "--methods", "two-stage,choosy", "--plan")
    assert (planned.code, says in " ".join(planned.err.split())) == (2, True)
    trained = cli("train", "roads", "--method", "choosy")
    assert (trained.code, says in " ".join(trained.err.split())) == (2, True)
    assert not (tmp_path / "results").exists()


def test_a_dataset_must_fit_its_problem(class_tasks):
    task = find_task("roads")
    with pytest.raises(DglbenchError, match=r"labels must have shape \(instances, 12\)"):
        task.dataset(task.parse_settings({}), 0, task.problem(None, {}), np.ones((48, 9, 3)), None)

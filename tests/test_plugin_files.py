"""A task or method in one local file needs no package; errors name the file at fault."""

import json
import subprocess
import sys
import textwrap

import pytest

TASK = """
from dataclasses import dataclass
import numpy as np
import torch
from dglbench.problem import Problem
from dglbench.streams import stream
from dglbench.task import Dataset, Task, TaskSpec
from weights import WEIGHTS

@dataclass(frozen=True)
class Settings:
    n: int = 4

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 1, dtype=torch.float64)

    def forward(self, features):
        take = self.linear(features)
        return torch.cat([take, torch.zeros_like(take)], dim=-1)

class Offers(Task):
    name = "{name}"
    summary = "offers to take or leave"
    sizes = ()
    Settings = Settings

    def generate(self, settings, seed):
        draws = stream(seed, "offers")
        features = draws.normal(size=(30, settings.n, 2))
        labels = np.stack([features[..., 0], np.zeros((30, settings.n))], axis=-1)
        split = np.repeat(np.array([0, 1, 2], dtype=np.int8), 10)
        problem = self.problem(settings, {{}})
        {spoil}
        return Dataset(TaskSpec(self.name, settings, seed), problem, {{}}, features, labels, split)

    def problem(self, settings, constants):
        use = np.zeros((1, settings.n, 2))
        use[0, :, 0] = WEIGHTS[: settings.n]
        predicted = np.zeros((settings.n, 2), dtype=bool)
        predicted[:, 0] = True
        return Problem.build(use, [{b}], None, predicted)

    def predictor(self, dataset):
        {predictor}
"""


@pytest.fixture
def task_file(tmp_path):
    """Write a task file, sound or spoilt in one place, and the helper it imports."""

    def write(name, spoil="pass", b="5.0", predictor="return Model()"):
        (tmp_path / "weights.py").write_text("WEIGHTS = [1.0, 2.0, 3.0, 4.0]\n")
        text = TASK.format(name=name, spoil=spoil, b=b, predictor=predictor)
        (tmp_path / f"{name}_task.py").write_text(textwrap.dedent(text))
        return f"{name}_task.py"

    return write


def test_every_verb_takes_a_local_file(cli, task_file, tmp_path):
    plugin = ("--plugin", task_file("offers-here"))
    listed = cli("list", "--json", *plugin)
    (entry,) = [t for t in json.loads(listed.out)["tasks"] if t["name"] == "offers-here"]
    assert entry["origin"] == "offers-here_task.py"
    assert cli("generate", "offers-here", *plugin).code == 0
    words = ("offers-here", "--method", "dgl-none", "--epochs", "1")
    trained = cli("train", *words, *plugin, "--json")
    assert trained.code == 0
    run_id = json.loads(trained.out)["run_id"]
    assert cli("report", "results", *plugin).code == 0
    applied = cli("apply", f"results/{run_id}", "--data", "data/offers-here-4-s25.parquet", *plugin)
    assert applied.code == 0
    assert (tmp_path / "decisions.parquet").is_file()


def test_workers_are_sent_the_file_and_its_helper(process, task_file, tmp_path):
    plugin = task_file("offers-there")
    (tmp_path / "sweep.toml").write_text(
        f'plugins = ["{plugin}"]\ntasks = ["offers-there"]\nmethods = ["two-stage", "dgl-none"]\n'
        "epochs = 1\nseeds = [1]\n"
    )
    words = ("sweep", "--config", "sweep.toml", "--executor", "dask", "--json", "--out", "out")
    first = process(*words)
    assert first.code == 0, first.err
    assert json.loads(first.out)["counts"] == {"done": 2}
    (saved,) = (tmp_path / "out").glob("sweep-*.toml")
    again = process("sweep", "--config", str(saved), "--out", "out", "--json")
    assert json.loads(again.out)["counts"] == {"skipped": 2}
    # The helper is part of what the runs were computed with.
    (tmp_path / "weights.py").write_text("WEIGHTS = [1.0, 2.0, 3.0, 4.5]\n")
    planned = process("sweep", "--config", "sweep.toml", "--out", "out", "--plan", "--json")
    assert json.loads(planned.out)["to_run"] == 2


SHIPPED = """
import logging, random, sys
from dglbench.plugin_files import ShippedFile, load_shipped
from dglbench.plugins import find_task

TASK = b'''
import random
from version import VERSION
from dglbench_tasks.matching import Matching

class Mine(Matching):
    name, version, draw = "mine", VERSION, random.random
'''

for version in (1, 2):
    texts = {"logging.py": TASK, "random.py": b"", "version.py": f"VERSION = {version}".encode()}
    load_shipped([ShippedFile("logging.py", tuple(texts.items()))])
    assert sys.modules["logging"] is logging and sys.modules["random"] is random
    assert find_task("mine").version == version
"""


def test_shipped_files_evict_no_module_but_helpers_of_an_earlier_version(tmp_path):
    """The plugin is called like a standard module, and so is one of its helpers."""
    done = subprocess.run(
        [sys.executable, "-c", SHIPPED], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "spoiled", "sentence"),
    [
        ("short", {"spoil": "features = features[:29]"},
         "generate() gives features of shape (29, 4, 2) for labels of 30 instances"),
        ("flat", {"spoil": "labels = labels[..., 0]"},
         "generate(): labels must have shape (instances, 4, 2), got (30, 4)"),
        ("nans", {"spoil": "labels[3, 1, 0] = np.nan"},
         "generate() gives labels that are NaN or infinite, first at labels[3, 1, 0]"),
        ("singles", {"spoil": "features = features.astype(np.float32)"},
         "features of type float32; wanted a numpy array of float64"),
        ("unsplit", {"spoil": "split[:] = 0"}, "gives no test instance"),
        ("raises", {"spoil": "raise KeyError('day')"}, "generate() fails with KeyError: 'day'"),
        ("infeasible", {"b": "-1.0"}, "generate(): row 0 cannot be met"),
        ("float32", {"predictor": "return Model().float()"},
         "predictor() returns a network of float32; wanted float64"),
        ("squeezed", {"predictor": "return torch.nn.Sequential(Model(), torch.nn.Flatten())"},
         "with shape (2, 8); wanted the shape of the labels, (2, 4, 2)"),
        ("none", {"predictor": "return None"}, "must return a torch.nn.Module, got NoneType"),
        ("untrainable", {"predictor": "return torch.nn.Identity()"}, "without weights to train"),
        ("broken", {"predictor": "return torch.nn.Linear(7, 2, dtype=torch.float64)"},
         "returns a network that fails on features of shape (2, 4, 2)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["train", "sweep"])
def test_errors_name_the_task_at_fault(cli, task_file, verb, name, spoiled, sentence):
    task = f"{name}-{verb}"
    plugin = task_file(task, **spoiled)
    words = {
        "train": ("train", task, "--option", "start=fresh"),
        "sweep": ("sweep", "--tasks", task, "--methods", "dgl-1", "--plan"),
    }[verb]
    outcome = cli(*words, "--plugin", plugin)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert "bug in dglbench" not in outcome.err


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("syntax.py", "x = (", "does not load (SyntaxError, line 1"),
        ("failing.py", "import os\nimport nothing_at_all", "(ModuleNotFoundError, line 2: "),
        ("empty.py", "x = 1", "defines no task, method, solver or layer; a plugin is a subclass"),
        ("half.py", "from dglbench.task import Task\nclass Half(Task):\n    name = 'half'",
         "its class Half lacks generate(), problem()"),
        ("note.txt", "", "is not a .py file"),
        ("taken.py", "from dglbench_tasks.matching import Matching as M\nclass Mine(M):\n    pass",
         "the name is taken by dglbench"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_plugin_is_refused(cli, tmp_path, file, text, sentence):
    (tmp_path / file).write_text(text)
    outcome = cli("list", "--plugin", file)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert "does not exist" in cli("list", "--plugin", "gone.py").err

"""The source hash follows the code that computes a run, wherever it lives."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dglbench.plugins import METHODS, TASKS, plugins
from dglbench.runs.code_hash import closure
from dglbench.sweep.executors import dask_job

HASH = (
    "import sys; sys.path.insert(0, {folder!r})\n"
    "from dglbench.runs.code_hash import source_hash\n"
    "import {module}\n"
    "print(source_hash({module}.Mine))"
)

PACKAGE = {
    "mine/__init__.py": "from mine.method import Mine\n",
    "mine/method.py": "from mine.parent import Parent\n\nclass Mine(Parent):\n    pass\n",
    "mine/parent.py": (
        "from typing import TYPE_CHECKING\n"
        "from dglbench.methods import Method\n"
        "if TYPE_CHECKING:\n    from mine.only_types import Thing\n\n"
        "class Parent(Method):\n"
        "    def loss(self, batch):\n        from .late import helper\n        return helper()\n"
    ),
    "mine/late.py": "import numpy\n\ndef helper():\n    return 1\n",
    "mine/unrelated.py": "x = 1\n",
    "mine/only_types.py": "class Thing:\n    pass\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in PACKAGE.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def source_hash(folder: Path, module: str = "mine") -> str:
    code = HASH.format(folder=str(folder), module=module)
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return answer.stdout.strip()


@pytest.mark.parametrize("name", ["mine/method.py", "mine/parent.py", "mine/late.py"])
def test_an_edit_of_the_class_its_parent_or_what_they_import_changes_it(package, name):
    before = source_hash(package)
    (package / name).write_text(PACKAGE[name] + "# changed\n")
    assert source_hash(package) != before


@pytest.mark.parametrize("name", ["mine/unrelated.py", "mine/only_types.py"])
def test_an_edit_of_what_is_never_run_leaves_it(package, name):
    before = source_hash(package)
    (package / name).write_text(PACKAGE[name] + "# changed\n")
    assert source_hash(package) == before


def test_a_plugin_of_one_file_brings_the_helpers_beside_it(tmp_path):
    (tmp_path / "alone.py").write_text(
        "import beside\nfrom dglbench.methods import Method\nclass Mine(Method): pass\n"
    )
    (tmp_path / "beside.py").write_text("x = 1\n")
    before = source_hash(tmp_path, "alone")
    (tmp_path / "beside.py").write_text("x = 2\n")
    assert source_hash(tmp_path, "alone") != before


@pytest.mark.parametrize("method", plugins(METHODS), ids=lambda plugin: plugin.name)
def test_plumbing_is_no_part_of_a_run(method):
    task = plugins(TASKS)[0].target
    modules = closure("dglbench.training.train", task, method.target)
    rooms = {name.split(".")[1] for name in modules if name.startswith("dglbench.")}
    assert {"training", "methods", "solvers", "problem", "streams", "task"} <= rooms
    assert not rooms & {"cli", "report", "sweep"}
    assert method.target.__module__ in modules
    assert task.__module__ in modules


def test_a_worker_that_still_imports_torch_hashes_afterwards(monkeypatch):
    """CPython 3.11 cannot parse in two threads, and importing torch parses."""
    events = []
    done = threading.Event()

    def warm():
        done.wait(10)
        events.append("imported")

    def hashed(*_):
        events.append("hashed")
        return "0" * 12

    monkeypatch.setattr(dask_job, "_warming", threading.Thread(target=warm, daemon=True))
    monkeypatch.setattr(dask_job, "run_source", hashed)
    source = dask_job.Source("matching", "spo", "batched", "linear", "0" * 12)
    assert dask_job.other_code([source]) is None, "no thread was started: nothing to wait for"
    dask_job._warming.start()
    asking = threading.Thread(target=dask_job.other_code, args=([source],))
    asking.start()
    asking.join(0.2)
    assert events == ["hashed"]
    done.set()
    asking.join(10)
    assert events == ["hashed", "imported", "hashed"]

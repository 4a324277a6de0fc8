"""``dglbench list``, with good plugins, broken ones and odd ones."""

import json

import pytest

GOOD = """
from dataclasses import dataclass
from typing import Annotated
from annotated_types import Ge
from typing_extensions import Doc
from dglbench_tasks.matching import Matching

@dataclass(frozen=True)
class Settings:
    n: Annotated[int, Ge(1), Doc("how many [bold]things[/bold]")] = 4

class Third(Matching):
    name = "third"
    summary = "a task of somebody else"
    sizes = (4,)
    Settings = Settings
"""


def test_tables_show_tasks_solvers_and_methods(cli):
    outcome = cli("list")
    assert outcome.code == 0
    assert outcome.err == ""
    for text in ("matching", "knapsack", "ortools", "batched", "dgl-U", "spo", "location_weight"):
        assert text in outcome.out


def test_json_is_one_document_with_settings(cli):
    document = json.loads(cli("list", "--json").out)
    tasks = {task["name"]: task for task in document["tasks"]}
    assert tasks["matching"]["sizes"] == [10, 50]
    settings = {option["name"]: option for option in tasks["matching"]["options"]}
    assert settings["n"]["default"] == 50
    assert settings["n"]["allowed"] == "a whole number ≥ 1"
    assert all(entry["error"] is None for entry in document["tasks"] + document["methods"])
    assert all(entry["origin"].startswith("dglbench ") for entry in document["methods"])
    assert {solver["name"] for solver in document["solvers"]} == {"ortools", "batched", "pdlp"}
    assert "cvxpylayers" in {layer["name"] for layer in document["layers"]}
    for entry in document["solvers"] + document["layers"]:
        assert entry["origin"].startswith("dglbench ")
        assert entry["summary"]


def test_a_third_partys_task_is_listed_and_used(process, make_plugin):
    path = str(make_plugin("third-party", GOOD, tasks={"third": "third_party:Third"}))
    outcome = process("list", PYTHONPATH=path, COLUMNS="200")
    assert outcome.code == 0
    assert outcome.err == ""
    assert "third-party 1.0" in outcome.out
    assert "how many [bold]things[/bold]" in outcome.out  # text, not markup
    outcome = process("generate", "third", "--n", "0", PYTHONPATH=path)
    assert (outcome.code, outcome.err) == (
        2,
        "error: task third: n must be a whole number ≥ 1, got 0.\n",
    )


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("raise RuntimeError('no power')", "RuntimeError: no power"),
        ("def (", "SyntaxError"),
        ("Task = 3", "not a class"),
    ],
)
def test_a_broken_plugin_is_a_warning_and_a_marked_row(source, why, process, make_plugin):
    path = str(make_plugin("broken-one", source, tasks={"broken": "broken_one:Task"}))
    outcome = process("list", PYTHONPATH=path, COLUMNS="200")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: broken (broken-one 1.0) cannot be used: ")
    assert why in outcome.err
    assert outcome.err.count("\n") == 1
    assert "broken ✗" in outcome.out
    assert "matching" in outcome.out


def test_a_broken_solver_or_layer_is_marked_too(process, make_plugin):
    make_plugin("one-solver", "import nowhere", solvers={"bad-solver": "one_solver:A"})
    path = str(make_plugin("broken-layer", "A = 3", layers={"bad-layer": "broken_layer:A"}))
    outcome = process("list", PYTHONPATH=path, COLUMNS="200")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: bad-solver (one-solver 1.0) cannot be used: Modul")
    assert outcome.err.count("\n") == 2
    assert "bad-solver ✗" in outcome.out
    assert "bad-layer ✗" in outcome.out


def test_a_taken_name_is_marked(process, make_plugin):
    path = str(make_plugin("zz-clash", GOOD, tasks={"matching": "zz_clash:Third"}))
    outcome = process("list", "--json", PYTHONPATH=path)
    assert outcome.code == 0
    both = [t for t in json.loads(outcome.out)["tasks"] if t["name"] == "matching"]
    assert len(both) == 2
    (error,) = [task["error"] for task in both if task["error"]]
    assert error.startswith("the name is taken by ")

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


def test_the_catalogue_is_kept_until_a_file_or_a_distribution_changes(
    process, make_plugin, tmp_path_factory
):
    """Nothing is imported to list again, and nothing old is told of a plugin that changed."""
    cache = tmp_path_factory.mktemp("cache")  # apart: the working folder is imported from too
    root = make_plugin("third-party", GOOD, tasks={"third": "third_party:Third"})
    here = {"PYTHONPATH": str(root), "DGLBENCH_CACHE": str(cache), "COLUMNS": "200"}
    first = process("list", **here)
    process("list", **here)  # the first import left its bytecode in the plugin's folder
    (kept,) = cache.glob("catalogue-*.json")
    written = kept.stat().st_mtime_ns
    assert process("list", **here) == first
    assert kept.stat().st_mtime_ns == written

    (root / "third_party.py").write_text(GOOD.replace("of somebody else", "that has changed"))
    assert "a task that has changed" in process("list", **here).out

    make_plugin("another", GOOD.replace("third", "fourth"), tasks={"fourth": "another:Third"})
    assert "another 1.0" in process("list", **here).out

    kept.write_text("[3]")
    assert process("list", **here).code == 0


def test_a_broken_plugin_is_not_kept(process, make_plugin, tmp_path):
    path = str(make_plugin("broken-one", "import nowhere", tasks={"broken": "broken_one:Task"}))
    here = {"PYTHONPATH": path, "DGLBENCH_CACHE": str(tmp_path / "cache")}
    assert "cannot be used" in process("list", **here).err
    assert "cannot be used" in process("list", **here).err
    assert not (tmp_path / "cache").exists()


def test_an_unwritable_cache_costs_only_time(process, tmp_path):
    (tmp_path / "cache").write_text("a file, no folder")
    outcome = process("list", DGLBENCH_CACHE=str(tmp_path / "cache"))
    assert (outcome.code, outcome.err) == (0, "")

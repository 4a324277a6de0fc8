"""Finding tasks and methods by name."""

import pytest

from dglbench import plugins
from dglbench.errors import PluginError
from dglbench.plugins import find_method, find_task


@pytest.fixture
def installed(make_plugin, monkeypatch):
    """Install a throwaway plugin in this process."""

    def install(*args, **groups):
        monkeypatch.syspath_prepend(make_plugin(*args, **groups))
        plugins.plugins.cache_clear()

    yield install
    plugins.plugins.cache_clear()


def test_bundled_tasks_are_found_like_any_other():
    found = {plugin.name: plugin for plugin in plugins.plugins(plugins.TASKS)}
    assert {"matching", "knapsack"} <= set(found)
    assert found["matching"].origin.startswith("dglbench ")
    assert find_task("matching").name == "matching"


def test_a_third_partys_task_is_found(installed):
    source = "from dglbench_tasks.matching import Matching\nclass Mine(Matching):\n    name = 'm'\n"
    installed("third-one", source, tasks={"mine": "third_one:Mine"})
    assert find_task("mine").name == "m"
    assert {plugin.name for plugin in plugins.plugins(plugins.TASKS)} >= {"mine", "matching"}


def test_a_broken_plugin_fails_only_when_asked_for(installed):
    installed("broken-two", "raise RuntimeError('no\\npower')", tasks={"bad": "broken_two:Task"})
    assert find_task("matching").name == "matching"
    with pytest.raises(
        PluginError, match=r"task 'bad' \(broken-two 1.0\) does not load: RuntimeError: no; mend"
    ):
        find_task("bad")


def test_a_name_has_one_owner(installed):
    source = "from dglbench_tasks.matching import Matching\n"
    installed("another-one", source, tasks={"matching": "another_one:Matching"})
    owners = [p for p in plugins.plugins(plugins.TASKS) if p.name == "matching"]
    assert sorted(plugin.error is None for plugin in owners) == [False, True]
    assert find_task("matching").name == "matching"


def test_unknown_names_get_a_hint():
    with pytest.raises(PluginError, match=r"there is no task 'matchng'; .*Did you mean 'matching'"):
        find_task("matchng")
    with pytest.raises(PluginError, match="there is no method 'sgd'; there are"):
        find_method("sgd")


def test_a_number_in_the_name_sets_u():
    choice = find_method("dgl-5")
    assert choice.name == "dgl-5"
    assert choice.from_name == {"U": 5}
    assert choice.cls is find_method("dgl-20").cls
    assert find_method("dgl-auto").from_name == {}
    with pytest.raises(PluginError, match="needs a number: write for example dgl-5"):
        find_method("dgl-U")
    with pytest.raises(PluginError, match="there is no method 'spo-5'"):
        find_method("spo-5")


def test_every_bundled_plugin_loads():
    for group in (plugins.TASKS, plugins.METHODS):
        assert [p for p in plugins.plugins(group) if p.error] == []

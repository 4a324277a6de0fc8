"""Finding tasks, methods, solver families and layers by name."""

import types

import pytest

from dglbench import plugins
from dglbench.errors import PluginError
from dglbench.plugins import find_layer, find_method, find_solver, find_task


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
        PluginError, match=r"task 'bad' \(broken-two 1.0\) does not load: RuntimeError: no; fix"
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
    for group in (plugins.TASKS, plugins.METHODS, plugins.SOLVERS, plugins.LAYERS):
        assert plugins.plugins(group)
        assert [p for p in plugins.plugins(group) if p.error] == []


def test_solvers_and_layers_are_found_the_same_way(installed):
    assert find_solver("ortools").dual_rule == "vertex"
    assert find_layer("cvxpylayers").summary
    with pytest.raises(PluginError, match=r"no solver 'ortool'; .*Did you mean 'ortools'\?"):
        find_solver("ortool")
    with pytest.raises(PluginError, match="there is no layer 'dense'; there are cvxpylayers"):
        find_layer("dense")
    installed("odd-solver", "class Odd:\n    pass", solvers={"odd": "odd_solver:Odd"})
    with pytest.raises(
        PluginError,
        match=r"solver 'odd' \(odd-solver 1.0\) does not load: TypeError: odd_solver:Odd is not a "
        r"subclass of dglbench.solvers.base.SolverFamily; fix",
    ):
        find_solver("odd")


MODULE = """
from abc import abstractmethod
from dglbench.layers import Layer
from dglbench.methods.two_stage import TwoStage
from dglbench.solvers.ortools import OrtoolsSolver
from dglbench_tasks.matching import Matching

class Places(Matching):
    name = "places"

class MyOwnMethod(TwoStage):
    pass

class OwnSolver(OrtoolsSolver):
    family = "own"

class PlainLayer(Layer):
    def solve(self, values):
        return values
    def pull_back(self, direction):
        return direction

class _Hidden(TwoStage):
    pass

class Unfinished(Layer):
    pass
"""


@pytest.fixture
def local():
    """Register a module as a local file would be, and forget it again."""

    def make(source, origin="mine.py"):
        module = types.ModuleType("a_local_file")
        exec(source, vars(module))
        return plugins.register(module, origin=origin)

    yield make
    for registered in plugins._registered.values():
        registered.clear()
    plugins.plugins.cache_clear()


def test_a_modules_own_classes_are_registered_by_name(local):
    added = {(plugin.group, plugin.name) for plugin in local(MODULE)}
    assert added == {
        (plugins.TASKS, "places"),
        (plugins.METHODS, "my-own-method"),
        (plugins.SOLVERS, "own"),
        (plugins.LAYERS, "plain-layer"),
    }
    assert find_task("places").name == "places"
    assert find_method("my-own-method").cls.__name__ == "MyOwnMethod"
    assert find_solver("own").__name__ == "OwnSolver"
    assert find_layer("plain-layer").__name__ == "PlainLayer"
    (shown,) = [p for p in plugins.plugins(plugins.TASKS) if p.name == "places"]
    assert shown.origin == "mine.py"
    local(MODULE)  # the same file again
    with pytest.raises(PluginError, match=r"'places' of other.py cannot be used: .*by mine.py"):
        local(MODULE, "other.py")


def test_a_local_file_takes_no_bundled_name(local):
    source = MODULE.replace('"own"', '"ortools"')
    with pytest.raises(PluginError, match=r"the name is taken by dglbench .*; give the class OwnS"):
        local(source)
    with pytest.raises(PluginError, match="there is no task 'places'"):
        find_task("places")

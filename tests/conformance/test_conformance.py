"""Every method keeps what it says of its gradient; copies with a wrong sign are found out."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from training.helpers import METHOD_OPTIONS, names

from dglbench.conformance import CHECKS, check_method
from dglbench.conformance.probes import PROBES
from dglbench.plugins import METHODS, plugins

FLIPPED = Path(__file__).with_name("flipped.py")
# These solve one program after another, or many for each instance.
SLOW = {"qptl", "rdgl-step", "lodl", "pyepo-rfwo", "pyepo-rfyl", "pyepo-imle", "pyepo-aimle"}


OPTIONS = {
    **METHOD_OPTIONS,
    # After five steps Frank–Wolfe's point is not yet the one whose loss is stated.
    "pyepo-rfyl": {"max_iter": 100},
    # At its default of 0.1 the derivative through cvxpylayers has two digits only, and labels in
    # another unit give another run; `qptl-dual`, the same method, has nine there.
    "qptl": {"mu": 1.0},
}


@functools.cache
def outcomes(method):
    return list(check_method(method, OPTIONS.get(method)))


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
        for name in names(METHODS)
    ],
)
def test_every_method_keeps_what_it_says_of_its_gradient(method):
    found = outcomes(method)
    assert [(each.check, each.problem) for each in found] == [
        (check, probe.name) for probe in PROBES for check in CHECKS
    ]
    assert [each for each in found if each.state == "fails"] == []
    assert any(each.state == "holds" for each in found)


def test_methods_that_claim_less_are_few_and_known():
    """A claim is not given up without a reason, which stands beside each name."""
    silent = {
        plugin.name: plugin.target.claims
        for plugin in plugins(METHODS)
        if plugin.error is None and not plugin.target.claims.of_loss
    }
    assert set(silent) == {
        *("cave-plus", "cave-hybrid"),  # the point that predictions are drawn to is held fixed
        *("dgl-auto", "rdgl-auto"),  # duals are renewed within a step
        *("rdgl-none", "rdgl-U"),  # the gradient is of prices that react, the value of those kept
        "spo-cached",  # a draw decides whether a batch is solved
        *("pyepo-dbb", "pyepo-nid"),  # a step function, with a gradient put in its place
        *("pyepo-dpo", "pyepo-pfyl", "pyepo-imle", "pyepo-aimle"),  # sampled anew at each call
        *("least-squares", "boosted-trees"),  # no gradient at all
        "pyepo-rfwo",  # Frank–Wolfe's last weights are differentiated, not its end point
    }
    fitted = {"least-squares", "boosted-trees"}
    assert all(claims.descends for name, claims in silent.items() if name not in fitted)


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "dglbench", "check-method", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("method", "check", "file"),
    [
        ("climbing-spo", "descent", FLIPPED),
        ("misstated-dgl", "gradient", FLIPPED),
        ("backwards-dbb", "descent", FLIPPED),
    ],
)
def test_copies_with_a_wrong_gradient_fail(method, check, file):
    done = run(method, "--plugin", file, "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    failed = {(each["check"], each["problem"]) for each in document["checks"]
              if each["state"] == "fails"}  # fmt: skip
    assert {(check, probe.name) for probe in PROBES} <= failed
    assert document["failed"] == len(failed)
    assert not {name for name, _ in failed} & {"mirror", "unit"}


def test_the_averaged_gradient_of_published_runs_is_not_that_of_its_loss():
    done = run("spo", "--option", "averaged=true", "--json")
    assert done.returncode == 1, done.stderr
    failed = {each["check"] for each in json.loads(done.stdout)["checks"]
              if each["state"] == "fails"}  # fmt: skip
    assert failed == {"gradient", "descent"}


def test_the_command_prints_a_table_and_refuses_what_is_not_there():
    done = run("two-stage")
    assert done.returncode == 0, done.stderr
    assert "perfect predictions" in done.stdout
    assert "fails" not in done.stdout
    for arguments, sentence in (
        (["nothing"], "there is no method 'nothing'"),
        (["spo", "--option", "speed=1"], "method spo has no option 'speed'"),
    ):
        refused = run(*arguments)
        assert refused.returncode == 2
        assert sentence in refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_method_that_breaks_fails_with_its_own_words(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text(
        "from dglbench.methods.spo import SpoPlus\n\n\n"
        "class BrokenSpo(SpoPlus):\n"
        "    def prepare(self, training):\n"
        "        raise ZeroDivisionError('nothing to divide by')\n"
    )
    done = run("broken-spo", "--plugin", broken)
    assert done.returncode == 1
    assert "ZeroDivisionError: nothing to divide by" in done.stderr
    assert "Traceback" not in done.stderr


def test_decisions_of_a_probe_are_all_those_that_are_feasible():
    assignment, knapsack = PROBES
    assert len(assignment.decisions) == 90  # 5! / (2! 2! 1!) for each place that has one left
    assert (knapsack.problem.usage(knapsack.decisions) <= knapsack.problem.b).all()
    assert len(knapsack.decisions) < 2**6

"""A task's file may have options of its own for methods that are trained for decisions."""

from dglbench.report.defaults import has_defaults
from dglbench.runs.record import Identity
from dglbench.sweep.request.request import Request
from dglbench.sweep.request.resolve import resolve


def rates(**given):
    asked = Request(
        tasks=("terrain-12", "matching-10"), methods=("two-stage", "spo", "rdgl-5"), **given
    )
    return {
        (setting.name, plan.name): plan.options.lr
        for setting in resolve([asked]).settings
        for plan in setting.methods
    }


def test_maps_have_a_rate_of_their_own_but_for_two_stage():
    usual = rates()
    for method in ("spo", "rdgl-5"):
        assert usual["terrain-12", method] == 0.003
        assert usual["matching-10", method] > 0.003
    assert usual["terrain-12", "two-stage"] == usual["matching-10", "two-stage"]


def test_what_is_given_comes_first():
    assert set(rates(option={"lr": 0.2}).values()) == {0.2}


def test_a_report_takes_the_tasks_own_rate_for_a_default():
    def identity(task, lr):
        return Identity(
            task=task, settings={"n": 12}, seed=0, method="spo",
            options={"lr": lr, "start": "warm", "oracle": "relax"}, solver="batched",
            dual_rule=None, protocol=None, source="", threads=1,
        )  # fmt: skip

    assert has_defaults(identity("terrain", 0.003))
    assert not has_defaults(identity("terrain", 0.01))
    assert has_defaults(identity("matching", 0.01))

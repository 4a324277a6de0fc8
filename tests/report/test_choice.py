"""Where methods are many, a figure draws the best of each family, and says so."""

from types import SimpleNamespace

import pytest
from make_logs import make_run

from dglbench.report import load
from dglbench.report.style.choice import (
    MANY_METHODS,
    best_of_each_family,
    drawn_runs,
    is_crowded,
)
from dglbench.report.style.layout import FREE, Layout
from dglbench.report.style.palette import family

CROWD = (
    "two-stage", "spo", "spo-dual", "qptl", "qptl-dual", "dgl-none", "dgl-1", "dgl-5", "dgl-20",
    "dgl-auto", "pyepo-nce",
)  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("crowd")
    for n in (10, 50):
        for method in CROWD:
            make_run(out, method, n=n, epochs=4)
    make_run(out, "pyepo-ltr", n=10, epochs=4)  # a second of its family, in one setting only
    return load(out)


def test_more_than_ten_methods_are_a_crowd_unless_asked_for(report):
    assert len(report.methods) > MANY_METHODS
    assert is_crowded(report, FREE)
    assert not is_crowded(report, Layout(every_method=True))


def test_the_best_of_a_family_has_its_lowest_validation_regret(report):
    unit = report.units[0]
    regrets = {cell.method: cell.val_regret for cell in report.cells(unit)}
    kept = best_of_each_family(report, [unit])
    assert sorted(map(family, kept)) == sorted({family(method) for method in regrets})
    for method in kept:
        rivals = [regret for other, regret in regrets.items() if family(other) == family(method)]
        assert regrets[method] == min(rivals)


def test_a_method_run_everywhere_goes_before_one_that_was_not(report):
    kept = best_of_each_family(report, report.units)
    assert "pyepo-nce" in kept
    assert "pyepo-ltr" not in kept


def test_a_large_regret_in_one_setting_does_not_decide_alone(report, monkeypatch):
    """Added up as they are, dgl-5 would win; in units of each setting's mean dgl-1 does."""
    one, two = report.units
    by_label = {
        one.label: {"dgl-1": 0.001, "dgl-5": 0.004},
        two.label: {"dgl-1": 0.9, "dgl-5": 0.8},
    }
    told = {
        label: [SimpleNamespace(method=method, val_regret=regret) for method, regret in by.items()]
        for label, by in by_label.items()
    }
    monkeypatch.setattr(type(report), "cells", lambda _, unit: told[unit.label])
    assert best_of_each_family(report, [one, two]) == {"dgl-1"}


def test_runs_are_drawn_panel_by_panel(report):
    panels = [[unit] for unit in report.units]
    every = drawn_runs(report, panels, best_only=False)
    assert len(every) == sum(len(report.chosen_runs(unit)) for unit in report.units)
    best = drawn_runs(report, panels, best_only=True)
    assert {(run.unit.label, run.method) for run in best} == {
        (unit.label, method)
        for unit in report.units
        for method in best_of_each_family(report, [unit])
    }

"""Published figures beside ours: the table, what it compares with, and the preset that makes it."""

import numpy as np
import pytest

import dglbench
from dglbench.report.loading import load
from dglbench.report.published.figures import matches, published
from dglbench.report.tables import build
from dglbench.sweep.request.request import from_preset
from dglbench.sweep.request.resolve import resolve

# Means that are printed of the published runs: n = 1000, noise 0.5, degrees 1, 2, 4, 6, in %.
PRINTED = {
    ("shortest-path-5", "least squares"): (15.44, 10.59, 8.82, 12.64),
    ("shortest-path-5", "SPO+"): (16.04, 10.89, 7.74, 8.21),
    ("multi-knapsack-32", "least squares"): (16.09, 12.01, 10.43, 13.93),
    ("multi-knapsack-32", "SPO+"): (16.83, 12.50, 9.22, 8.13),
    ("multi-knapsack-32", "SPO+ relaxed"): (16.91, 12.45, 9.14, 8.08),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("published")
    given = {"train": 100, "degree": 6, "source": "published"}
    for method, option, seeds in (
        ("least-squares", {}, [0, 1, 2, 7]),
        ("spo", {"start": "fresh"}, [0, 1, 2]),
    ):
        dglbench.run_many(
            tasks=["shortest-path-5"],
            methods=[method],
            set=given,
            option=option,
            seeds=seeds,
            solver="batched",
            epochs=1,
            out=out,
        )
    return out


def test_published_figures_are_those_that_were_printed():
    for (setting, method), means in PRINTED.items():
        found = {
            entry.degree: entry.regrets.mean()
            for entry in published()
            if (entry.setting, entry.method, entry.train) == (setting, method, 1000)
        }
        assert [round(100 * found[degree], 2) for degree in (1, 2, 4, 6)] == list(means)
    assert len(published()) == 40


def test_least_squares_agrees_run_by_run_and_an_untrained_spo_differs(folder):
    report = load(folder)
    exact, other = sorted(matches(report.current), key=lambda match: match.published.method)[::-1]
    assert exact.seeds == (0, 1, 2, 7)
    assert np.abs(exact.differences).max() < 1e-12
    assert other.seeds == (0, 1, 2)
    sheet = build("published", report)
    verdicts = {record["method"]: record for record in sheet.records()}
    assert verdicts["least squares"]["verdict"] == "agrees"
    assert verdicts["least squares"]["largest"] < 1e-12
    assert verdicts["SPO+"]["verdict"] == "differs", "one epoch is not a thousand"
    assert verdicts["SPO+"]["runs"] == 3


def test_other_data_are_no_counterpart_and_an_empty_table_says_what_to_run(tmp_path):
    dglbench.run_many(
        tasks=["shortest-path-5"],
        methods=["least-squares"],
        set={"train": 100, "degree": 6},
        seeds=[0],
        solver="batched",
        out=tmp_path,
    )
    sheet = build("published", load(tmp_path))
    assert not sheet.rows
    assert "--preset published" in sheet.notes[0]


def test_the_preset_has_every_published_setting():
    sweep = resolve([from_preset("published")])
    assert all(setting.seeds == tuple(range(10)) for setting in sweep.settings)
    asked = {
        (setting.name, setting.settings.train, setting.settings.degree, plan.options.oracle)
        for setting in sweep.settings
        for plan in setting.methods
        if plan.name.startswith("spo")
    }
    wanted = set()
    for entry in published():
        if entry.method == "least squares":
            continue
        exact = entry.method == "SPO+" and entry.setting.startswith("multi")
        if exact and entry.train == 1000:
            continue  # too long for a preset: hours of integer programs
        oracle = "decide" if exact else "relax"
        wanted.add((entry.setting, entry.train, entry.degree, oracle))
    assert asked == wanted
    assert all(setting.protocol.choose == "last" for setting in sweep.settings)

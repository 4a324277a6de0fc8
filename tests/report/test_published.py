"""Published figures beside ours: the table, what it compares with, and the preset that makes it."""

from collections import Counter

import numpy as np
import pytest

import dglbench
from dglbench.plugins import find_method
from dglbench.report.loading import load
from dglbench.report.published.figures import counterparts, published
from dglbench.report.published.matching import matches
from dglbench.report.tables import build
from dglbench.sweep.request.request import Request, from_preset
from dglbench.sweep.request.resolve import resolve

# Means that are printed of the published runs: n = 1000, noise 0.5, degrees 1, 2, 4, 6, in %.
PRINTED = {
    ("shortest-path-5", "least squares"): (15.44, 10.59, 8.82, 12.64),
    ("shortest-path-5", "SPO+"): (16.04, 10.89, 7.74, 8.21),
    ("multi-knapsack-32", "least squares"): (16.09, 12.01, 10.43, 13.93),
    ("multi-knapsack-32", "SPO+"): (16.83, 12.50, 9.22, 8.13),
    ("multi-knapsack-32", "SPO+ relaxed"): (16.91, 12.45, 9.14, 8.08),
}
# The same of CaVE's table, degrees 4 and 6.
CAVE = {
    "two-stage": (8.82, 12.58),
    "CaVE exact": (10.73, 11.30),
    "CaVE+": (8.39, 8.89),
    "CaVE hybrid": (8.35, 8.84),
    "SPO+": (7.79, 7.72),
    "PFYL": (7.68, 7.86),
    "NCE": (11.34, 13.78),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("published")
    given = {"train": 100, "degree": 6, "source": "published"}
    for method, option, seeds in (
        ("least-squares", {}, [0, 1, 2, 7]),
        ("spo", {"start": "fresh"}, [0, 1, 2]),
        ("spo", {"start": "fresh", "averaged": True}, [0, 1]),
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
            if entry.source == "published"
            and (entry.setting, entry.method, entry.train) == (setting, method, 1000)
        }
        assert [round(100 * found[degree], 2) for degree in (1, 2, 4, 6)] == list(means)
    cave = {
        (entry.method, entry.degree): round(100 * entry.regrets.mean(), 2)
        for entry in published()
        if entry.source == "cave"
    }
    wanted = {
        (m, degree): each
        for m, two in CAVE.items()
        for degree, each in zip((4, 6), two, strict=True)
    }
    assert cave == wanted
    assert Counter(entry.source for entry in published()) == {
        "published": 40,
        "cave": 14,
        "notebook": 14,
    }
    assert all(find_method(each.method) for entry in published() for each in counterparts(entry))


def test_least_squares_agrees_run_by_run_and_an_untrained_spo_differs(folder):
    report = load(folder)
    found = {match.method: match for match in matches(report.current)}
    exact, other = found["least squares"], found["SPO+, corrected"]
    assert found["SPO+"].seeds == (0, 1)
    assert exact.seeds == (0, 1, 2, 7)
    assert np.abs(exact.differences).max() < 1e-12
    assert other.seeds == (0, 1, 2)
    sheet = build("published", report)
    verdicts = {record["method"]: record for record in sheet.records()}
    assert verdicts["least squares"]["verdict"] == "agrees"
    assert verdicts["least squares"]["largest"] < 1e-12
    assert verdicts["SPO+, corrected"]["verdict"] == "differs", "one epoch is not a thousand"
    assert verdicts["SPO+, corrected"]["runs"] == 3
    assert verdicts["SPO+"]["runs"] == 2


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
        (
            setting.name,
            setting.settings.train,
            setting.settings.degree,
            setting.protocol.epochs,
            plan.options.oracle,
            plan.options.averaged,
        )
        for setting in sweep.settings
        for plan in setting.methods
        if plan.name.startswith("spo")
    }
    wanted = set()
    for entry in published():
        if entry.method == "least squares" or entry.source != "published":
            continue
        exact = entry.method == "SPO+" and entry.setting.startswith("multi")
        oracle = "decide" if exact else "relax"
        wanted.add((entry.setting, entry.train, entry.degree, entry.epochs, oracle, True))
    assert asked == wanted
    assert all(setting.protocol.choose == "last" for setting in sweep.settings)


def test_one_published_run_is_compared_with_one_more_draw_of_repeats(tmp_path):
    dglbench.run_many(
        tasks=["shortest-path-5"],
        methods=["pyepo-nid"],
        set={"train": 1000, "degree": 4, "source": "notebook"},
        option={"lr": 0.01, "start": "fresh"},
        predictor=["linear:units=raw"],
        seeds=[42],
        repeats=3,
        epochs=2,
        solver="batched",
        out=tmp_path,
    )
    (match,) = matches(load(tmp_path).current)
    (record,) = build("published", load(tmp_path)).records()
    draws = match.repeats[0]
    assert (match.published.source, match.published.method) == ("notebook", "NID")
    assert (record["runs"], record["epochs"]) == (3, 2)
    reach = 4.302652729911275 * draws.std(ddof=1) * (4 / 3) ** 0.5  # t of two degrees of freedom
    assert record["difference"] == pytest.approx(draws.mean() - 0.0890)
    assert record["low"] == pytest.approx(draws.mean() - 0.0890 - reach)
    assert record["high"] == pytest.approx(draws.mean() - 0.0890 + reach)
    assert record["published_s"] is None


@pytest.mark.parametrize(
    ("preset", "source"), [("published-cave", "cave"), ("published-notebook", "notebook")]
)
def test_later_presets_have_every_method_that_their_epochs_allow(preset, source):
    sweep = resolve([from_preset(preset), Request()])
    asked = {
        (
            setting.settings.degree,
            plan.name,
            setting.protocol.epochs,
            getattr(plan.options, "ranking", None),
        )
        for setting in sweep.settings
        for plan in setting.methods
    }
    entries = [entry for entry in published() if entry.source == source]
    wanted = {
        (entry.degree, found.method, entry.epochs, found.options.get("ranking"))
        for entry in entries
        for found in counterparts(entry)
        if found.method not in ("two-stage", "pyepo-nce") or source != "cave"
    }
    assert asked == wanted
    assert all(plan.options.lr == 0.01 for setting in sweep.settings for plan in setting.methods)
    assert {setting.seeds for setting in sweep.settings} == {entries[0].seeds}
    assert all(setting.protocol.choose == "last" for setting in sweep.settings)

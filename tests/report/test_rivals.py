"""Does it pay? The map, the curve over predictors and the table, from a small sweep."""

import csv
import dataclasses
from pathlib import Path

import pytest

from dglbench.errors import ReportError, SweepError
from dglbench.report.figures import predictors, save, when_it_pays
from dglbench.report.loading import load
from dglbench.report.method_names import ACCURATE
from dglbench.report.statistics.paired import Pairs
from dglbench.report.statistics.rivals import SMALL, capacity, of_predictor, rivalries, verdict
from dglbench.report.tables import build
from dglbench.sweep.request.request import Request, from_preset, read_request
from dglbench.sweep.request.resolve import resolve

SWEEP = """
methods = ["least-squares", "two-stage", "rdgl-newton"]
tasks = ["matching-4"]
predictor = ["linear", "mlp:hidden=4"]
seeds = [1]
repeats = 2
solver = "batched"
epochs = 2
warm_start_epochs = 3
set = { val = 8, test = 12 }
vary = { noise = [0.0, 1.0], train = [8, 16] }
option = { start = "fresh" }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from dglbench.cli import main

    place = tmp_path_factory.mktemp("rivals")
    (place / "sweep.toml").write_text(SWEEP)
    out = place / "runs"
    assert main(["sweep", "--config", str(place / "sweep.toml"), "--out", str(out)]) == 0
    return out


def test_a_setting_is_made_for_every_combination(folder):
    report = load(folder)
    found = {(unit.settings["noise"], unit.settings["train"]) for unit in report.units}
    assert found == {(0.0, 8), (0.0, 16), (1.0, 8), (1.0, 16)}
    assert len(report.runs) == 4 * (2 * 2 * 2 + 1)


def test_validation_chooses_both_sides(folder):
    report = load(folder)
    found = rivalries(report, Pairs(report))
    assert len(found) == 4
    for rivalry in found:
        for result in rivalry.comparison.results:
            same = (result.first.identity.method in ACCURATE) == (
                rivalry.accurate.first.identity.method in ACCURATE
            )
            chosen = rivalry.accurate if same else rivalry.focused
            assert chosen.val_regret <= result.val_regret
        gain = rivalry.accurate.regret() - rivalry.focused.regret()
        assert rivalry.gain.mean == pytest.approx(gain)
        if rivalry.gain.high <= SMALL:
            assert verdict(rivalry) == "does not pay"
        elif rivalry.gain.low <= 0:
            assert verdict(rivalry) == "cannot tell with these repeats"
        else:
            assert verdict(rivalry) == "pays"


def test_a_gain_too_small_to_matter_does_not_pay(folder):
    report = load(folder)
    one = rivalries(report, Pairs(report))[0]
    for low, high, said in (
        (1e-6, 0.5 * SMALL, "does not pay"),
        (1e-6, 2 * SMALL, "pays"),
        (-1e-6, 2 * SMALL, "cannot tell with these repeats"),
        (-2 * SMALL, -SMALL, "does not pay"),
    ):
        gain = one.gain._replace(mean=(low + high) / 2, low=low, high=high)
        assert verdict(dataclasses.replace(one, gain=gain)) == said


def test_with_one_predictor_both_sides_have_it(folder):
    report = load(folder)
    for rivalry in rivalries(report, Pairs(report), "mlp:hidden=4"):
        assert rivalry.accurate.first.predictor == rivalry.focused.first.predictor == "mlp:hidden=4"
    squares = next(
        result
        for rivalry in rivalries(report, Pairs(report))
        for result in rivalry.comparison.results
        if result.method == "least-squares"
    )
    assert of_predictor(squares, "linear")
    assert not of_predictor(squares, "mlp:hidden=4")


def test_predictors_are_sorted_by_capacity():
    names = ["cnn", "mlp", "mlp:hidden=16", "linear", "mlp:hidden=4", "mlp:hidden=16,layers=2"]
    assert sorted(names, key=capacity) == [
        "linear", "mlp:hidden=4", "mlp:hidden=16", "mlp:hidden=16,layers=2", "mlp", "cnn"
    ]  # fmt: skip


def test_the_table_says_it_in_words(folder):
    sheet = build("rivals", load(folder))
    records = sheet.records()
    assert len(records) == 4
    for record in records:
        assert record["gain"] == pytest.approx(
            100 * (record["accurate_regret"] - record["focused_regret"])
        )
        assert record["gain_low"] <= record["gain_high"]
        assert record["verdict"] in ("pays", "does not pay", "cannot tell with these repeats")
        assert record["accurate_s"] > 0
        assert record["focused_s"] > 0


def test_the_map_has_every_setting_and_predictor(folder, tmp_path):
    frame = when_it_pays.data(load(folder))
    assert set(frame["predictor"]) == {"linear", "mlp:hidden=4", "any"}
    assert len(frame) == 4 * 3
    assert frame["panel"].n_unique() == 2
    save("when-it-pays", load(folder), tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 5000


def test_the_curve_over_predictors_shows_models_of_their_own_apart(folder, tmp_path):
    frame = predictors.data(load(folder))
    own = frame.filter(frame["predictor"].is_null())
    assert set(own["method"]) == {"least-squares"}
    assert len(frame) == 4 * (2 * 2 + 1)
    save("predictors", load(folder), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5000


def test_one_side_alone_is_said(folder):
    report = load(folder)
    alone = report.only(methods=["least-squares"])
    for make in (lambda: build("rivals", alone), lambda: when_it_pays.data(alone)):
        with pytest.raises(ReportError, match="--preset when-it-pays"):
            make()
    with pytest.raises(ReportError, match="two predictors or more"):
        predictors.data(alone)


def test_the_command_line_writes_them(folder, cli, tmp_path):
    words = ("report", str(folder), "--table", "rivals", "--format", "csv", "--out", "made")
    done = cli(*words)
    assert done.code == 0, done.err
    written = next(Path(tmp_path / "made").rglob("rivals.csv"))
    assert len(list(csv.DictReader(written.read_text("utf-8").splitlines()))) == 4


def test_what_is_set_does_not_vary():
    preset = from_preset("when-it-pays")
    for given, noises in (({}, {0.0, 0.5, 1.0}), ({"noise": "0.25"}, {0.25})):
        sweep = resolve([preset, Request(tasks=("matching-4",), set=given)])
        made = [(s.settings.noise, s.settings.train, s.predictor) for s in sweep.settings]
        assert {noise for noise, _, _ in made} == noises
        assert {train for _, train, _ in made} == {20, 100, 400}
        assert len(made) == len(set(made)) == 3 * 4 * len(noises)
    own = resolve([preset, Request(tasks=("knapsack-24",), set={"train": "50"})])
    assert {s.settings.noise for s in own.settings} == {0.0, 25.0, 100.0}, "what its file names"
    assert {s.settings.train for s in own.settings} == {50}


@pytest.mark.parametrize(
    ("task", "given", "noises", "sizes"),
    [
        ("scheduling-10", {}, {0.0, 10.0, 40.0}, {20, 100, 400}),
        ("scheduling-10", {"source": "icon"}, {0.0}, {20, 100, 400}),
        ("knapsack-24", {"source": "semo"}, {25.0}, {20, 100, 400}),
    ],
)
def test_real_labels_vary_in_number_alone(task, given, noises, sizes):
    protocol = {"evaluate_every": 1, "warm_start_epochs": 1}  # else sizes are looked up in the data
    asked = Request(tasks=(task,), set=given, protocol=protocol)
    sweep = resolve([from_preset("when-it-pays"), asked])
    assert {s.settings.noise for s in sweep.settings} == noises
    assert {s.settings.train for s in sweep.settings} == sizes


@pytest.mark.parametrize("task", ["terrain-12", "cora-50"])
def test_what_does_not_read_a_tasks_features_is_left_out_of_the_preset(task):
    protocol = {"evaluate_every": 1, "warm_start_epochs": 1}
    preset = from_preset("when-it-pays")
    for setting in resolve([preset, Request(tasks=(task,), protocol=protocol)]).settings:
        names = {plan.name for plan in setting.methods}
        assert "two-stage" in names
        assert not names & {"least-squares", "boosted-trees"}
        assert setting.predictor.startswith("cnn" if task == "terrain-12" else ("linear", "mlp"))
    named = Request(tasks=(task,), protocol=protocol, methods=("least-squares",))
    (first, *_) = resolve([preset, named]).settings
    assert [plan.name for plan in first.methods] == ["least-squares"], "what is named is made"


def test_what_varies_must_be_lists():
    with pytest.raises(SweepError, match=r"vary\.noise must be a list"):
        read_request({"vary": {"noise": 1}}, "x.toml")

"""A lead-in: other epochs first, on the clock, in the name, never selected."""

import dataclasses
import json

import pytest

import dglbench
from dglbench.errors import DglbenchError
from dglbench.plugins import find_method
from dglbench.report import load
from dglbench.report.statistics.curves import curves
from dglbench.report.style.palette import method_order, style
from dglbench.runs.record import RunRecord
from dglbench.sweep.request.request import Request
from dglbench.sweep.request.specs import one_spec, request_like
from dglbench.training.lead_in import with_lead_in

from .helpers import make_spec, run

SMALL = {"n": 8, "train": 24, "val": 10, "test": 10}
SHORT = {"epochs": 3, "warm_start_epochs": 10, "batch_size": 8}


def table(ran, name, *columns):
    return [tuple(row[c] for c in columns) for row in ran.tables[name].to_pylist()]


@pytest.fixture(scope="module")
def ran():
    return run(make_spec("matching", "spo-after-dgl-none-3", epochs=4))


def test_its_epochs_come_first_and_are_on_the_clock(ran):
    assert ran.record.state == "done", ran.record.status.traceback
    timing = ran.tables["timing"].to_pylist()
    assert [row["epoch"] for row in timing] == [-4, -3, -2, -1, 0, 1, 2, 3, 4]
    instances = ran.record.summary.instances["train"]
    assert [row["solves_label"] for row in timing] == [instances, 0, 0, 0, instances, 0, 0, 0, 0]
    assert [row["solves_train"] for row in timing] == [0] * 5 + [instances] * 4
    summary = ran.record.summary
    assert summary.train_s == pytest.approx(sum(row["epoch_s"] for row in timing))
    assert summary.setup_s == pytest.approx(timing[0]["epoch_s"] + timing[4]["epoch_s"])
    assert summary.epochs_run == 4
    assert ran.record.selected.elapsed_s > timing[4]["elapsed_s"]


def test_what_leads_in_is_what_a_run_of_its_own_does(ran):
    """Up to the batches: its stream is another, so that the run's own batches stay the same."""
    alone = run(make_spec("matching", "dgl-none", epochs=3))
    start = [table(r, "regret", "relative_regret")[:2] for r in (ran, alone)]
    assert start[0] == start[1]
    epochs = {epoch for (epoch,) in table(ran, "duals", "epoch")}
    assert epochs == {-4, -3, -2, -1}  # the diagnostics of dgl-none, and none of spo's


def test_no_epoch_of_it_is_selected():
    """Not even where the run's own method ruins what the lead-in had."""
    spec = make_spec("matching", "spo-after-dgl-none-3", epochs=2, options={"lr": 100.0})
    ran = run(spec)
    val = dict(
        row[1:] for row in table(ran, "regret", "split", "epoch", "relative_regret")
        if row[0] == "val"
    )  # fmt: skip
    assert min(val, key=val.get) <= 0 < ran.record.selected.epoch
    assert val[-1] == val[0]  # the set-up in between trains nothing
    assert ran.record.selected.val.relative_regret == min(val[1], val[2])


def test_the_same_spec_gives_the_same_regrets(ran):
    again = run(ran.spec)
    columns = ("epoch", "split", "relative_regret", "mse")
    assert table(again, "regret", *columns) == table(ran, "regret", *columns)
    assert table(again, "timing", "loss")[1:4] == table(ran, "timing", "loss")[1:4]


def test_it_is_part_of_the_identity_and_old_records_have_none(ran):
    plain = make_spec("matching", "spo", epochs=4)
    assert plain.identity.lead_in is None
    assert ran.spec.identity.lead_in["method"] == "dgl-none"
    assert ran.spec.identity.lead_in["epochs"] == 3
    assert "spo-after-dgl-none-3" in ran.spec.run_id
    hotter = one_spec(
        [
            request_like(ran.spec.identity),
            Request(methods=("spo",), lead_in="dgl-none:3,tau=0.7"),
        ]
    )
    assert hotter.lead_in.options.tau == 0.7
    options = dataclasses.replace(hotter.lead_in.options, tau=0.8)
    other = dataclasses.replace(
        hotter, lead_in=dataclasses.replace(hotter.lead_in, options=options)
    )
    assert hotter.run_id != other.run_id
    document = json.loads(json.dumps(run(plain).record.document()))
    del document["identity"]["lead_in"]  # as written before there were any
    old = RunRecord.parse(document)
    assert old.identity.run_id == plain.run_id


def test_defaults_are_those_of_its_own_method_at_that_size(ran):
    own = make_spec("matching", "dgl-none", epochs=4).options
    lead_in = ran.spec.lead_in.options
    assert (lead_in.tau, lead_in.alpha) == (own.tau, own.alpha)


def test_a_method_that_starts_from_nothing_does_so_as_a_lead_in():
    after_two_stage = make_spec("matching", "spo-after-two-stage-2")
    assert not after_two_stage.starts_warm
    assert after_two_stage.options.start == "fresh"
    assert make_spec("matching", "two-stage-after-spo-2").starts_warm


def test_a_start_given_for_a_run_is_its_lead_ins():
    fresh = make_spec("matching", "spo-after-dgl-none-2", start="fresh")
    assert (fresh.options.start, fresh.lead_in.options.start) == ("fresh", "fresh")
    assert not fresh.starts_warm
    again = one_spec([request_like(fresh.identity), Request()])
    assert again.run_id == fresh.run_id
    with pytest.raises(DglbenchError, match="begins with its lead-in two-stage, whose start is fr"):
        make_spec("matching", "spo-after-two-stage-2", start="warm")


def test_names_are_read_and_shown():
    assert with_lead_in("QPTL", "DGL-none:5,tau=0.5") == "qptl-after-dgl-none-5"
    choice = find_method("dgl-5-after-dgl-1-2")
    assert (choice.own_name, choice.from_name, choice.lead_in) == ("dgl-5", {"U": 5}, ("dgl-1", 2))
    assert style("qptl-after-dgl-none-5").label == "QPTL after DGL-none×5"
    assert style("pyepo-pfyl").label == "PyEPO PFYL"
    assert sorted(["spo", "qptl-after-dgl-1-2", "qptl", "dgl-1"], key=method_order) == [
        "spo", "qptl", "qptl-after-dgl-1-2", "dgl-1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dgl-none", "a lead-in is a method and its epochs"),
        ("dgl-none:0", "a lead-in is a method and its epochs"),
        ("dgl-none:five", "a lead-in is a method and its epochs"),
        ("nope:5", "there is no method 'nope'"),
        ("spo-after-spo-1:5", "has no lead-in of its own"),
        ("dgl-none:5,mu=1", "the lead-in dgl-none has no option 'mu'"),
        ("dgl-none:5,tau=-1", "the lead-in dgl-none: tau must be"),
        ("dgl-3:5,U=2", "fixes U by its name"),
    ],
)
def test_a_mistake_is_a_sentence(text, says):
    with pytest.raises(DglbenchError, match=says):
        dglbench.train("matching", "spo", set=SMALL, lead_in=text, **SHORT)


def test_one_run_from_the_shell_and_its_like(cli, tmp_path):
    words = [f"--set={key}={value}" for key, value in SMALL.items() if key != "n"]
    common = ("--epochs", "2", "--out", str(tmp_path), "--json")
    first = cli("train", "matching-8", *words, "--method", "spo", "--lead-in", "dgl-none:2,tau=0.7",
                *common)  # fmt: skip
    assert first.code == 0, first.err
    folder = json.loads(first.out)["run"]
    again = cli("train", "--like", folder, *common)
    assert json.loads(again.out)["existed"]
    other = cli("train", "--like", folder, "--lead-in", "dgl-none:1", *common)
    identity = json.loads(other.out)["identity"]
    assert identity["method"] == "spo-after-dgl-none-1"
    assert identity["lead_in"]["options"]["tau"] != 0.7


def test_a_sweep_resumes_from_its_own_file_and_the_report_shows_it(cli, tmp_path):
    out = tmp_path / "results"
    told = []
    sizes = {name: value for name, value in SMALL.items() if name != "n"}
    common = {"out": out, "tasks": ["matching-8"], "seeds": [1], "set": sizes, **SHORT}
    dglbench.run_many(methods=["spo"], **common)
    wishes = {"methods": ["spo"], "lead_in": "dgl-none:2,tau=0.7", "option": {"spo": {"lr": 0.02}}}
    results = dglbench.run_many(**wishes, tell=told.append, **common)
    assert "spo-after-dgl-none-2" in told[-1]
    dglbench.run_many(**wishes, tell=told.append, **common)
    assert len([line for line in told if line.endswith(": done")]) == 1  # the second was there
    led = [r for r in results.runs.to_dicts() if r["method"] == "spo-after-dgl-none-2"]
    assert len(led) == 1
    assert led[0]["epoch"] > 0
    report = load(out)
    (run_led,) = (r for r in report.chosen_runs() if "after" in r.method)
    curve = curves(report, [run_led])
    assert curve["epoch"].to_list() == [-3, -2, -1, 0, 1, 2, 3]
    assert curve["best_epoch"].to_list()[:5] == [-3, -3, -3, -3, 1]  # the start, then its own
    assert curve["best_epoch"][-1] == run_led.selected_epoch
    assert curve["elapsed_s"][4] > curve["elapsed_s"][3] > curve["elapsed_s"][0] > 0
    saved = [p for p in out.glob("sweep-*.toml") if "after" in p.read_text("utf-8")]
    planned = cli("sweep", "--config", str(saved[0]), "--out", str(out), "--plan", "--json")
    assert planned.code == 0, planned.err
    assert json.loads(planned.out)["to_run"] == 0
    shown = cli("report", str(out), "--table", "leaderboard")
    assert "after DGL-none×2" in " ".join(shown.out.split())

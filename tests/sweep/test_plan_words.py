"""What a plan tells before anything is spent: how long, from where, on which data."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dglbench.data.importing import import_arrays
from dglbench.errors import OptionError
from dglbench.options import spell_out_ranges
from dglbench.plugins import find_task
from dglbench.runs import provenance
from dglbench.streams import stream
from dglbench.sweep.plan.reference_pace import reference_seconds
from dglbench.sweep.request.specs import single_run

ROOT = Path(__file__).parents[2]


def spec(setting="matching-50", method="spo", epochs=40, **given):
    return single_run(setting, method, settings=given, epochs=epochs)


def test_an_empty_folder_is_estimated_from_the_reference_runs(cli):
    outcome = cli("sweep", "--plan", "--tasks", "matching-10", "--methods", "spo,dgl-7")
    assert "unknown" not in outcome.out + outcome.err
    assert "6 runs is estimated from the reference runs" in outcome.err
    words = ["--tasks", "matching-10", "--methods", "spo,dgl-7", "--json"]
    document = json.loads(cli("sweep", "--plan", *words).out)
    assert document["seconds"] > 0
    assert {group["seconds_from"] for group in document["groups"]} == {"reference"}


def test_the_estimate_grows_with_epochs_instances_and_size():
    once = reference_seconds(spec())
    assert once > 0
    assert reference_seconds(spec(epochs=80)) == pytest.approx(2 * once)
    assert reference_seconds(spec("matching-100")) == pytest.approx(2 * once)
    assert reference_seconds(spec(train=1400)) > once
    assert reference_seconds(spec(method="dgl-6")) == reference_seconds(spec(method="dgl-5"))
    batched = dataclasses.replace(spec(), solver="batched")
    assert reference_seconds(batched) < once, "each family from its own runs"
    assert reference_seconds(spec("shortest-path-5", method="rdgl-newton")) > 0, "or another's"


def test_the_shipped_table_is_that_of_the_reference_runs():
    command = [sys.executable, str(ROOT / "benchmarks/reference_pace.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_plan_says_that_market_days_are_simulated(cli):
    knapsack = ["--methods", "spo", "--tasks", "knapsack-24"]
    assert "--set knapsack.source=semo takes the real" in cli("sweep", "--plan", *knapsack).err
    matching = ["--methods", "spo", "--tasks", "matching-10"]
    assert "simulated" not in cli("sweep", "--plan", *matching).err
    real = find_task("knapsack").parse_settings({"source": "semo"})
    assert find_task("knapsack").remark(real) is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1-3", "1 2 3"), ("10,25", "10 25"), ("7, 2 - 3 ,", "7 2 3"), ("5-5", "5"), ("a-b", "a-b")],
)
def test_ranges_are_spelt_out(text, numbers):
    assert spell_out_ranges(text) == numbers.split()


@pytest.mark.parametrize("text", ["3-1", "0-999999999"])
def test_a_range_that_makes_no_sense_is_refused(text):
    with pytest.raises(OptionError, match=f"the range {text} must go up"):
        spell_out_ranges(text)


def test_seed_ranges_reach_the_plan(cli):
    words = ["--tasks", "matching-10", "--methods", "spo", "--seeds", "1-2,9", "--json"]
    document = json.loads(cli("sweep", "--plan", *words).out)
    assert [group["seed"] for group in document["groups"]] == [1, 2, 9]


def test_a_busy_machine_is_told():
    assert provenance.busy(0.9, 1) is None
    assert provenance.busy(2.1, 2) is None
    assert provenance.busy(None, 1) is None
    assert "load 7.5, expected 2" in provenance.busy(7.5, 2)


def test_a_sweep_tells_it_once(cli, monkeypatch):
    monkeypatch.setattr(provenance, "current_load", lambda: 9.0)
    words = ["sweep", "--tasks", "matching-3", "--methods", "two-stage,dgl-none", "--seeds", "1"]
    small = ["--set", "train=4", "--set", "val=2", "--set", "test=2", "--epochs", "1"]
    outcome = cli(*words, *small)
    assert outcome.code == 0
    assert outcome.err.count("the machine is busy (load 9, expected 1)") == 1


def test_identity_does_not_know_how_a_name_was_written():
    tidy, loud = spec(method="dgl-5"), spec("MATCHING-50", method="DGL-05")
    assert dataclasses.asdict(tidy.identity) == dataclasses.asdict(loud.identity)


def test_own_data_are_estimated_from_tasks_of_their_size():
    draws = stream(3, "plan of own data")
    arrays = {"features": draws.normal(size=(30, 5, 4)), "labels": draws.normal(size=(30, 5, 3))}
    dataset = import_arrays({**arrays, "A": np.eye(3), "b": [2.0, 2.0, 2.0]})
    own = single_run(dataset, "spo", epochs=40, solver="batched")
    once = reference_seconds(own, dataset)
    assert 0 < once < 60
    longer = single_run(dataset, "spo", epochs=80, solver="batched")
    assert reference_seconds(longer, dataset) == pytest.approx(2 * once)
    assert reference_seconds(own) is None, "without the data their size is not known"

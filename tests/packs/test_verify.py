"""A pack that says what its runs found passes; one that was changed does not, whatever was."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys

import polars as pl
import pytest
from tampering import Opened

from dglbench import clock
from dglbench.packs.finding import find_runs
from dglbench.packs.writing import pack
from dglbench.verify.checks import verify
from dglbench.verify.plan import Search
from dglbench.verify.tuning import check_searches, choices_elsewhere
from dglbench.verify.verdict import Subject

SWEEP = (
    "sweep --tasks matching-6,knapsack-6 --methods spo,dgl-1 --repeats 2 --seeds 1 --solver batched"
    " --epochs 3 --set train=20 --set val=10 --set test=12 --set knapsack.source=synthetic --quiet"
)  # fmt: skip


SEARCH = (
    "sweep --tasks matching-6 --methods spo,least-squares --search random --trials 3 --tune-seeds"
    " 0,1 --solver batched --epochs 1 --set train=20 --set val=10 --set test=12 --quiet"
)  # fmt: skip


def swept(words, place):
    """Run a sweep as a process, and pack what it made."""
    command = [sys.executable, "-m", "dglbench", *words.split(), "--out", str(place / "runs")]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    pack(find_runs([place / "runs"]).runs, place / "runs.dglpack")
    return place / "runs.dglpack"


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Eight real runs."""
    return swept(SWEEP, tmp_path_factory.mktemp("sweep"))


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A real search over two data seeds, beside a method that fits at once."""
    return swept(SEARCH, tmp_path_factory.mktemp("search"))


def failed(path, **options):
    """The checks that fail, each with its problems."""
    verdicts = list(verify(path, **options))
    return {each.check: " | ".join(each.problems) for each in verdicts if not each.passed}


def test_an_honest_pack_passes_and_its_runs_can_be_repeated(packed):
    assert failed(packed, rerun=3, seed=1) == {}


def test_a_pack_written_again_unchanged_passes(packed, tmp_path):
    assert failed(Opened(packed).write(tmp_path / "same.dglpack")) == {}


def a_regret_in_the_record(opened):
    selected = opened.records[0]["summary"]["selected"]
    selected["test"]["relative_regret"] *= 0.5


def a_regret_everywhere(opened):
    record = opened.records[0]
    test = record["summary"]["selected"]["test"]
    for name in ("relative_regret", "pooled_regret", "absolute_regret"):
        test[name] *= 0.5
    is_test = (pl.col("split") == "test") & (
        pl.col("epoch") == record["summary"]["selected"]["epoch"]
    )
    for name in ("relative_regret", "pooled_regret", "absolute_regret"):
        column = pl.when(is_test).then(test[name]).otherwise(pl.col(name))
        opened.change("regret", 0, **{name: column})


def a_value_of_a_decision(opened):
    opened.change("decisions", 0, achieved_value=pl.col("optimal_value"), regret=0.0)


def a_better_decision(opened):
    """One that takes the best option of every group, whether there is room or not."""
    opened.change("decisions", 0, options=pl.col("options").list.eval(0 * pl.element()))


def an_optimum(opened):
    middle = 0.5 * (pl.col("optimal_value") + pl.col("achieved_value"))
    opened.change("decisions", 0, optimal_value=middle)


def a_test_instance_left_out(opened):
    rows = opened.decisions
    lost = (pl.col("optimal_value") - pl.col("achieved_value")).abs()
    worst = rows.filter(run=0).select(lost.arg_max()).item()
    opened.decisions = pl.concat([rows[:worst], rows[worst + 1 :]])


def a_run_left_out(opened):
    opened.drop(opened.find("spo"))


def a_run_and_its_line_in_the_plan(opened):
    opened.drop(opened.find("spo"))
    documents = {
        name: text.replace("train_seeds = [0, 1]", "train_seeds = [1]")
        for name, text in opened.manifest.documents.items()
    }
    opened.manifest = dataclasses.replace(opened.manifest, documents=documents)


def a_plan_left_out(opened):
    opened.manifest = dataclasses.replace(opened.manifest, documents={})


PHASES = [f"{name}_s" for name in clock.PHASES]


def a_phase_of_one_epoch(opened):
    second = pl.col("epoch") == 2
    opened.change(
        "timing",
        0,
        **{name: pl.when(second).then(0.1 * pl.col(name)).otherwise(name) for name in PHASES},
    )


def a_clock_beside_its_phases(opened):
    """Seconds are the sum of phases, so packs leave them out; here other ones are put in."""
    for number in range(len(opened.records)):
        opened.change("timing", number, epoch_s=0.1 * pl.sum_horizontal(PHASES))


def a_clock_turned_back(opened):
    opened.change("timing", 0, **{name: 0.1 * pl.col(name) for name in PHASES})
    opened.records[0]["summary"]["train_s"] *= 0.1


def a_wall_clock(opened):
    # Far below the clocks' tolerance: these runs are over in milliseconds.
    opened.records[0]["status"]["wall_s"] = -1.0


def an_epoch_chosen_on_test(opened):
    record = opened.records[0]
    rows = opened.curves.filter(run=0, table="regret")
    selected = record["summary"]["selected"]
    other = 0 if selected["epoch"] != 0 else 3
    at = {row["split"]: row for row in rows.filter(epoch=other).iter_rows(named=True)}
    for split in ("val", "test"):
        for name in ("relative_regret", "pooled_regret", "absolute_regret", "mse"):
            selected[split][name] = at[split][name]
    selected["epoch"] = other


def other_data(opened):
    first, *others = opened.manifest.data
    data = (dataclasses.replace(first, digest="0" * 64), *others)
    opened.manifest = dataclasses.replace(opened.manifest, data=data)


def timed_beside_others(opened):
    opened.records[0]["environment"]["concurrency"] = 4


def another_machine(opened):
    opened.records[0]["environment"]["machine"] = "elsewhere"


@pytest.mark.parametrize(
    ("change", "check", "says"),
    [
        (a_regret_in_the_record, "logs", "test figures of its record are not those of its curves"),
        (a_regret_everywhere, "decisions", "its test relative_regret is"),
        (a_value_of_a_decision, "decisions", "the value of "),
        (a_better_decision, "decisions", "the value of "),
        (an_optimum, "decisions", "the optimum of "),
        (a_test_instance_left_out, "decisions", "not one for each of the 12 test instances"),
        (a_run_left_out, "fairness", "missing: spo (linear) on knapsack-6, seed 1, repeat"),
        (a_run_and_its_line_in_the_plan, "fairness", "have different plans"),
        (a_plan_left_out, "fairness", "8 runs are in no sweep's plan"),
        (a_phase_of_one_epoch, "logs", "its clock ends at"),
        (a_clock_beside_its_phases, "logs", "an epoch's phases do not add up"),
        (a_clock_turned_back, "logs", "its clock says other"),
        (a_wall_clock, "logs", "s of wall time"),
        (an_epoch_chosen_on_test, "logs", "is selected, by validation it is"),
        (other_data, "data", "are not those of the runs"),
        (timed_beside_others, "fairness", "1 runs were timed while others ran"),
        (another_machine, "fairness", "timed on 2 different machines"),
    ],
)
def test_what_was_changed_is_found_though_all_checksums_were_made_anew(
    packed, tmp_path, change, check, says
):
    opened = Opened(packed)
    change(opened)
    found = failed(opened.write(tmp_path / "changed.dglpack"))
    assert says in found.get(check, ""), found


def test_an_infeasible_decision_is_found(packed, tmp_path):
    opened = Opened(packed)
    number = next(
        n for n, record in enumerate(opened.records) if record["identity"]["task"] == "matching"
    )
    opened.change("decisions", number, options=pl.col("options").list.eval(0 * pl.element()))
    found = failed(opened.write(tmp_path / "changed.dglpack"))
    assert "decisions break a constraint" in found["decisions"]


def test_validation_curves_that_were_made_up_are_found_by_training_again(packed, tmp_path):
    opened = Opened(packed)
    for number, record in enumerate(opened.records):
        selected = record["summary"]["selected"]
        selected["val"]["relative_regret"] *= 0.5
        here = (pl.col("split") == "val") & (pl.col("epoch") == selected["epoch"])
        lower = pl.when(here).then(selected["val"]["relative_regret"])
        opened.change("regret", number, relative_regret=lower.otherwise("relative_regret"))
    changed = opened.write(tmp_path / "changed.dglpack")
    assert failed(changed) == {}
    assert "not the same bits" in failed(changed, rerun=1)["reruns"]


def test_a_missing_trial_and_unequal_trials_are_found(packed, tmp_path):
    opened = Opened(packed)
    documents = dict(opened.manifest.documents)
    (name,) = (each for each in documents if each.endswith(".json"))
    document = json.loads(documents[name])
    document["search"] = "optuna"  # the plan in the file stays as it was
    for group in document["groups"]:
        group["runs"] = group["configurations"] = 4 if group["method"] == "spo" else 2
    documents[name] = json.dumps(document)
    opened.manifest = dataclasses.replace(opened.manifest, documents=documents)
    found = failed(opened.write(tmp_path / "changed.dglpack"))
    assert "3 of the 4 trials of spo on matching-6, seed 1 are missing" in found["fairness"]
    assert "spo was chosen from 4 configurations, dgl-1 from 2" in found["fairness"]


def test_a_search_over_data_seeds_passes_until_a_trial_is_changed(searched, tmp_path):
    assert failed(searched) == {}
    opened = Opened(searched)
    (name,) = (each for each in opened.manifest.documents if each.endswith(".json"))
    group = next(
        each
        for each in json.loads(opened.manifest.documents[name])["groups"]
        if each["method"] == "spo"
    )
    left_out = group["trials"][0]["runs"][1]
    opened.drop(next(n for n, r in enumerate(opened.records) if r["run_id"] == left_out))
    found = failed(opened.write(tmp_path / "short.dglpack"))
    assert "missing: 1 runs of trial 0 of spo on matching-6" in found["fairness"]

    opened = Opened(searched)
    text = opened.manifest.documents[name]
    regret = json.dumps(group["trials"][1]["regret"])
    assert regret in text
    worse = text.replace(f'"regret": {regret}', '"regret": 0.001')
    documents = {**opened.manifest.documents, name: worse}
    opened.manifest = dataclasses.replace(opened.manifest, documents=documents)
    found = failed(opened.write(tmp_path / "other.dglpack"))
    assert "trial 1 of spo on matching-6" in found["fairness"]
    assert "not 0.001" in found["fairness"]


def test_a_sweep_takes_packed_runs_as_made(packed, tmp_path, process):
    words = SWEEP.replace(" --quiet", "").split()
    plan = process(*words, "--out", str(packed), "--plan", "--json")
    assert plan.code == 0, plan.err
    assert json.loads(plan.out)["to_run"] == 0
    refused = process(*words, "--out", str(packed))
    assert refused.code == 2
    assert "is a pack, which is not added to; `dglbench unpack" in refused.err
    shutil.copytree(packed, tmp_path / "mixed" / "made.dglpack")
    more = [word.replace("spo,dgl-1", "spo,dgl-1,two-stage") for word in words]
    done = process(*more, "--out", str(tmp_path / "mixed"), "--json")
    assert done.code == 0, done.err
    made = sorted(path.name for path in (tmp_path / "mixed").glob("*-s1-*"))
    assert len(made) == 4
    assert all("two-stage" in name for name in made), "the others are in the pack"
    assert len(find_runs([tmp_path / "mixed"]).runs.records) == 12
    table = json.loads(process("report", str(tmp_path / "mixed"), "--json").out)
    assert len(table["tables"]["leaderboard"]["rows"]) == 8, "three methods and a start"


def test_the_command_gives_plain_verdicts_and_an_exit_code(packed, tmp_path, process):
    good = process("verify", str(packed))
    assert good.code == 0, good.err
    assert good.out.count(" passed: ") == 5
    opened = Opened(packed)
    a_run_left_out(opened)
    bad = process("verify", str(opened.write(tmp_path / "bad.dglpack")), "--json")
    assert bad.code == 1
    document = json.loads(bad.out)
    assert [each["check"] for each in document["checks"] if not each["passed"]] == ["fairness"]
    (tmp_path / "bad.dglpack" / "curves.parquet").write_bytes(b"PAR1")
    damaged = process("verify", str(tmp_path / "bad.dglpack"))
    assert damaged.code == 1
    assert "is damaged: its curves.parquet is not what was packed" in damaged.out
    assert "is no pack" in process("verify", str(tmp_path)).err


def test_timed_options_are_held_to_the_search_that_they_name():
    data = {"setting": "matching-6", "settings": {"n": 6}, "method": "spo", "predictor": "linear"}
    tuning = Search("sweep-abc.json", "random", {**data, "options": {"lr": 0.3}}, {})
    timed = Search("sweep-def.json", "none", {**data, "options": {"lr": 0.3}}, {"sweep": "abc"})
    other = dataclasses.replace(timed, group={**data, "options": {"lr": 0.1}})
    subject = Subject(None, {})
    assert not list(check_searches(subject, [tuning, timed]))
    assert choices_elsewhere([tuning, timed]) is None
    (problem,) = check_searches(subject, [tuning, other])
    assert "has other options than sweep-abc.json chose for spo" in problem
    assert "(abc)" in choices_elsewhere([timed])

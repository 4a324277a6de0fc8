"""The tuning curve: exact for random search, the path taken for searches that learn."""

import itertools
import json

import numpy as np
import pytest
from make_logs import Options, make_run
from record_files import change_record

from dglbench.errors import ReportError
from dglbench.report import load
from dglbench.report.figures import FIGURES, save
from dglbench.report.statistics.tuning import curve, searches

VALIDATION = [0.30, 0.10, 0.20, 0.40]
TEST = [0.35, 0.25, 0.15, 0.45]


def search(out, kind, *, again=None):
    """Four trials on two data seeds each, as a sweep lists them.

    ``again`` maps a trial that is made again to its new validation and test regret.
    """
    trials = []
    for number, (validation, test) in enumerate(zip(VALIDATION, TEST, strict=True)):
        entry = {"trial": number, "runs": trial_runs(out, number, validation, test), "again": None}
        if again and number in again:
            entry["again"] = {"runs": trial_runs(out, number, *again[number], 9)}
        trials.append(entry)
    group = {"method": "spo", "run_id": trials[1]["runs"][0], "trials": trials}
    (out / "sweep-abc.json").write_text(json.dumps({"search": kind, "groups": [group]}))
    return load(out)


def trial_runs(out, number, validation, test, train_seed=0):
    names = []
    for seed in (1, 2):
        run = make_run(out, "spo", n=10, seed=seed, epochs=2, train_seed=train_seed + number,
                       options=Options(lr=0.1 + number))  # fmt: skip

        def set_regrets(record):
            selected = record["summary"]["selected"]
            selected["val"]["relative_regret"] = validation + 0.001 * seed  # noqa: B023
            selected["test"]["relative_regret"] = test

        change_record(run, set_regrets)
        names.append(run.name)
    return names


def test_random_search_is_the_mean_over_all_orders(tmp_path):
    (found,) = searches(search(tmp_path, "random"))
    assert found.setting == "matching-10"
    rows = curve(found)
    for k in range(1, 5):
        subsets = list(itertools.combinations(range(4), k))
        chosen = [min(subset, key=lambda at: VALIDATION[at]) for subset in subsets]
        assert rows["test_regret"][k - 1] == pytest.approx(np.mean([TEST[at] for at in chosen]))
    seconds = [trial.seconds for trial in found.trials]
    assert rows["seconds"].to_list() == pytest.approx([k * np.mean(seconds) for k in range(1, 5)])


def test_a_search_that_learns_shows_the_path_it_took(tmp_path):
    (found,) = searches(search(tmp_path, "optuna"))
    assert not found.at_random
    rows = curve(found)
    assert rows["test_regret"].to_list() == [0.35, 0.25, 0.25, 0.25]
    assert rows["seconds"].to_list() == pytest.approx(
        np.cumsum([trial.seconds for trial in found.trials])
    )


def test_trials_made_again_are_judged_by_their_new_runs(tmp_path):
    """The lucky first run of a trial may choose it; what it is worth, the new runs say."""
    (found,) = searches(search(tmp_path, "random", again={1: (0.1, 0.5)}))
    assert curve(found)["test_regret"][-1] == pytest.approx(0.5)


def test_a_report_chooses_by_runs_made_again_alone_as_the_search_did(tmp_path):
    """The mean with the lucky first run of trial 1 would be the lowest; the new runs' is not."""
    report = search(tmp_path, "random", again={1: (0.28, 0.5), 2: (0.25, 0.6)})
    assert {run.options["lr"] for run in report.chosen_runs()} == {2.1}
    assert {run.test_regret for run in report.chosen_runs()} == {0.6}


def test_runs_of_a_sweep_that_lists_no_trials_are_taken_in_their_order(tmp_path):
    names = []
    for place, lr in enumerate((0.3, 0.1, 0.2)):
        finished = f"2026-01-0{3 - place}T00:00:00+00:00"
        run = make_run(tmp_path, "spo", epochs=2, options=Options(lr=lr), regret_factor=1 + lr,
                       status={"finished": finished})  # fmt: skip
        names.append(run.name)
    group = {"method": "spo", "run_id": names[1]}
    (tmp_path / "sweep-abc.json").write_text(json.dumps({"search": "optuna", "groups": [group]}))
    (found,) = searches(load(tmp_path))
    assert len(found.trials) == 3
    by_lr = {run.options["lr"]: run.val_regret for run in load(tmp_path).runs}
    assert [trial.validation for trial in found.trials] == [by_lr[lr] for lr in (0.2, 0.1, 0.3)]


def test_it_is_drawn_with_each_kind_named_and_refused_without_a_search(tmp_path, report, capfd):
    made = search(tmp_path / "random", "random")
    save("tuning", made, tmp_path / "tuning.png")
    assert capfd.readouterr() == ("", "")
    assert "what to expect" in " ".join(FIGURES["tuning"].draw(made).labels.caption.split())
    went = FIGURES["tuning"].draw(search(tmp_path / "optuna", "optuna"))
    assert "as the search went" in " ".join(went.labels.caption.split())
    with pytest.raises(ReportError, match="needs the runs of a search"):
        FIGURES["tuning"].data(report)

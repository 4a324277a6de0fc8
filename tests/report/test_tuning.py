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
from dglbench.report.narrow import narrow
from dglbench.report.statistics.tuning import Round, Search, Trial, curve, searches
from dglbench.report.tables import build
from dglbench.runs.store import read_record

VALIDATION = [0.30, 0.10, 0.20, 0.40]
TEST = [0.35, 0.25, 0.15, 0.45]


def search(out, kind, *, again=None):
    """Four trials on two data seeds each, as a sweep lists them.

    ``again`` maps a trial that is made again to its new validation and test regret.
    """
    trials = []
    for number, (validation, test) in enumerate(zip(VALIDATION, TEST, strict=True)):
        entry = {"trial": number, **round_entry(out, number, validation, test), "again": None}
        if again and number in again:
            entry["again"] = round_entry(out, number, *again[number], 9)
        trials.append(entry)
    parts = [trial["again"] for trial in trials if trial["again"]] or trials
    chosen = min(parts, key=lambda part: part["regret"])
    group = {
        "method": "spo", "run_id": chosen["runs"][0], "trials": trials, "configurations": 4,
        "runs": 2 * (4 + len(again or ())), "failed": 0, "solver_calls": 1, "concurrency": 1,
        "seconds": sum(part["seconds"] for t in trials for part in (t, t["again"]) if part),
    }  # fmt: skip
    (out / "sweep-abc.json").write_text(json.dumps({"search": kind, "groups": [group]}))
    return load(out)


def round_entry(out, number, validation, test, train_seed=0):
    names = trial_runs(out, number, validation, test, train_seed)
    spent = [read_record(out / name).summary.train_s for name in names]
    return {"runs": names, "regret": validation + 0.0015, "seconds": sum(spent)}


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


AGAIN = {0: (0.27, 0.40), 1: (0.28, 0.50), 2: (0.25, 0.60)}
"""Three trials are made again: trial 1 was the best at first, and trial 2 is now."""


@pytest.mark.parametrize("kind", ["random", "optuna"])
def test_the_last_point_is_the_choice_with_the_seconds_of_the_account(tmp_path, kind):
    report = search(tmp_path, kind, again=AGAIN)
    (found,) = searches(report)
    last = curve(found).row(-1, named=True)
    assert {run.test_regret for run in report.chosen_runs()} == {last["test_regret"]} == {0.6}
    assert last["seconds"] == pytest.approx(report.sweeps[0]["groups"][0]["seconds"])
    (one_seed,) = searches(narrow(report, seeds="2"))
    assert curve(one_seed).row(-1, named=True) == last, "what decided were both data seeds"


def choice(subset, trials):
    """The rule in words: of the best four the lowest new regret, else the lowest first regret."""
    best = sorted(subset, key=lambda at: trials[at].first.validation)[:4]
    rerun = [at for at in best if trials[at].again]
    return min(rerun or best, key=lambda at: trials[at].deciding.validation)


def test_every_point_is_the_choice_among_the_best_four_of_so_many_trials():
    rng = np.random.default_rng(3)
    first = [Round(*rng.random(3)) for _ in range(8)]
    best = sorted(range(8), key=lambda at: first[at].validation)[:4]
    trials = tuple(
        Trial(each, Round(*rng.random(3)) if at in best else None) for at, each in enumerate(first)
    )
    seconds = [trial.seconds for trial in trials]
    assert sum(seconds) == pytest.approx(
        sum(each.seconds for each in first) + sum(trials[at].again.seconds for at in best)
    )
    expected = curve(Search("a", "spo", "random", trials))
    path = curve(Search("a", "spo", "optuna", trials))
    for k in range(1, 9):
        chosen = [choice(subset, trials) for subset in itertools.combinations(range(8), k)]
        mean = np.mean([trials[at].deciding.test for at in chosen])
        assert expected["test_regret"][k - 1] == pytest.approx(mean)
        assert expected["seconds"][k - 1] == pytest.approx(k * np.mean(seconds))
        assert path["test_regret"][k - 1] == trials[choice(range(k), trials)].deciding.test
        assert path["seconds"][k - 1] == pytest.approx(sum(seconds[:k]))


def test_a_trial_that_failed_again_is_not_chosen_and_its_seconds_count():
    trials = (
        Trial(Round(0.1, 0.1, 1.0), Round(np.inf, np.nan, 5.0)),
        Trial(Round(0.2, 0.2, 1.0), Round(0.4, 0.7, 5.0)),
        Trial(Round(0.3, 0.3, 1.0)),
    )
    for kind in ("random", "optuna"):
        assert curve(Search("a", "spo", kind, trials)).row(-1) == (3, pytest.approx(13.0), 0.7)


def test_a_search_over_data_seeds_is_paid_for_once(tmp_path):
    report = search(tmp_path, "random", again=AGAIN)
    seconds = report.sweeps[0]["groups"][0]["seconds"]
    (row,) = build("budget", report).records()
    assert (row["setting"], row["configurations"], row["runs"]) == ("matching-10", 4, 14)
    assert row["train_s"] == seconds
    (row,) = build("total", report).records()
    assert row["tuning_s"] == seconds


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
    assert [trial.first.validation for trial in found.trials] == [
        by_lr[lr] for lr in (0.2, 0.1, 0.3)
    ]


def test_it_is_drawn_with_each_kind_named_and_refused_without_a_search(tmp_path, report, capfd):
    made = search(tmp_path / "random", "random", again=AGAIN)
    save("tuning", made, tmp_path / "tuning.png")
    assert capfd.readouterr() == ("", "")
    said = " ".join(FIGURES["tuning"].draw(made).labels.caption.split())
    assert "what to expect" in said
    assert "approximate before the last point" in said
    went = FIGURES["tuning"].draw(search(tmp_path / "optuna", "optuna"))
    said = " ".join(went.labels.caption.split())
    assert "as the search went" in said
    assert "approximate" not in said, "no trial was trained again"
    with pytest.raises(ReportError, match="needs the runs of a search"):
        FIGURES["tuning"].data(report)

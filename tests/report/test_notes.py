"""What every table says of its regrets: of which epoch they are, and against what."""

import pytest
from make_logs import make_run
from record_files import change_record

from dglbench.report.loading import load
from dglbench.report.tables import build

WITH_REGRET = ("leaderboard", "summary", "ranks", "rivals", "runs", "total")


def two_methods(out):
    make_run(out, "two-stage")
    make_run(out, "least-squares", predictor="least-squares")
    make_run(out, "two-stage", n=10)
    make_run(out, "spo", n=10)
    return make_run(out, "spo")


def notes(folder, table):
    return " ".join(build(table, load(folder)).notes)


@pytest.mark.parametrize("table", WITH_REGRET)
def test_regrets_against_a_bound_are_called_so(tmp_path, table):
    folder = two_methods(tmp_path)
    assert "against a bound" not in notes(tmp_path, table)
    change_record(folder, lambda record: record["summary"].update(bounds={"test": 7}))
    assert "test regrets against a bound: 7 of 200 in matching-50" in notes(tmp_path, table)


@pytest.mark.parametrize("table", WITH_REGRET)
def test_the_last_epoch_is_named_where_it_counts(tmp_path, table):
    folder = two_methods(tmp_path)
    assert "the last epoch counts" not in notes(tmp_path, table)
    change_record(folder, lambda record: record["identity"]["protocol"].update(choose="last"))
    assert "matching-50: the last epoch counts" in notes(tmp_path, table)


def test_what_is_fitted_at_once_has_no_epoch_to_choose(tmp_path):
    folder = make_run(tmp_path, "least-squares", predictor="least-squares")
    change_record(folder, lambda record: record["identity"]["protocol"].update(choose="last"))
    assert "the last epoch counts" not in notes(tmp_path, "leaderboard")


@pytest.mark.parametrize("relative", [0.27, 0.0])
def test_relative_regret_far_from_pooled_regret_is_named(tmp_path, relative):
    folder = make_run(tmp_path, "spo")
    assert "twofold" not in notes(tmp_path, "leaderboard")

    def around_zero(record):
        test = record["summary"]["selected"]["test"]
        test.update(relative_regret=relative, pooled_regret=0.09)

    change_record(folder, around_zero)
    assert "matching-50: relative and pooled regret differ" in notes(tmp_path, "leaderboard")


def test_another_predictor_is_named_where_all_runs_have_the_linear_one(tmp_path):
    make_run(tmp_path, "spo")
    assert "--predictor mlp" in notes(tmp_path, "leaderboard")
    make_run(tmp_path, "spo", predictor="mlp")
    assert "--predictor mlp" not in notes(tmp_path, "leaderboard")

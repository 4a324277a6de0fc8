"""Methods with several predictors: names carry the predictor, and everything is still drawn."""

import pytest
from make_logs import make_folder

from dglbench.report import figures, load, page, tables
from dglbench.report.method_names import family, is_dgl, plain, qualifier, refresh_period
from dglbench.report.statistics.curves import reference_regret, start_regrets
from dglbench.report.statistics.standings import standings
from dglbench.report.style.choice import best_of_each_family

METHODS = ("two-stage", "spo", "qptl", "dgl-1", "rdgl-5", "rdgl-newton")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Six methods with two predictors: more than figures draw, so they choose."""
    out = tmp_path_factory.mktemp("logs") / "results"
    settings = [("matching", n, seed) for n in (10, 50) for seed in (1, 2, 3)]
    for number, predictor in enumerate(("linear", "mlp:hidden=16")):
        for repeat in range(2):
            make_folder(
                out, METHODS, settings, epochs=4, predictor=predictor, train_seed=repeat,
                regret_factor=1 - 0.2 * number,
            )  # fmt: skip
    return load(out)


def test_names_are_read_without_their_predictor():
    name = "rdgl-newton · mlp:hidden=16 · fresh"
    assert plain(name) == "rdgl-newton"
    assert qualifier(name) == "mlp:hidden=16 · fresh"
    assert qualifier("spo") == ""
    assert family(name) == "rdgl"
    assert family("two-stage · linear") == "two-stage"
    assert refresh_period("dgl-5 · mlp") == 5
    assert refresh_period("rdgl-5 · mlp") is None
    assert is_dgl("dgl-auto · mlp")


@pytest.mark.parametrize("name", figures.FIGURES)
def test_a_figure_is_drawn_or_says_why_not(name, report, tmp_path):
    from dglbench.errors import ReportError

    try:
        figures.save(name, report, tmp_path / "figure.svg", "svg")
    except ReportError:
        assert name in ("tuning", "by-degree", "when-it-pays", "scaling", "dual-health",
                        "regret-bound")  # fmt: skip
    else:
        assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_all_tables_and_the_page_are_made(report, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {})
    for name in ("summary", "leaderboard", "ranks", "anytime", "seeds", "pairwise", "total"):
        assert tables.build(name, report).rows
    assert page.build(report).startswith("<!doctype html>")


def test_a_figure_that_chooses_takes_one_of_each_family(report):
    kept = best_of_each_family(report, report.units)
    assert sorted(map(family, kept)) == ["dgl", "qptl", "rdgl", "spo", "two-stage"]


def test_speed_is_compared_with_the_baseline_that_has_the_same_predictor(report):
    for board in standings(report):
        for standing in board.standings:
            assert set(standing.speedups) == {"spo", "qptl"}
            if standing.result.first.identity.method == "spo":
                assert standing.speedups["spo"].times in (None, pytest.approx(1.0))


def test_the_start_that_curves_must_beat_is_one_that_some_run_had(report):
    unit = report.units[0]
    starts = start_regrets(report.chosen_runs(unit))
    assert set(starts) == {"linear", "mlp:hidden=16"}
    assert reference_regret(report, unit) in starts.values()

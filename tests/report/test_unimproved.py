"""One rule, on the leaderboard and the page: no method ended below the start that it began from."""

from dataclasses import dataclass

import pytest
from make_logs import Options, make_run
from record_files import change_record

from dglbench.report import load
from dglbench.report.page.outline import outline
from dglbench.report.page.verdict import verdict
from dglbench.report.statistics.standings import standings
from dglbench.report.tables import build
from dglbench.words import percent

LINEAR, MLP = "linear", "mlp:hidden=16"


@dataclass(frozen=True)
class Started(Options):
    start: str = "warm"


def set_regret(run, regret, start):
    """Give a run this test regret, from a warm start of that one; None is a fresh start."""

    def change(record):
        summary = record["summary"]
        summary["selected"]["test"]["relative_regret"] = regret
        if start is None:
            summary["warm_start"] = None
        else:
            summary["warm_start"]["test_relative_regret"] = start

    change_record(run, change)


def told(folder):
    """Return the board, what the leaderboard leads with, and the page's two sentences."""
    report = load(folder)
    (board,) = boards = standings(report)
    ((_, sentences),) = outline(report, boards, []).settings
    return board, build("leaderboard", report).lead, verdict(report, None, boards), sentences


@pytest.mark.parametrize("leader", [0.04, 0.12], ids=["below the start", "above the start"])
def test_a_fresh_leader_is_no_gain_on_a_warm_start(tmp_path, leader):
    fresh = make_run(tmp_path, "spo", epochs=2, options=Started(start="fresh"))
    set_regret(fresh, leader, None)
    set_regret(make_run(tmp_path, "spo", epochs=2, options=Started()), 0.15, 0.10)
    set_regret(make_run(tmp_path, "dgl-1", epochs=2, options=Started()), 0.20, 0.10)
    board, lead, first, sentences = told(tmp_path)
    assert board.standings[0].result.method == "spo · fresh"
    assert board.unimproved
    words = f"no method ended below the warm start that it began from, {percent(0.10)}"
    assert lead == (f"{board.comparison.title}: {words}.",)
    assert f", and {words}." in first
    assert f", and {words}." in sentences


def test_a_fresh_leader_hides_no_gain(tmp_path):
    fresh = make_run(tmp_path, "spo", epochs=2, options=Started(start="fresh"))
    set_regret(fresh, 0.04, None)
    set_regret(make_run(tmp_path, "dgl-1", epochs=2, options=Started()), 0.08, 0.10)
    board, lead, first, sentences = told(tmp_path)
    assert not board.unimproved
    assert not lead
    assert "no method" not in first
    assert f"(the warm start had {percent(0.10)})" in sentences


def test_without_a_start_there_is_nothing_to_improve_on(tmp_path):
    for method, regret in (("spo", 0.05), ("dgl-1", 0.06)):
        set_regret(make_run(tmp_path, method, epochs=2), regret, None)
    board, lead, first, sentences = told(tmp_path)
    assert not board.unimproved
    assert not lead
    assert "start" not in first + sentences


@pytest.mark.parametrize(
    ("mlp", "unimproved"), [(0.04, False), (0.06, True)], ids=["one gained", "none gained"]
)
def test_each_predictor_has_a_start_of_its_own(tmp_path, mlp, unimproved):
    """A network at 6 % is below the linear start's 10 %, but not below its own 5 %."""
    for method in ("spo", "dgl-1"):
        set_regret(make_run(tmp_path, method, epochs=2, predictor=LINEAR), 0.11, 0.10)
        set_regret(make_run(tmp_path, method, epochs=2, predictor=MLP), mlp, 0.05)
    board, lead, first, sentences = told(tmp_path)
    assert board.unimproved == unimproved
    words = {
        predictor: f"no method ended below the warm start · {predictor} that it began from, {start}"
        for predictor, start in ((LINEAR, percent(0.10)), (MLP, percent(0.05)))
    }
    where = board.comparison.title
    shown = list(words.values()) if unimproved else [words[LINEAR]]
    assert sorted(lead) == sorted(f"{where}: {each}." for each in shown)
    for sentence in (first, sentences):
        assert all((each in sentence) == unimproved for each in words.values())

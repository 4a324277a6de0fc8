"""Which runs a report is about, from the folder that was given; and a part of them."""

import pytest
from make_logs import make_run

from dglbench.errors import ReportError
from dglbench.report import load
from dglbench.report.narrow import narrow


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two experiments side by side, one of them a folder deeper."""
    root = tmp_path_factory.mktemp("logs")
    for method in ("two-stage", "spo"):
        make_run(root / "first/results", method, "matching", 10, 10)
        make_run(root / "first/results", method, "matching", 50, 25)
    make_run(root / "second/deep/runs", "dgl-5", "matching", 10, 10)
    (root / "second/empty").mkdir()
    return root


def names(report):
    return sorted((run.unit.n, run.method) for run in report.runs)


def test_a_folder_without_runs_stands_for_the_one_below_it(logs):
    assert names(load(logs / "first")) == names(load(logs / "first/results"))
    assert load(logs / "second").folder == logs / "second/deep/runs"


def test_several_folders_below_are_listed_and_not_mixed(logs):
    with pytest.raises(ReportError, match=r"2 folders below it do: .*first/results, .*deep/runs"):
        load(logs)


def test_several_folders_given_are_read_together(logs):
    both = load(logs / "first", logs / "second")
    assert len(both.runs) == 5
    assert both.methods == ["two-stage", "spo", "dgl-5"]
    assert len(load(logs / "first", logs / "first/results").runs) == 4


def test_one_run_is_a_report(logs):
    run = next((logs / "first/results").glob("matching-50-*-spo-*"))
    report = load(run)
    assert names(report) == [(50, "spo")]
    assert report.folder == logs / "first/results"


def test_no_runs_anywhere_is_one_sentence(logs):
    with pytest.raises(ReportError, match="holds no runs; `dglbench sweep"):
        load(logs / "second/empty")
    with pytest.raises(ReportError, match="there is no folder"):
        load(logs / "missing")


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({"methods": "SPO"}, [(10, "spo"), (50, "spo")]),
        ({"tasks": "matching-50"}, [(50, "spo"), (50, "two-stage")]),
        ({"tasks": "Matching", "seeds": "1-20", "methods": "spo"}, [(10, "spo")]),
        ({"seeds": "25"}, [(50, "spo"), (50, "two-stage")]),
    ],
)
def test_a_part_is_kept(logs, asked, left):
    assert names(narrow(load(logs / "first"), **asked)) == left


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"methods": "qptl"}, "no method 'qptl' in this report; it has two-stage, spo"),
        ({"tasks": "knapsack"}, "no task 'knapsack' in this report; it has matching-10"),
        ({"seeds": "1-3"}, "no seed of '1-3' is in this report; it has 10, 25"),
        ({"methods": ","}, "no method named"),
        ({"tasks": "matching-10", "seeds": "25"}, "no seed of '25' is in this report; it has 10"),
    ],
)
def test_a_part_that_is_not_there_is_refused(logs, asked, says):
    with pytest.raises(ReportError, match=says):
        narrow(load(logs / "first"), **asked)


def test_a_part_that_no_run_is_in_is_refused(logs):
    both = load(logs / "first", logs / "second")
    with pytest.raises(ReportError, match=r"no run in .* is all that"):
        narrow(both, methods="dgl-5", tasks="matching-50")


def test_the_command_finds_and_filters(logs, cli):
    outcome = cli("report", str(logs / "first"), "--methods", "spo", "--table", "runs")
    assert outcome.code == 0
    assert f"runs: {logs / 'first/results'}" in outcome.err
    assert "spo" in outcome.out
    assert "two-stage" not in outcome.out

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from make_logs import make_folder, make_run
from record_files import change_record

from dglbench.cli import main
from dglbench.report.claims.judge import read_claims
from dglbench.report.tables import TABLES


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("logs")
    make_folder(out, ["two-stage", "spo", "dgl-1"], [("matching", 10, 25)], epochs=5)
    make_run(out, "qptl", n=10, status={"state": "timeout", "message": "limit of 3 s"})
    return out


def report(*words: object) -> int:
    return main(["report", *map(str, words)])


def test_without_options_it_shows_the_leaderboard_and_what_else_there_is(folder, capfd):
    assert report(folder) == 0
    shown = capfd.readouterr()
    for name in ("Two-stage", "SPO+", "DGL-1", "vs SPO+"):
        assert name in shown.out
    assert "no result: matching-10, QPTL: timeout (limit of 3 s)" in shown.err
    assert "--html" in shown.err


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_shown(folder, capfd, name):
    assert report(folder, "--table", name) == 0
    assert capfd.readouterr().out.strip()


def test_a_long_table_is_printed_plainly_with_all_its_rows(folder, capfd, monkeypatch):
    from dglbench.cli import report_terminal as verb

    monkeypatch.setattr(verb, "_RICH_ROWS", 2)
    assert report(folder, "--table", "leaderboard") == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "matching-10"
    rows = lines[2:6]
    assert {row.split("  ")[0].rstrip("★≈ ") for row in rows} >= {"Two-stage", "SPO+", "DGL-1"}
    rows = [row for row in rows if "warm start" not in row]
    ends = {row.index(")") for row in rows}
    assert len(ends) == 1, "numbers are flush right"


def test_tables_go_to_files(folder, tmp_path, capfd):
    assert report(folder, "--table", "all", "--format", "csv", "--out", tmp_path / "new") == 0
    assert {file.stem for file in (tmp_path / "new").iterdir()} == set(TABLES)
    frame = pl.read_csv(tmp_path / "new" / "leaderboard.csv")
    assert set(frame["method"]) == {"two-stage", "spo", "dgl-1", "warm-start"}
    assert "leaderboard.csv" in capfd.readouterr().err


def test_a_format_without_a_folder_goes_to_standard_output(folder, capfd):
    assert report(folder, "--table", "leaderboard", "--format", "md") == 0
    assert capfd.readouterr().out.startswith("## Leaderboard\n")


def test_claims_are_shown_each_with_its_verdict(folder, capfd):
    assert report(folder, "--claims") == 0
    shown = capfd.readouterr().out
    for claim in read_claims():
        assert claim.statement in shown
    assert "not decidable here" in shown


def test_json_is_one_document(folder, capfd):
    assert report(folder, "--table", "leaderboard", "--claims", "--json") == 0
    document = json.loads(capfd.readouterr().out)
    assert len(document["tables"]["leaderboard"]["rows"]) == 4, "three methods, one start"
    assert [claim["id"] for claim in document["claims"]] == [claim.id for claim in read_claims()]
    assert {claim["verdict"] for claim in document["claims"]} <= {
        "supported", "refuted", "not decidable here",
    }  # fmt: skip


def test_figures_and_tables_in_one_go(folder, tmp_path, capfd):
    words = ["--figure", "time-split", "--table", "runs", "--format", "svg", "--format", "tex"]
    assert report(folder, *words, "--out", tmp_path, "--json") == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["runs.tex", "time-split.svg"]
    document = json.loads(capfd.readouterr().out)
    assert document["figures"] == {"time-split": str(tmp_path / "time-split.svg")}


def test_a_figure_in_several_formats_at_once(folder, tmp_path, capfd):
    words = ["--figure", "time-split", "--format", "pdf", "--format", "svg", "--out", tmp_path]
    assert report(folder, *words, "--json") == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["time-split.pdf", "time-split.svg"]
    document = json.loads(capfd.readouterr().out)
    assert document["figures"] == {"time-split": str(tmp_path / "time-split.pdf")}


def test_a_table_in_several_formats_at_once(folder, tmp_path, capfd):
    words = ["--table", "runs", "--table", "ranks", "--format", "md", "--format", "csv"]
    assert report(folder, *words, "--out", tmp_path) == 0
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"runs.md", "runs.csv", "ranks.md", "ranks.csv"}
    capfd.readouterr()
    assert report(folder, *words) == 0
    shown = capfd.readouterr().out
    assert "## Every run" in shown
    assert "run_id,setting,method" in shown


def test_figures_go_to_a_folder_of_that_name_by_default(folder, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert report(folder, "--figure", "pipelines") == 0
    assert (tmp_path / "figures" / "pipelines.png").is_file()
    assert "figures/pipelines.png" in capfd.readouterr().err


def test_all_figures_draws_what_can_be_and_names_the_rest(folder, tmp_path, monkeypatch, capfd):
    from dglbench.report import request

    monkeypatch.setattr(request, "FIGURE_NAMES", ("scaling", "time-split"))
    assert report(folder, "--figure", "all", "--out", tmp_path) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["time-split.png"]
    assert "scaling needs one task" in capfd.readouterr().err
    assert report(folder, "--figure", "scaling", "--out", tmp_path) == 2


def test_the_page(folder, tmp_path, monkeypatch, capfd):
    from dglbench.report import figures

    monkeypatch.setattr(figures, "FIGURES", {"time-split": figures.FIGURES["time-split"]})
    claims = tmp_path / "mine.toml"
    claims.write_text(
        '[[claim]]\nid = "x"\nstatement = "All is well."\ncheck = "improves"\n'
        'methods = ["dgl-1"]\nagainst = "spo"\n'
    )
    target = tmp_path / "deep" / "report.html"
    assert report(folder, "--html", target, "--claims-file", claims) == 0
    assert "All is well." in target.read_text()
    assert str(target) in capfd.readouterr().err


def only_failed(out: Path) -> None:
    make_run(out, "spo", status={"state": "failed", "message": "solver broke"})


def empty(out: Path) -> None:
    out.mkdir()


def newer(out: Path) -> None:
    change_record(make_run(out, "spo"), lambda record: record["identity"].update(format=99))


def nothing(out: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (nothing, "there is no folder"),
        (empty, "holds no runs"),
        (only_failed, "none of the 1 runs"),
        (newer, "log format 99"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, capfd, make, words):
    make(tmp_path / "logs")
    assert report(tmp_path / "logs") == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert len(shown.err.strip().splitlines()) == 1
    assert words in shown.err


def test_failed_runs_can_still_be_listed(tmp_path, capfd):
    only_failed(tmp_path)
    assert report(tmp_path, "--table", "runs") == 0
    assert "solver broke" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--figure", "pie"], "there are restarts, spread"),
        (["--table", "league"], "there are summary, leaderboard"),
        (["--format", "docx"], "figures take png, svg, pdf, tables md, csv, tex"),
        (["--format", "png"], "add --figure"),
        (["--figure", "pipelines", "--format", "md"], "add --table"),
        (["--claims-file", "/nowhere.toml"], "cannot be read"),
    ],
)
def test_mistakes_are_told_with_what_is_allowed(folder, capfd, words, told):
    assert report(folder, *words) == 2
    assert told in capfd.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--table", "runs", "--format", "md", "--out"],
        ["--figure", "pipelines", "--out"],
        ["--html"],
    ],
)
def test_a_place_that_cannot_be_written_is_told(folder, tmp_path, monkeypatch, capfd, words):
    from dglbench.report import figures

    kept = {"pipelines": figures.FIGURES["pipelines"]} if "--figure" in words else {}
    monkeypatch.setattr(figures, "FIGURES", kept)
    blocker = tmp_path / "file"
    blocker.write_text("")
    assert report(folder, *words, blocker / "below" / "x") == 2
    assert capfd.readouterr().err == (
        f"error: {blocker} is a file, not a folder; choose another {words[-1]}.\n"
    )


def test_the_verb_leaves_torch_and_solvers_alone(folder, tmp_path):
    code = (
        "import sys; from dglbench.cli import main\n"
        f"code = main(['report', {str(folder)!r}, '--table', 'all', '--claims'])\n"
        "print([m for m in ('torch', 'ortools', 'cvxpy', 'plotnine') if m in sys.modules], code)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert answer.stdout.splitlines()[-1] == "[] 0"


def test_writing_a_page_leaves_torch_and_solvers_alone(folder, tmp_path):
    code = (
        "import sys; from dglbench.cli import main; from dglbench.report import figures\n"
        "figures.FIGURES = {'time-split': figures.FIGURES['time-split']}\n"
        f"code = main(['report', {str(folder)!r}, '--html', {str(tmp_path / 'r.html')!r}])\n"
        "print([m for m in ('torch', 'ortools', 'cvxpy') if m in sys.modules], code)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines()[-1] == "[] 0"


def test_two_folders_are_compared(folder, capfd):
    assert report(folder, folder, "--table", "changes", "--json") == 0
    rows = json.loads(capfd.readouterr().out)["tables"]["changes"]["rows"]
    assert {row["verdict"] for row in rows} == {"the same"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--table", "changes"], "compares two folders, got 1"),
        (["--methods", "lodl"], "there is no method 'lodl' in this report"),
        (["--methods", ","], "there is no method named in this report"),
        (["--table", "summary", "--baseline", "lodl"], "no result of the baseline 'lodl'"),
        (["--figure", "time-split", "--width", "wide"], "--width takes column"),
        (["--table", "equivalence", "--band", "3"], "the band must be a share between 0 and 1"),
        (["--figure", "time-split", "--out", "a.pdf", "--format", "svg"], "is a pdf file"),
    ],
)
def test_more_mistakes_are_told(folder, capfd, words, sentence):
    assert report(folder, *words) == 2
    assert sentence in capfd.readouterr().err


def test_changes_are_asked_for_alone(folder, capfd):
    assert report(folder, folder, "--table", "changes", "--table", "summary") == 2
    assert "--table changes compares two folders; ask for it alone." in capfd.readouterr().err


def test_methods_narrow_and_a_suffix_is_a_format(folder, tmp_path, capfd):
    assert report(folder, "--table", "leaderboard", "--methods", "spo,dgl-1", "--json") == 0
    rows = json.loads(capfd.readouterr().out)["tables"]["leaderboard"]["rows"]
    assert {row["method"] for row in rows} == {"spo", "dgl-1", "warm-start"}
    target = tmp_path / "main.pdf"
    assert report(folder, "--figure", "time-split", "--width", "column", "--out", target) == 0
    assert target.read_bytes().startswith(b"%PDF")


def test_claims_show_their_rule(folder, capfd):
    assert report(folder, "--claims") == 0
    out = capfd.readouterr().out
    assert "rule   in every setting, more than half of the DGL variants have SPO+'s" in out
    assert "needs 1" in out
    assert "at most 1.5 times one of Two-stage" in out

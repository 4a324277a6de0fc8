"""What a newcomer meets first: help, examples, names in any case, places that cannot be written."""

import os
import shlex
import subprocess
import sys

import numpy as np
import pytest
from typer.main import get_command

from dglbench.cli import app, report_terminal

SMALL = ["--set", "train=4", "--set", "val=2", "--set", "test=2"]


def verb(name):
    return get_command(app.app)._load(name)


@pytest.mark.parametrize("name", app.VERBS)
def test_help_shows_a_default_for_every_option_and_none_for_flags(name, cli):
    told = cli(name, "--help").out
    assert "<bool>" not in told
    for param in verb(name).params:
        if param.param_type_name == "option" and not param.is_flag and not param.required:
            shown = (param.help or "").replace("\\[", "[")
            assert "[default: " in shown or param.default is not None, param.opts
    values = [
        p
        for p in verb(name).params
        if p.param_type_name == "option" and not p.is_flag and not p.required
    ]
    assert told.count("[default:") + told.count("[default") >= len(values)


@pytest.mark.parametrize("name", app.VERBS)
def test_every_verb_shows_two_examples_that_parse(name, cli):
    told = " ".join(cli(name, "--help").out.split())
    examples = told.partition("Examples ")[2]
    assert examples.count(f"dglbench {name}") >= 2
    for line in sys.modules[app.VERBS[name].module].EXAMPLES:
        program, called, *words = shlex.split(line)
        assert (program, called) == ("dglbench", name)
        verb(name).make_context(name, words)


def test_the_help_of_report_names_what_can_be_drawn(cli):
    from dglbench.report import figures, tables

    told = cli("report", "--help").out
    assert all(name in told for name in (*figures.FIGURES, *tables.TABLES))


def test_the_version_has_a_short_flag(cli):
    assert cli("-V") == cli("--version")
    assert cli("-V").out.startswith("dglbench ")


def test_quiet_leaves_results_warnings_and_errors(cli):
    loud = cli("generate", "matching-3", *SMALL)
    again = cli("generate", "matching-3", *SMALL)
    assert "holds this dataset already" in again.err
    for words in (["-q", "generate"], ["generate", "--quiet"]):
        quiet = cli(words[0], *words[1:], "matching-3", *SMALL)
        assert quiet == (0, loud.out, "")
    assert cli("-q", "generate", "nope").err.startswith("error: ")
    assert "holds this dataset already" in cli("generate", "matching-3", *SMALL).err


@pytest.mark.parametrize(
    ("typed", "offered"), [("dglbench sw", "sweep"), ("dglbench train --sol", "--solver")]
)
def test_a_shell_completes_verbs_and_options(typed, offered):
    environment = {
        **os.environ,
        "_DGLBENCH_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(typed.count(" ")),
    }
    done = subprocess.run(
        [sys.executable, "-m", "dglbench"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.split() == [offered]


@pytest.mark.parametrize(
    "words",
    [
        ["train", "matching-3", "--epochs", "1", *SMALL],
        ["sweep", "--tasks", "matching-3", "--epochs", "1", *SMALL],
        ["sweep", "--tasks", "matching-3", "--plan", *SMALL],
    ],
)
@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("file", "file is a file, not a folder; choose another --out."),
        ("file/below", "file is a file, not a folder; choose another --out."),
        ("x" * 300, "File name too long; choose another --out."),
    ],
)
def test_a_place_that_cannot_be_written_to_is_refused_alike(words, out, says, cli, tmp_path):
    (tmp_path / "file").write_text("kept")
    outcome = cli(*words, "--out", out)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.endswith(f"{says}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["generate", "matching-3", *SMALL, "--out", "file/x.parquet"], "--out"),
        (["generate", "matching-3", *SMALL, "--plot", "file/x.png"], "--plot"),
        (["import", "mine.npz", "--out", "file/x.parquet"], "--out"),
        (["apply", "run", "--data", "mine.npz", "--out", "file/x.csv"], "--out"),
        (["report", "--figure", "all", "--out", "file"], "--out"),
        (["report", "--html", "file/x.html"], "--html"),
    ],
)
def test_so_is_a_place_for_a_file(words, flag, cli, tmp_path):
    (tmp_path / "file").write_text("kept")
    given = {"features": np.ones((9, 3)), "labels": np.ones((9, 2)), "A": [1.0, 1.0], "b": 1.0}
    np.savez(tmp_path / "mine.npz", **given)
    outcome = cli(*words)
    assert outcome.code == 2
    assert outcome.err.endswith(f"file is a file, not a folder; choose another {flag}.\n")
    assert not (tmp_path / "data").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is root's to write to")
def test_a_folder_of_others_is_refused(cli, tmp_path):
    (tmp_path / "theirs").mkdir(mode=0o500)
    outcome = cli("sweep", "--plan", "--out", "theirs")
    assert outcome.code == 2
    assert "theirs cannot be written to" in outcome.err


def test_a_task_takes_its_size_by_name_as_in_a_sweep(cli, tmp_path):
    assert cli("generate", "Matching-3", *SMALL).code == 0
    first = next((tmp_path / "data").iterdir()).read_bytes()
    assert cli("generate", "matching", "--n", "3", "--out", "same.parquet", *SMALL).code == 0
    assert (tmp_path / "same.parquet").read_bytes() == first
    both = cli("generate", "matching-3", "--n", "4")
    assert both.code == 2
    assert "matching-3 has its size in its name, so n=4 cannot be set" in both.err


def test_names_are_read_in_any_case(cli):
    def runs(*words):
        import json

        outcome = cli("sweep", "--plan", "--json", *SMALL, *words)
        assert outcome.code == 0, outcome.err
        return [group["run_ids"] for group in json.loads(outcome.out)["groups"]]

    tidy = "--tasks matching-3 --methods dgl-5,spo --solver batched --option dgl-5.tau=0.3"
    loud = "--tasks MATCHING-3 --methods DGL-05,Spo --solver Batched --option DGL-5.tau=0.3"
    assert runs(*tidy.split()) == runs(*loud.split())


def test_a_setting_of_another_task_is_told_with_its_owner(cli):
    words = ["sweep", "--plan", "--tasks", "matching-10,knapsack-24", "--set", "source=semo"]
    outcome = cli(*words)
    assert outcome.code == 2
    assert outcome.err.endswith("To set it for knapsack alone, write --set knapsack.source=semo.\n")


def test_a_dataset_is_parquet(cli, tmp_path):
    outcome = cli("generate", "matching-3", "--out", "x.csv", *SMALL)
    assert outcome.code == 2
    assert "x.csv is named .csv; give --out a name such as x.parquet" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_refuses_is_no_bug(cli, monkeypatch):
    import dglbench.cli.catalogue as module

    def refuse():
        raise OSError(28, "No space left on device", "results")

    monkeypatch.setattr(module, "catalogue", refuse)
    outcome = cli("list")
    assert outcome.code == 2
    assert "results cannot be used: No space left on device" in outcome.err


def test_list_says_which_defaults_are_the_papers_by_size(cli):
    lines = cli("list").out.splitlines()
    marked = [line.split() for line in lines if "(paper: by size)" in line]
    assert "lr" in {words[0] for words in marked}
    assert "form" not in {words[0] for words in marked}
    assert "the same on every task" in " ".join(" ".join(lines).split())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other desktops open otherwise")
def test_files_are_opened_when_that_is_asked(monkeypatch, capfd, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    report_terminal.open_files(["report.html"])  # there is no xdg-open at all
    assert "report.html could not be opened here" in capfd.readouterr().err
    desktop = tmp_path / "xdg-open"
    desktop.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path / "opened"}\n')
    desktop.chmod(0o755)
    report_terminal.open_files([None, "report.html", "figures/a.png"])
    assert (tmp_path / "opened").read_text().split() == ["report.html", "figures/a.png"]
    assert capfd.readouterr().err == ""
    desktop.write_text("#!/bin/sh\necho no method available >&2\nexit 3\n")
    report_terminal.open_files(["report.html"])
    told = capfd.readouterr().err
    assert "report.html could not be opened here" in told
    assert "no method available" not in told


def test_a_viewer_that_stays_is_not_waited_for(monkeypatch, capfd, tmp_path):
    monkeypatch.setattr(report_terminal, "_PATIENCE", 0.1)
    monkeypatch.setattr(report_terminal.sys, "platform", "linux")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    viewer = tmp_path / "xdg-open"
    viewer.write_text("#!/bin/sh\nexec sleep 1\n")
    viewer.chmod(0o755)
    report_terminal.open_files(["report.html"])
    assert capfd.readouterr().err == ""


def test_nothing_to_open_is_said(cli):
    outcome = cli("report", "--open")
    assert outcome.code == 2
    assert "add --figure NAME or --html FILE" in outcome.err


@pytest.mark.parametrize("words", [("train", "matching", "--out"), ("report",), ("import",)])
def test_a_name_that_is_no_text_is_refused_before_anything_is_written(words, cli, tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    told = cli(*words, name)
    assert told.code == 2
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert "\\xff' is not UTF-8 text" in told.err
    assert not list(tmp_path.iterdir())

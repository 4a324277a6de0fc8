"""The program as a whole: help, errors, exit codes, and what it costs to start."""

import importlib
import json
import re
import subprocess
import sys

import pytest
import typer

from dglbench.cli import app, console
from dglbench.errors import DglbenchError

HEAVY = ("torch", "ortools", "cvxpy", "polars", "pyarrow", "scipy", "plotnine")


@pytest.fixture
def fake_verb(monkeypatch):
    """Mount a verb that runs the given function."""

    def mount(function):
        module = type(sys)("dglbench.cli.fake")
        module.run = function
        monkeypatch.setitem(sys.modules, "dglbench.cli.fake", module)
        monkeypatch.setitem(app.VERBS, "fake", app.Verb("dglbench.cli.fake", "A fake."))

    return mount


@pytest.mark.parametrize("name", app.VERBS)
def test_every_verb_has_a_module_with_help(name, cli):
    module = importlib.import_module(app.VERBS[name].module)
    assert module.run.__doc__
    outcome = cli(name, "--help")
    assert outcome.code == 0
    assert f"dglbench {name}" in outcome.out
    assert "--debug" in outcome.out


def test_help_names_every_verb(cli):
    for words in ([], ["--help"], ["-h"]):
        outcome = cli(*words)
        assert outcome.code == 0
        assert all(name in outcome.out for name in app.VERBS)
        assert outcome.err == ""


def test_version(cli):
    import dglbench

    assert cli("--version").out.strip() == f"dglbench {dglbench.__version__}"


@pytest.mark.parametrize("words", [["--help"], ["list"], ["list", "--json"], ["generate", "-h"]])
def test_light_commands_import_nothing_heavy(words):
    script = (
        "import sys\nfrom dglbench.cli import main\n"
        f"code = main({words!r})\n"
        f"print(code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["genrate"], "there is no command 'genrate'; .* Did you mean 'generate'"),
        (["--bogus"], "no such option: --bogus.*--help"),
        (["generate"], "missing argument.*see dglbench generate --help"),
        (["generate", "matching", "--n", "many"], "'--n'.*integer"),
    ],
)
def test_usage_errors_are_one_line(words, says, cli):
    outcome = cli(*words)
    assert outcome.code == 2
    assert outcome.out == ""
    assert re.fullmatch(f"error: .*{says}.*\n", outcome.err)


def test_user_errors_are_one_sentence_and_debug_shows_more(cli, fake_verb):
    def fail() -> None:
        """Fail."""
        raise DglbenchError("the sun is down;\n wait.")

    fake_verb(fail)
    assert cli("fake") == (2, "", "error: the sun is down; wait.\n")
    for words in (["--debug", "fake"], ["fake", "--debug"]):
        outcome = cli(*words)
        assert outcome.code == 2
        assert "Traceback" in outcome.err
        assert outcome.err.endswith("error: the sun is down; wait.\n")


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (ZeroDivisionError("nought"), 1, "a bug in dglbench .*ZeroDivisionError: nought.*--debug"),
        (MemoryError(), 1, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (typer.Exit(3), 3, ""),
    ],
)
def test_other_ends(raised, code, says, cli, fake_verb):
    def end() -> None:
        """End."""
        raise raised

    fake_verb(end)
    outcome = cli("fake")
    assert outcome.code == code
    assert re.search(says, outcome.err)
    assert "Traceback" not in outcome.err


def test_a_verb_may_return_its_exit_code(cli, fake_verb):
    def end() -> int:
        """End."""
        return 7

    fake_verb(end)
    assert cli("fake").code == 7


def test_a_reader_that_leaves_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -W error -m dglbench list --json | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "{\n"
    assert done.stderr == ""


def test_json_holds_what_json_can(capsys):
    import numpy as np

    console.print_json({"a": np.float64(1.5), "b": float("nan"), "c": (np.arange(2), None, True)})
    assert json.loads(capsys.readouterr().out) == {"a": 1.5, "b": None, "c": [[0, 1], None, True]}


def test_progress_without_a_terminal_is_seldom_and_plain(capsys):
    now = [0.0]
    lines = console._ProgressLines("working", 10, 10.0, lambda: now[0])
    for _ in range(4):
        now[0] += 4.0
        lines.advance(2)
    assert capsys.readouterr().err == "working: 6 of 10 (60%), about 8.0 s left\n"


def test_progress_survives_nothing_to_do(capsys):
    with console.progress("nothing", total=0, every_s=0.0) as tracker:
        tracker.advance(0)
    assert "Traceback" not in capsys.readouterr().err

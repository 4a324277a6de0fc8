"""docs/own-data.md and docs/compare.md, executed from top to bottom as a reader would."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def blocks(page):
    text = (DOCS / page).read_text("utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


BLOCKS = blocks("own-data.md")


def words_of(line, folder):
    """Split a command as a shell does, with its one kind of wildcard."""
    words: list[str] = []
    for word in shlex.split(line):
        found = sorted(folder.glob(word)) if "*" in word else []
        words += [str(path.relative_to(folder)) for path in found] or [word]
    return words


def execute(blocks, folder):
    shown, script = "", ""
    for kind, text in blocks:
        if kind == "python":
            script += text
            command = [sys.executable, "-W", "error", "-c", script]
            subprocess.run(command, cwd=folder, check=True, timeout=300)
        elif kind == "sh":
            for line in text.splitlines():
                words = words_of(line, folder)
                assert words[0] == "dglbench"
                done = subprocess.run(
                    [sys.executable, "-m", *words],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=600,
                )
                assert done.returncode == 0, f"{line}\n{done.stderr}"
                shown = done.stdout + done.stderr
        else:
            assert kind == "text"
            assert text.strip() in " ".join(shown.split())
    return shown


def test_a_fit_says_what_the_page_shows(tmp_path):
    (arrays, fit, understood), rest = BLOCKS[:3], BLOCKS[3:]
    short = ("sh", fit[1].replace("--minutes 2", "--runs 1"))
    execute([arrays, short, understood], tmp_path)
    assert (tmp_path / "fitted" / "verdict.json").is_file()
    execute([arrays, next(block for block in rest if "dglbench import" in block[1])], tmp_path)
    assert (tmp_path / "data" / "mine.parquet").is_file()


@pytest.mark.slow
def test_the_whole_page_runs_as_it_stands(tmp_path):
    execute(BLOCKS, tmp_path)
    for plan in ("plan.csv", "other.csv"):
        lines = (tmp_path / plan).read_text().splitlines()
        assert lines[0] == "instance,item,predicted,chosen"
        assert len(lines) == 1 + 5 * 10


@pytest.mark.slow
def test_tuning_and_timing_run_as_the_guide_shows(tmp_path):
    execute([block for block in blocks("compare.md") if block[0] == "sh"], tmp_path)
    assert (tmp_path / "timed.html").is_file()

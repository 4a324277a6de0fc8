"""The documents say what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dglbench.api.results import RUN_COLUMNS
from dglbench.options import describe
from dglbench.plugins import METHODS, plugins
from dglbench.runs import schemas

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("table", schemas.TABLES)
def test_every_logged_column_is_explained(table):
    text = (DOCS / "logs.md").read_text("utf-8")
    for field in schemas.TABLES[table]:
        meaning = field.metadata[b"help"].decode().replace("|", "\\|")
        assert f"| `{field.name}` | {field.type} | {meaning} |" in text


def test_every_method_and_option_is_documented():
    text = (DOCS / "methods.md").read_text("utf-8")
    for plugin in plugins(METHODS):
        if plugin.origin.startswith("dglbench "):
            assert f"`{plugin.name}`" in text
            assert all(info.name in text for info in describe(plugin.target.Options))


def test_every_column_of_runs_is_explained():
    text = (DOCS / "python.md").read_text("utf-8")
    for name, (_, meaning) in RUN_COLUMNS.items():
        assert f"| `{name}` | {meaning} |" in text


SCRIPTS = re.findall(
    r"^```python\n(.*?)^```", (DOCS / "python.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
)


def run_script(number, folder, then=""):
    return subprocess.run(
        [sys.executable, "-c", SCRIPTS[number] + then],
        cwd=folder, capture_output=True, text=True, check=True, timeout=300,
    ).stdout  # fmt: skip


def test_the_training_loop_runs_as_it_stands_and_learns(tmp_path):
    told = run_script(0, tmp_path)
    before, after = (float(share) for share in re.findall(r"([\d.]+)% of the best", told))
    assert before + 5 < after <= 100
    assert "150 solves" in told  # one for each training instance, at its first visit


def test_results_become_a_figure_as_the_page_shows(tmp_path):
    # A line that joined several runs would go back in time where the next begins.
    ask = "lines = figure.draw().axes[0].lines; back = [x.get_xdata().diff().lt(0) for x in lines]"
    ask += "; print(f'{len(lines)} lines, {sum(map(sum, back))} steps back')"
    told = run_script(1, tmp_path, "\n" + ask)
    assert "rdgl-newton" in told
    assert "9 lines, 0 steps back" in told, "three methods on three data seeds"
    assert (tmp_path / "curves.png").stat().st_size > 5_000

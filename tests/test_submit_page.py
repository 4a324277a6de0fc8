"""docs/submit.md, followed from top to bottom by an author with a method of their own."""

from __future__ import annotations

import re

import pytest
from test_own_data_page import blocks, execute

from dglbench.report import load
from dglbench.report.tables import build


@pytest.mark.slow
def test_an_author_joins_as_the_page_shows(tmp_path):
    found = blocks("submit.md")
    (method,) = (text for kind, text in found if kind == "python")
    (tmp_path / "huber.py").write_text(method)
    execute([block for block in found if block[0] != "python"], tmp_path)
    both = load(tmp_path / "ref.dglpack", tmp_path / "mine.dglpack")
    rows = [row for row in build("leaderboard", both).records() if row["standing"] != "start"]
    assert {row["method"] for row in rows} == {"two-stage", "spo", "dgl-1", "huber"}
    assert all(row["seeds"] == 2 and row["repeats"] == 2 for row in rows)
    page = (tmp_path / "both.html").read_text("utf-8")
    assert "huber" in page


def test_the_page_names_every_check():
    table = re.findall(r"^\| (\w+) \| ", "".join(_page_lines()), re.MULTILINE)
    assert [name for name in table if name in CHECKS] == CHECKS


CHECKS = ["files", "logs", "data", "decisions", "fairness", "reruns"]


def _page_lines():
    from test_own_data_page import DOCS

    return (DOCS / "submit.md").read_text("utf-8")

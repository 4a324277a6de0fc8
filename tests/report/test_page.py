import base64
import html.parser
import io
import re
from pathlib import Path

import polars as pl
import pytest
from browser import CHROMIUM, WIDTHS, Browser
from make_logs import make_folder, make_run

from dglbench.errors import ReportError
from dglbench.report import figures, load, page

EVIL = "<script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three methods at two sizes, one of them with a hostile name, and a run that failed."""
    out = tmp_path_factory.mktemp("logs") / "results"
    settings = [("matching", 10, 25), ("matching", 50, 25)]
    make_folder(out, ["spo", "qptl", "dgl-1", "my<script>"], settings, epochs=6)
    failed = {"status": "failed", "message": EVIL, "traceback": f"Traceback\n{EVIL}"}
    make_run(out, "dgl-5", n=10, status=failed)
    return out


@pytest.fixture(scope="module")
def text(folder) -> str:
    """The page, with the two figures that are quickest to draw."""
    with pytest.MonkeyPatch.context() as patch:
        kept = {name: figures.FIGURES[name] for name in ("time-split", "per-seed", "regret-bound")}
        patch.setattr(figures, "FIGURES", kept)
        return page.build(load(folder))


@pytest.fixture(scope="module")
def file(text, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(text, "utf-8")
    return path


class Reader(html.parser.HTMLParser):
    """Collects links, ids and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.scripts = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.links += [found[name] for name in ("href", "src") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        self.scripts += tag == "script"
        if tag not in {"meta", "link", "img", "br"}:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def test_the_page_is_well_formed_and_needs_no_network(text):
    reader = Reader(text)
    assert reader.stack == []
    assert len(reader.ids) == len(set(reader.ids))
    assert all(link.startswith(("data:", "#")) for link in reader.links)
    for link in reader.links:
        if link.startswith("#"):
            assert link[1:] in reader.ids
    assert "@import" not in text
    assert "url(" not in text


def test_what_logs_say_is_escaped(text):
    assert EVIL not in text
    assert "&lt;script&gt;document.title=" in text
    assert "my<script>" not in text
    assert Reader(text).scripts == 1, "only our own"


def test_the_parts_are_there_in_order(text):
    ids = Reader(text).ids
    parts = ["summary", "leaderboard", "figures", "claims", "selected", "environment", "lost"]
    places = [ids.index(part) for part in [*parts, "runs", "reproduce"]]
    assert places == sorted(places)
    assert "Invented CPU @ 3 GHz" in text
    assert "dglbench train --like " in text


def test_a_figures_data_are_one_click_away_and_are_its_data(text, folder):
    found = re.search(r'download="time-split.csv" href="data:text/csv;base64,([^"]+)"', text)
    frame = pl.read_csv(io.BytesIO(base64.b64decode(found[1])))
    expected = figures.FIGURES["time-split"].data(load(folder))
    assert frame["share"].to_list() == pytest.approx(expected["share"].to_list(), abs=1e-8)
    assert frame["method"].to_list() == expected["method"].to_list()


def test_the_same_logs_give_the_same_page(text, folder, monkeypatch):
    kept = {name: figures.FIGURES[name] for name in ("time-split", "per-seed", "regret-bound")}
    monkeypatch.setattr(figures, "FIGURES", kept)
    assert page.build(load(folder)) == text


def test_a_figure_that_cannot_be_drawn_is_named(tmp_path, monkeypatch):
    make_run(tmp_path, "spo", epochs=3)
    monkeypatch.setattr(figures, "FIGURES", {"scaling": figures.FIGURES["scaling"]})
    text = page.build(load(tmp_path))
    assert "scaling needs one task" in text
    assert Reader(text).stack == []


def test_the_page_is_written_whole_or_not_at_all(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {})
    target = tmp_path / "report.html"
    target.write_text("old")
    with pytest.raises(ReportError, match="could not be written"):
        page.write(load(folder), target / "below" / "report.html")
    assert target.read_text() == "old"
    page.write(load(folder), target)
    assert target.read_text().startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)")
def test_in_a_browser_it_fits_sorts_and_stays_offline(file):
    with Browser() as browser:
        for width in WIDTHS:
            browser.open(file, width, dark=width == WIDTHS[0])
            assert browser.ask("innerWidth") == width
            assert browser.ask("document.documentElement.scrollWidth") <= width
            broken = "[...document.images].filter((i) => !i.naturalWidth).length"
            assert browser.ask(broken) == 0
        assert browser.ask("document.title").startswith("dglbench: ")
        read = (
            "[...document.querySelector('table.leaderboard').tBodies[0].rows]"
            ".map((row) => row.cells[{}].dataset.value)"
        )
        press = "document.querySelectorAll('table.leaderboard thead button')[{}].click()"
        state = (
            "document.querySelectorAll('table.leaderboard thead th')[{}].getAttribute('aria-sort')"
        )
        regrets = [float(value) for value in browser.ask(read.format(1))]
        assert regrets == sorted(regrets)
        browser.ask(press.format(1))
        assert browser.ask(state.format(1)) == "ascending"
        browser.ask(press.format(1))
        assert browser.ask(state.format(1)) == "descending"
        assert [float(v) for v in browser.ask(read.format(1))] == sorted(regrets, reverse=True)
        browser.ask(press.format(5))  # against QPTL: QPTL itself has no value and stays last
        assert browser.ask(state.format(1)) is None
        assert browser.ask(read.format(5))[-1] == ""
        browser.ask(press.format(0))
        names = browser.ask(read.format(0))
        assert names == sorted(names)
        assert all(url.startswith(("file:", "data:")) for url in browser.requests)

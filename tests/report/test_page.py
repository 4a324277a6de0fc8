import base64
import gzip
import html
import html.parser
import io
import json
import re
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest
from make_logs import make_folder, make_run

from dglbench.errors import ReportError
from dglbench.report import figures, load, page
from dglbench.report.claims.judge import read_claims
from dglbench.report.page.chart import chart_data, opening_units
from dglbench.report.page.pictures import PACKED, csv_link, pack, small, with_dark_colours
from dglbench.report.style.palette import TILE_EDGE, tile_on_dark

EVIL = "<script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three methods at two sizes, one of them with a hostile name, and a run that failed."""
    out = tmp_path_factory.mktemp("logs") / "results"
    settings = [("matching", 10, 25), ("matching", 50, 25)]
    make_folder(out, ["spo", "qptl", "dgl-1", "my<script>"], settings, epochs=6)
    failed = {"state": "failed", "message": EVIL, "traceback": f"Traceback\n{EVIL}"}
    make_run(out, "dgl-5", n=10, status=failed)
    return out


@pytest.fixture(scope="module")
def text(folder) -> str:
    """The page, with the two figures that are quickest to draw."""
    with pytest.MonkeyPatch.context() as patch:
        kept = {name: figures.FIGURES[name] for name in ("time-split", "per-seed", "regret-bound")}
        patch.setattr(figures, "FIGURES", kept)
        return page.build(load(folder))


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
        if tag not in {"meta", "link", "img", "br", "input"}:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def test_chart_and_tables_open_on_one_setting(folder, text):
    report = load(folder)
    data = chart_data(report, opening_units(report))
    shown = data["settings"][data["opening"]]["title"]
    assert shown == "matching-50", "the largest in which most methods were run"
    assert f'<body data-opening="{shown}">' in text
    assert f'data-title="{shown}"' in text


def test_the_page_is_well_formed_and_needs_no_network(text):
    reader = Reader(text)
    assert reader.stack == []
    assert len(reader.ids) == len(set(reader.ids))
    assert all(link.startswith(("data:", "#")) for link in reader.links)
    for link in reader.links:
        if link.startswith("#"):
            assert link[1:] in reader.ids
    ours = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert "@import" not in ours
    assert "url(" not in ours
    assert "http" not in re.sub(r"data:[^\"]*", "", ours)


def test_what_logs_say_is_escaped(text):
    assert EVIL not in text
    assert "&lt;script&gt;document.title=" in text
    assert "my<script>" not in text
    assert Reader(text).scripts == 5, "only our own: two of data, three that run"
    data = re.search(r'id="chart-data">(.*?)</script>', text, re.DOTALL)[1]
    assert "my<script>" in json.loads(data)["methods"]
    assert "<" not in data


def test_the_parts_are_there_in_order(text):
    ids = Reader(text).ids
    parts = [
        "explore", "for-time", "summary", "leaderboard", "figures", "claims", "pairwise",
        "selected", "budget", "environment", "lost",
    ]  # fmt: skip
    places = [ids.index(part) for part in [*parts, "runs", "reproduce"]]
    assert places == sorted(places)
    assert "Invented CPU @ 3 GHz" in text
    assert "dglbench train --like " in text


def test_a_figures_data_are_one_click_away_and_are_its_data(text, folder):
    found = re.search(r'download="time-split.csv" href="data:text/csv;charset=utf-8,([^"]+)"', text)
    frame = pl.read_csv(io.StringIO(unquote(html.unescape(found[1]))))
    expected = figures.FIGURES["time-split"].data(load(folder))
    assert frame["share"].to_list() == pytest.approx(expected["share"].to_list(), abs=1e-6)
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
    assert text.startswith("<!doctype html>")
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


def test_every_table_is_there_as_csv(text):
    names = re.findall(r'download="([a-z-]+)\.csv" href="data:', text)
    for name in ("summary", "leaderboard", "pairwise", "selected", "budget", "resources", "runs"):
        assert names.count(name) == 1, name


def test_each_figure_is_in_the_page_once(text):
    plain = re.findall(r"src=\"data:image/svg\+xml;base64,([^\"]+)", text)
    packed = re.findall(r"<img [^>]*data-packed=\"([^\"]+)", text)
    images = {*plain, *packed}
    assert len(images) == len(plain) + len(packed) == 2, "per-seed cannot be drawn from one seed"
    svg = base64.b64decode(plain[0]).decode()
    assert svg.count("prefers-color-scheme:dark") == 1


def test_small_drawings_keep_their_points_and_their_type():
    drawing = (
        '<svg><metadata>who</metadata><g transform="translate(1.23456 2) scale(0.0623 -0.0623)">'
        '<path d="M 1.23456 2 \nL 3 4.56789 \n"/></g></svg>'
    )
    assert small(drawing) == (
        '<svg><g transform="translate(1.23 2) scale(0.0623 -0.0623)">'
        '<path d="M 1.23 2 L 3 4.57"/></g></svg>'
    )


def test_a_dark_page_repaints_every_colour_and_nothing_else():
    drawing = '<svg><defs></defs><path style="fill: #ffffff; stroke: #222222"/></svg>'
    dark = with_dark_colours(drawing)
    assert '[style*="fill: #ffffff"]{fill:#1D2024!important}' in dark
    assert '[style*="stroke: #222222"]{stroke:#' in dark
    assert re.sub(r"<style>.*?</style>", "", dark) == drawing


def test_tiles_with_text_on_them_stay_darker_than_the_text_on_a_dark_page():
    tile = f"fill: #2c7fb8; stroke: {TILE_EDGE.lower()}; stroke-width: 1"
    drawing = f'<svg><defs></defs><path style="{tile}"/><path style="fill: #222222"/></svg>'
    dark = with_dark_colours(drawing)
    rules = dict(re.findall(r'style\*="(fill: [^"]+)"\]\{fill:(#\w+)!important\}', dark))
    painted = rules[f"fill: #2c7fb8; stroke: {TILE_EDGE.lower()}"]
    brightness = {name: sum(bytes.fromhex(colour[1:])) for name, colour in rules.items()}
    assert painted == tile_on_dark("#2C7FB8")
    assert sum(bytes.fromhex(painted[1:])) < brightness["fill: #222222"] - 250


def test_a_title_and_a_verdict_come_first(folder, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {})
    text = page.build(load(folder), title="My <results>")
    assert "<title>My &lt;results&gt;</title>" in text
    assert "<h1>My &lt;results&gt;</h1>" in text
    first = re.search(r'class="verdict">(.*?) <a', text)[1]
    assert first.startswith("Over 2 settings ")
    assert "lowest mean rank" in first
    assert first.count(". ") == 0, "one sentence"


def test_one_setting_has_a_verdict_too(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {})
    make_folder(tmp_path, ["spo", "dgl-1"], [("matching", 10, 25)], epochs=4)
    text = page.build(load(tmp_path))
    assert re.search(r'class="verdict">On matching-10 .* has the lowest test regret', text)


def test_what_is_packed_comes_out_as_it_went_in():
    text = "setting,method\n" + 'matching-10,größer <&"\n' * 9000
    packed = pack(text)
    assert gzip.decompress(base64.b64decode(packed)).decode() == text
    assert pack(text) == packed, "the same bytes each time"
    assert len(packed) < len(text) / 20


def test_a_short_table_is_a_plain_link_and_a_long_one_is_packed():
    short, long = "a,b\n1,é\n", "a,b\n" + "1,2\n" * 20_000
    link = csv_link(short)
    assert unquote(link.removeprefix("data:text/csv;charset=utf-8,")) == short
    link = csv_link(long)
    assert gzip.decompress(base64.b64decode(link.removeprefix(PACKED))).decode() == long


def test_results_in_a_folder_of_runs_are_called_after_the_folder_above(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {})
    make_run(tmp_path / "tuned" / "runs", "spo", epochs=3)
    text = page.build(load(tmp_path / "tuned" / "runs"))
    assert "<h1>dglbench: tuned</h1>" in text


def test_our_own_claims_are_not_called_the_papers(text):
    counted = re.search(r"Of (\d+) claims of the paper these logs", text)[1]
    assert int(counted) == sum(claim.origin == "paper" for claim in read_claims())
    assert "claims of dglbench&#39;s own these logs" in text


def test_a_long_table_is_packed_and_comes_out_whole(folder, monkeypatch):
    monkeypatch.setattr(figures, "FIGURES", {})
    whole = page.build(load(folder))
    monkeypatch.setattr(page.document, "_LONG_PART", 100)
    folded = page.build(load(folder))
    parts = re.findall(r'data-folded="([^"]+)"', folded)
    assert len(parts) > 3
    for part in parts:
        html = gzip.decompress(base64.b64decode(part)).decode()
        assert html.strip() in whole, "no byte of it is changed"
        assert EVIL not in html


def test_every_table_has_a_caption(text):
    assert len(re.findall(r'<table class="', text)) == text.count('<caption class="unseen">') > 5


def test_data_seeds_share_a_column_of_the_overview_and_every_run_is_found(tmp_path, monkeypatch):
    settings = [("matching", n, seed) for n in (10, 20, 30, 40, 50) for seed in (1, 2, 3)]
    make_folder(tmp_path, ["spo", "dgl-1"], settings, epochs=2)
    monkeypatch.setattr(figures, "FIGURES", {})
    monkeypatch.setattr(page.document, "_MOST_ROWS", 5)
    text = page.build(load(tmp_path))
    head = re.search(r'<table class="summary">.*?</thead>', text, re.DOTALL)[0]
    assert head.count('<th scope="col"') == 3 + 5, "method, two means, and a column a size"
    assert "30 of 30 runs" in text, "the search box looks at all of them"

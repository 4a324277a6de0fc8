"""The page in a real browser: it fits, sorts, switches, filters, hovers, and stays offline."""

import os
from pathlib import Path

import pytest
from browser import CHROMIUM, WIDTHS, Browser
from make_logs import make_folder, make_run

from dglbench.report import figures, load, page

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (apt-get install chromium)"
)

EVIL = "<script>document.title='owned'</script>"
ROWS = "[...document.querySelector('table.leaderboard').tBodies[0].rows]"
STROKES = (
    "[...document.querySelectorAll('#chart svg path')].map((p) => p.getAttribute('stroke'))"
    ".filter((s) => s && s !== 'transparent')"
)


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """Two sizes, three seeds of one of them, a hostile name, a run that failed."""
    out = tmp_path_factory.mktemp("logs") / "results"
    settings = [("matching", 10, 25), *(("matching", 50, seed) for seed in (10, 25, 95))]
    make_folder(out, ["spo", "qptl", "dgl-1", "my<script>"], settings, epochs=6)
    make_run(out, "dgl-5", n=10, status={"state": "failed", "message": EVIL, "traceback": EVIL})
    path = tmp_path_factory.mktemp("page") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        kept = {name: figures.FIGURES[name] for name in ("time-split", "anytime")}
        patch.setattr(figures, "FIGURES", kept)
        page.write(load(out), path, title="Tested")
    return path


@pytest.fixture(scope="module")
def opened(file):
    with Browser() as browser:
        browser.open(file, 1400)
        browser.wait("document.querySelector('#chart').dataset.drawn")
        yield browser
        assert browser.errors == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in browser.requests)


@pytest.fixture
def browser(opened, file):
    """The page as it opens, for every test."""
    opened.open(file, 1400)
    opened.wait("document.querySelector('#chart').dataset.drawn")
    return opened


def choose(browser, selector, value):
    browser.ask(
        f"(() => {{ const e = document.querySelector({selector!r}); e.value = {value!r};"
        " e.dispatchEvent(new Event('change')); })()"
    )


def drawn_again(browser, script):
    """Do something and wait for the chart to be drawn once more."""
    before = int(browser.ask("document.querySelector('#chart').dataset.drawn"))
    browser.ask(script)
    browser.wait(f"Number(document.querySelector('#chart').dataset.drawn) > {before}")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_at_every_width_in_both_schemes(browser, file, width, dark):
    browser.open(file, width, dark=dark)
    browser.wait("document.querySelector('#chart').dataset.drawn")
    assert browser.ask("innerWidth") == width
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask("[...document.images].filter((i) => !i.naturalWidth).length") == 0
    cut = "[...document.images].filter((i) => i.width > i.parentElement.clientWidth).length"
    assert browser.ask(cut) == 0
    hiding = (
        "[...document.querySelectorAll('tbody th')].filter((c) => c.offsetWidth > innerWidth / 2"
        " && getComputedStyle(c).position === 'sticky').length"
    )
    assert browser.ask(hiding) == 0, "a name in place leaves room for its columns"
    inside = "document.querySelector('#chart svg').getBoundingClientRect().right <= innerWidth"
    assert browser.ask(inside)


def test_nothing_from_the_logs_runs(browser):
    assert browser.ask("document.title") == "Tested"


def test_a_click_or_enter_sorts_a_table(browser):
    choose(browser, "#leaderboard .picker select", "0")
    # A cell holds its value apart only where it differs from what is written.
    cell = "row.cells[{0}]"
    read = ROWS + f".map((row) => {cell}.dataset.value ?? {cell}.textContent)"
    head = "document.querySelectorAll('table.leaderboard')[0].tHead.rows[0].cells[{}]"
    regrets = [float(value) for value in browser.ask(read.format(1))]
    assert regrets == sorted(regrets)
    browser.ask(head.format(1) + ".querySelector('button').click()")
    assert browser.ask(head.format(1) + ".getAttribute('aria-sort')") == "ascending"
    browser.ask(head.format(1) + ".querySelector('button').focus()")
    browser.press("Enter", 13, "\r")
    assert browser.ask(head.format(1) + ".getAttribute('aria-sort')") == "descending"
    assert [float(v) for v in browser.ask(read.format(1))] == sorted(regrets, reverse=True)
    heads = "[...document.querySelector('table.leaderboard').tHead.rows[0].cells]"
    against = browser.ask(f"{heads}.findIndex((cell) => cell.textContent === 'vs QPTL')")
    browser.ask(head.format(against) + ".querySelector('button').click()")
    assert browser.ask(head.format(1) + ".getAttribute('aria-sort')") is None
    assert browser.ask(read.format(against))[-1] == "", "QPTL against itself has no value"


def test_a_picker_shows_one_setting_at_a_time(browser):
    shown = (
        "[...document.querySelectorAll('#leaderboard .block')]"
        ".filter((b) => b.offsetParent).map((b) => b.dataset.title)"
    )
    chart = "document.getElementById('chart-{}').selectedOptions[0].textContent"
    assert browser.ask(shown) == [browser.ask(chart.format("setting"))] == ["matching-50"]
    assert browser.ask(chart.format("seed")) == "mean of 3"
    choose(browser, "#leaderboard .picker select", "0")
    assert browser.ask(shown) == ["matching-10"]
    measures = browser.ask(
        "[...document.querySelectorAll('#summary .picker option')].map((o) => o.textContent)"
    )
    assert measures[0] == "test regret, one run"
    assert measures[2] == "times sooner than SPO+ at its regret"


def test_names_and_headings_stay_in_place_together(browser, file):
    browser.open(file, 390)
    box = "document.querySelector('#leaderboard .block:not(.away) .scroll')"
    lefts = f"[...{box}.querySelectorAll('tr')].map((r) => r.cells[0].getBoundingClientRect().left)"
    before = browser.ask(lefts)
    browser.ask(f"{box}.scrollLeft = 120")
    assert browser.ask(f"{box}.scrollLeft") == 120
    assert browser.ask(lefts) == before
    # Collapsed borders would be left behind by the cells that stay.
    assert (
        browser.ask(f"getComputedStyle({box}.querySelector('table')).borderCollapse") == "separate"
    )


def test_the_search_box_keeps_matching_runs(browser):
    search = (
        "(() => {{ const e = document.querySelector('input[data-search]'); e.value = {!r};"
        " e.dispatchEvent(new Event('input')); }})()"
    )
    left = "[...document.querySelectorAll('#every-run tbody tr')].filter((r) => !r.hidden).length"
    assert browser.ask(left) == 17
    browser.ask(search.format("spo matching-50"))
    assert browser.ask(left) == 3
    assert browser.ask("document.querySelector('#every-run-found').textContent") == "3 of 17 runs"
    browser.ask(search.format(""))
    assert browser.ask(left) == 17


def test_the_legend_switches_methods(browser):
    assert "#D55E00" in browser.ask(STROKES)
    box = "document.querySelector('#chart-methods input[value=spo]')"
    drawn_again(browser, f"{box}.click()")
    assert "#D55E00" not in browser.ask(STROKES)
    assert "#AA3377" in browser.ask(STROKES)
    drawn_again(browser, "document.querySelector('#chart-all').click()")
    assert "#D55E00" in browser.ask(STROKES)


def test_setting_seed_and_scale_are_chosen(browser):
    said = "document.querySelector('#chart').getAttribute('aria-label')"
    words = browser.ask(said)
    assert "matching-50, mean of 3 data seeds: one line for each of 4 methods" in words
    drawn_again(browser, "(() => { const e = document.querySelector('#chart-seed'); e.value = '3';"
                " e.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert "matching-50, seed 95" in browser.ask(said)
    ticks = "[...document.querySelectorAll('#chart svg text')].map((t) => t.textContent).join()"
    before = browser.ask(ticks)
    drawn_again(browser, "document.querySelector('#chart-log-x').click()")
    assert browser.ask(ticks) != before
    drawn_again(browser, "document.querySelector('#chart-log-y').click()")
    drawn_again(browser, "(() => { const e = document.querySelector('#chart-x');"
                " e.value = 'solves'; e.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert "solver calls in training" in browser.ask(ticks)
    drawn_again(browser, "(() => { const e = document.querySelector('#chart-setting');"
                " e.value = '0'; e.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert browser.ask("document.querySelector('#chart-seed').closest('label').hidden")


def test_every_run_and_the_restarts_are_drawn(browser):
    said = "document.querySelector('#chart').getAttribute('aria-label')"
    points = "document.querySelectorAll('#chart .mark-symbol path').length"
    for view, words in (("runs", "one row"), ("restarts", "training time of all r runs")):
        choice = f"const e = document.querySelector('#chart-x'); e.value = '{view}';"
        drawn_again(browser, f"(() => {{ {choice} e.dispatchEvent(new Event('change')); }})()")
        assert words in browser.ask(said)
        assert browser.ask(points) >= 4
        notes = "[...document.querySelectorAll('[data-view]')].filter((e) => !e.hidden)"
        assert browser.ask(f"{notes}.map((e) => e.dataset.view).join()") == view


def test_a_method_is_picked_out_in_chart_and_tables(browser):
    drawn_again(browser, "(() => { const e = document.querySelector('#chart-lit');"
                " e.value = 'spo'; e.dispatchEvent(new Event('change')); })()")  # fmt: skip
    rows = "[...document.querySelectorAll('#leaderboard tr.lit')]"
    lit = f"{rows}.map((row) => row.cells[0].textContent)"
    assert all(name.startswith("SPO+") for name in browser.ask(lit))
    assert len(browser.ask(lit)) == 2, "once in each setting"


def test_pointing_at_a_line_tells_its_numbers(browser):
    browser.ask(
        "document.querySelector('#chart').scrollIntoView({block: 'center', behavior: 'instant'})"
    )
    place = browser.ask(
        "(() => { const r = document.querySelector('#chart svg').getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    tip = "document.querySelector('#vg-tooltip-element.visible')"
    for step in range(3):  # the first move only enters the chart
        browser.point(place[0] + step, place[1])
    browser.wait(f"!!{tip}")
    words = browser.ask(f"{tip}.textContent")
    for name in ("method", "training seconds", "test regret", "epoch", "solver calls"):
        assert name in words
    assert any(f"method{name}" in words for name in ("SPO+", "QPTL", "DGL-1", "my<script>"))
    assert "undefined" not in words
    assert "NaN" not in words


def test_dark_paints_chart_figures_and_swatches(browser, file):
    browser.open(file, 1400, dark=True)
    browser.wait("document.querySelector('#chart').dataset.drawn")
    strokes = browser.ask(STROKES)
    assert "#D55E00" not in strokes
    swatch = "getComputedStyle(document.querySelector('.swatch')).backgroundColor"
    light = browser.ask(swatch)
    browser.open(file, 1400)
    assert browser.ask(swatch) != light


def test_tables_are_reached_by_keyboard_and_named(browser):
    unnamed = (
        "[...document.querySelectorAll('.scroll')]"
        ".filter((s) => s.tabIndex !== 0 || !s.getAttribute('aria-label')).length"
    )
    assert browser.ask(unnamed) == 0
    headless = (
        "[...document.querySelectorAll('table')].filter((t) => !t.tHead"
        " || !t.tBodies[0].rows[0]?.cells[0].matches('th[scope=row]')).length"
    )
    assert browser.ask(headless) == 0
    labelled = (
        "[...document.querySelectorAll('select, input')].filter((e) => !e.labels.length).length"
    )
    assert browser.ask(labelled) == 0
    browser.press("Tab", 9)
    assert browser.ask("document.activeElement.textContent") == "To the tables"


def test_a_figure_is_enlarged_on_a_phone_and_the_page_stays_as_wide(browser, file):
    browser.open(file, 390)
    browser.ask("document.querySelector('details.further').open = true")
    image = "document.querySelector('#image-time-split')"
    button = "document.querySelector('[data-enlarge=image-time-split]')"
    browser.wait(f"{image}.naturalWidth")
    before = browser.ask(f"{image}.width")
    browser.ask(f"{button}.focus()")
    browser.press("Enter", 13, "\r")
    assert browser.ask(f"{image}.width") > 1.3 * before
    assert browser.ask(f"{button}.getAttribute('aria-pressed')") == "true"
    assert browser.ask("document.documentElement.scrollWidth") <= 390
    browser.open(file, 1400)
    browser.ask("document.querySelector('details.further').open = true")
    assert browser.ask(f"{button}.offsetParent") is None, "there is nothing to enlarge"


def test_a_figure_is_downloaded_as_it_was_drawn(browser):
    link = "document.querySelector('a[data-figure]')"
    browser.ask(f"{link}.addEventListener('click', (e) => e.preventDefault()); {link}.click()")
    svg = browser.ask(f"fetch({link}.href).then((r) => r.text())")
    assert svg.startswith("<?xml")
    assert "prefers-color-scheme" not in svg


@pytest.mark.skipif("DGLBENCH_SHOTS" not in os.environ, reason="DGLBENCH_SHOTS names a folder")
def test_pictures_to_look_at(browser, file):
    out = Path(os.environ["DGLBENCH_SHOTS"])
    out.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        for dark in (False, True):
            browser.open(file, width, dark=dark)
            browser.wait("document.querySelector('#chart').dataset.drawn")
            browser.picture(out / f"{width}-{'dark' if dark else 'light'}.png")

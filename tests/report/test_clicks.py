"""Pages in headless Chromium: the playground, the filters of the report and of the board."""

from dataclasses import replace

import pytest
from browser import browser
from conftest import REPOSITORY
from made_up_board import BOARD
from made_up_page import contents

from ngo.report.board import as_html
from ngo.report.html_page import html_page
from ngo.report.templates import play_page

PAGE = (REPOSITORY / "docs/play.html").as_uri()


@pytest.fixture(autouse=True)
def no_process_is_left():
    """The browser stays until the last test of this file."""


@pytest.fixture(scope="module")
def one_browser(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def page(one_browser):
    one_browser.addresses.clear()
    yield one_browser
    assert one_browser.errors == []


def worker(page, i):
    """Where worker i is in the window."""
    return tuple(
        page.value(
            f"(() => {{ const b = $('graph').getBoundingClientRect(), [x, y] = places[{i}];"
            "return [b.x + 16 + x * (b.width - 32), b.y + 16 + y * (b.height - 32)]; })()"
        )
    )


def test_it_plays_to_the_end_and_tells_what_happened(page):
    page.open(PAGE)
    assert page.value("playing") is True
    page.click("#play")
    page.value("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert page.value("$('play').textContent") == "Play"
    page.value("new Promise(done => (function wait() { told ? done() : setTimeout(wait, 20) })())")
    said = page.value("$('says').textContent")
    assert "twice the chatter floor" in said
    assert "T* is 126" in said
    assert [each for each in page.addresses if not each.startswith("about:")] == [PAGE]


def test_examples_and_controls_change_the_setting_and_the_link(page):
    page.open(PAGE)
    page.click("#examples button:nth-child(2)")
    assert page.value("[setting.coupling, $('of-coupling').value, $('of-p').disabled]") == [
        "linear", "linear", True,
    ]  # fmt: skip
    page.value("$('of-n').focus()")
    page.key("ArrowRight")
    assert page.value("setting.n") == 11
    page.value("predict()")
    assert page.value("$('link').value").endswith("#n=11&coupling=linear")
    assert page.value("location.hash") == "#n=11&coupling=linear"


def test_workers_are_dragged_and_connected_with_the_mouse(page):
    page.open(PAGE)
    (x, y), moved = worker(page, 3), "places[3]"
    before = page.value(moved)
    page.drag((x, y), (x - 30, y - 20), (x - 60, y - 40))
    assert page.value(f"{moved}[0] < {before[0]} && {moved}[1] < {before[1]}") is True
    page.click("#connect")
    page.drag(worker(page, 0), worker(page, 5))
    assert page.value("[setting.graph, net.edges.length]") == ["own", 11]
    page.drag(worker(page, 0), worker(page, 1))
    assert page.value("net.edges.length") == 10


def test_workers_are_moved_and_connected_by_keys(page):
    page.open(PAGE)
    page.value("$('graph').focus()")
    before = page.value("places[1]")
    for key in ("n", "ArrowRight", "ArrowDown", "c", "n", "n", "c"):
        page.key(key)
    assert page.value("places[1]") == pytest.approx([a + 0.02 for a in before])
    assert page.value("net.edges.some(([i, j]) => i === 1 && j === 3)") is True
    assert "worker 3" in page.value("$('selected').textContent")


def test_a_link_opens_its_setting_and_a_hostile_one_the_default(page):
    page.open(f"{PAGE}#graph=star&n=7&p=0.75&delay=2&round=40")
    assert page.value("[setting.graph, setting.n, setting.p, setting.delay, time, playing]") == [
        "star", 7, 0.75, 2, 40, False,
    ]  # fmt: skip
    page.open(f"{PAGE}#graph=<img src=x onerror=document.title='bad'>&p=0.7")
    assert page.value("[setting.graph, setting.p]") == ["ring", 0.7]
    assert page.value("$('refused').textContent").endswith("graph.")
    assert page.value("[document.images.length, document.title.includes('bad')]") == [0, False]


def test_a_claim_of_the_report_opens_the_playground_within_it_at_its_setting(page, tmp_path):
    shown = contents(tmp_path)
    shown = replace(shown, findings=replace(shown.findings, play={"15": "graph=star&n=7"}))
    report = tmp_path / "report.html"
    report.write_text(html_page(shown), encoding="utf-8")
    page.open(report.as_uri())
    assert page.value("document.querySelectorAll('button[data-play]').length") == 1
    page.value("window.open = (address) => { window.opened = address }")
    page.click("button[data-play]")
    address = page.value("opened")
    assert address.endswith("#graph=star&n=7")
    assert page.value("fetch(opened.split('#')[0]).then(said => said.text())") == play_page()


@pytest.mark.parametrize("width", [420, 1280])
def test_nothing_scrolls_sideways(page, tmp_path, width):
    (tmp_path / "report.html").write_text(html_page(contents(tmp_path)), encoding="utf-8")
    (tmp_path / "board.html").write_text(as_html(BOARD), encoding="utf-8")
    pages = [(tmp_path / name).as_uri() for name in ("report.html", "board.html")]
    for address in (*pages, f"{PAGE}#graph=random&n=60&round=5"):
        page.open(address, width)
        assert page.value("document.documentElement.scrollWidth") <= width


def shown(page, name, value):
    """The rows of claims that are shown when a filter has a value."""
    page.value(f"form.elements['{name}'].value = '{value}'")
    page.value("form.dispatchEvent(new Event('input'))")
    return page.value("rows.filter((row) => !row.hidden).map((row) => row.id)")


def test_the_report_is_searched_and_filtered_and_a_link_reveals_a_claim(page, tmp_path):
    (tmp_path / "report.html").write_text(html_page(contents(tmp_path)), encoding="utf-8")
    page.open((tmp_path / "report.html").as_uri())
    assert shown(page, "search", "points 20") == ["claim-order", "claim-same"]
    assert len(shown(page, "search", "")) == 5
    assert shown(page, "verdict", "not run") == ["claim-later"]
    assert page.value("folded.open") is True
    assert len(shown(page, "verdict", "")) == 5
    assert shown(page, "topic", "2") == ["claim-15", "claim-later"]
    page.value("location.hash = '#claim-order'")
    page.value("new Promise((done) => setTimeout(done, 500))")
    assert page.value("rows.filter((row) => !row.hidden).length") == 5
    page.value("search.elements.words.value = 'CLAIM-ORDER'.slice(6)")
    page.value("search.dispatchEvent(new Event('input'))")
    links = page.value("[...search.querySelectorAll('a')].map((each) => each.getAttribute('href'))")
    assert "#claim-order" in links


def test_the_board_is_filtered_by_paper_verdict_and_who_asked(page, tmp_path):
    (tmp_path / "board.html").write_text(as_html(BOARD), encoding="utf-8")
    page.open((tmp_path / "board.html").as_uri())
    assert shown(page, "paper", "first") == ["first-a", "first-ours-ngo"]
    assert shown(page, "asked", "by us") == ["first-ours-ngo"]
    assert shown(page, "verdict", "not run") == []

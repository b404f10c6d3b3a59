"""Pages in headless Chromium: the playground, the report, the board, and the built site."""

import json
import os
import shutil
from dataclasses import replace

import pytest
from conftest import REPOSITORY
from made_up_page import BOARD, contents
from running import kill, start

from ngo.report.board import as_html
from ngo.report.pages import html_page, play_page

PAGE = (REPOSITORY / "docs/play.html").as_uri()
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")


class Page:
    """A page of a browser, driven over a pipe by the DevTools protocol: what a user does on it."""

    def __init__(self, requests, answers):
        self.requests, self.answers, self.number, self.session = requests, answers, 0, {}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        self.errors, self.addresses = [], []
        for domain in ("Page", "Runtime", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **values):
        """The answer to a command; errors of the page and its requests are noted on the way."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": values, **self.session}
        self.requests.write(json.dumps(command).encode() + b"\0")
        self.requests.flush()
        while (said := self.next_message()).get("id") != self.number:
            if said.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(said["params"]))
            if said.get("method") == "Network.requestWillBeSent":
                self.addresses.append(said["params"]["request"]["url"])
        assert "error" not in said, said
        return said["result"]

    def next_message(self):
        letters = bytearray()
        while (letter := self.answers.read(1)) != b"\0":
            assert letter, "the browser has ended"
            letters += letter
        return json.loads(letters)

    def value(self, expression):
        """The value of an expression on the page, awaited if it is a promise."""
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = self.ask("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, address, width=1280):
        """Load a page, also if only the fragment of the address differs, and wait for it."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=address)
        ready = "document.readyState === 'complete' ? done() : onload = done"
        self.value(f"new Promise(done => {ready})")

    def drag(self, *points):
        """Press the mouse at the first point, move over the others, release at the last."""
        kinds = ["mousePressed", *["mouseMoved"] * (len(points) - 1), "mouseReleased"]
        for kind, (x, y) in zip(kinds, [*points, points[-1]], strict=True):
            press = {"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
            self.ask("Input.dispatchMouseEvent", **press)

    def click(self, selector):
        """Click in the middle of an element."""
        middle = (
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.drag(tuple(self.value(middle)))

    def keys(self, *keys):
        """Press and release keys."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)


@pytest.fixture(autouse=True)
def no_process_is_left():
    """The browser stays until the last test of this file."""


@pytest.fixture(scope="module")
def one_browser(tmp_path_factory):
    names = ("chromium", "google-chrome", "chromium-browser")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium")
    (taken, requests), (answers, given) = os.pipe(), os.pipe()
    profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    command = ["bash", "-c", f'exec "$0" "$@" 3<&{taken} 4>&{given}', program, *FLAGS, profile]
    quiet = {"stdout": -3, "stderr": -3}  # subprocess.DEVNULL: nobody reads them
    process = start(command, pass_fds=(taken, given), **quiet)
    os.close(taken)
    os.close(given)
    with os.fdopen(requests, "wb") as sent, os.fdopen(answers, "rb") as received:
        try:
            yield Page(sent, received)
        finally:
            kill(process)


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
    assert [name for name in page.addresses if not name.startswith("about:")] == [PAGE]


def test_examples_and_controls_change_the_setting_and_the_link(page):
    page.open(PAGE)
    page.click("#examples button:nth-child(2)")
    shown = "[setting.coupling, $('of-coupling').value, $('of-p').disabled]"
    assert page.value(shown) == ["linear", "linear", True]
    page.value("$('of-n').focus()")
    page.keys("ArrowRight")
    assert page.value("setting.n") == 11
    page.value("predict()")
    assert page.value("$('link').value").endswith("#n=11&coupling=linear")
    assert page.value("location.hash") == "#n=11&coupling=linear"


def test_workers_are_moved_and_connected_by_mouse_and_by_keys(page):
    page.open(PAGE)
    (x, y), before = worker(page, 3), page.value("places[3]")
    page.drag((x, y), (x - 30, y - 20), (x - 60, y - 40))
    assert all(a < b for a, b in zip(page.value("places[3]"), before, strict=True))
    page.click("#connect")
    page.drag(worker(page, 0), worker(page, 5))
    assert page.value("[setting.graph, net.edges.length]") == ["own", 11]
    page.drag(worker(page, 0), worker(page, 1))
    assert page.value("net.edges.length") == 10
    page.open(f"{PAGE}#n=10")
    page.value("$('graph').focus()")
    before = page.value("places[1]")
    page.keys("n", "ArrowRight", "ArrowDown", "c", "n", "n", "c")
    assert page.value("places[1]") == pytest.approx([a + 0.02 for a in before])
    assert page.value("net.edges.some(([i, j]) => i === 1 && j === 3)") is True
    assert "worker 3" in page.value("$('selected').textContent")


def test_a_link_opens_its_setting_and_a_hostile_one_the_default(page):
    page.open(f"{PAGE}#graph=star&n=7&p=0.75&delay=2&round=40")
    shown = "[setting.graph, setting.n, setting.p, setting.delay, time, playing]"
    assert page.value(shown) == ["star", 7, 0.75, 2, 40, False]
    page.open(f"{PAGE}#graph=<img src=x onerror=document.title='bad'>&p=0.7")
    assert page.value("[setting.graph, setting.p]") == ["ring", 0.7]
    assert page.value("$('refused').textContent").endswith("graph.")
    assert page.value("[document.images.length, document.title.includes('bad')]") == [0, False]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The address of a report with a claim that can be played."""
    folder = tmp_path_factory.mktemp("report")
    shown = contents(folder)
    shown = replace(shown, findings=replace(shown.findings, play={"15": "graph=star&n=7"}))
    (folder / "report.html").write_text(html_page(shown), encoding="utf-8")
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    path = tmp_path_factory.mktemp("board") / "board.html"
    path.write_text(as_html(BOARD), encoding="utf-8")
    return path.as_uri()


def test_a_claim_of_the_report_opens_the_playground_within_it_at_its_setting(page, report):
    page.open(report)
    assert page.value("document.querySelectorAll('button[data-play]').length") == 1
    page.value("window.open = (address) => { window.opened = address }")
    page.click("button[data-play]")
    assert page.value("opened").endswith("#graph=star&n=7")
    assert page.value("fetch(opened.split('#')[0]).then(said => said.text())") == play_page()


@pytest.mark.parametrize("width", [420, 1280])
def test_nothing_scrolls_sideways(page, report, board, width):
    for address in (report, board, f"{PAGE}#graph=random&n=60&round=5"):
        page.open(address, width)
        assert page.value("document.documentElement.scrollWidth") <= width


def filtered(page, name, value):
    """The rows of claims that are shown when a filter has a value."""
    page.value(f"form.elements['{name}'].value = '{value}'")
    page.value("form.dispatchEvent(new Event('input'))")
    return page.value("rows.filter((row) => !row.hidden).map((row) => row.id)")


def test_the_report_is_searched_and_filtered_and_a_link_reveals_a_claim(page, report):
    page.open(report)
    assert filtered(page, "search", "points 20") == ["claim-order", "claim-same"]
    assert len(filtered(page, "search", "")) == 5
    assert filtered(page, "verdict", "not run") == ["claim-later"]
    assert page.value("folded.open") is True
    assert len(filtered(page, "verdict", "")) == 5
    assert filtered(page, "topic", "2") == ["claim-15", "claim-later"]
    page.value("location.hash = '#claim-order'")
    page.value("new Promise((done) => setTimeout(done, 500))")
    assert page.value("rows.filter((row) => !row.hidden).length") == 5
    page.value("search.elements.words.value = 'CLAIM-ORDER'.slice(6)")
    page.value("search.dispatchEvent(new Event('input'))")
    links = page.value("[...search.querySelectorAll('a')].map((link) => link.getAttribute('href'))")
    assert "#claim-order" in links


def test_the_board_is_filtered_by_paper_verdict_and_who_asked(page, board):
    page.open(board)
    assert filtered(page, "paper", "first") == ["first-a", "first-ours-ngo"]
    assert filtered(page, "asked", "by us") == ["first-ours-ngo"]
    assert filtered(page, "verdict", "not run") == []


#: Where `make docs` builds the site.
SITE = REPOSITORY / "docs/_build/html"

# What is wrong on a page: words that go on in the next line (in a text of more than 30 letters
# without a space, such as a revision or a path, they may), and code that is wider than its box.
FAULTS = """(() => {
  const broken = [], range = document.createRange();
  const article = document.querySelector("article");
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const tops = () => [...range.getClientRects()].map((box) => Math.round(box.top / 4));
  const lines = () => new Set(tops()).size;
  for (let text; (text = walker.nextNode());) {
    if (text.parentElement.closest("math, svg, details:not([open])")) continue;
    range.selectNodeContents(text);
    if (lines() < 2) continue;
    for (const word of text.data.matchAll(/[\\p{L}\\p{N}_]+/gu)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const [before, behind] = [text.data.slice(0, word.index), text.data.slice(word.index)];
      const whole = before.match(/\\S*$/)[0] + behind.match(/^\\S*/)[0];
      if (lines() > 1 && whole.length <= 30) broken.push(word[0]);
    }
  }
  const boxes = [...article.querySelectorAll("pre")];
  const longest = (lines) => lines.reduce((a, b) => (a.length < b.length ? b : a));
  return {
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    broken,
    cut: boxes
      .filter((box) => box.scrollWidth > box.clientWidth)
      .map((box) => longest(box.textContent.split("\\n"))),
  };
})()"""


@pytest.mark.skipif(not SITE.exists(), reason="make docs builds the site")
@pytest.mark.parametrize("width", [400, 1400])
def test_no_page_scrolls_sideways_and_no_word_is_broken_and_no_code_is_cut(page, width):
    wrong = {}
    for path in sorted(SITE.rglob("*.html")):
        if path.name in ("genindex.html", "search.html", "play.html", "board_file.html"):
            continue
        page.open(path.as_uri(), width)
        faults = page.value(FAULTS)
        if width == 400:
            del faults["cut"]  # it scrolls in its box
        if faults.pop("wide") > 0 or any(faults.values()):
            wrong[str(path.relative_to(SITE))] = faults
    assert wrong == {}


def test_a_wide_page_a_broken_word_and_cut_code_are_found(page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(
        "<article><p style='width: 4em; overflow-wrap: anywhere'>unbreakable</p>"
        f"<pre style='width: 9em; overflow: auto'>{'x' * 40}</pre>"
        "<p style='width: 500px'>whole</p></article>"
    )
    page.open(path.as_uri(), 400)
    found = page.value(FAULTS)
    assert found["wide"] > 0
    assert (found["broken"], found["cut"]) == (["unbreakable"], ["x" * 40])

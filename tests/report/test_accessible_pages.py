"""The pages are accessible: facts of their HTML, and of the pages in a browser.

With axe-core (npm install --global axe-core; version 4.14.1 was tried), its findings too.
"""

import html as escaping
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from made_up_board import BOARD
from made_up_page import contents
from running import finished, start

from ngo.report.board_pages import as_html
from ngo.report.html_page import html_page

VOID = {"meta", "img", "input", "br", "link", "hr"}


class Elements(HTMLParser):
    """The elements of a page: tag, attributes, and the elements around it, outermost first."""

    def __init__(self, html):
        super().__init__()
        self.found, self.open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        element = (tag, dict(attributes), tuple(self.open))
        self.found.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        self.open.pop()

    def all(self, *tags):
        return [each for each in self.found if each[0] in tags]

    def inside(self, tag, element):
        """The elements with this tag in another element."""
        return [each for each in self.all(tag) if any(around is element for around in each[2])]


@pytest.fixture(scope="module", params=["report", "board"])
def html(request, tmp_path_factory):
    if request.param == "board":
        return as_html(BOARD)
    return html_page(contents(tmp_path_factory.mktemp("page")))


@pytest.fixture(scope="module")
def elements(html):
    return Elements(html)


def test_headers_have_a_scope_and_tables_one_caption(elements):
    assert elements.all("table")
    assert all(each[1].get("scope") in ("col", "row") for each in elements.all("th"))
    for table in elements.all("table"):
        assert len(elements.inside("caption", table)) == 1


def test_inputs_have_labels_and_ids_are_there_once(elements):
    for _, _, around in elements.all("input", "select"):
        assert "label" in [each[0] for each in around]
    kinds = [each[1]["type"] for each in elements.all("input")]
    assert kinds == ["search", "search"]  # of the page, and of the claims
    names = [each[1]["id"] for each in elements.found if "id" in each[1]]
    assert len(names) == len(set(names))


def test_what_scrolls_can_be_reached_by_keyboard_and_has_a_name(elements):
    boxes = [each for each in elements.found if "scroll" in each[1].get("class", "").split()]
    assert all(each[1].get("tabindex") == "0" and each[1].get("aria-label") for each in boxes)
    for table in elements.all("table"):
        assert any(around in boxes for around in table[2])


PROBE = """
window.addEventListener("load", async () => {
  const told = {page: document.documentElement.scrollWidth, window: innerWidth};
  told.outside = [...document.querySelectorAll("body *")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
    .filter((each) => !each.closest(".scroll")).map((each) => each.outerHTML.slice(0, 80));
  told.items = [...document.querySelectorAll(".scroll table")].length;
  search.elements.words.value = WORDS;
  search.dispatchEvent(new Event("input"));
  told.output = search.querySelector("output").textContent;
  told.links = [...search.querySelectorAll("a")].map((each) => each.getAttribute("href"));
  if (globalThis.axe) {
    const results = await axe.run();
    told.axe = axe.version;
    told.findings = results.violations.map(({id, impact, nodes}) => [impact, id, nodes[0].html]);
  }
  const output = Object.assign(document.createElement("pre"), {id: "told"});
  output.textContent = JSON.stringify(told);
  document.body.append(output);
});
"""


def probed(folder, html, words, *scripts, width=500, dark=False):
    """What the page tells in a browser with a window of this width."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium")
    probe = PROBE.replace("WORDS", json.dumps(words))
    added = "".join(f"<script>{script}</script>" for script in (*scripts, probe))
    file = folder / "page.html"
    file.write_text(html.replace("</body>", f"{added}</body>"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    flags += [f"--user-data-dir={folder}", f"--window-size={width},900"]
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
    dom = finished(start([browser, *flags, "--dump-dom", file.as_uri()]))
    return json.loads(escaping.unescape(re.search('<pre id="told">(.*?)</pre>', dom, re.S)[1]))


def test_nothing_scrolls_sideways_at_500_pixels_but_boxes(tmp_path, html):
    told = probed(tmp_path, html, "zzz")
    assert told["page"] <= told["window"] == 500
    assert told["outside"] == []


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(tmp_path, html, dark):
    told = probed(tmp_path, html, "", axe_core(), dark=dark)
    assert told["axe"]
    serious = [each for each in told["findings"] if each[0] in ("serious", "critical")]
    assert serious == [], told["axe"]


def axe_core():
    """The script of axe-core, from NODE_PATH or npm's folder of global packages."""
    folders = os.environ.get("NODE_PATH", "").split(os.pathsep)
    if npm := shutil.which("npm"):
        root = subprocess.run([npm, "root", "--global"], capture_output=True, text=True, timeout=60)
        folders.append(root.stdout.strip())
    for folder in filter(None, folders):
        path = Path(folder, "axe-core/axe.min.js")
        if path.exists():
            return path.read_text(encoding="utf-8").replace("</script>", "<\\/script>")
    pytest.skip("no axe-core: npm install --global axe-core, or name its folder in NODE_PATH")

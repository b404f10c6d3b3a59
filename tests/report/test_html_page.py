"""The page: one file with every claim, table and figure, whose links resolve."""

import base64
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from made_up_page import ROWS, contents
from PIL import Image
from running import finished, start

from ngo.report.findings import findings
from ngo.report.html_page import html_page, prose
from ngo.report.shipped import Shipped
from ngo.report.templates import FOLDER

VOID = {"meta", "img", "input", "br", "link", "hr"}


class Parsed(HTMLParser):
    """The tags of a page: attributes in order, ids, the text inside each id, and what is open."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.ids, self.open, self.texts, self.closed_wrongly = [], [], [], {}, []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append((tag, attributes.get("id")))

    def handle_endtag(self, tag):
        if self.open[-1][0] != tag:
            self.closed_wrongly.append(tag)
        self.open.pop()

    def handle_data(self, data):
        for _, identifier in self.open:
            if identifier:
                self.texts[identifier] = self.texts.get(identifier, "") + data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def html(folder):
    return html_page(contents(folder))


@pytest.fixture(scope="module")
def parsed(html):
    return Parsed(html)


def attributes(parsed, name):
    return [each[name] for _, each in parsed.tags if name in each]


def test_every_tag_is_closed_and_every_id_is_there_once(parsed):
    assert parsed.closed_wrongly == []
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))


def test_it_refers_to_nothing_outside(html, parsed):
    assert not [tag for tag, _ in parsed.tags if tag in ("link", "iframe", "object")]
    assert [given for tag, given in parsed.tags if tag == "script"] == [{}]
    assert all(value.startswith("data:") for value in attributes(parsed, "src"))
    assert not attributes(parsed, "srcset")
    assert not re.search(r"@import|url\(", html)


def test_all_links_resolve(parsed):
    links = attributes(parsed, "href")
    assert len(links) > 15
    assert {link[1:] for link in links if link[0] == "#"} <= set(parsed.ids)
    assert [link for link in links if link[0] != "#"] == ["https://example.org/paper"]
    assert set(attributes(parsed, "for")) <= set(parsed.ids)


def test_the_page_of_a_users_own_study_names_no_paper_and_counts_no_claims(folder):
    made = contents(folder)
    paper = dict.fromkeys(made.paper, "") | {"title": "mine"}
    none = findings([], None)
    html = html_page(replace(made, paper=paper, rows=[], findings=none))
    assert "<h1>mine</h1>" in html
    assert "paper" not in html[html.index("<body>") : html.index("<main")]
    parsed = Parsed(html)
    sections = re.findall(r'<section id="(.*?)">', html)
    assert sections == ["results", "assumptions", "provenance"]
    assert {link[1:] for link in attributes(parsed, "href")} <= set(parsed.ids)
    assert "hold" not in parsed.texts["content"]


def test_each_claim_is_on_the_board_with_its_numbers_and_a_link_to_what_shows_it(html, parsed):
    for each in ROWS:
        told = parsed.texts[each.anchor]
        for text in (each.statement, each.verdict, each.measured, each.interval, each.counted):
            assert text in told
        assert each.why in told
        board = re.search(rf'<tr id="{each.anchor}".*?</tr>', html, re.DOTALL)[0]
        assert f'href="#{each.shows or "claims"}"' in board
        value = float(re.search(r'<data value="(.*?)">', board)[1])
        assert value == each.estimate or each.estimate != each.estimate


def test_it_opens_with_the_answers(html, parsed):
    told = parsed.texts["answers"]
    assert "Is it better?\nPartly." in told
    assert "Yes: on MNIST by 4.12 points [2.25, 6].\nNo: on digits" in told
    assert "No.\n\nby the printed T* in only 204 of 400 cases." in told
    sections = re.findall(r'<section id="(.*?)">', html)
    assert sections == ["answers", "topics", "every-claim", "results", "assumptions", "provenance"]
    assert 'class="answer depends"' in html
    assert 'class="answer fails"' in html


def test_rows_carry_what_the_filters_ask_for(folder):
    made = contents(folder)
    marked = [replace(each, mark="trivial") if each.claim == "open" else each for each in ROWS]
    page = html_page(replace(made, rows=marked))
    rows = re.findall(
        r'<tr id="claim-(.*?)".*?data-verdict="(.*?)" data-mark="(.*?)" data-topic="(.*?)">', page
    )
    assert rows == [
        ("order", "holds", "", "1"), ("same", "equivalent", "", "1"), ("15", "fails", "", "2"),
        ("open", "undecided", "trivial", ""), ("later", "not run", "", "2"),
    ]  # fmt: skip
    for name, options in (("verdict", "fails"), ("mark", "trivial"), ("topic", "Theorems")):
        (choice,) = re.findall(rf'<select name="{name}">(.*?)</select>', page)
        assert f">{options}</option>" in choice


ASK = """
const ask = (name, value) => {
  form.elements[name].value = value;
  form.dispatchEvent(new Event("input"));
  document.title += `|${rows.filter((row) => !row.hidden).map((row) => row.id)};${folded.open}`;
};
ask("search", "points 20"); ask("search", ""); ask("verdict", "not run"); ask("verdict", "");
ask("topic", "2");
location.hash = "#claim-order";
setTimeout(() => { document.title += `|${rows.filter((row) => !row.hidden).length}`; }, 500);
"""


def test_a_browser_searches_filters_and_reveals_claims(tmp_path, html):
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium")
    file = tmp_path / "report.html"
    file.write_text(html.replace("</script>", f"{ASK}</script>"), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"]
    flags += [f"--user-data-dir={tmp_path}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    dom = finished(start([browser, *flags, "--dump-dom", file.as_uri()]))
    assert re.search("<title>(.*?)</title>", dom)[1].split("|")[1:] == [
        "claim-order,claim-same;false",
        "claim-order,claim-same,claim-15,claim-open,claim-later;false",
        "claim-later;true",
        "claim-order,claim-same,claim-15,claim-open,claim-later;false",
        "claim-15,claim-later;true",
        "5",
    ]


def test_the_page_of_a_smaller_tier_has_the_shipped_answers_and_verdicts(folder, html):
    found = {"order": ("fails", "−3 <points>"), "elsewhere": ("holds", "1")}
    shipped = Shipped("own", "big", {"Is it better?": "No: <never>.", "Is it red?": "Yes."}, found)
    page = html_page(replace(contents(folder), shipped=shipped))
    assert "Shipped (big):</span> No: &lt;never&gt;." in page
    assert "Is it red?" not in page
    row = re.search(r'<tr id="claim-order".*?</tr>', page, re.DOTALL)[0]
    assert '<span class="badge fails">fails</span> −3 &lt;points&gt;</td>' in row
    assert "Shipped" not in html


def test_a_figure_is_its_file_without_the_drawn_caption_which_is_text(folder, parsed):
    ((_, image),) = (each for each in parsed.tags if each[0] == "img")
    data = base64.b64decode(image["src"].removeprefix("data:image/png;base64,"))
    assert data == (folder / "fig8.png").read_bytes()
    with Image.open(folder / "fig8.png") as file:
        rows = np.asarray(file.convert("L")).min(axis=1)
    bottom = int(image["height"])  # the caption is below; the axes and their labels are above
    assert rows[bottom:].min() < 200
    assert rows[bottom - 2 : bottom + 2].min() > 250
    style = re.search(r"^img {.*?}", (FOLDER / "page.css").read_text(), re.M | re.S)[0]
    assert "object-fit: cover; object-position: top" in style  # so the page cuts it off
    assert image["alt"] == "Figure 8: V"
    assert "Bands: γ = 0.1. Tier made-up." in parsed.texts["fig8"]


def test_text_is_escaped(html, parsed):
    assert "V is 0 after T* | <printed>" in parsed.texts["claim-15"]
    assert "<printed>" not in html
    assert "<V>" not in html


def test_descriptions_include_neither_html_nor_files():
    for text in (".. raw:: html\n\n   <script>x()</script>\n", ".. include:: /etc/hostname\n"):
        with pytest.raises(Exception, match="disabled"):
            prose(text)


def test_results_of_an_earlier_revision_say_so_at_the_top(folder, html):
    page = html_page(replace(contents(folder), older="<abc>"))
    assert "made by an earlier revision of the code (&lt;abc&gt;)" in page.partition("<main>")[0]
    assert "earlier revision" not in html

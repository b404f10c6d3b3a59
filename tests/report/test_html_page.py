"""Pages of HTML: one file with every claim, table and figure, accessible, whose links resolve."""

import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from made_up_page import BOARD, ROWS, contents

from ngo.report.board import as_html
from ngo.report.contents import Shipped
from ngo.report.findings import findings
from ngo.report.pages import html_page, prose

VOID = {"meta", "img", "input", "br", "link", "hr"}


class Elements(HTMLParser):
    """The elements of a page: tag, attributes and those around it; and the text inside each id."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.texts = [], [], {}
        self.feed(html)
        assert self.open == []
        self.ids = self.attributes("id")

    def handle_starttag(self, tag, attributes):
        element = (tag, dict(attributes), tuple(self.open))
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, given, _ in self.open:
            if "id" in given:
                self.texts[given["id"]] = self.texts.get(given["id"], "") + data

    def all(self, *tags):
        return [element for element in self.elements if element[0] in tags]

    def attributes(self, name):
        return [given[name] for _, given, _ in self.elements if name in given]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def html(folder):
    return html_page(contents(folder))


@pytest.fixture(scope="module")
def parsed(html):
    return Elements(html)


@pytest.mark.parametrize("name", ["report", "board"])
def test_tables_inputs_and_what_scrolls_are_accessible(html, name):
    elements = Elements(as_html(BOARD) if name == "board" else html)
    assert len(elements.ids) == len(set(elements.ids))
    assert all(header[1].get("scope") in ("col", "row") for header in elements.all("th"))
    captions = [caption[2][-1] for caption in elements.all("caption")]
    assert captions == elements.all("table") != []
    for _, _, around in elements.all("input", "select"):
        assert "label" in [element[0] for element in around]
    scrolls = (e for e in elements.elements if "scroll" in e[1].get("class", "").split())
    boxes = [*scrolls]
    assert all(box[1].get("tabindex") == "0" and box[1].get("aria-label") for box in boxes)
    for table in elements.all("table"):
        assert any(around in boxes for around in table[2])


def test_it_refers_to_nothing_outside_and_all_links_resolve(html, parsed):
    assert not parsed.all("link", "iframe", "object")
    assert [given for _, given, _ in parsed.all("script")] == [{}]
    assert all(value.startswith("data:") for value in parsed.attributes("src"))
    assert not parsed.attributes("srcset")
    assert not re.search(r"@import|url\(", html)
    links = parsed.attributes("href")
    assert len(links) > 15
    assert {link[1:] for link in links if link[0] == "#"} <= set(parsed.ids)
    assert [link for link in links if link[0] != "#"] == ["https://example.org/paper"]


def test_the_page_of_a_users_own_study_names_no_paper_and_counts_no_claims(folder):
    made = contents(folder)
    paper = dict.fromkeys(made.paper, "") | {"title": "mine"}
    html = html_page(replace(made, paper=paper, rows=[], findings=findings([], None)))
    assert "<h1>mine</h1>" in html
    assert "paper" not in html[html.index("<body>") : html.index("<main")]
    parsed = Elements(html)
    sections = re.findall(r'<section id="(.*?)">', html)
    assert sections == ["results", "assumptions", "provenance"]
    assert {link[1:] for link in parsed.attributes("href")} <= set(parsed.ids)
    assert "hold" not in parsed.texts["content"]


def test_each_claim_is_on_the_board_with_its_numbers_and_a_link_to_what_shows_it(html, parsed):
    for row in ROWS:
        told = parsed.texts[row.anchor]
        for text in (row.statement, row.verdict, row.measured, row.interval, row.counted, row.why):
            assert text in told
        board = re.search(rf'<tr id="{row.anchor}".*?</tr>', html, re.DOTALL)[0]
        assert f'href="#{row.shows or "claims"}"' in board
        value = float(re.search(r'<data value="(.*?)">', board)[1])
        assert value == row.estimate or math.isnan(row.estimate)


def test_it_opens_with_the_answers(html, parsed):
    told = parsed.texts["answers"]
    assert "Is it better?\nPartly." in told
    assert "Yes: on MNIST by 4.1 points [2.2, 6.0].\nNo: on digits" in told
    assert "No.\n\nby the printed T* in only 204 of 400 cases." in told
    sections = re.findall(r'<section id="(.*?)">', html)
    assert sections == ["answers", "results", "topics", "every-claim", "assumptions", "provenance"]


def test_the_page_of_a_smaller_tier_has_the_shipped_answers_and_verdicts(folder, html):
    found = {"order": ("fails", "−3 <points>"), "elsewhere": ("holds", "1")}
    shipped = Shipped("own", "big", {"Is it better?": "No: <never>.", "Is it red?": "Yes."}, found)
    page = html_page(replace(contents(folder), shipped=shipped))
    assert "Shipped (big):</span> No: &lt;never&gt;." in page
    assert "Is it red?" not in page
    row = re.search(r'<tr id="claim-order".*?</tr>', page, re.DOTALL)[0]
    assert '<span class="badge fails">fails</span> −3 &lt;points&gt;</td>' in row
    assert "Shipped" not in html


def test_text_is_escaped_and_descriptions_include_neither_html_nor_files(html, parsed):
    assert "V is 0 after T* | <printed>" in parsed.texts["claim-15"]
    assert "<printed>" not in html
    assert "<V>" not in html
    for text in (".. raw:: html\n\n   <script>x()</script>\n", ".. include:: /etc/hostname\n"):
        with pytest.raises(Exception, match="disabled"):
            prose(text)


def test_results_of_an_earlier_revision_say_so_at_the_top(folder, html):
    page = html_page(replace(contents(folder), older="<abc>"))
    assert "made by an earlier revision of the code (&lt;abc&gt;)" in page.partition("<main>")[0]
    assert "earlier revision" not in html

"""The page: one file with every claim, table and figure, whose links resolve."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from made_up_page import ROWS, contents, row

from ngo.common.registry import UserError
from ngo.report.html_page import html_page, prose

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
    assert not [tag for tag, _ in parsed.tags if tag in ("script", "link", "iframe", "object")]
    assert all(value.startswith("data:") for value in attributes(parsed, "src"))
    assert not attributes(parsed, "srcset")
    assert not re.search(r"@import|url\(", html)


def test_all_links_resolve(parsed):
    links = attributes(parsed, "href")
    assert len(links) > 15
    assert {link[1:] for link in links if link[0] == "#"} <= set(parsed.ids)
    assert [link for link in links if link[0] != "#"] == ["https://example.org/paper"]
    assert set(attributes(parsed, "for")) <= set(parsed.ids)


def test_the_page_tells_of_the_paper_that_was_asked_for(html):
    assert "<title>A paper &lt;of&gt; *ours*: results of the made-up tier</title>" in html
    assert "<cite>A paper &lt;of&gt; *ours*</cite>\n(A. Author)" in html
    assert "The claim: All is well." in html


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


def test_the_counts_are_the_rows(html):
    tiles = re.findall(r'class="tile [a-z-]+".*?><b>(\d+)</b> ([a-z ]+)<', html)
    assert tiles == [
        ("1", "holds"), ("1", "fails"), ("1", "equivalent"), ("1", "undecided"), ("1", "not run"),
        ("5", "all"),
    ]  # fmt: skip
    assert "Of 5 claims, 1 holds" in html


def test_a_figure_is_the_file_itself_with_its_caption(folder, parsed):
    ((_, image),) = (each for each in parsed.tags if each[0] == "img")
    data = image["src"].removeprefix("data:image/png;base64,")
    assert base64.b64decode(data) == (folder / "fig8.png").read_bytes()
    assert image["alt"] == "Figure 8: V"
    assert "Bands: γ = 0.1. Tier made-up." in parsed.texts["fig8"]


def test_tables_findings_assumptions_and_provenance_are_there(parsed):
    for text in ("The caption of tableS1.", "ring <4>", "0.67", "Gaps."):
        assert text in parsed.texts["tableS1"]
    for text in ("What is compared.", "Statement of order", "4.12 points", "[15]", "[later]."):
        assert text in parsed.texts["findings"]
    assert "All of them." in parsed.texts["assumptions"]
    assert "abc|def" in parsed.texts["provenance"]


def test_text_is_escaped(html, parsed):
    assert "V is 0 after T* | <printed>" in parsed.texts["claim-15"]
    assert "<printed>" not in html
    assert "<V>" not in html


def test_it_is_the_same_each_time(folder, html):
    assert html_page(contents(folder)) == html


def test_a_claim_without_a_place_on_the_page_is_refused(folder):
    made = replace(contents(folder), rows=[row("x", shows="nowhere")])
    with pytest.raises(UserError, match=r"claims.x.shows: 'nowhere' is unknown"):
        html_page(made)


def test_captions_are_restructured_text():
    assert prose("*Look at* the ``V``.") == (
        '<p><em>Look at</em> the <span class="docutils literal">V</span>.</p>\n'
    )


def test_descriptions_include_neither_html_nor_files():
    for text in (".. raw:: html\n\n   <script>x()</script>\n", ".. include:: /etc/hostname\n"):
        with pytest.raises(Exception, match="disabled"):
            prose(text)


def test_results_of_an_earlier_revision_say_so_at_the_top(folder, html):
    page = html_page(replace(contents(folder), older="<abc>"))
    assert "made by an earlier revision of the code (&lt;abc&gt;)" in page.partition("<main>")[0]
    assert "earlier revision" not in html

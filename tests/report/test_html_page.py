"""Pages of results: HTML with every claim, table and figure, accessible; Markdown; the README."""

import math
import posixpath
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from made_up_page import BOARD, ROWS, contents, row

from ngo.report.answers import answer
from ngo.report.board import as_html
from ngo.report.contents import Shipped
from ngo.report.findings import findings
from ngo.report.pages import (
    BEGIN,
    END,
    for_readme,
    html_page,
    paper_markdown,
    prose,
    results_markdown,
    summary,
    summary_of,
    warned_of,
)  # fmt: skip

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
    assert all(given["href"][:5] == "data:" for _, given, _ in parsed.all("image"))
    links = [link for link in parsed.attributes("href") if link[:5] != "data:"]
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
    assert re.findall(r'<section id="(.*?)">', html) == ["results", "assumptions", "provenance"]
    links = parsed.attributes("href")
    assert {link[1:] for link in links if link[0] == "#"} <= set(parsed.ids)
    assert "hold" not in parsed.texts["content"]


def test_each_claim_is_on_the_board_with_its_numbers_and_a_link_to_what_shows_it(html, parsed):
    for each in ROWS:
        told = parsed.texts[each.anchor]
        for name in ("statement", "verdict", "measured", "interval", "counted", "why"):
            assert getattr(each, name) in told
        board = re.search(rf'<tr id="{each.anchor}".*?</tr>', html, re.DOTALL)[0]
        assert f'href="#{each.shows or "claims"}"' in board
        value = float(re.search(r'<data value="(.*?)">', board)[1])
        assert value == each.estimate or math.isnan(each.estimate)


def test_an_answer_has_the_picture_of_a_claim_and_a_picture_has_one_caption(html, parsed):
    (figure,) = parsed.all("image")
    used, *others = parsed.all("use")
    assert {use[1]["href"] for use in (used, *others)} == {"#" + figure[1]["id"]}
    assert used[2][-2] == ("a", {"class": "drawn", "href": "#fig8"}, used[2][:-2])
    for _, _, around in (figure, used):  # of the picture, what is above the caption drawn in it
        tag, given, _ = around[-1]
        assert (tag, given["aria-label"]) == ("svg", "See <V>")
        assert 0 < int(given["viewbox"].split()[-1]) < int(figure[1]["height"])
    assert html.count("Bands: γ = 0.1.") == 1
    assert "$" not in html.partition("<script>")[0]


def test_colours_have_a_key(html):
    key = re.search('<p class="note key">(.*?)</p>', html, re.DOTALL)[1]
    named = re.findall('<span class="badge (.*?)">', key)
    style = html.partition("</style>")[0]
    signs = [re.search(rf"\.{name}\b[^{{]*{{[^}}]*--sign: (.*?)}}", style)[1] for name in named]
    assert len(set(signs)) == len(named) == 6


def test_it_opens_with_the_answers(html, parsed):
    told = parsed.texts["answers"]
    assert "Is it better?\nPartly." in told
    assert "Yes: on MNIST by 4.1 points [2.2, 6.0].\nNo: on digits" in told
    assert "by the printed T* in only 204 of 400 cases." in told
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


@pytest.fixture
def made(tmp_path):
    return contents(tmp_path)


def pages(made):
    """The pages of a paper and of README.md's results, by their paths in docs/."""
    return {"papers/own.md": paper_markdown(made, "own")} | results_markdown(made, "results")


ANSWERS = [
    "- Is it better? **Partly.**",
    r"  - Yes: [on MNIST](#claim-order) by 4.1 points \[2.2, 6.0\].",
    "  - No: [on digits](#claim-same), no difference beyond 0.5 points.",
    "  - Not run: on CIFAR-10.",
    "- Is the theorem true? **No.**",
    r"  - No: [by the printed T\*](#claim-15) in only 204 of 400 cases.",
]


def test_a_page_opens_with_the_paper_and_the_answers(made):
    title, paper, *_ = paper_markdown(made, "own").split("\n\n")
    assert title == "# Results of the made-up tier"
    assert paper.endswith("(<https://example.org/paper>) (A. Author). The claim: All is well.")
    assert paper_markdown(made, "own").splitlines()[4:10] == ANSWERS
    page = results_markdown(made, "results")["results.md"]
    lines = [line for line in page.splitlines() if line]
    at = lines.index("## Is the theorem true?")
    picture = "[![Figure 8: V](images/results/fig8.png)](results/figures.md#fig8)"
    assert lines[at + 1 : at + 3] == ["**No.**", picture]
    assert "| [Is it better?](#claims-1) | 1 | 1 |  |  | 1 |  |" in lines
    claim = "[on digits](results/claims.md#claim-same)"
    assert f"| {claim} | **equivalent** | no difference beyond 0.5 points |" in lines
    assert "Not run: on CIFAR-10." in lines
    for text in (page, paper_markdown(made, "own")):
        assert "Of 5 claims, 1 holds, 2 do not" in text
        assert "12 runs." in text
    assert "`make paper PAPER=own` makes this page" in paper_markdown(made, "own")


def test_a_page_of_a_paper_has_its_parts_in_order(made):
    page = paper_markdown(made, "own")
    assert re.findall("^##+ (?:<.*>)?(.*)$", page, flags=re.MULTILINE) == [
        "Claims", "Accuracy", "Theorems", "Other claims", "Tables and figures", "Figure 8: V",
        "Table S1: gaps", "Assumptions", "defaults", "Provenance",
    ]  # fmt: skip
    assert "| ring <4>" in page
    assert "- Source revision: abc\\|def" in page


def test_every_claim_is_on_a_page_once_and_links_resolve(made):
    anchors = {name: re.findall(r'<a id="(.*?)">', page) for name, page in pages(made).items()}
    for name in ("papers/own.md", "results/claims.md"):
        claims = [anchor for anchor in anchors[name] if anchor.startswith("claim-")]
        assert sorted(claims) == sorted(row.anchor for row in ROWS)
    count = 0
    for name, page in pages(made).items():
        for link, anchor in re.findall(r"\]\(([\w./]*)(?:#(.*?))?\)", page):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
            target = target if link else name
            if anchor:
                assert anchor in anchors[target]
                count += 1
            figures = [f"images/{folder}/fig8.png" for folder in ("own", "results")]
            assert target in {*anchors, *figures, "assumptions.md", "verdicts.md"}
    assert count > 2 * len(ROWS)


def test_a_line_of_a_claim_has_the_numbers_of_its_row(made):
    table = row("order", cell="ring", verdict="fails", reason="so it is", registered="changed")
    page = paper_markdown(replace(made, cells=[table]), "own").splitlines()
    for claim in ROWS:
        (line,) = [line for line in page if line.startswith(f'| <a id="{claim.anchor}">')]
        verdict, *numbers = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[2:-1]]
        seeds = "; 44 would decide" if claim.verdict == "undecided" else ""
        assert verdict.startswith(f"**{claim.verdict}**")
        assert numbers == [
            claim.measured, claim.interval, str(claim.expectation or ""), claim.counted + seeds
        ]  # fmt: skip
    at = page.index(next(line for line in page if "`order`" in line))
    said = "**fails**: so it is; changed after its first run"
    assert page[at + 1].startswith(f"| ↳ ring | {said} | 4.1 points | 2.2 to 6.0 |")


def test_a_summary_in_short_has_the_answers_in_words_for_the_folder_above(made):
    rows = {row.claim: row for row in ROWS}
    asked = {"asks": "Is it so?", "claims": {"order": "on MNIST"}, "given": {"order": "holds"}}
    words = answer({**asked, "short": "So by {order}."}, rows)
    answers = (words, *made.findings.answers)
    block = summary(replace(made, findings=replace(made.findings, answers=answers)))
    assert summary_of(f"before\n{block}\nafter\n") == block
    assert block.startswith(f"{BEGIN}\n\n- So by [4.1 points")
    assert block.endswith(END)
    assert summary_of("no markers") == ""
    above = for_readme(block)
    assert "](docs/results/claims.md#claim-order)." in above
    assert "Is it better?" not in above
    assert "![" not in above
    assert "Of 5 claims" in above
    assert for_readme(above) == above
    undecided = [row for row in ROWS if row.claim == "open"]
    assert "is undecided" in summary(replace(made, findings=findings(undecided, None)))


def test_texts_of_findings_and_records_have_no_html_and_no_lines_of_their_own(made):
    hostile = "a <script>x()</script>\n\n# b ![c](http://d)"
    topics = [replace(topic, title=hostile, about=hostile) for topic in made.findings.topics]
    parts = [replace(part, label=hostile) for part in made.findings.answers[0].parts]
    asked = (replace(made.findings.answers[0], question=hostile, parts=tuple(parts)),)
    told = replace(made.findings, answers=asked, topics=tuple(topics), title=hostile)
    cells = [row("order", cell=hostile, reason=hostile)]
    records = {**made.provenance, hostile: hostile}
    for page in pages(replace(made, findings=told, provenance=records, cells=cells)).values():
        assert "<script" not in page.replace(r"\<", "")
        assert "\n# b" not in page
        assert "](http" not in page.replace(r"\]", "")


def test_results_of_an_earlier_revision_say_so_at_the_top_of_every_page(made):
    for page in pages(replace(made, older="abc_1")).values():
        assert page.startswith("# ")
        assert page.split("\n\n")[1].startswith("**These results were made by an earlier revision")
        assert "of the code (abc\\_1)" in page
        assert warned_of(page, "abc_1")
        assert not warned_of(page, "abc_2")
    assert not any("earlier revision" in page for page in pages(made).values())

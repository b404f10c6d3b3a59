"""The pages of the board."""

import re
from dataclasses import replace

from conftest import REPOSITORY
from made_up_board import BOARD, CELLS, CLAIMS, PAPERS, read_board
from py_mini_racer import MiniRacer

from ngo.report.board import as_html, as_markdown
from ngo.report.templates import FOLDER

SCRIPT = "<script>x()</script> ![a](http://b) <img src=x onerror=x()> | `"
TEXTS = {"title", "authors", "claim", "statement", "place", "remark", "effect", "interval",
         "seeds", "scale", "setting", "method", "measure", "chosen"}  # fmt: skip


def test_the_pages_of_the_repository_are_those_of_its_tables():
    """``make verify-shipped`` checks the tables themselves."""
    for name, render in (("board.md", as_markdown), ("board.html", as_html)):
        page = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
        assert page == render(read_board(REPOSITORY / "docs/board")), (
            f"{name} is out of date; run make board."
        )


def test_the_evidence_of_each_claim_is_on_the_page_of_its_paper():
    board = read_board(REPOSITORY / "docs/board")
    for paper in board.papers:
        if paper.archive:
            assert (REPOSITORY / paper.archive).exists()
            page = (REPOSITORY / f"docs/{paper.page}/claims.md").read_text(encoding="utf-8")
            assert (REPOSITORY / f"docs/{paper.page}.md").exists()
            rows = {
                line.split('"')[1]: line for line in page.splitlines() if '<a id="claim' in line
            }
            for claim in board.claims_of(paper):
                assert f"| {claim.verdict}" in rows[claim.anchor]


def test_each_paper_and_claim_has_a_row_with_a_link_to_the_evidence():
    page, html = as_markdown(BOARD), as_html(BOARD)
    assert "Of 3 claims, 1 holds, 1 fails, " in page
    assert "2 papers run. Of 3 claims" in page
    assert "1 more paper not run." in page
    assert (
        "| [a](first/claims.md#claim-a) | It is better | holds | 4.12 points | 2.25 to 6 | 10 | "
        "digits; 5 workers; 90 steps | 40 |\n"
    ) in page
    assert "[page](second.md), [archive](../results/archive/second-metrics.tar), made by an" in page
    assert "### Third\n\nC. Author. Not run.\n" in page
    assert "| 0 | 1 fails | 60 |" in page
    assert len(re.findall('<tr id=".*data-verdict', html)) == len(CLAIMS)
    assert 'href="first/claims.md#claim-ours-ngo"' in html
    assert 'data-paper="first" data-asked="by us"' in html
    for archive in ("first", "second"):
        assert f'href="../results/archive/{archive}-metrics.tar"' in html


def test_the_matrix_says_what_to_use_when():
    page = as_markdown(BOARD)
    assert (
        "| [skewed](settings/figures.md#matrix) | 16 workers, data skewed by Dirichlet's β = 0.1 | "
        "D² (η = 0.1) | NGO | D²; NGO | accuracy | 10 |\n"
    ) in page
    assert "| 1 of the workers lying | not measured |  |  | accuracy |  |\n" not in page
    assert "1 of the workers lying | not measured |" in page
    assert r"| NGO | not measured | ≈ 79.0 \[78.0, 80.0\] |" in page
    assert r"| D² | ≈ 89.5 \[88.5, 90.5\] | **80.0 \[79.0, 81.0\]** | diverged |" in page
    assert '<a class="badge holds" href="settings/figures.md#matrix">80.0' in as_html(BOARD)
    for render in (as_markdown, as_html):
        assert "Not measured: no archive of the settings" in render(replace(BOARD, cells=()))


def test_hostile_texts_are_neither_html_nor_links_nor_cells():
    """Ids of claims, verdicts and addresses have been checked where an archive was planned."""

    def hostile(row):
        own = {"claim": row.claim} if row in CLAIMS else {}
        return replace(row, **{**dict.fromkeys(TEXTS & set(row.__dict__), SCRIPT), **own})

    board = type(BOARD)(*(tuple(map(hostile, rows)) for rows in (PAPERS, CLAIMS, CELLS)))
    page, html = as_markdown(board), as_html(board)
    assert "<script" not in page.replace(r"\<", "")
    assert "<img" not in page.replace(r"\<", "")
    assert "](http://b" not in page.replace(r"\]", "")
    assert html.count("<script") == 1
    assert "<img" not in html
    widths = {line.count("|") - line.count(r"\|") for line in page.splitlines() if "x()" in line}
    assert widths <= {0, 3, 8, 9, 11}  # of the tables


STUB = """
const any = new Proxy(function () {}, {
  get: (_, key) =>
    ({[Symbol.iterator]: function* () {}, [Symbol.toPrimitive]: () => ""})[key] ?? any,
  apply: () => any,
});
const table = (name, rows, columns) => ({
  matches: (asked) => asked === name,
  rows: Array.from({length: rows}, () => ({cells: Array.from({length: columns}, () => ({}))})),
});
const when = table(".when", 4, 6), matrix = table(".matrix", 2, 4), window = any, location = {};
const chosen = {form: any, addEventListener() {}};
const document = {
  getElementById: () => any, querySelector: () => chosen,
  querySelectorAll: (asked) => asked.includes("matrix") ? [when, matrix] : [],
};
const hidden = (parts) => JSON.stringify(parts.map((each) => each.hidden));
"""


def test_the_filter_shows_the_row_and_the_column_of_a_setting():
    options = re.search('<form id="setting" hidden>.*?</form>', as_html(BOARD), re.DOTALL)[0]
    assert options.count("<option") == 1 + len(BOARD.settings())
    assert ">skewed: 16 workers, data skewed by Dirichlet&#39;s β = 0.1<" in options
    engine = MiniRacer()
    engine.eval(STUB + (FOLDER / "page.js").read_text(encoding="utf-8"))
    for place, said in ((2, "[false,true,false,true]"), (0, "[false,false,false,false]")):
        engine.eval(f"chosen.selectedIndex = {place}; choose()")
        assert engine.eval("hidden(when.rows)") == said
        assert engine.eval("hidden(matrix.rows[1].cells)") == said

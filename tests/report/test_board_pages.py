"""The pages of the board."""

import re
from dataclasses import replace

from conftest import REPOSITORY
from made_up_board import BOARD, CLAIMS, PAPERS, read_board

from ngo.report.board import as_html, as_markdown

SCRIPT = "<script>x()</script> ![a](http://b) <img src=x onerror=x()> | `"
TEXTS = {"title", "authors", "claim", "statement", "place", "remark", "effect", "interval",
         "seeds", "scale"}  # fmt: skip


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


def test_hostile_texts_are_neither_html_nor_links_nor_cells():
    """Ids of claims, verdicts and addresses have been checked where an archive was planned."""

    def hostile(row):
        own = {"claim": row.claim} if row in CLAIMS else {}
        return replace(row, **{**dict.fromkeys(TEXTS & set(row.__dict__), SCRIPT), **own})

    board = type(BOARD)(*(tuple(map(hostile, rows)) for rows in (PAPERS, CLAIMS)))
    page, html = as_markdown(board), as_html(board)
    assert "<script" not in page.replace(r"\<", "")
    assert "<img" not in page.replace(r"\<", "")
    assert "](http://b" not in page.replace(r"\]", "")
    assert html.count("<script") == 1
    assert "<img" not in html
    widths = {line.count("|") - line.count(r"\|") for line in page.splitlines() if "x()" in line}
    assert widths <= {0, 8, 9, 11}  # of the tables

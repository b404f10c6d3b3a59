"""The pages of the board, and the tool that writes them."""

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY
from made_up_page import BOARD, CELLS, CLAIMS, PAPERS, cell, read_board

from ngo.report.board import Board, as_html, as_markdown, conditions, estimate_of, told, with_values

SCRIPT = "<script>x()</script> ![a](http://b) <img src=x onerror=x()> | `"
TEXTS = {"title", "authors", "claim", "statement", "place", "remark", "effect", "interval",
         "seeds", "scale", "setting", "method", "measure", "chosen"}  # fmt: skip


def test_the_pages_of_the_repository_are_those_of_its_tables():
    """``make verify-shipped`` checks the tables themselves."""
    for name, render in (("board.md", as_markdown), ("board.html", as_html)):
        page = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
        rendered = render(read_board(REPOSITORY / "docs/board"))
        assert page == rendered, f"{name} is out of date; run make board."


def test_two_folders_on_one_paper_are_one_and_studies_are_counted_apart():
    (paper,) = PAPERS[:1]
    board = replace(BOARD, papers=(paper, {**paper, "tier": "again"}, {**paper, "address": ""}))
    assert told(board).startswith("1 paper and 1 study of our own run. Of 3 claims")


def test_each_paper_and_each_claim_of_the_html_page_has_a_row_with_a_link_to_the_evidence():
    page, html = as_markdown(BOARD), as_html(BOARD)
    assert "Of 3 claims, 1 holds, 1 does not, " in page
    assert " run. Of 3 claims" in page
    assert "1 more paper not run." in page
    archive = "[archive](../results/archive/second-metrics.tar)"
    assert f"[page](papers/second.md), {archive}, made by an" in page
    assert "| Third (third), C. Author | Nothing is known. |  |  |  |  |  |  |  | not run |" in page
    assert "| 0 | 1 fails | 60 |" in page
    assert len(re.findall('<tr id=".*data-verdict', html)) == len(CLAIMS)
    assert 'href="papers/first.md#claim-ours-ngo"' in html
    assert 'data-paper="first" data-asked="by us"' in html
    for archive in ("first", "second"):
        assert f'href="../results/archive/{archive}-metrics.tar"' in html


def test_the_matrix_says_what_to_use_when():
    page = as_markdown(BOARD)
    assert (
        "| [skewed](papers/settings.md#matrix) | 16 workers, data skewed by Dirichlet's β = 0.1 | "
        "D² (η = 0.1) | NGO | D²; NGO | accuracy | 10 |\n"
    ) in page
    assert "| 1 of the workers lying | not measured |  |  | accuracy |  |\n" not in page
    assert "1 of the workers lying | not measured |" in page
    assert r"| NGO | – | ≈ 79.0 \[78.0, 80.0\] |" in page
    assert r"| D² | ≈ 89.5 \[88.5, 90.5\] | **80.0 \[79.0, 81.0\]** | diverged |" in page
    assert '<a class="badge holds" href="papers/settings.md#matrix">80.0' in as_html(BOARD)
    for render in (as_markdown, as_html):
        assert "Not measured: no archive of the settings" in render(replace(BOARD, cells=()))


def test_hostile_texts_are_neither_html_nor_links_nor_cells():
    """Ids of claims, verdicts and addresses have been checked where an archive was planned."""

    def hostile(row):
        own = {"claim": row["claim"]} if row in CLAIMS else {}
        return {**row, **dict.fromkeys(TEXTS & set(row), SCRIPT), **own}

    board = Board(*([*map(hostile, rows)] for rows in (PAPERS, CLAIMS, CELLS)))
    page, html = as_markdown(board), as_html(board)
    assert "<script" not in page.replace(r"\<", "")
    assert "<img" not in page.replace(r"\<", "")
    assert "](http://b" not in page.replace(r"\]", "")
    assert html.count("<script") == 1
    assert "<img" not in html
    widths = {line.count("|") - line.count(r"\|") for line in page.splitlines() if "x()" in line}
    assert widths <= {3, 8, 11}  # of the tables


def test_a_text_of_a_table_is_on_one_line_and_commas_and_quotes_stay():
    board = replace(BOARD, claims=({**CLAIMS[0], "statement": 'a "b", c\n  d'},))
    assert ',"a ""b"", c d",' in board.files()["board/claims.csv"]


def test_a_cell_tells_its_estimate_and_its_conditions():
    assert [estimate_of(cell) for cell in CELLS[2:5:2]] == ["", "80.0 [79.0, 81.0]"]
    assert estimate_of(cell("a", "b", -float("inf"))) == "diverged"
    assert estimate_of(cell("a", "b", 1, low=float("nan"))) == "1.0"
    assert with_values(CELLS[4]) == "D² (η = 0.1)"
    every = {"skew": 0.1, "bandwidth": 2.5e6, "stragglers": 0.0625, "lateness": 3.0,
             "failing": 0.3, "liars": 1}  # fmt: skip
    assert conditions(cell("a", "b", **every)) == (
        "16 workers, data skewed by Dirichlet's β = 0.1, 2.5 MB to send for each worker, 6.25 % of "
        "the workers slow, messages 3 steps late, 30 % of the links failing, 1 of the workers lying"
    )
    assert conditions(cell("a", "b")) == "16 workers"


FILES = ["docs/board/papers.csv", "docs/board/claims.csv",
         "docs/board/matrix.csv", "docs/board.md", "docs/board.html"]  # fmt: skip


@pytest.fixture
def tool(monkeypatch, tmp_path):
    """The tool, of a repository with the made-up board."""
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import board

    monkeypatch.setattr(board, "REPOSITORY", tmp_path)
    monkeypatch.setattr(board, "shipped_board", lambda root, tell: BOARD)
    return board


def test_all_files_are_written_and_one_that_is_out_of_date_fails_the_check(tool, tmp_path):
    for _ in range(2):
        answer = CliRunner().invoke(tool.main)
        assert answer.exit_code == 0, answer.exception
        assert answer.output.splitlines() == [f"→ {name}" for name in FILES]
    assert (tmp_path / FILES[2]).read_text().count("\n") == 1 + len(CELLS)
    assert CliRunner().invoke(tool.main, ["--check"]).exit_code == 0
    (tmp_path / FILES[4]).write_text("changed")
    answer = CliRunner().invoke(tool.main, ["--check"])
    assert answer.exit_code == 1
    assert f"{FILES[4]} is out of date; run make board." in answer.output
    assert (tmp_path / FILES[4]).read_text() == "changed"

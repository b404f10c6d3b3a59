"""docs/results.md and the summary in README.md."""

import re
from dataclasses import replace

import pytest
from made_up_page import ROWS, contents

from ngo.report.findings import findings
from ngo.report.results_markdown import (
    BEGIN,
    END,
    escaped,
    replaced,
    results_markdown,
    summary,
    summary_of,
    warned_of,
)  # fmt: skip


@pytest.fixture
def made(tmp_path):
    return contents(tmp_path)


def test_it_opens_with_the_counts_and_is_the_same_each_time(made):
    page = results_markdown(made, "images")
    assert page == results_markdown(made, "images")
    title, paper, begin, counted = page.splitlines()[:7:2]
    assert (title, begin) == ("# Results of the made-up tier", BEGIN)
    assert paper.endswith("(<https://example.org/paper>) (A. Author). The claim: All is well.")
    assert "`make paper PAPER=own` trains the runs" in page
    assert counted.startswith("Of 5 claims, 1 holds, 1 fails")
    assert page.index("## What was found") < page.index("## Every claim")
    assert page.index("## Every claim") < page.index("## Tables and figures")


def test_every_claim_and_every_artefact_is_on_it_and_links_resolve(made):
    page = results_markdown(made, "images")
    anchors = re.findall(r'<a id="(.*?)">', page)
    assert len(anchors) == len(set(anchors))
    assert {row.anchor for row in ROWS} <= set(anchors)
    links = re.findall(r"\]\(#(.*?)\)", page)
    assert set(links) <= set(anchors)
    assert len(links) > len(ROWS)
    assert "![Figure 8: V](images/fig8.png)" in page
    assert "| ring <4>" in page
    assert "- Source revision: abc\\|def" in page


def test_topics_and_their_verdicts_come_first(made):
    found = results_markdown(made, "images").split("## What was found\n\n")[1]
    rows = [re.split(r" *\| *", line)[1:-1] for line in found.split("\n\n")[0].splitlines()]
    assert rows[0] == ["Topic", *made.findings.counted]
    assert [dict(zip(rows[0][1:], map(int, row[1:]), strict=True)) for row in rows[2:]] == [
        topic.counted for topic in made.findings.topics
    ]


def test_claims_that_were_not_run_share_a_line_for_each_reason(made):
    line = (
        "- Not run, no rows with dataset = 'cifar10': Statement of later [`later`](#claim-later).\n"
    )
    assert line in results_markdown(made, "images")


def test_numbers_are_the_tables(made):
    board = results_markdown(made, "images").split("## Every claim")[1]
    for row in ROWS:
        (line,) = re.findall(rf'^\| <a id="{row.anchor}">.*$', board, flags=re.MULTILINE)
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert cells[3:8] == [
            row.verdict, str(row.expectation or ''), row.measured, row.interval, row.counted
        ]  # fmt: skip


def test_the_summary_has_the_first_findings_with_links_to_the_page(made):
    block = summary(made, "docs/images", "docs/results.md")
    assert "**Statement of order**: holds; 4.12 points" in block
    assert "[`order`](docs/results.md#claim-order)" in block
    assert "(docs/images/fig8.png)" in block
    assert "12 runs." in block
    only = [each for each in ROWS if each.claim == "open"]
    assert "is undecided" in summary(replace(made, findings=findings(only, None)), "docs/images")


def test_a_tier_without_the_figure_has_a_summary_without_it(made):
    shown = [entry for entry in made.shown if made.findings.figure not in entry.names]
    assert len(shown) == len(made.shown) - 1
    assert "![" not in summary(replace(made, shown=shown), "docs/images")


def test_a_summary_is_replaced_in_a_document_and_found_there(made):
    block = summary(made, "docs/images", "docs/results.md")
    document = f"before\n{BEGIN}\nold \\1\n{END}\nafter\n"
    new = replaced(document, block)
    assert new == f"before\n{block}\nafter\n"
    assert summary_of(new) == block
    assert replaced(new, block) == new
    assert replaced("no markers", block) == "no markers"
    assert summary_of("no markers") == ""


def test_plain_text_has_no_meaning_in_markdown():
    assert escaped("T* | <a> [b] S_T `c`") == r"T\* \| \<a\> \[b\] S\_T \`c\`"


def test_texts_of_findings_and_records_have_no_html_and_no_lines_of_their_own(made):
    hostile = "a <script>x()</script>\n\n# b ![c](http://d)"
    topics = [replace(each, title=hostile, about=hostile) for each in made.findings.topics]
    found = replace(made.findings, topics=tuple(topics), title=hostile)
    records = [*made.provenance, (hostile, hostile)]
    page = results_markdown(replace(made, findings=found, provenance=records), "images")
    assert "<script" not in page.replace(r"\<", "")
    assert "\n# b" not in page
    assert "](http" not in page.replace(r"\]", "")


def test_results_of_an_earlier_revision_say_so_at_the_top(made):
    page = results_markdown(replace(made, older="abc_1"), "images")
    top = page.partition(BEGIN)[0]
    assert top.startswith(
        "# Results of the made-up tier\n\n**These results were made by an earlier"
    )
    assert "of the code (abc\\_1)" in top
    assert warned_of(page, "abc_1")
    assert not warned_of(results_markdown(made, "images"), "abc_1")
    assert "earlier revision" not in results_markdown(made, "images")

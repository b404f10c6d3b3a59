"""The pages in docs/ and the summary in README.md."""

import posixpath
import re
from dataclasses import replace

import pytest
from made_up_page import ROWS, contents

from ngo.report.findings import findings
from ngo.report.results_markdown import (
    ANSWER,
    BEGIN,
    END,
    for_readme,
    replaced,
    results_markdown,
    summary,
    summary_of,
    warned_of,
)  # fmt: skip


@pytest.fixture
def made(tmp_path):
    return contents(tmp_path)


def pages(made):
    return results_markdown(made, "own", "assumed.md")


def test_the_first_page_opens_with_the_answers_and_is_the_same_each_time(made):
    assert pages(made) == pages(made)
    assert list(pages(made)) == ["own.md", "own/claims.md", "own/figures.md"]
    page = pages(made)["own.md"]
    title, paper, begin = page.splitlines()[:6:2]
    assert (title, begin) == ("# Results of the made-up tier", BEGIN)
    assert paper.endswith("(<https://example.org/paper>) (A. Author). The claim: All is well.")
    assert page.splitlines()[6:11] == [
        "- Is it better? **Partly.**",
        r"  - Yes: [on MNIST](own/claims.md#claim-order) by 4.12 points \[2.25, 6\].",
        "  - No: [on digits](own/claims.md#claim-same), no difference beyond 0.5 points.",
        "  - Not run: on CIFAR-10.",
        "- Is the theorem true? **No.**",
    ]
    assert page.splitlines()[11].startswith("  - [by the printed T\\*](own/claims.md#")
    assert "Of 5 claims, 1 holds, 1 fails" in page
    assert "`make paper PAPER=own` makes these" in page
    assert "[assumed.md](assumed.md)" in page
    assert len(page.splitlines()) < 80


def test_every_claim_and_every_artefact_is_on_a_page_and_links_resolve(made):
    anchors = {name: re.findall(r'<a id="(.*?)">', page) for name, page in pages(made).items()}
    for found in anchors.values():
        assert len(found) == len(set(found))
    assert {row.anchor for row in ROWS} <= set(anchors["own/claims.md"])
    assert {"fig8", "tableS1", "claims"} <= set(anchors["own/figures.md"])
    count = 0
    for name, page in pages(made).items():
        folder = name.rpartition("/")[0]
        for link, anchor in re.findall(r"\]\(([\w./]*)#(.*?)\)", page):
            target = posixpath.normpath(f"{folder}/{link}".lstrip("/")) if link else name
            assert anchor in anchors[target]
            count += 1
        for link in re.findall(r"\]\(([\w./]+\.md)\)", page):
            target = posixpath.normpath(f"{folder}/{link}".lstrip("/"))
            assert target in {*anchors, "assumed.md", "verdicts.md"}
    assert count > 2 * len(ROWS)
    assert "![Figure 8: V](images/own/fig8.png)" in pages(made)["own.md"]
    figures = pages(made)["own/figures.md"]
    assert "![Figure 8: V](../images/own/fig8.png)" in figures
    assert "| ring <4>" in figures
    assert "- Source revision: abc\\|def" in figures


def test_numbers_are_the_tables(made):
    board = pages(made)["own/claims.md"].split("## Every claim")[1]
    for row in ROWS:
        (line,) = re.findall(rf'^\| <a id="{row.anchor}">.*$', board, flags=re.MULTILINE)
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert cells[3:8] == [
            row.verdict, str(row.expectation or ''), row.measured, row.interval, row.counted
        ]  # fmt: skip


def test_a_summary_can_stand_in_the_folder_above(made):
    block = summary(made, "own")
    assert block.startswith(f"{BEGIN}\n\n- Is it better?")
    assert "12 runs." in block
    document = replaced(f"before\n{BEGIN}\nold \\1\n{END}\nafter\n", block)
    assert (document, summary_of(document)) == (f"before\n{block}\nafter\n", block)
    assert (replaced("no markers", block), summary_of("no markers")) == ("no markers", "")
    above = for_readme(block, "own")
    assert "[on MNIST](docs/own/claims.md#claim-order)" in above
    assert "](docs/images/own/fig8.png)" in above
    assert for_readme(above, "own") == above
    kept = above.replace("](docs/", "](").splitlines()
    lines = [line for line in block.splitlines() if not line.startswith(ANSWER)]
    assert [line for line in kept if not line.startswith(ANSWER)] == lines
    only = [each for each in ROWS if each.claim == "open"]
    assert "is undecided" in summary(replace(made, findings=findings(only, None)), "own")


def test_for_the_readme_an_answer_has_the_first_claim_of_each_kind_and_none_that_was_not_run():
    block = (
        "- Is it so? **Partly.**\n"
        "  - Yes: [on A](own/claims.md#a) by 2 points \\[1, 3\\]; [on B](own/claims.md#b) by 1.\n"
        "  - No: [on C](own/claims.md#c) (of 4 cells; 2 fail).\n"
        "  - Not run: on D; on E.\n\n"
        "Of 4 claims; [2](own/claims.md) hold.\n"
    )
    assert for_readme(block, "own") == (
        "- Is it so? **Partly.**\n"
        "  - Yes: [on A](docs/own/claims.md#a) by 2 points \\[1, 3\\].\n"
        "  - No: [on C](docs/own/claims.md#c) (of 4 cells; 2 fail).\n\n"
        "Of 4 claims; [2](docs/own/claims.md) hold.\n"
    )


def test_texts_of_findings_and_records_have_no_html_and_no_lines_of_their_own(made):
    hostile = "a <script>x()</script>\n\n# b ![c](http://d)"
    topics = [replace(each, title=hostile, about=hostile) for each in made.findings.topics]
    parts = [replace(each, label=hostile) for each in made.findings.answers[0].parts]
    asked = (replace(made.findings.answers[0], question=hostile, parts=tuple(parts)),)
    found = replace(made.findings, answers=asked, topics=tuple(topics), title=hostile)
    records = [*made.provenance, (hostile, hostile)]
    for page in pages(replace(made, findings=found, provenance=records)).values():
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
    for page in pages(made).values():
        assert not warned_of(page, "abc_1")
        assert "earlier revision" not in page

"""The pages in docs/ and the summary in README.md."""

import posixpath
import re
from dataclasses import replace

import pytest
from made_up_page import ROWS, contents, row

from ngo.report.answers import answer
from ngo.report.findings import findings
from ngo.report.pages import (
    BEGIN,
    END,
    for_readme,
    paper_markdown,
    results_markdown,
    summary,
    summary_of,
    warned_of,
)  # fmt: skip


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
    r"  - [by the printed T\*](#claim-15) in only 204 of 400 cases.",
]


def test_a_page_opens_with_the_paper_and_the_answers(made):
    title, paper, *_ = paper_markdown(made, "own").split("\n\n")
    assert title == "# Results of the made-up tier"
    assert paper.endswith("(<https://example.org/paper>) (A. Author). The claim: All is well.")
    assert paper_markdown(made, "own").splitlines()[4:10] == ANSWERS
    page = results_markdown(made, "results")["results.md"]
    elsewhere = [line.replace("](#", "](results/claims.md#") for line in ANSWERS]
    assert page.splitlines()[6:12] == elsewhere
    for text in (page, paper_markdown(made, "own")):
        assert "Of 5 claims, 1 holds, 1 fails" in text
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
    words = answer("Is it so?", {"order": "on MNIST"}, rows, "By {order}.", {"order": "holds"})
    answers = (words, *made.findings.answers)
    block = summary(replace(made, findings=replace(made.findings, answers=answers)), "results")
    assert summary_of(f"before\n{block}\nafter\n") == block
    assert block.startswith(f"{BEGIN}\n\n- **Is it so?** By [4.1 points")
    assert "- Is it better? **Partly.**\n  - Yes: [on MNIST]" in block
    assert block.endswith(END)
    assert summary_of("no markers") == ""
    above = for_readme(block)
    assert "](docs/results/claims.md#claim-order)." in above
    assert "Is it better?" not in above
    assert "![" not in above
    assert "Of 5 claims" in above
    assert for_readme(above) == above
    undecided = [row for row in ROWS if row.claim == "open"]
    assert "is undecided" in summary(replace(made, findings=findings(undecided, None)), "own")


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

"""The check of shipped archives, on small ones."""

import dataclasses
import json

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY

from ngo.pipeline.archives.archive import OLDER, Archive, read_archive
from ngo.pipeline.archives.finished_runs import packed
from ngo.pipeline.paths import pages_of, shipped_metrics
from ngo.report.pages import BEGIN
from verdicts.members import ABOUT, write_archive


@pytest.fixture
def shipped(monkeypatch):
    """The module of the tool."""
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    return __import__("verify_shipped")


def answer(shipped, members, code=0):
    write_archive("own.tar", members)
    answer = CliRunner().invoke(shipped.main, ["own.tar"])
    assert answer.exit_code == code, answer.output
    return answer.output


def test_an_archive_of_the_present_code_passes_and_one_run_is_trained(shipped, own):
    shortest = min(Archive("own.tar", own).runs.values(), key=lambda run: run.seconds)
    assert answer(shipped, own) == f"pass  own.tar: {shortest.id}\n"


def test_without_the_data_nothing_is_made_again_and_a_line_says_so(shipped, own, monkeypatch):
    monkeypatch.setattr("ngo.data.download.verify", lambda name, root: ["a file"])
    assert answer(shipped, own) == (
        "skip  own.tar: runs on digits, which is not here\npass  own.tar: nothing made again\n"
    )


def of_another_version(members, **about):
    runs = [*Archive("own.tar", members).runs.values()]
    records = [{**run.record, "about": {**run.record["about"], "code": "x"}} for run in runs]
    runs = [dataclasses.replace(run, record=own) for run, own in zip(runs, records, strict=True)]
    described = {**json.loads(members[ABOUT]), **about}
    return {**members, ABOUT: json.dumps(described).encode(), **packed(runs)}


def test_runs_of_another_version_fail_unless_marked(shipped, own, monkeypatch, tmp_path):
    assert answer(shipped, of_another_version(own), code=1) == (
        "FAIL  own.tar: 4 runs of another results version; train them again, or mark it "
        "(--mark-older)\n"
    )
    made = CliRunner().invoke(shipped.main, ["own.tar", "--mark-older"])
    assert (made.exit_code, made.output) == (0, ""), made.exception
    older = read_archive("own.tar").members
    told = answer(shipped, older)
    made_by = Archive("own.tar", older).about[OLDER]
    assert made_by in {run.record["source"] for run in Archive("own.tar", own).runs.values()}
    assert told == f"pass  own.tar: marked as made by {made_by}; it has no page\n"
    monkeypatch.setattr(shipped, "REPOSITORY", tmp_path)
    monkeypatch.setattr(shipped, "shipped_metrics", lambda root: {"test": None})
    monkeypatch.setattr(shipped, "pages_of", lambda tier: ["a.md", "page.md"])
    page = tmp_path / "docs/page.md"
    page.parent.mkdir()
    warned = f"# Results\n\n**an earlier revision of the code (0123abc).**\n\n{BEGIN}\n"
    (tmp_path / "docs/a.md").write_text(warned)
    page.write_text(f"# Results\n\n{BEGIN}\n")
    marked = of_another_version(own, whole=True, **{OLDER: "0123abc"})
    assert "but docs/page.md does not say so" in answer(shipped, marked, code=1)
    page.write_text(warned)
    assert "marked as made by 0123abc, as docs/a.md, docs/page.md say" in answer(shipped, marked)


def test_the_pages_of_the_shipped_tiers_are_here():
    pages = [page for tier in shipped_metrics(REPOSITORY) for page in pages_of(tier)]
    assert "papers/d2.md" in pages
    assert [page for page in pages if not (REPOSITORY / "docs" / page).exists()] == []

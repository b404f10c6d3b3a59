"""The tool that writes the pages of results, docs/assumptions.md and the summary in README.md."""

import json
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY
from made_up_page import contents
from running import finished, start

from ngo.pipeline.archives.archive import write_archive
from ngo.pipeline.paths import PAGES
from ngo.report.contents import SHIPPED, read_shipped
from ngo.report.results_markdown import BEGIN, END, for_readme, summary_of


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import results_page

    return results_page


@pytest.fixture
def repository(tool, tmp_path, monkeypatch):
    """A folder with the two documents, without results, that ships the tier made-up."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "results/made-up/tables").mkdir(parents=True)
    (tmp_path / "made").mkdir()
    (tmp_path / "results/archive").mkdir()
    (tmp_path / "results/archive/made-up-metrics.tar").touch()
    for name in ("README.md", "docs/results.md"):
        (tmp_path / name).write_text(f"# Title\n\n{BEGIN}\n{END}\n\nMore.\n", encoding="utf-8")
    monkeypatch.setattr(tool, "REPOSITORY", tmp_path)
    monkeypatch.setattr(tool, "FIRST", "made-up")
    monkeypatch.setitem(PAGES, "made-up", "results")
    monkeypatch.setattr(tool, "report_contents", lambda *_: contents(tmp_path / "made"))
    return tmp_path


def run(tool, *arguments):
    return CliRunner().invoke(tool.main, ["--tier", "made-up", *arguments])


def test_the_documents_of_the_repository_agree(tool):
    """And with the results of the tier that they show, if these are here."""
    answer = CliRunner().invoke(tool.main, ["--check"])
    assert answer.exit_code == 0, answer.exception
    for name in ("README.md", "docs/results.md"):
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        assert text.count(BEGIN) == text.count(END) == 1
        assert summary_of(text)


def test_documents_and_images_are_written_and_are_the_same_each_time(tool, repository):
    old = repository / "docs/images/results/old.png"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"")
    assert run(tool).exit_code == 0
    names = ("README.md", "docs/results.md", "docs/assumptions.md", "docs/results/claims.md",
             "docs/results/figures.md", "docs/results/shipped.json",
             "docs/images/results/fig8.png")  # fmt: skip
    first = [(repository / name).read_bytes() for name in names]
    assert run(tool).exit_code == 0
    assert [(repository / name).read_bytes() for name in names] == first
    readme, page, assumptions, *_ = (content[:4000].decode(errors="replace") for content in first)
    assert readme.startswith(f"# Title\n\n{BEGIN}\n\n- Is it better?")
    assert readme.endswith(f"{END}\n\nMore.\n")
    assert page.startswith("# Results of the made-up tier\n")
    assert assumptions == "# Assumptions of the made-up tier\n\nAll of them.\n"
    assert not old.exists()
    assert for_readme(summary_of(page), "results") == summary_of(readme)
    told = read_shipped(repository / SHIPPED)
    assert told.answers["Is the theorem true?"].startswith("No: by the printed T* in only 204")
    assert "later" not in told.verdicts
    assert told.verdicts["order"] == ["holds", "4.12 points"]


@pytest.mark.parametrize("name", ["README.md", "docs/results.md"])
def test_a_stale_document_fails_the_check_without_results_too(tool, repository, name):
    assert run(tool).exit_code == 0
    assert run(tool, "--check").exit_code == 0
    path = repository / name
    path.write_text(path.read_text(encoding="utf-8").replace("4.12", "5.12"), encoding="utf-8")
    answer = run(tool, "--check")
    assert answer.exit_code == 1
    assert "README.md does not have the summary of docs/results.md" in answer.output
    (repository / "results/made-up/tables/claims.csv").touch()  # now the results are here
    answer = run(tool, "--check")
    assert answer.exit_code == 1
    assert f"{name} is out of date; run make results-page." in answer.output


@pytest.mark.parametrize("shipped", [True, False])
def test_a_tier_has_pages_of_its_own_in_its_results_if_it_is_not_shipped(
    tool, repository, monkeypatch, shipped
):
    monkeypatch.setattr(tool, "FIRST", "laptop")  # of README.md
    monkeypatch.delitem(PAGES, "made-up")
    if not shipped:
        (repository / "results/archive/made-up-metrics.tar").unlink()
    before = (repository / "README.md").read_bytes()
    assert run(tool).exit_code == 0
    assert (repository / "README.md").read_bytes() == before
    folder = repository / ("docs" if shipped else "results/made-up/docs")
    page = (folder / "made-up.md").read_text(encoding="utf-8")
    for link in ("made-up-assumptions.md", "made-up/claims.md", "images/made-up/fig8.png"):
        assert f"]({link}" in page
        assert (folder / link).exists()
    assert (folder / "play.html").exists() != shipped
    assert (repository / "docs/made-up.md").exists() == shipped
    assert not (repository / SHIPPED).exists()


def test_make_takes_a_paper_from_its_shipped_archive_unless_it_is_to_be_trained(tmp_path):
    (tmp_path / "results/archive").mkdir(parents=True)
    (tmp_path / "results/archive/own-metrics.tar").touch()
    (tmp_path / "Makefile").symlink_to(REPOSITORY / "Makefile")

    def told(*arguments):
        return finished(
            start(["make", "--dry-run", "INSTALLED=", *arguments, "paper"], cwd=tmp_path)
        )

    trained = "--configfile papers/own/config.yaml"
    shipped = told("PAPER=own")
    assert "--archive results/archive/own-metrics.tar" in shipped
    assert trained not in shipped
    for asked in (told("PAPER=own", "TRAIN=1"), told("PAPER=other").replace("other", "own")):
        assert "--archive" not in asked
        assert trained in asked
        assert "results_page.py --tier own" in asked


def test_make_and_the_tool_find_the_added_seeds_of_a_tier(tool, repository):
    (repository / "Makefile").symlink_to(REPOSITORY / "Makefile")
    laptop = "config/laptop.yaml config/decide-laptop.yaml"
    own = "papers/own/config.yaml papers/own/decide-own.yaml"
    for name in f"{laptop} {own}".split():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).touch()
    for tier, files in (("laptop", laptop), ("own", own)):
        command = ["make", "--dry-run", "INSTALLED=", "archive", f"TIER={tier}"]
        told = finished(start(command, cwd=repository))
        assert f"--configfile {files}\n" in told
        assert " ".join(f"--config={name}" for name in files.split()) in told
        assert [str(path) for path in tool.configs_of(tier)[1:]] == files.split()


@pytest.mark.parametrize("whole", [True, False])
def test_a_rebuilt_archive_of_all_artefacts_gives_the_same_documents(
    tool, repository, monkeypatch, whole
):
    planned = SimpleNamespace(tier="made-up", training={}, artefacts={})
    monkeypatch.setattr(tool, "archived_plan", lambda *_, **__: nullcontext(planned))
    assert run(tool).exit_code == 0
    first = (repository / "docs/results.md").read_bytes()
    (repository / "docs/results.md").write_text("changed")
    about = {"tier": "made-up", "whole": whole, "configs": ["config/config.yaml"]}
    about |= {"artefacts": ["fig8"], "config": {"tier": "made-up"}}
    members = {"config/config.yaml": b"tier: made-up\n", "archive.json": json.dumps(about).encode()}
    write_archive(repository / "a.tar", members)
    paths = ("--archive", repository / "a.tar", "--shipped", repository / "shipped")
    answer = CliRunner().invoke(tool.main, [str(path) for path in paths])
    assert answer.exit_code == 0, answer.exception
    assert ((repository / "docs/results.md").read_bytes() == first) == whole
    assert ("only some tables and figures" in answer.output) != whole


def test_shipped_archives_survive_make_clean(tmp_path):
    for name in ("archive/a.tar", "demo/a.png", "runs/a/run.json", "README.md"):
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    makefile = str(REPOSITORY / "Makefile")
    subprocess.run(["make", "--file", makefile, "clean"], cwd=tmp_path, check=True, timeout=60)
    left = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert left == [Path("results/README.md"), Path("results/archive/a.tar")]

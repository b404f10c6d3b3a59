"""The tool that writes the pages of results, docs/assumptions.md and the summary in README.md."""

import io
import json
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import REPOSITORY
from made_up_page import contents, read_board
from PIL import Image
from running import finished, start

from ngo.common.registries import METHODS, TOPOLOGIES
from ngo.pipeline.paths import PAGES
from ngo.report.board import told as told_of_papers
from ngo.report.contents import SHIPPED, read_shipped
from ngo.report.pages import BEGIN, END, for_readme, summary_of
from verdicts.members import write_archive

#: Where the tier comes from, it is made up.
CONFIG = REPOSITORY / "config/config.yaml"


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import results_page

    return results_page


@pytest.fixture
def repository(tool, tmp_path, monkeypatch):
    """A folder with README.md, without results, that ships the tier made-up."""
    for folder in ("docs", "made", "results/made-up", "results/archive"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "results/archive/made-up-metrics.tar").touch()
    readme = f"# Title\n\n{BEGIN}\n{END}\n\nMore.\n"
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    monkeypatch.setattr(tool.paths, "REPOSITORY", tmp_path)
    monkeypatch.setattr(tool, "report_contents", lambda *_: contents(tmp_path / "made"))
    return tmp_path


@pytest.fixture
def first(tool, monkeypatch):
    """The tier made-up is that of README.md."""
    monkeypatch.setattr(tool.paths, "FIRST", "made-up")
    monkeypatch.setitem(PAGES, "made-up", "results")


def run(tool, *arguments):
    return CliRunner().invoke(tool.main, [*map(str, arguments)])


def test_the_documents_of_the_repository_agree(tool):
    answer = run(tool, "--check")
    assert answer.exit_code == 0, answer.exception
    for name in ("README.md", "docs/results.md"):
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        assert text.count(BEGIN) == text.count(END) == 1
        assert summary_of(text)
    readme = " ".join((REPOSITORY / "README.md").read_text(encoding="utf-8").split())
    assert f"{len(METHODS)} methods and {len(TOPOLOGIES)} graphs" in readme
    papers = told_of_papers(read_board(REPOSITORY / "docs/board")).partition(" and ")[0]
    assert f"[{papers}](docs/board.md)" in readme
    assert len(readme) < 7000
    picture = Image.open(REPOSITORY / "docs/images/consensus.gif")
    assert picture.n_frames > 40
    assert (REPOSITORY / "docs/images/consensus.gif").stat().st_size < 1e6


def test_documents_and_images_are_written_and_are_the_same_each_time(tool, repository, first):
    old = repository / "docs/images/results/old.png"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"")
    names = ("README.md", "docs/results.md", "docs/assumptions.md", "docs/results/claims.md",
             "docs/results/figures.md", "docs/results/shipped.json",
             "docs/images/results/fig8.png")  # fmt: skip
    written = []
    for _ in range(2):
        assert run(tool, "--config", CONFIG).exit_code == 0
        written.append([(repository / name).read_bytes() for name in names])
    assert written[0] == written[1]
    readme, page, assumptions, *_ = (text[:4000].decode(errors="replace") for text in written[0])
    assert readme.startswith(f"# Title\n\n{BEGIN}\n\nOf 5 claims")
    assert readme.endswith(f"{END}\n\nMore.\n")
    assert page.startswith("# Results of the made-up tier\n")
    assert assumptions.startswith("# Assumptions of the made-up tier\n\nAll of them.\n")
    assert not old.exists()
    assert for_readme(summary_of(page)) == summary_of(readme)
    told = read_shipped(repository / SHIPPED)
    assert told.answers["Is the theorem true?"].startswith("No: by the printed T* in only 204")
    assert "later" not in told.verdicts
    assert told.verdicts["order"] == ["holds", "4.1 points"]
    for name in ("README.md", "docs/results.md"):
        assert run(tool, "--check").exit_code == 0
        path = repository / name
        path.write_text(
            path.read_text(encoding="utf-8").replace("Of 5 claims", "Of 6 claims"), encoding="utf-8"
        )
        answer = run(tool, "--check")
        assert answer.exit_code == 1
        told = "does not have the summary of docs/results.md; run make results-page"
        assert told in answer.output
        assert run(tool, "--config", CONFIG).exit_code == 0


@pytest.mark.parametrize("shipped", [True, False])
def test_another_tier_has_one_page_in_its_results_unless_shipped(tool, repository, shipped):
    if not shipped:
        (repository / "results/archive/made-up-metrics.tar").unlink()
    readme = (repository / "README.md").read_bytes()
    assert run(tool, "--config", CONFIG).exit_code == 0
    assert (repository / "README.md").read_bytes() == readme
    folder = repository / ("docs" if shipped else "results/made-up/docs")
    assert [path.name for path in folder.rglob("*.md")] == ["made-up.md"]
    page = (folder / "papers/made-up.md").read_text(encoding="utf-8")
    assert "](../images/made-up/fig8.png)" in page
    assert (folder / "images/made-up/fig8.png").exists()
    assert (folder / "play.html").exists() != shipped
    assert not (repository / SHIPPED).exists()


@pytest.mark.parametrize("whole", [True, False])
def test_a_rebuilt_archive_of_all_artefacts_gives_the_page(tool, repository, monkeypatch, whole):
    planned = SimpleNamespace(tier="made-up", training={}, artefacts={}, run_tables={})
    monkeypatch.setattr(tool, "archived_plan", lambda *_, **__: nullcontext(planned))
    about = {"tier": "made-up", "whole": whole, "configs": ["config/config.yaml"]}
    about |= {"artefacts": ["fig8"], "config": {"tier": "made-up"}}
    members = {"config/config.yaml": b"tier: made-up\n", "archive.json": json.dumps(about).encode()}
    write_archive(repository / "a.tar", members)
    answer = run(tool, "--archive", repository / "a.tar", "--shipped", repository / "shipped")
    assert answer.exit_code == 0, answer.exception
    assert (repository / "docs/papers/made-up.md").exists() == whole
    assert ("only some tables and figures" in answer.output) != whole


def pixels(source):
    return np.asarray(Image.open(source).convert("RGB")).astype(int)


def test_a_small_picture_has_its_colours(tool, tmp_path):
    shades = np.arange(256, dtype=np.uint8).reshape(16, 16)
    colours = np.stack([shades, 255 - shades, shades // 2], axis=-1)
    Image.fromarray(colours).save(tmp_path / "a.png")
    assert (pixels(io.BytesIO(tool.small_png(tmp_path / "a.png"))) == colours).all()
    contents(tmp_path)  # with a figure of more colours
    small = tool.small_png(path := tmp_path / "fig8.png")
    assert len(small) < path.stat().st_size
    far = np.abs(pixels(path) - pixels(io.BytesIO(small))).max(-1)
    assert far.max() < 64
    assert (far > 16).mean() < 0.001


def told(folder, *arguments):
    """What make would run in a folder."""
    (folder / "Makefile").unlink(missing_ok=True)
    (folder / "Makefile").symlink_to(REPOSITORY / "Makefile")
    return finished(start(["make", "--dry-run", "INSTALLED=", *arguments], cwd=folder))


def test_make_takes_a_paper_from_its_shipped_archive_unless_it_is_to_be_trained(repository):
    trained = "--configfile papers/made-up/config.yaml"
    shipped = told(repository, "paper", "PAPER=made-up")
    assert "--archive results/archive/made-up-metrics.tar" in shipped
    assert trained not in shipped
    commands = told(repository, "paper", "PAPER=made-up", "TRAIN=1")
    assert trained in commands
    files = ("config/config.yaml", "papers/made-up/config.yaml")
    assert f"results_page.py {' '.join(f'--config={name}' for name in files)}\n" in commands
    (repository / "results/archive/made-up-metrics.tar").unlink()
    assert told(repository, "paper", "PAPER=made-up") == commands.replace(" TRAIN=1", "")


@pytest.mark.parametrize(("tier", "folder"), [("laptop", "config"), ("own", "papers/own")])
def test_make_finds_the_added_seeds_of_a_tier(repository, tier, folder):
    config = "laptop" if tier == "laptop" else "config"
    files = [f"{folder}/{config}.yaml", f"{folder}/decide-{tier}.yaml"]
    (repository / folder).mkdir(parents=True)
    for name in files:
        (repository / name).touch()
    commands = told(repository, "archive", f"TIER={tier}")
    assert f"--configfile {' '.join(files)}\n" in commands
    assert " ".join(f"--config={name}" for name in files) in commands


def test_shipped_archives_survive_make_clean(tmp_path):
    for name in ("archive/a.tar", "demo/a.png", "runs/a/run.json", "README.md"):
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    makefile = str(REPOSITORY / "Makefile")
    subprocess.run(["make", "--file", makefile, "clean"], cwd=tmp_path, check=True, timeout=60)
    left = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert left == [Path("results/README.md"), Path("results/archive/a.tar")]

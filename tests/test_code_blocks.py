"""Every code block of the site's pages is run as pasted, or says why not; every command exists."""

import inspect
import os
import re
import runpy
import sys
from pathlib import Path

import matplotlib
import page_facts
import pytest
import yaml
from code_blocks import BLOCKS, LANGUAGES, PAGES, copy_repository, run_page, text_of, write
from conftest import REPOSITORY
from page_commands import commands, mistakes, options_named
from running import finished, start

import verdicts
from ngo.pipeline.config_files import CONFIG, read_config
from ngo.pipeline.plan import plan
from ngo.training.spec import FIELDS

matplotlib.use("Agg")
FIELDS.items()  # declares the fields of all entries, before those of a test

pytestmark = [
    pytest.mark.usefixtures("own_entries"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

# Pages whose cells are run by ``make docs`` alone.
BUILT = {"docs/tutorials/own_paper.md": "it clones, trains, archives and verifies: minutes"}

# Configs on these pages are parts of a paper's.
PAPER = {"CONTRIBUTING.md": "papers/d2/config.yaml", "docs/methods.md": "papers/d2/config.yaml"}

ALL = [block for page in PAGES for block in BLOCKS[page]]
RUN = [page for page in PAGES if page not in BUILT and any(b.reason is None for b in BLOCKS[page])]


@pytest.fixture(scope="module")
def environment():
    """The environment of commands."""
    places = [str(Path(sys.executable).parent), os.environ["PATH"]]
    return {**os.environ, "PATH": os.pathsep.join(places), "OMP_NUM_THREADS": "1"}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A working directory like the repository's."""
    copy_repository(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NGO_DATA", raising=False)
    return tmp_path


def test_every_block_has_a_language_and_is_run_or_says_why_not():
    assert [str(block) for block in ALL if block.language not in LANGUAGES] == []
    marked = [block for block in ALL if block.reason is not None]
    assert [str(block) for block in marked if not block.reason] == []
    # Each mark is before a block.
    marks = sum(len(re.findall("^ *<!-- *not run", text_of(page), re.M)) for page in PAGES)
    assert marks == len(marked)
    assert len(marked) <= 36
    assert len(ALL) - len(marked) >= 110


def test_pages_that_only_the_build_runs_are_notebooks():
    for page in BUILT:
        assert text_of(page).startswith("---\njupytext:")
        assert all(block.cell or block.reason for block in BLOCKS[page])


@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_page_run(page, repository, environment, capsys):
    found = run_page(page, environment)
    if fact := page_facts.FACTS.get(page):
        fact(found, capsys.readouterr().out)


@pytest.mark.parametrize("page", PAGES)
def test_configs_and_claims_are_valid(page, repository):
    own = [b for b in BLOCKS[page] if b.language == "yaml" or (b.file or "").endswith(".yaml")]
    for block in own:
        if block.file:
            write(block)
    for block in own:
        path = repository / "block.yaml"
        path.write_text(block.text)
        content = yaml.safe_load(block.text)
        if isinstance(content.get("claims"), dict):
            verdicts.read_claims(path)
        elif block.reason is None:
            bases = [CONFIG, *([PAPER[page]] if page in PAPER else [])]
            names = [*content.get("training", {}), *content.get("universes", {})]
            plan({**read_config([*bases, path]), **({"only": names} if names else {})})


def test_commands_that_are_not_run_exist_with_their_options():
    for block in ALL:
        if block.language == "bash" and (block.reason is not None or block.page in BUILT):
            for tool, words in commands(block.text):
                assert mistakes(tool, words) == [], str(block)


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_text_exist_with_their_options(page):
    for span in re.findall(r"`([^`\n]+)`", text_of(page)):
        for tool, words in commands(span):
            assert options_named(tool, words) == [], span


def test_docstrings_of_the_reference_have_no_code_that_nothing_runs():
    pages = runpy.run_path(str(REPOSITORY / "tools/site_pages.py"))
    shown = re.findall(r"auto\w+:: ([\w.]+)", pages["api"]() + pages["verdicts_api"]())
    assert len(shown) > 40
    for name in shown:
        module, _, last = name.rpartition(".")
        text = inspect.getdoc(getattr(__import__(module, fromlist=[last]), last)) or ""
        assert not re.search(r">>>|::\s*$|```|code-block", text, re.M), name


def test_the_figure_of_the_recipes_has_the_projects_style(repository):
    (block,) = [b for b in BLOCKS["CONTRIBUTING.md"] if b.file == "accuracy.py"]
    write(block)
    ruff = [Path(sys.executable).with_name("ruff"), "--config", REPOSITORY / "pyproject.toml"]
    finished(start([*ruff, "check", "--no-cache", block.file]))
    finished(start([*ruff, "format", "--no-cache", "--check", block.file]))

"""The pages for readers: their commands, options, make targets and files exist."""

import re

import click
import pytest
from command_line import commands
from conftest import REPOSITORY

from ngo.training.spec import FIELDS, flag

PAGES = [
    *("README.md", "CONTRIBUTING.md", "config/README.md", "results/README.md"),
    *(
        str(path.relative_to(REPOSITORY))
        for folder in ("docs", "docs/how_to", "docs/tutorials")
        for path in sorted((REPOSITORY / folder).glob("*.md"))
    ),
]


def text_of(page):
    """A page, with a command of several lines in one."""
    return (REPOSITORY / page).read_text(encoding="utf-8").replace("\\\n", " ")


@pytest.fixture(scope="module")
def known():
    """The options of each command, by its words; those of a run for commands that train one."""
    found = {}
    for words, command in commands():
        options = [
            o for each in command.params if isinstance(each, click.Option) for o in each.opts
        ]
        found[words] = {"--help", *options, *map(flag, FIELDS)}
    return found


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_ngo_have_these_options(page, known):
    named = re.findall(r"(?:^ {4}|^|`|-- )ngo ((?:bench )?[a-z]+)\b([^`\n]*)", text_of(page), re.M)
    for words, rest in named:
        if words != "bench":
            assert tuple(words.split()) in known, words
            options = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", rest))
            if "--plugin" not in options:  # a plugin may declare more
                assert options <= known[tuple(words.split())]


@pytest.mark.parametrize("page", PAGES)
def test_targets_of_make_are_in_the_makefile(page):
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^ {4}|`)make ([a-z-]+)", text_of(page), re.M):
        assert re.search(rf"^{target}:", makefile, re.M), target


@pytest.mark.parametrize("page", PAGES)
def test_files_of_the_repository_are_there(page):
    folders = "config|docs|examples|papers|src|tests|tools|workflow"
    named = re.findall(rf"`((?:{folders})/[\w./-]+\.\w+)`", text_of(page))
    linked = re.findall(r"\]\(([^)#<:\s]+)(?:#[^)]*)?\)", text_of(page))
    at = (REPOSITORY / page).parent
    absent = [path for path in named if not (REPOSITORY / path).exists()]
    absent += [path for path in linked if not (at / path).exists()]
    own = {f"papers/tracking/{name}.yaml" for name in ("config", "claims")}  # the reader makes them
    own |= {"workflow/envs/ngo.sif", "config/mine.yaml", "config/decide-laptop.yaml"}
    made = ("docs/_build/", "made/")  # by make docs, which checks their links
    assert {path for path in absent if not path.startswith(made)} <= own

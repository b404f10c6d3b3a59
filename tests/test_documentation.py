"""The pages of the site: their commands exist, and the checker of links finds what is broken."""

import argparse
import re
import shlex

import click
import pytest
from conftest import REPOSITORY

from ngo.cli.cli import main
from verdicts import cli as judge

PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
    REPOSITORY / "src/verdicts/README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "docs").glob("tutorials/*.md")),
    *sorted((REPOSITORY / "docs").glob("how_to/*.md")),
]

# Options of measurements of plugins, and of bench's own commands, are known where they are run.
OF_A_SUBCOMMAND = {"bench"}


def commands(page):
    """The command lines of a page: those in blocks, without prompts and comments."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    fenced = "\n".join(re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S))
    indented = "\n".join(re.findall(r"^    (.*)", text, re.M))
    lines = re.findall(r"^(?:\$ )?((?:ngo|verdicts|make) [^#\n]*)", f"{fenced}\n{indented}", re.M)
    return [line.split(" && ")[0] for line in lines]


def options_of(tool, name):
    """The options of a command, or None if there is no such command."""
    if tool == "ngo":
        command = main.get_command(None, name)
        params = command.get_params(click.Context(command)) if command else []
        return {option for each in params for option in (*each.opts, *each.secondary_opts)}
    (subs,) = (a for a in judge._parser()._actions if isinstance(a, argparse._SubParsersAction))
    return name in subs.choices and set(subs.choices[name]._option_string_actions)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_command_of_a_page_exists_with_its_options(page):
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for line in commands(page):
        tool, name, *words = shlex.split(line, posix=False)
        if tool == "make":
            assert re.search(rf"^{re.escape(name)}:", makefile, re.M) or "=" in name, line
        elif name not in OF_A_SUBCOMMAND and not name.startswith("-"):
            known = options_of(tool, name)
            assert known, line
            given = {word.split("=")[0] for word in words if word.startswith("--")}
            assert given <= {*known, "--help"}, line


def test_there_are_commands_to_check():
    assert sum(len(commands(page)) for page in PAGES) > 25


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import check_links

    return check_links


def test_links_of_a_site(tool, tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top"><a href="b.html#there">b</a><a href="#top">top</a>'
        '<img src="data:image/png;base64,AA=="><a href="https://example.org/">other</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html">a</a>')
    assert tool.broken(tmp_path) == []
    (tmp_path / "b.html").write_text(
        '<a href="a.html#gone">a</a><a href="c.html">c</a>'
        '<link rel="stylesheet" href="https://fonts.example.org/x.css">'
    )
    assert sorted(tool.broken(tmp_path)) == [
        "a.html: b.html#there",
        "b.html: a.html#gone",
        "b.html: c.html",
        "b.html: loads https://fonts.example.org/x.css",
    ]


def test_metrics_columns_and_answers_are_those_of_the_package(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import site_pages

    from ngo.training.spec import FIELDS

    assert "| `V` | float | The synchronization index. |" in site_pages.columns()
    assert all(f"## `{name}`" in site_pages.fields() for name in FIELDS)
    assert "](results/claims.md#" in site_pages.answers()
    assert "](docs/" not in site_pages.answers()

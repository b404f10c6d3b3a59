"""The commands that pages name, and whether there are such."""

import contextlib
import io
import re
import shlex
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

import click
from conftest import REPOSITORY

from ngo.cli.cli import main
from verdicts import cli as judge

TOOLS = ("ngo", "verdicts", "make", "snakemake")
MINE = {"config/mine.yaml", "papers/tracking/config.yaml"}
"""Configs that pages tell to write."""


def words_of(line: str) -> Iterator[list[str]]:
    """The commands of a line of a shell, each as its words, without redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    command: list[str] = []
    redirected = False
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;()"):
            yield command
            command = []
        elif set(word) <= set("<>&"):
            redirected = True
        elif redirected:
            redirected = False
        else:
            command.append(word)


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """The calls of the project's tools in the lines of a shell: the tool, and its arguments."""
    for line in textwrap.dedent(text).replace("\\\n", " ").splitlines():
        if not any(tool in line for tool in TOOLS):
            continue
        with contextlib.suppress(ValueError):  # a quotation that does not end: no command
            for words in words_of(line.removeprefix("$ ").replace("…", "...")):
                if "--" in words:  # torchrun's command
                    words = words[words.index("--") + 1 :]
                if words and words[0] in TOOLS:
                    yield words[0], [word for word in words[1:] if word != "..."]


def command_of(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """The command of ngo with these words, and the words after its name."""
    command: click.Command | None = main
    while isinstance(command, click.Group) and words:
        if words[0] == "--plugin":
            words = words[2:]
        elif words[0].startswith("-"):
            break
        else:
            command, words = command.get_command(None, words[0]), words[1:]
    return command, words


@cache
def makefile() -> str:
    return (REPOSITORY / "Makefile").read_text(encoding="utf-8")


def unmade(words: list[str]) -> list[str]:
    """The arguments of make that are neither targets nor variables of the Makefile."""
    return [
        word
        for word in words
        if not (
            word.startswith("-")
            or re.search(rf"^{re.escape(word)}:|\.PHONY:.* {re.escape(word)} ", makefile(), re.M)
            or ("=" in word and re.search(rf"\b{word.partition('=')[0]}\b", makefile()))
        )
    ]


def options_named(tool: str, words: list[str]) -> list[str]:
    """What a command in a text names that does not exist: a command, options, targets of make."""
    if tool == "make":
        return unmade(words)
    if tool == "snakemake" or not words or not re.fullmatch(r"[a-z-]+|--plugin", words[0]):
        return []
    given = {word.partition("=")[0] for word in words if word.startswith("--")} - {"--help"}
    if tool == "verdicts":
        known = judge.commands().get(words[0])
        return sorted(given - known._option_string_actions.keys()) if known else words[:1]
    command, _ = command_of(words)
    if command is None:
        return words[:1] if "--plugin" not in words else []
    known = command.get_params(click.Context(command))
    if "--plugin" in given:  # which may declare more
        return []
    return sorted(given - {o for each in known for o in (*each.opts, *each.secondary_opts)})


def mistakes(tool: str, words: list[str]) -> list[str]:
    """What is wrong with a whole command of the project's tools."""
    if tool == "make":
        return unmade(words)
    if tool == "snakemake":
        return unplanned(words)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            if tool == "verdicts":
                judge.parser().parse_args(words)
            else:
                command, rest = command_of(words)
                if command is None:
                    return words[:1]
                command.make_parser(click.Context(command)).parse_args(rest)
    except (SystemExit, click.UsageError) as error:
        return [f"{error} {said.getvalue()}"]
    return []


def unplanned(words: list[str]) -> list[str]:
    """What Snakemake does not know of a command: options, and configs that are not there."""
    from snakemake.cli import get_argument_parser

    if "--executor" in words:
        name = words[words.index("--executor") + 1]
        if not find_spec(f"snakemake_executor_plugin_{name.replace('-', '_')}"):
            at = [k for k, word in enumerate(words) if re.match(f"--executor|--{name}-", word)]
            words = [w for k, w in enumerate(words) if not {k, k - 1} & set(at)]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            given, unknown = get_argument_parser().parse_known_args(words)
    except SystemExit:
        return [said.getvalue()]
    configs = {str(path) for path in given.configfile}
    return unknown + [name for name in configs - MINE if not (REPOSITORY / name).exists()]

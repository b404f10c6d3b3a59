"""The option ``--plugin FILE``, which every command has and ``ngo`` itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from ngo.cli.parameters import told_apart
from ngo.common import plugins

FLAG = "--plugin"


def _load(context: click.Context, option: click.Parameter, files: tuple[str, ...]) -> None:
    key = FLAG.lstrip("-")
    plugins.load(files, key)
    for file in files:
        told_apart(key, file, context)


OPTION = click.Option(
    [FLAG],
    multiple=True,
    type=click.Path(),  # for the shell: it completes files
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_load,
    help="Python file with topologies, methods, … to add  [may be repeated]",
)


def add_option(command: click.Command) -> click.Command:
    """Give ``command`` the option, unless it has it."""
    if OPTION not in command.params:
        command.params.append(OPTION)
    return command


def load_named(words: Iterable[str]) -> None:
    """Load the plugins that the command line ``words`` name.

    A command parses its own options too late: a plugin may define the command.
    """
    plugins.load(named(words), key=FLAG.lstrip("-"))


def named(words: Iterable[str]) -> Iterator[str]:
    """The files that the command line ``words`` name as plugins."""
    words = iter(words)
    for word in words:
        if word == "--":
            return
        if word == FLAG:
            yield from (file for file in [next(words, None)] if file is not None)
        elif word.startswith(f"{FLAG}="):
            yield word.partition("=")[2]

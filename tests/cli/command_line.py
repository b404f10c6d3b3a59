"""The command line, as tests call it."""

from collections.abc import Iterator

import click
from click.testing import CliRunner

from ngo.cli.cli import main

SMALL = ["--dataset", "digits", "--batch-size", "16", "--epochs", "0.2", "--device", "cpu"]


def ngo(*arguments: object, code: int = 0) -> str:
    """The output of a command that exits with ``code``."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def mistake(*arguments: object, group: click.Group = main) -> str:
    """The error line of a command with a mistake, without its prefix."""
    result = CliRunner().invoke(group, [str(a) for a in arguments], prog_name="ngo")
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("ngo: ")
    return line.removeprefix("ngo: ")


def commands(group: click.Group = main, *names: str) -> Iterator[tuple[str, ...]]:
    """The words of each command, with the command."""
    for name in group.list_commands():
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command

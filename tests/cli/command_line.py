"""The command line, as tests call it."""

from collections.abc import Iterator

import click
from click.testing import CliRunner

from ngo.cli.cli import MODULES, main

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


def commands() -> Iterator[tuple[str, click.Command]]:
    """Each command by its name, those of the pipeline included."""
    for name in dict.fromkeys((*MODULES, *main.list_commands())):
        yield name, main.get_command(None, name)

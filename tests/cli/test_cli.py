"""The command as a whole: its help, and what it imports."""

import shlex
import sys

import click
import pytest
from click.testing import CliRunner
from command_line import commands, ngo
from running import finished, start

from ngo.cli.cli import COMMANDS, main
from ngo.training.spec import FIELDS, flag

HEAVY = {"torch", "torchvision", "pandas", "scipy", "matplotlib", "networkx", "pyarrow"}


def test_help_teaches():
    text = ngo("--help")
    for command in ("data", "partition", "train", "runs", "aggregate", "notebook"):
        assert f"\n  {command}" in text
    train = ngo("train", "--help")
    for name in FIELDS:
        assert flag(name) in train


def test_help_has_the_first_sentence_of_each_command_that_is_not_hidden():
    lines = ngo("--help").split("\nMeasurements:")[0].split("\nCommands:\n")[1]
    told = " ".join(lines.split())
    for name in COMMANDS:
        command = main.get_command(None, name)
        assert command.name == name
        shown = f"{name} {command.get_short_help_str(limit=100)}" in told
        assert shown == (not command.hidden)


@pytest.mark.parametrize(
    "words",
    [
        *("--help", "train --help", "train --p 2", "aggregate --help", "notebook --help"),
        *("bench -h", "methods", "advise --workers 8"),
    ],
)
def test_help_and_mistakes_import_nothing_heavy(words):
    code = f"import sys; from ngo.cli.cli import main; main({words.split()}, standalone_mode=False)"
    report = f"import atexit, sys; atexit.register(lambda: print({HEAVY} & set(sys.modules)))"
    process = start([sys.executable, "-c", f"{report}; {code}"])
    assert process.communicate(timeout=600)[0].splitlines()[-1] == "set()"


def test_help_imports_no_command():
    code = (
        "import sys; from ngo.cli.cli import main; main(['--help'], standalone_mode=False); "
        "print([name for name in sys.modules if name.endswith('_command')])"
    )
    assert finished(start([sys.executable, "-c", code])).splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("name", "command"), [pytest.param(*each, id=" ".join(each[0])) for each in commands()]
)
def test_every_option_is_explained_within_80_columns(name, command):
    result = CliRunner().invoke(main, [*name, "--help"], terminal_width=80)
    assert max(map(len, result.stdout.splitlines())) <= 80
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.opts
            if isinstance(option.default, tuple) and option.multiple:
                text = " ".join(result.stdout.split())
                assert f"{', '.join(map(str, option.default))}; may be repeated]" in text


def test_help_shows_its_examples_as_lines():
    lines = CliRunner().invoke(main, ["--help"], terminal_width=80).stdout.splitlines()
    assert "  Train one run, with no data to download:" in lines
    assert "    snakemake table1 --cores all --configfile config/demo.yaml" in lines
    short = [line for line in lines[1:] if line.endswith("...")]
    assert not short  # each command's summary fits its line


def test_the_examples_of_help_are_commands_that_there_are():
    text = main.help.replace("\\\n", " ")
    for line in text.splitlines():
        word, *rest = shlex.split(line.replace("'", "")) or [""]
        if word == "ngo":
            name = rest[0]
            known = [flag for option in main.get_command(None, name).params for flag in option.opts]
            assert {each for each in rest if each.startswith("--")} <= set(known)

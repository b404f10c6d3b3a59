"""The command as a whole: its help, and what it imports."""

import shlex
import sys
from itertools import chain

import click
import numpy as np
import pytest
from click.testing import CliRunner
from command_line import commands, ngo
from conftest import REPOSITORY
from running import finished, start

from ngo.cli import sections
from ngo.cli.cli import SECTIONS, main, measurements
from ngo.common.fields import fields_of
from ngo.training.spec import FIELDS, RunSpec, flag

HEAVY = {"torch", "torchvision", "pandas", "scipy", "matplotlib", "networkx", "pyarrow"}


def test_help_teaches():
    text = ngo("--help")
    for command in ("data", "partition", "train", "runs", "verify", "rounds"):
        assert f"\n  {command}" in text
    train = ngo("train", "--help")
    for name in FIELDS:
        assert flag(name) in train


@pytest.mark.parametrize("title", SECTIONS)
def test_help_has_the_first_sentence_of_each_command_in_its_section(title):
    text = ngo("--help")
    told = " ".join(text.partition(f"\n{title}:\n")[2].partition("\n\n")[0].split())
    for name in SECTIONS[title]:
        command = main.get_command(None, name)
        assert command.name == name
        assert (f"{name} {command.get_short_help_str(limit=100)}" in told) == bool(title)
        assert (f"\n  {name} " in text) == bool(title)  # internal commands are left out


@pytest.mark.parametrize(
    "words",
    [
        *("--help", "train --help", "train --p 2", "aggregate --help", "notebook --help"),
        *("methods -h", "methods"),
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
                told = f"default: {', '.join(map(str, option.default))}; " if option.default else ""
                assert f"[{told}may be repeated]" in text


def test_help_shows_its_examples_as_lines():
    lines = CliRunner().invoke(main, ["--help"], terminal_width=80).stdout.splitlines()
    assert "  Train one run, with no data to download:" in lines
    assert "    snakemake table1 --cores all --configfile config/demo.yaml" in lines
    short = [line for line in lines[1:] if line.endswith("...")]
    assert not short  # each command's summary fits its line


def test_the_options_of_train_are_in_sections():
    text = ngo("train", "--help")
    titles = [line[:-1] for line in text.splitlines() if line[:1].isupper() and line[-1] == ":"]
    assert titles == [*sections.SECTIONS, sections.COMMAND]
    assert set(chain(*sections.SECTIONS.values())) == set(fields_of(RunSpec))
    for name, title in (("lr", "Local steps"), ("cap", "Method and gossip"), ("out", titles[-1])):
        assert f"\n  {flag(name)} " in text.partition(f"\n{title}:")[2].partition("\n\n")[0]
    assert "(as --topology)" in text  # the names are listed once


# Examples that start Snakemake, or need a tier's runs or a minute: their words are checked.
CHECKED = ("archive", "rebuild", "restore")


def examples(command):
    """The examples in the help of a command, as words."""
    lines = (command.help or "").replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("  ngo ")]


def helps():
    """The commands that ``ngo --help`` lists, and its own, by their words."""
    listed = [*chain(*(SECTIONS[title] for title in SECTIONS if title)), *measurements()]
    return {"": main} | {name: main.get_command(None, name) for name in listed}


@pytest.mark.parametrize("name", helps())
def test_every_command_has_an_example(name):
    assert examples(helps()[name])


@pytest.mark.parametrize("name", helps())
def test_the_examples_of_help_run(name, tmp_path, monkeypatch, own_entries):
    for folder in ("config", "examples", "papers", "results"):
        (tmp_path / folder).symlink_to(REPOSITORY / folder)
    monkeypatch.chdir(tmp_path)
    x, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 3
    np.savez("flowers.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    for words in examples(helps()[name]):
        if words[0] in CHECKED:
            main.get_command(None, words[0]).make_context(words[0], words[1:])
            continue
        if "--epochs" in words:  # as many fields, in less time
            words[words.index("--epochs") + 1] = "0.1"
        ngo(*words)
        written = [words[k + 1] for k, word in enumerate(words) if word == "--out"]
        assert all((tmp_path / path).exists() for path in written)


def completed(*words, typed):
    parts = ["ngo", *map(str, words), typed]
    how = {"COMP_WORDS": " ".join(parts), "COMP_CWORD": str(len(parts) - 1)}
    result = CliRunner().invoke(
        main, prog_name="ngo", env={"_NGO_COMPLETE": "bash_complete", **how}
    )
    assert result.exit_code == 0, result.exception
    return [line.partition(",")[2] for line in result.output.split()]


def test_the_shell_completes_commands_options_and_names():
    assert completed(typed="re") == ["rebuild", "restore"]
    assert completed(typed="no") == []  # notebook is internal
    assert completed("train", typed="--local-r") == ["--local-rule"]
    assert completed("train", "--local-rule", typed="ad") == ["adam", "adamw"]
    assert completed("train", "--device", typed="c") == ["cpu", "cuda"]
    assert completed("train", "--plugin", "absent.py", "--topology", typed="ri") == ["ring"]


def test_the_shell_completes_names_of_plugins(tmp_path, own_entries):
    file = tmp_path / "mine.py"
    file.write_text(
        "from ngo.gossip.topology import TOPOLOGIES\n"
        "TOPOLOGIES.add('own_graph', TOPOLOGIES['ring'])\n"
    )
    assert completed("train", "--plugin", file, "--topology", typed="own") == ["own_graph"]

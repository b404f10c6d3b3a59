"""The command as a whole: its help, and what it imports."""

import shlex
import sys
from itertools import chain

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import ngo
from conftest import REPOSITORY
from running import start

from ngo.cli.cli import SECTIONS, main, measurements

HEAVY = {"torch", "torchvision", "pandas", "scipy", "matplotlib", "networkx", "pyarrow"}


@pytest.mark.parametrize("words", ["methods -h", "methods"])
def test_help_and_mistakes_import_nothing_heavy(words):
    code = f"import sys; from ngo.cli.cli import main; main({words.split()}, standalone_mode=False)"
    report = f"import atexit, sys; atexit.register(lambda: print({HEAVY} & set(sys.modules)))"
    process = start([sys.executable, "-c", f"{report}; {code}"])
    assert process.communicate(timeout=600)[0].splitlines()[-1] == "set()"


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


# Of measurements that take longest; ``samples`` measures a run's models as they do.
LONG = {"alignment", "lora", "sharpness", "theory", "throughput"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.slow) if each in LONG else each for each in helps()],
)
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

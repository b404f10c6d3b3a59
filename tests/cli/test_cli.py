"""The command as a whole: its help, options, imports, plugins and errors."""

import os
import re
import shlex
import sys
from itertools import chain

import click
import numpy as np
import pytest
from cases import cases
from click.testing import CliRunner
from command_line import SMALL, commands, mistake, ngo
from conftest import REPOSITORY
from running import start

from ngo.cli.cli import SECTIONS, Commands, main, measurements
from ngo.cli.options import INPUT, RESULT, PathType
from ngo.common.registries import TOPOLOGIES

HEAVY = {"torch", "torchvision", "pandas", "scipy", "matplotlib", "networkx", "pyarrow"}
# Examples that start Snakemake, or need a tier's runs or a minute: their words are checked.
CHECKED = ("archive", "candidates", "rebuild", "reproduce", "restore")
# Of measurements that take longest; ``samples`` measures a run's models as they do.
LONG = {"alignment", "sharpness", "theory", "throughput"}
PLUGIN = """
from ngo.data.dataset import DATASETS
from ngo.gossip.topology import TOPOLOGIES

DATASETS.add("mine", DATASETS["digits"])
TOPOLOGIES.add("mine", TOPOLOGIES["ring"])
"""


@pytest.mark.parametrize("words", ["methods -h", "methods"])
def test_help_and_mistakes_import_nothing_heavy(words):
    code = f"import sys; from ngo.cli.cli import main; main({words.split()}, standalone_mode=False)"
    report = f"import atexit, sys; atexit.register(lambda: print({HEAVY} & set(sys.modules)))"
    process = start([sys.executable, "-c", f"{report}; {code}"])
    assert process.communicate(timeout=600)[0].splitlines()[-1] == "set()"


def test_summaries_are_those_of_the_commands():
    for name, summary in chain(*(names.items() for names in SECTIONS.values())):
        assert main.get_command(None, name).help.partition("\n")[0] == summary


def examples(command):
    """The examples in the help of a command, as words."""
    lines = (command.help or "").replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith("  ngo ")]


def helps():
    """The commands that ``ngo --help`` lists, and its own, by their words."""
    listed = [*chain(*SECTIONS.values()), *measurements()]
    return {"": main} | {name: main.get_command(None, name) for name in listed}


SLOW = {name: pytest.param(name, marks=pytest.mark.slow) for name in LONG}


@pytest.mark.parametrize("name", [SLOW.get(name, name) for name in helps()])
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
    how["_NGO_COMPLETE"] = "bash_complete"
    result = CliRunner().invoke(main, prog_name="ngo", env=how)
    assert result.exit_code == 0, result.exception
    return [line.partition(",")[2] for line in result.output.split()]


def test_the_shell_completes_commands_options_and_names():
    assert completed(typed="re") == ["rebuild", "restore", "reproduce"]
    assert completed(typed="no") == []  # notebook is internal
    assert completed("train", typed="--local-r") == ["--local-rule"]
    assert completed("train", "--local-rule", typed="ad") == ["adam", "adamw"]
    assert completed("train", "--device", typed="c") == ["cpu", "cuda"]
    assert completed("train", "--plugin", "absent.py", "--topology", typed="ri") == ["ring"]


def raising(error):
    """A group whose command ``work`` raises the error."""

    def work():
        raise error

    group = Commands()
    group.get_command = lambda context, name: click.Command("work", callback=work)
    return group


def test_a_library_that_is_absent_an_interruption_and_no_memory_are_a_line():
    for text in (
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes",
        "CUDA out of memory. Tried to allocate 2 GiB",
        "can't start new thread",
    ):
        for error in (RuntimeError(text), MemoryError("Unable to allocate 37 GiB")):
            line = mistake("work", group=raising(error))
            assert line.startswith("out of memory; use fewer workers or threads: ")
    result = CliRunner().invoke(raising(RuntimeError("a mistake of ours")), ["work"])
    assert str(result.exception) == "a mistake of ours"
    line = mistake("work", group=raising(ModuleNotFoundError("", name="snakemake.cli")))
    assert line.startswith("snakemake is not installed; it is in the extra 'pipeline' of this")
    result = CliRunner().invoke(raising(ModuleNotFoundError("", name="mine")), ["work"])
    assert isinstance(result.exception, ModuleNotFoundError)
    result = CliRunner().invoke(raising(KeyboardInterrupt()), ["work"])
    assert (result.exit_code, result.stderr) == (130, "ngo: interrupted\n")


def test_a_plugin_is_named_before_or_behind_the_command_and_gives_names(own_entries, tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    run = ["train", *SMALL, "--dataset", "mine", "--topology", "mine", "--out", tmp_path / "run"]
    assert "'mine' is unknown" in mistake(*run)
    wrong = ["spectra", "--topology", "mien", "--out", tmp_path / "s.parquet"]
    for words in (["--plugin", plugin, *wrong], [*wrong, f"--plugin={plugin}"]):
        line, names = mistake(*words), ", ".join(sorted(TOPOLOGIES))
        assert line == f"topology: 'mien' is unknown; allowed: {names}. Did you mean 'mine'?"
    ngo(*run, "--plugin", plugin)
    help = " ".join(ngo("train", "--help", f"--plugin={plugin}").split())
    assert f"({', '.join(sorted(TOPOLOGIES))})" in help


@cases(
    "content, message",
    (None, "does not exist."),
    ("x = ", "can't be imported: SyntaxError"),
    ("\n1 / 0", "can't be imported: ZeroDivisionError, line 2: division by zero"),
    ("from verdicts.registry import UserError\nraise UserError('no')", "bad.py': no"),
)
def test_a_bad_plugin_is_one_line_before_other_mistakes(tmp_path, content, message):
    if content is not None:
        (tmp_path / "bad.py").write_text(content)
    for words in (["train", "--plugin"], ["methods", "--nosuch", "--plugin"], ["--plugin"]):
        line = mistake(*words, tmp_path / "bad.py")
        assert line.startswith("plugin: ")
        assert message in line


ROUNDS = ["consensus", "--rounds", 1000000, "--out", "t.parquet"]
THEORY = ["theory", "--out", "t.parquet"]
DIGITS = ["train", "--dataset", "digits", "--batch-size", "16", "--device", "cpu"]
RUN = [*DIGITS, "--out", "run"]


def with_a(kind):
    """(the command, the option or argument) of all that take such a path."""
    return [
        pytest.param(name, param, id=f"{name} {param.opts[0]}")
        for name, command in commands()
        for param in command.params
        if isinstance(param.type, PathType) and param.type.check is kind.check
    ]


@cases(
    "arguments, message",
    (["trian"], "No such command 'trian'. Did you mean 'train'[?] See ngo --help."),
    (["data", "nosuch"], "dataset: 'nosuch' is unknown; allowed: cifar10, cifar100, digits"),
    (["train"], "out: the option --out is missing; name a folder for the run."),
    (["train", "--job", "none.json"], "job: 'none.json' does not exist"),
    ([*DIGITS, "--threads", "1000000"], "threads: 1000000 is out of range; .* 1 to 1,024"),
    ([*DIGITS, "--epochs", "1e12", "--eval-every", "1e-9"], "epochs: 1000000000000.0 is out"),
    ([*DIGITS, "--seed", str(2**63)], "seed: 9223372036854775808 is too large"),
    ([*DIGITS, "--topology", "\udcff"], "topology: '.udcff' is unknown"),
    ([*DIGITS, "--timeout", "nan"], "timeout: nan is not finite"),
    (["consensus", "--workers", "200000"], "workers: 200000 is out of range; .* 2 to 2,000"),
    (["throughput", "--method", "nog"], "method: 'nog' is unknown.*Did you mean 'ngo'"),
    (["train", "--learning-rate", 0.1], r"rate'. Did you mean '--lr'\? See ngo train --help.$"),
    (["partition", "--num-workers", 4], r"^No such option .* Did you mean '--workers'\?"),
    ([*ROUNDS, "--workers", 2000], "^rounds: .* workers × rounds is 2,000,000,000"),
    ([*THEORY, "--steps", 10**6, "--repeats", 10**4], "^repeats: .* steps × .* is 10,000,000,000"),
    ([*RUN, "--p", "1.2"], "p: 1.2 is out of range; it must be a number, 0.5 to 1"),
    ([*RUN, "--batch-size", "144"], "batch_size: 144 is larger than worker 7's share of 143"),
    ([*RUN, "--workers", "1"], "workers: 1 is too few"),
    ([*RUN, "--partition-file", __file__], "partition-file: "),
)
def test_a_mistake_is_one_line_and_nothing_is_written(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert re.search(message, mistake(*arguments))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "option"), with_a(RESULT))
def test_a_file_goes_where_a_file_can_be(tmp_path, name, option):
    flag = option.opts[0]
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("mine")
    assert mistake(name, flag, "") == f"{flag[2:]}: '' is not a path; it is empty."
    for path in (tmp_path, tmp_path / "pipe"):
        assert "exists and is not a file" in mistake(name, flag, path)
    assert "can't be written: Not a directory" in mistake(name, flag, tmp_path / "file/x.parquet")
    assert "is not UTF-8" in mistake(name, flag, f"{tmp_path}/\udcff")
    assert "can't be written: File name too long" in mistake(name, flag, tmp_path / ("n" * 300))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(("name", "param"), with_a(INPUT))
def test_a_file_to_read_is_a_file(tmp_path, name, param):
    flag = [] if isinstance(param, click.Argument) else [param.opts[0]]
    key = param.opts[0].lstrip("-")
    os.mkfifo(pipe := tmp_path / "pipe")
    for path, reason in (
        (tmp_path, "it is not a regular file"),
        (tmp_path / "none/none", "does not exist"),
        (os.devnull, "it is not a regular file"),
        (pipe, "it is not a regular file"),
        ("", "is not a path"),
    ):
        line = mistake(name, *flag, path)
        assert line.startswith(f"{key}: ")
        assert reason in line


def test_a_name_with_a_line_break_stays_on_one_line(tmp_path):
    assert "\\n" in mistake("runs", "--config", tmp_path / "a\nb")
    assert mistake("data", "a\nb").count("\n") == 0

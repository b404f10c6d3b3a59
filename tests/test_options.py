"""What a user may get wrong on the command line: one line, exit code 2, and nothing written."""

import os
import re

import click
import pytest
from click.testing import CliRunner

from ngo.cli import bench, main
from ngo.options import INPUT, RESULT, Commands, PathType

DIGITS = ["train", "--dataset", "digits", "--batch-size", "16", "--device", "cpu"]


def mistake(*arguments, group=main):
    """The line that these arguments end with."""
    result = CliRunner().invoke(group, [str(a) for a in arguments], prog_name="ngo")
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("ngo: ")
    return line.removeprefix("ngo: ")


def commands():
    for group, names in ((main, ()), (bench, ("bench",))):
        for name, command in group.commands.items():
            if not isinstance(command, click.Group):
                yield pytest.param((*names, name), command, id=" ".join((*names, name)))


def with_a(kind):
    """(the command's name, the option or argument) of all that take such a path."""
    return [
        pytest.param(entry.values[0], param, id=f"{entry.id} {param.opts[0]}")
        for entry in commands()
        for param in entry.values[1].params
        if isinstance(param.type, PathType) and param.type.check is kind.check
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nosuch"], "No such option '--nosuch'. See ngo --help."),
        (["trian"], "No such command 'trian'. Did you mean 'train'[?] See ngo --help."),
        (["data", "nosuch"], "dataset: 'nosuch' is unknown; allowed: cifar10, digits"),
        (["data", "digits", "--data-root", os.devnull], "is no folder"),
        (["data", "digits", "--data-root", ""], "data-root: '' is no path; it is empty"),
        (["train"], "Missing option '--out'. See ngo train --help."),
        ([*DIGITS, "--p"], "Option '--p' requires an argument."),
        ([*DIGITS, "--threads", "1000000"], "threads: 1000000 is out of range; .* 1 to 1,024"),
        ([*DIGITS, "--epochs", "1e12", "--eval-every", "1e-9"], "epochs: 1000000000000.0 is out"),
        ([*DIGITS, "--workers", "ten"], "workers: 'ten' is not a number; .* 1 or more"),
        ([*DIGITS, "--workers", "2.5"], "workers: 2.5 is not whole"),
        ([*DIGITS, "--seed", str(2**63)], "seed: 9223372036854775808 is too large"),
        ([*DIGITS, "--topology", "\udcff"], "topology: '.udcff' is unknown"),
        ([*DIGITS, "--timeout", "nan"], "timeout: nan is not finite"),
        ([*DIGITS, "--checkpoint-seconds", "nan"], "checkpoint_seconds: nan is not finite"),
        ([*DIGITS, "--runs-per-gpu", "0"], "runs_per_gpu: 0 is out of range; .* 1 to 1,024"),
        ([*DIGITS, "--processes", "1000000"], "processes: 1000000 is out of range"),
        (["consensus", "--p", "inf"], "p: inf is not finite; it must be a number, above 0"),
        (["consensus", "--gamma", "nan"], "gamma: nan is not finite"),
        (["consensus", "--workers", "200000"], "workers: 200000 is out of range; .* 2 to 2,000"),
        (["spectra", "--workers", "200000"], "workers: 200000 is out of range"),
        (["spectra", "--u", "nan"], "u: nan is not finite"),
        (["alignment", "--scale", "nan"], "scale: nan is not finite"),
        (["samples", "--images", "0"], "images: 0 is out of range; .* 1 to 10,000"),
        (["throughput", "--protocol", "nog"], "protocol: 'nog' is unknown.*Did you mean 'ngo'"),
        (["theory", "--p", "2"], "p: 2.0 is out of range; it must be a number, 0.5 to 0.99"),
        (["theory", "--sgd-workers", "-3"], "sgd_workers: -3 is out of range; .* 2 to 200"),
        (["bench", "engine", "--repeats", "0"], "Invalid value for '--repeats'"),
        (["bench", "nosuch"], "No such command 'nosuch'"),
    ],
)
def test_a_mistake_is_one_line(arguments, message):
    assert re.search(message, mistake(*arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("consensus --workers 2000 --rounds 1000000", "rounds: workers × rounds is 2,000,000,000"),
        ("theory --steps 1000000 --repeats 10000", "repeats: steps × repeats is 10,000,000,000"),
        ("theory --samples 2", "dimension: 5 is more than a worker's 2 samples"),
    ],
)
def test_what_is_too_much_together_is_told_before_it_is_computed(tmp_path, arguments, message):
    assert message in mistake(*arguments.split(), "--out", tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "option"), with_a(RESULT))
def test_a_file_goes_where_a_file_can_be(tmp_path, name, option):
    flag = option.opts[0]
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("mine")
    assert mistake(*name, flag, "") == f"{flag[2:]}: '' is no path; it is empty."
    for path in (tmp_path, tmp_path / "pipe"):
        assert "is there, and is no file" in mistake(*name, flag, path)
    assert "can't be written: Not a directory" in mistake(*name, flag, tmp_path / "file/x.parquet")
    assert "is not UTF-8" in mistake(*name, flag, f"{tmp_path}/\udcff")
    assert "can't be written: File name too long" in mistake(*name, flag, tmp_path / ("n" * 300))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("command", ["train", "rebuild"])
def test_a_folder_goes_where_a_folder_can_be(tmp_path, command):
    (tmp_path / "file").write_text("mine")
    assert "'' is no path" in mistake(command, "--out", "")
    assert "file' is there, and is no folder" in mistake(command, "--out", tmp_path / "file")
    assert "is there, and is no folder" in mistake(command, "--out", os.devnull)
    assert "can't be written: Not a directory" in mistake(command, "--out", tmp_path / "file/a/b")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(("name", "param"), with_a(INPUT))
def test_a_file_to_read_is_a_file(tmp_path, name, param):
    flag = [] if isinstance(param, click.Argument) else [param.opts[0]]
    key = param.opts[0].lstrip("-")
    for path, reason in (
        (tmp_path, "Is a directory"),
        (tmp_path / "none", "No such file"),
        (tmp_path / "none/none", "No such file"),
        (os.devnull, "is no file"),
        ("", "is no path"),
    ):
        line = mistake(*name, *flag, path)
        assert line.startswith(f"{key}: ")
        assert reason in line


def test_a_partition_file_of_others_trains_nothing(tmp_path):
    import pandas as pd

    pd.DataFrame({"worker": [0]}).to_parquet(tmp_path / "foreign.parquet")
    how = ["--partition-file", tmp_path / "foreign.parquet", "--out", tmp_path / "run"]
    assert "ngo did not write it" in mistake(*DIGITS, *how)
    assert not (tmp_path / "run").exists()


def test_a_run_file_that_is_no_text_is_named(tmp_path):
    for content, message in (
        (b"PAR1\xcc", "is no JSON object: "),
        (b"[1]", "is no JSON object"),
        (b'{"spec": null}', "is no JSON object"),
        (b"[" * 100_000, "is no JSON object: "),
        (b'{"lr": NaN}', "lr: nan is not finite"),
        (b'{"lr": [1]}', r"lr: [1] is not a number"),
    ):
        (tmp_path / "s.json").write_bytes(content)
        line = mistake(*DIGITS, "--spec", tmp_path / "s.json", "--out", tmp_path / "run")
        assert message in line
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 37 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes"),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("can't start new thread"),
    ],
)
def test_no_room_is_a_line_and_other_errors_are_not(error):
    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    @click.option("--wrong", is_flag=True)
    def work(wrong):
        raise RuntimeError("a mistake of ours") if wrong else error

    line = mistake("work", group=group)
    assert line.startswith("no room; fewer workers or threads need less: ")
    result = CliRunner().invoke(group, ["work", "--wrong"])
    assert str(result.exception) == "a mistake of ours"


def test_an_interrupted_command_says_so():
    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    def work():
        raise KeyboardInterrupt

    result = CliRunner().invoke(group, ["work"])
    assert (result.exit_code, result.stderr) == (130, "ngo: interrupted\n")


def test_a_name_with_a_line_break_stays_on_one_line(tmp_path):
    assert "\\n" in mistake("runs", "--config", tmp_path / "a\nb")
    assert mistake("data", "a\nb").count("\n") == 0


@pytest.mark.parametrize(("name", "command"), list(commands()))
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
    import shlex

    text = main.help.replace("\\\n", " ")
    for line in text.splitlines():
        word, *rest = shlex.split(line.replace("'", "")) or [""]
        if word == "ngo":
            name = rest[0]
            known = [flag for option in main.commands[name].params for flag in option.opts]
            assert {each for each in rest if each.startswith("--")} <= set(known)

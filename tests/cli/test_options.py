"""What a user may get wrong on the command line: one line, exit code 2, and nothing written."""

import os
import re

import click
import pytest
from cases import cases
from command_line import commands, mistake

from ngo.cli.options import INPUT, RESULT, PathType

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
    ([*ROUNDS, "--workers", 2000], "^rounds: workers × rounds is 2,000,000,000"),
    ([*THEORY, "--steps", 10**6, "--repeats", 10**4], "^repeats: steps × .* is 10,000,000,000"),
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

"""``ngo train`` as a process: signals, and folders with results."""

import os
import signal
import sys

import running
from click.testing import CliRunner
from runs import files, left, run_in, short_run

from ngo.cli.cli import main

SMALL = ["--dataset", "digits", "--batch-size", "16", "--epochs", "0.2", "--device", "cpu"]


def ngo_train(*options):
    command = [sys.executable, "-m", "ngo", "train", *options]
    return running.start(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


def output(*options, code=0):
    """Standard output and standard error of a command that ends with ``code``."""
    result = CliRunner().invoke(main, ["train", *map(str, options)], prog_name="ngo")
    assert result.exit_code == code, result.output
    return result.stdout + result.stderr


def test_signals_to_the_command(tmp_path):
    """The same command three times: until SIGTERM, until SIGINT, and here to the end."""
    spec = short_run(epochs=4.0, eval_every=0.25)
    options = [*spec.flags(), "--device", "cpu", "--out", tmp_path / "pieces"]
    run_in(spec, tmp_path / "whole")
    at = None
    for number in (signal.SIGTERM, signal.SIGINT):
        process = ngo_train(*options)
        lines = [process.stderr.readline()]
        while not lines[-1].startswith("epoch"):
            lines.append(process.stderr.readline())
        process.send_signal(number)
        out, err = running.ended(process)
        assert process.returncode == 128 + number
        assert out == ""
        assert lines[1:-1] == ([f"resuming at step {at} of 120\n"] if at is not None else [])
        last = err.splitlines()[-1]
        at = int(last.split("step ")[1].split()[0])
        assert last == f"ngo: stopped at step {at} of 120; the same command resumes"
        assert files(tmp_path / "pieces") == ["checkpoint.pt"]
    assert f"resuming at step {at} of 120\n" in output(*options)
    assert left(tmp_path / "pieces") == left(tmp_path / "whole")


def test_the_command_reports_results_in_its_folder(tmp_path):
    command = [*SMALL, "--out", tmp_path]
    first = output(*command)
    again = output(*command)
    assert "already finished in" in again
    assert again.splitlines()[0] == first.splitlines()[0]  # standard output
    refused = output(*command, "--seed", "1", code=2)
    line = f"ngo: out: {str(tmp_path)!r} holds the finished run digits-iid-ring-ngo-p0.95-s0-"
    assert line in refused
    assert "epoch" in output(*command, "--seed", "1", "--overwrite")

"""What a run leaves in its folder, and what it does with a checkpoint there."""

import hashlib
import json
import os
import re
import signal
import sys

import pytest
import running
import torch
from cases import cases, refused
from click.testing import CliRunner
from runs import PARTS, digits_run, files, interrupted, left, resumed, run_in, short_run, tiny

from ngo.cli.cli import main
from ngo.common.files import PARTIAL
from ngo.training import checkpoint, run_folder
from ngo.training.results_version import results_version
from ngo.training.run import Training, run
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError

SMALL = ["--dataset", "digits", "--batch-size", "16", "--epochs", "0.2", "--device", "cpu"]


def test_snapshots_make_a_file_of_models(tmp_path):
    run(tiny(), tmp_path, tmp_path, snapshots=[2, "final"])
    assert json.loads((tmp_path / "run.json").read_text())["snapshots"] == [2, 30]
    message = "snapshots: 31 is .* last step of least_squares-.* is 30; it must be 30 or"
    refused(message, run, tiny(), tmp_path / "other", tmp_path, snapshots=[31])
    assert not (tmp_path / "other").exists()


def test_the_backend_of_a_checkpoint_is_kept(tmp_path, monkeypatch):
    spec = tiny()
    interrupted(spec, tmp_path)
    built = []

    def recorded(*args, backend=None, **how):
        built.append(backend)
        return Training(*args, backend=backend, **how)

    monkeypatch.setattr("ngo.training.run.Training", recorded)
    run_in(spec, tmp_path)
    assert built == ["compiled"]  # not "auto", which might choose another now
    reason = json.loads((tmp_path / "run.json").read_text())["backend_reason"]
    assert reason == "auto: the first that fits of compiled, threads"


@cases(
    "change, how, named",
    ({"lr": 0.01}, {}, "lr 0.05 and not 0.01"),
    ({}, {"snapshots": [3]}, r"snapshots \[\] and not \['3'\]"),
    ({}, {"parts": PARTS}, "parts '[0-9a-f]{16}' and not '[0-9a-f]{16}'"),
)
def test_overwrite_alone_replaces_another_runs_checkpoint(
    change, how, named, tmp_path, monkeypatch
):
    """Also if it is of another results version, which alone would be no reason."""
    first, second = tiny(), tiny(**change)
    path = interrupted(first, tmp_path / "run")
    kept = path.read_bytes()
    monkeypatch.setattr(run_folder, "results_version", lambda spec: "new")
    held = f"^out: '.*/run' holds a checkpoint of the run {first.id}, with {named}; choose another "
    with pytest.raises(UserError, match=f"{held}folder, or train over it with --overwrite.$"):
        run_in(second, tmp_path / "run", **how)
    assert files(tmp_path / "run") == ["checkpoint.pt"]
    assert path.read_bytes() == kept
    (line,) = run_in(second, tmp_path / "run", overwrite=True, **how)
    of = f"it is of the run {first.id}, with {named}"
    assert re.fullmatch(f"checkpoint: '.*' is refused: {of}; starting over", line)
    run_in(second, tmp_path / "whole", **how)
    assert left(tmp_path / "run") == left(tmp_path / "whole")


@cases(
    "how, named",
    ((checkpoint, "LAYOUT", 0), f"layout {checkpoint.LAYOUT} and not 0"),
    ((run_folder, "results_version", lambda spec: "new"), "code '1' and not 'new'"),
    ((torch, "__version__", "0.4"), f"torch '{re.escape(torch.__version__)}' and not '0.4'"),
    ids=["layout", "code", "torch"],
)
def test_a_checkpoint_made_otherwise_is_refused(how, named, tmp_path, monkeypatch):
    interrupted(tiny(), tmp_path)
    monkeypatch.setattr(*how)
    (line,) = run_in(tiny(), tmp_path)
    assert re.fullmatch(f"checkpoint: .* refused: it is made with {named}; starting over", line)
    assert resumed(tmp_path) == []


def test_partial_files_of_a_killed_run_are_removed(tmp_path):
    for name in ("checkpoint.pt", "metrics.parquet", "run.json", "models.pt"):
        (tmp_path / f"{PARTIAL}{name}.abc{name[name.index('.') :]}").write_text("half")
    (tmp_path / ".mine.json").write_text("mine")
    run_in(tiny(), tmp_path)
    assert files(tmp_path) == [".mine.json", "metrics.parquet", "run.json"]


def test_real_mnist_is_learned(mnist_root, tmp_path):
    spec = resolve({"dataset": "mnist", "method": "ngo", "epochs": 0.4, "eval_every": 0.4})
    assert run(spec, tmp_path, mnist_root).consensus_accuracy > 0.7


def test_a_record_says_which_run_it_was(tmp_path):
    spec = digits_run(epochs=0.1, topology="random", u=0.3)
    run_in(spec, tmp_path)
    found = json.loads((tmp_path / "run.json").read_text())
    assert found["id"] == spec.id
    assert resolve({k: v for k, v in found["spec"].items() if v is not None}) == spec
    assert found["command"] == ["ngo", "train", *spec.flags()]
    assert found["versions"]["torch"] == torch.__version__
    assert found["versions"]["kernels"] == run_folder.kind("cpu")["kernels"]
    assert {"source", "device", "backend", "wall_seconds", "started", "seed"} <= found.keys()
    assert found["about"].keys().isdisjoint(found["spec"])
    assert found["about"]["code"] == results_version(spec)
    metrics = (tmp_path / "metrics.parquet").read_bytes()
    assert found["metrics_sha256"] == hashlib.sha256(metrics).hexdigest()


# ``ngo train`` as a process: signals, and folders with results.


def output(*options, code=0):
    """Standard output and standard error of a command that ends with ``code``."""
    result = CliRunner().invoke(main, ["train", *map(str, options)], prog_name="ngo")
    assert result.exit_code == code, result.output
    return result.stdout + result.stderr


def test_signals_to_the_command(tmp_path):
    """The same command three times: until SIGTERM, until SIGINT, and here to the end."""
    spec = short_run(epochs=4.0, eval_every=0.25)
    options = [*spec.flags(), "--device", "cpu", "--out", tmp_path / "pieces"]
    command = [sys.executable, "-m", "ngo", "train", *options]
    run_in(spec, tmp_path / "whole")
    at = None
    for number in (signal.SIGTERM, signal.SIGINT):
        process = running.start(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
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

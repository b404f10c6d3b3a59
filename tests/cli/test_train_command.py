import json
import os

import pandas as pd
import pytest
from command_line import SMALL, mistake, ngo


def test_a_run_by_flags_and_again_by_its_record(tmp_path):
    out = ngo("train", *SMALL, "--method", "ngo", "--p", "0.8", "--out", tmp_path / "a")
    assert "digits-iid-ring-ngo-p0.8-s0-" in out
    ngo("train", "--spec", tmp_path / "a/run.json", "--device", "cpu", "--out", tmp_path / "b")
    first, second = (pd.read_parquet(tmp_path / name / "metrics.parquet") for name in ("a", "b"))
    pd.testing.assert_frame_equal(first, second)
    record = json.loads((tmp_path / "a/run.json").read_text())
    ngo(*record["command"][1:], "--device", "cpu", "--out", tmp_path / "c")
    again = json.loads((tmp_path / "c/run.json").read_text())
    assert again["id"] == record["id"]
    assert again["final"]["consensus_loss"] == record["final"]["consensus_loss"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--p", "1.2"], "p: 1.2 is out of range; it must be a number, 0.5 to 1"),
        (["--lr", "nan"], "lr: nan is not finite"),
        (["--gamma", "-1"], "gamma: -1.0 is out of range"),
        (["--topology", "rign"], "Did you mean 'ring'?"),
        (["--method", "mgo"], "Did you mean 'ngo'?"),
        (["--dataset", "digts"], "Did you mean 'digits'?"),
        (["--partition", "dirichlet", "--beta", "0"], "beta: 0.0 is out of range"),
        (["--topology", "random", "--u", "1.5"], "u: 1.5 is out of range"),
        (["--batch-size", "144"], "batch_size: 144 is larger than worker 7's share of 143"),
        (["--workers", "1"], "workers: 1 is too few"),
        (["--device", "tpu"], "device: 'tpu' is unknown"),
        (["--backend", "thread"], "backend: 'thread' is unknown"),
        (["--partition-file", __file__], "partition-file: "),
        (["--spec", __file__], "is not a JSON object"),
    ],
)
def test_a_mistake_stops_before_anything_is_written(tmp_path, arguments, message):
    out = ngo("train", *SMALL, "--out", tmp_path / "run", *arguments, code=2)
    line = next(line for line in out.splitlines() if line.startswith("ngo: "))
    assert message in line
    assert not list(tmp_path.rglob("*.parquet"))
    assert "Traceback" not in out


def test_results_stay_where_out_was_when_a_plugin_moves_the_working_folder(
    own_entries, tmp_path, monkeypatch
):
    """Also while it is imported."""
    (tmp_path / "moving.py").write_text(
        "import os, ngo\n"
        "os.chdir('/')\n"
        "@ngo.method('moving', fields=('topology', 'gamma', 'gamma_decay', 'coupling', 'p'))\n"
        "def moving(step):\n"
        "    os.chdir('/')\n"
        "    step.descend(); step.gossip()\n"
    )
    monkeypatch.chdir(tmp_path)
    ngo("train", "--plugin", "moving.py", *SMALL, "--method", "moving", "--out", "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"metrics.parquet", "run.json"}


@pytest.mark.parametrize("key", ["graph", "speed-file", "link-file", "churn-file"])
def test_nothing_waits_for_a_pipe_in_place_of_a_file(tmp_path, key):
    os.mkfifo(tmp_path / "pipe")
    line = mistake("train", *SMALL, f"--{key}", tmp_path / "pipe", "--out", tmp_path / "run")
    assert line.startswith(f"{key.replace('-', '_')}: ")
    assert line.endswith("pipe' can't be read: it is not a regular file.")


def test_no_data_and_no_network(tmp_path, monkeypatch):
    import urllib.error

    def no_network(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("urllib.request.urlopen", no_network)
    arguments = ["--dataset", "mnist", "--data-root", tmp_path / "none", "--device", "cpu"]
    out = ngo("train", *arguments, "--out", tmp_path / "run", code=2)
    assert "data.root: mnist is not in" in out
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    out = ngo("train", *SMALL, "--out", tmp_path / "file/run", code=2)
    assert "file/run' can't be written: Not a directory" in out


def test_a_partition_file_of_others_trains_nothing(tmp_path):
    import pandas as pd

    pd.DataFrame({"worker": [0]}).to_parquet(tmp_path / "foreign.parquet")
    how = ["--partition-file", tmp_path / "foreign.parquet", "--out", tmp_path / "run"]
    assert "ngo did not write it" in mistake("train", *SMALL, *how)
    assert not (tmp_path / "run").exists()


def test_processes_are_refused_without_distributed(tmp_path):
    line = mistake("train", *SMALL, "--processes", "2", "--out", tmp_path / "run")
    assert line == "processes: this option needs --distributed."


def test_a_snapshot_is_a_step_of_a_run_in_one_process(tmp_path):
    run = ["train", *SMALL, "--out", tmp_path / "run"]
    assert mistake(*run, "--snapshot", "-1") == (
        "snapshot: '-1' is not a step; it must be a whole number or 'final'."
    )
    assert mistake(*run, "--snapshot", "1", "--distributed", "--processes", "2").startswith(
        "snapshot: a distributed run keeps no models"
    )

import signal
import sys

import pandas as pd
from command_line import SMALL
from running import awaited, ended, finished, start, with_children

PLUGIN = """
from ngo.common.registry import UserError
from ngo.gossip.topology import TOPOLOGIES
TOPOLOGIES.add("mine", TOPOLOGIES["ring"])
"""


def test_processes_load_the_plugins_of_the_command(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    run = [sys.executable, "-m", "ngo", "train", *SMALL, "--workers", 2, "--plugin", plugin]
    run += ["--topology", "mine", "--threads", 1]
    finished(start([*run, "--out", tmp_path / "one"]))
    process = start([*run, "--out", tmp_path / "two", "--distributed", "--processes", 2])
    out, err = ended(process)
    assert process.returncode == 0, err
    assert "-mine-ngo-" in out
    assert len([line for line in err.splitlines() if line.startswith("epoch")]) == 2
    loss = [
        pd.read_parquet(tmp_path / name / "metrics.parquet")["consensus_loss"].tolist()
        for name in ("one", "two")
    ]
    assert loss[0] == loss[1]


def test_sigterm_ends_a_run_with_a_line(tmp_path):
    run = [sys.executable, "-m", "ngo", "train", *SMALL, "--epochs", 1000, "--threads", 1]
    process = start([*run, "--workers", 2, "--distributed", "--processes", 2, "--out", tmp_path])
    awaited(lambda: process.stderr.readline().startswith("epoch"), process)
    started = with_children(process)[1:]
    process.terminate()
    _, err = ended(process)
    *others, line = err.splitlines()
    assert line == (
        "ngo: stopped by SIGTERM, with all processes of the run; a distributed run has no "
        "checkpoint: the same command starts over"
    )
    assert [other for other in others if not other.startswith("epoch")] == []
    assert process.returncode == 128 + signal.SIGTERM
    assert len(started) >= 2
    awaited(lambda: not any(each.is_running() for each in started))
    assert [each.name for each in tmp_path.iterdir() if each.name != ".lock"] == []

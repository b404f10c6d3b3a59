import signal
import sys

import pandas as pd
from command_line import SMALL, ngo
from running import awaited, ended, start, with_children

PLUGIN = """
from verdicts.registry import UserError
from ngo.gossip.topology import TOPOLOGIES
TOPOLOGIES.add("mine", TOPOLOGIES["ring"])
"""


def test_processes_load_the_plugins_of_the_command(own_entries, tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    run = ["train", *SMALL, "--workers", 2, "--plugin", plugin, "--topology", "mine"]
    run += ["--threads", 1]
    ngo(*run, "--out", tmp_path / "one")
    two = ["--out", tmp_path / "two", "--distributed", "--processes", 2]
    process = start([sys.executable, "-m", "ngo", *run, *two])
    out, err = ended(process)
    assert process.returncode == 0, err
    assert "-mine-ngo-" in out
    assert len([line for line in err.splitlines() if line.startswith("epoch")]) == 2
    made = (pd.read_parquet(tmp_path / f"{name}/metrics.parquet") for name in ("one", "two"))
    one, two = (table["consensus_loss"].tolist() for table in made)
    assert one == two


def test_sigterm_ends_all_processes_of_a_run(tmp_path):
    run = [sys.executable, "-m", "ngo", "train", *SMALL, "--epochs", 1000, "--threads", 1]
    process = start([*run, "--workers", 2, "--distributed", "--processes", 2, "--out", tmp_path])
    awaited(lambda: process.stderr.readline().startswith("epoch"), process)
    children = with_children(process)[1:]
    process.terminate()
    ended(process)
    assert process.returncode == -signal.SIGTERM
    assert len(children) >= 2
    awaited(lambda: not any(child.is_running() for child in children))
    assert [path.name for path in tmp_path.iterdir() if path.name != ".lock"] == []

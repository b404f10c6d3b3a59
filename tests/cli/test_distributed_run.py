import sys

import pandas as pd
from command_line import SMALL
from running import ended, finished, start

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

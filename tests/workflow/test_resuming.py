"""Snakemake leaves the checkpoints of runs alone."""

import json
import os
import signal

import running
import yaml
from clone import Clone

# Two runs of some seconds: figA1 keeps models, table1 does not.
OVERLAY = {
    "tier": "test",
    "device": "cpu",
    "seeds": [0],
    "settings": {
        "tiny": {"dataset": "digits", "partition": "iid", "workers": 4, "batch_size": 8,
                 "epochs": 8.0, "eval_every": 0.2},
    },
    "training": {
        "table1": {"settings": ["tiny"], "compare": [{"method": "gossip", "topology": "ring"}]},
        "figA1": {
            "settings": ["tiny"],
            "compare": [{"method": "ngo", "topology": "ring"}],
            "snapshots": ["final"],
        },
    },
}  # fmt: skip
TARGETS = ("results/test/metrics/table1.parquet", "results/test/metrics/figA1.parquet")
COMMAND = (*TARGETS, "--workflow-profile", "workflow/profiles/local")


def test_checkpoints_outlive_their_jobs(tmp_path):
    """Ctrl-C, then kill −9 of Snakemake and all its jobs, then the rest: the same command."""
    clone = Clone(tmp_path / "ngo")
    (clone.root / "test.yaml").write_text(yaml.safe_dump(OVERLAY))

    def checkpoints():
        return list(clone.root.glob("results/runs/*/checkpoint.pt"))

    def resumed():
        logs = clone.root.glob("logs/test/jobs/*.log")
        return [log for log in logs if "resuming at step" in log.read_text()]

    for number, begun in ((signal.SIGINT, checkpoints), (signal.SIGKILL, resumed)):
        process = clone.start(*COMMAND)
        running.awaited(lambda begun=begun: len(begun()) == 2, process)
        os.killpg(process.pid, number)
        out, _ = running.ended(process)
        assert process.returncode != 0, out
        assert len(checkpoints()) == 2
        assert not list(clone.root.glob("results/runs/*/metrics.parquet"))
    clone.snakemake(*COMMAND)
    assert not checkpoints()
    records = list(clone.root.glob("results/runs/*/run.json"))
    assert len(records) == 2
    for record in records:
        assert json.loads(record.read_text())["resumed_at_steps"]

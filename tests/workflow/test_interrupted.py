"""The pipeline after kills, a full disk, and lost or misplaced files.

Existing files are complete, errors are clear, and the same command ends with the same bytes.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil
import pytest
import running
import yaml
from clone import Clone, assert_one_line, without_date
from running import LIMIT, ended, finished, kill, with_children

from ngo.common.files import PARTIAL

# Training, its tidy table, and a table that needs no other.
MADE = ("results/test/metrics/table1.parquet", "assumptions")
COMMAND = (*MADE, "--workflow-profile", "workflow/profiles/local", "--latency-wait", "0")
CONFIG = "test.yaml short.yaml"

# Of the demo, at random moments.
KILLS = 10

# What a kill may leave until the same command continues.
UNFINISHED = (f"{PARTIAL}*", "checkpoint.pt", ".lock")

# Measured times differ from run to run.
CLOCKS = {"evaluation_seconds", "wall_seconds", "started", "resumed_at_steps"}


def contents(root: Path) -> dict[str, object]:
    """The finished files of the results by name, with their contents except for times."""
    paths = {path for path in root.glob("results/**/*") if path.is_file()}
    ready = sorted(paths - set(unfinished(root)))
    return {str(path.relative_to(root)): content(path) for path in ready}


def unfinished(root: Path) -> list[Path]:
    return [path for name in UNFINISHED for path in root.glob(f"results/**/{name}")]


def content(path: Path) -> object:
    if path.suffix == ".json":
        return json.loads(path.read_text(), object_hook=without_clocks)
    return without_date(path)


def without_clocks(values: dict) -> dict:
    return {name: value for name, value in values.items() if name not in CLOCKS}


def short(root: Path) -> Clone:
    clone = Clone(root)
    (root / "short.yaml").write_text(yaml.safe_dump({"seeds": [0]}))
    return clone


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, object]:
    """What is there to be made, by name."""
    clone = short(tmp_path_factory.mktemp("undisturbed") / "ngo")
    clone.snakemake(*COMMAND, config=CONFIG)
    return contents(clone.root)


def test_killed_with_all_its_jobs(tmp_path, undisturbed):
    """With the profile and without, at different moments."""
    clone = short(tmp_path / "ngo")
    for command, pattern in (
        (COMMAND, "logs/test/jobs/*.log"),
        (MADE, "results/runs/*/metrics.parquet"),
    ):
        process = clone.start(*command, config=CONFIG)
        clone.wait_for(process, pattern)
        kill(process)
        ended(process)
        assert contents(clone.root).items() <= undisturbed.items()
    (clone.root / f"results/test/partitions/{PARTIAL}half.parquet").write_bytes(b"half")
    clone.snakemake(*MADE, config=CONFIG)
    assert contents(clone.root) == undisturbed
    assert not unfinished(clone.root)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs limits that Linux has")
def test_disturbed_in_three_ways_one_after_another(tmp_path, undisturbed, monkeypatch):
    """Each has its clear line, and what is there stays; in the end the command completes it."""
    # Under a limit on the size of files, Python writes truncated bytecode, and reads it later.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    clone = short(tmp_path / "ngo")

    def start(pattern: str) -> subprocess.Popen:
        """With no logs of before and a run to train, to where there is a file like ``pattern``."""
        shutil.rmtree(clone.root / "logs", ignore_errors=True)
        for run in clone.root.glob("results/runs/*complete*"):
            shutil.rmtree(run)
        for table in clone.root.glob("results/test/jobs/*.parquet"):
            table.unlink()
        process = clone.start(*COMMAND, config=CONFIG)
        clone.wait_for(process, pattern)
        return process

    def failed(process: subprocess.Popen) -> str:
        """What it said; whatever is there is as in the undisturbed run."""
        out = finished(process, code=1)
        assert contents(clone.root).items() <= undisturbed.items()
        assert not list(clone.root.glob(f"results/**/{PARTIAL}*"))
        return out

    process = start("logs/test/jobs/*.log")
    (partition,) = clone.root.glob("results/test/partitions/*.parquet")
    partition.unlink()
    lost = f"{partition.name}.* (does not exist|missing locally)"
    assert re.search(lost, failed(process))

    # A limit on the size of files stands in for a full disk.
    shutil.rmtree(clone.root / "results/test/tables")
    process = start("logs/test/jobs/*.log")
    for child in with_children(process):
        resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (4096, 4096))
    out = failed(process)
    full = "ngo: folder: the folder '.*' can't be written to: File too large; finished"
    assert re.search(full, out)

    # Not even root can write to /proc.
    shutil.rmtree(clone.root / "results/test/metrics", ignore_errors=True)
    process = start("logs/test/jobs/*.log")
    (clone.root / "results/test/metrics").symlink_to("/proc")
    lost = r"ngo: \w+: .*'results/test/metrics(/table1.parquet)?' can't be written"
    assert re.search(lost, failed(process))
    out = clone.snakemake(*COMMAND, config=CONFIG, code=1)
    assert_one_line(out, "ngo: results: the folder 'results/test/metrics' can't be written to: ")
    (clone.root / "results/test/metrics").unlink()

    clone.snakemake(*COMMAND, config=CONFIG)
    assert contents(clone.root) == undisturbed


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [0])
def test_the_whole_demo_killed_again_and_again(tmp_path, seed):
    """Killed at random moments, with all its jobs or (every fourth time) without them, it ends as
    the undisturbed one does. Throughputs measure the machine.
    """
    demo, config = ("--workflow-profile", "workflow/profiles/local"), "config/demo.yaml"
    reference = short(tmp_path / "undisturbed")
    start = time.monotonic()
    reference.snakemake(*demo, config=config, within=1800)
    took = time.monotonic() - start
    undisturbed = without_throughputs(reference.root)
    print(f"\nundisturbed: {len(undisturbed)} files in {took:.0f} s")

    clone, draw = short(tmp_path / "killed"), Random(seed)
    for k in range(1, KILLS + 1):
        process = clone.start(*demo, config=config)
        moment = draw.uniform(0, 1.5 * took / KILLS)
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=moment)
        for child in with_children(process)[: None if k % 4 else 1]:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        process.wait(LIMIT)
        process.stdout.close()  # what jobs left alone would hold open
        there = without_throughputs(clone.root)
        print(f"kill {k} after {moment:.1f} s: {len(there)} files")
        assert there.items() <= undisturbed.items()
    clone.snakemake(*demo, config=config, within=1800)
    assert without_throughputs(clone.root) == undisturbed
    assert not unfinished(clone.root)


def without_throughputs(root: Path) -> dict[str, object]:
    return {name: said for name, said in contents(root).items() if "throughput" not in name}


# Two runs of some seconds: figA1 keeps models, table1 does not.
LONG = {
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
TWO = ("results/test/metrics/table1.parquet", "results/test/metrics/figA1.parquet")
CHECKPOINTED = (*TWO, "--workflow-profile", "workflow/profiles/local")


def test_checkpoints_outlive_their_jobs(tmp_path):
    """Ctrl-C, then kill −9 of Snakemake and all its jobs, then the rest: the same command."""
    clone = Clone(tmp_path / "ngo")
    (clone.root / "test.yaml").write_text(yaml.safe_dump(LONG))

    def checkpoints():
        return list(clone.root.glob("results/runs/*/checkpoint.pt"))

    def resumed():
        logs = clone.root.glob("logs/test/jobs/*.log")
        return [log for log in logs if "resuming at step" in log.read_text()]

    for number, begun in ((signal.SIGINT, checkpoints), (signal.SIGKILL, resumed)):
        process = clone.start(*CHECKPOINTED)
        running.awaited(lambda begun=begun: len(begun()) == 2, process)
        os.killpg(process.pid, number)
        out, _ = running.ended(process)
        assert process.returncode != 0, out
        assert len(checkpoints()) == 2
        assert not list(clone.root.glob("results/runs/*/metrics.parquet"))
    clone.snakemake(*CHECKPOINTED)
    assert not checkpoints()
    records = list(clone.root.glob("results/runs/*/run.json"))
    assert len(records) == 2
    for record in records:
        assert json.loads(record.read_text())["resumed_at_steps"]

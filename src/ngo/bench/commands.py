"""The costs of commands: start-up, and Snakemake's overhead."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ngo.bench.costs import Bench, Target
from ngo.common.registry import UserError


def startup(repeats: int = 5) -> Bench:
    """``ngo train`` of a single step, including its files, relative to ``import torch``."""
    tiny = ("--dataset", "least_squares", "--method", "centralized", "--workers", "1")
    with tempfile.TemporaryDirectory() as folder:
        train = [sys.executable, "-m", "ngo", "train", *tiny, "--batch-size", "1"]
        commands = {
            "import torch": [sys.executable, "-c", "import torch"],
            "ngo train": [*train, "--epochs", "1e-9", "--device", "cpu", "--out", folder],
            "ngo --help": [sys.executable, "-m", "ngo", "--help"],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(repeats + 1):
            for name, command in commands.items():
                seconds = seconds_of(command)
                if turn:  # the first turn reads the files from disk
                    taken[name].append(seconds)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    torch = medians["import torch"]
    rows = [
        {"command": name, "seconds": seconds, "of_import_torch": seconds / torch}
        for name, seconds in medians.items()
    ]
    return Bench(rows, [Target("ngo train of import torch's", medians["ngo train"] / torch, 1.3)])


def workflow(jobs: int = 10) -> Bench:
    """Snakemake's overhead for each training job of the demo, without Snakemake's own start."""
    if not Path("Snakefile").is_file():
        raise UserError("workflow: there is no Snakefile here; change to the project's folder.")
    from ngo.pipeline.config_files import read_config
    from ngo.pipeline.plan import plan

    configs = (Path("config/config.yaml"), Path("config/demo.yaml"))
    runs = sorted(plan(read_config(configs)).runs)[:jobs]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("config", "workflow", "papers"):
            shutil.copytree(name, Path(folder) / name)
        shutil.copy("Snakefile", folder)
        (Path(folder) / "cold.yaml").write_text("warm: false\n")
        command = [sys.executable, "-m", "snakemake", "--cores", "1"]
        command += ["--configfile", "config/demo.yaml", "cold.yaml"]
        targets = [f"results/runs/{run}/metrics.parquet" for run in runs]
        start = seconds_of([*command, "-n", "--", *targets], folder)
        whole = seconds_of([*command, "--", *targets], folder)
        tables = (Path(folder) / "logs/benchmarks").glob("*.tsv")
        inside = [float(table.read_text().splitlines()[1].split("\t")[0]) for table in tables]
    rows = [
        {"what": "Snakemake's start", "seconds": start},
        {"what": f"{len(inside)} jobs, inside", "seconds": sum(inside)},
        {"what": "all", "seconds": whole},
    ]
    each = (whole - start - sum(inside)) / len(inside)
    return Bench(rows, [Target("Snakemake's seconds for each job", each, 1)])


def seconds_of(command: Sequence[str], folder: str | None = None) -> float:
    """The duration of a command, without the prefork server; a UserError if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "NGO_WARM"}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"bench: {' '.join(command)} failed: {done.stderr.strip()[-200:]}")
    return time.perf_counter() - start

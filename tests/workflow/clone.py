"""A copy of the repository, in which tests run the pipeline on a handful of short runs."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import running
import yaml
from running import finished
from shipped_plans import plan_of_tier

from ngo.pipeline.paths import REPOSITORY

OVERLAY = {
    "tier": "test",
    "device": "cpu",
    "seeds": [0, 1],
    "settings": {
        "tiny": {"dataset": "digits", "partition": "shards", "shards": 40, "shards_per_worker": 2,
                 "epochs": 0.5,
                 "batch_size": 8, "workers": 4},
    },
    "training": {
        "table1": {
            "settings": ["tiny"],
            "compare": [
                {"method": ["gossip", "ngo"], "topology": "ring"},
                {"method": "gossip", "topology": "complete", "gamma": 1000.0},  # diverges
            ],
        }
    },
    "consensus": {"fig3": {"rounds": 60}},
    "spectra": {"tableS1": {"draws": 2}},
    "partitions": {"figS2": {"settings": ["tiny"]}},
}  # fmt: skip

# One artefact of each kind.
TARGETS = ("table1", "tableS1", "fig3", "figS2")


def outputs(name: str) -> list[str]:
    """The files of a figure or table, from the root."""
    return [f"results/test/{path}" for path in plan_of_tier().artefacts[name].outputs()]


FILES = [path for name in TARGETS for path in outputs(name)]


def without_date(path: Path) -> bytes:
    """The content of a file; of a measured table without the date at which it was started."""
    if path.parent.name != "metrics":
        return path.read_bytes()
    table = pd.read_parquet(path)
    table.attrs.clear()
    return table.to_parquet(index=False)


class Clone:
    """A copy of the repository, in which Snakemake runs with the copied package."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("workflow", "profiles", "config", "notebooks", "papers", "src"):
            ignore = shutil.ignore_patterns("*.egg-info")
            shutil.copytree(REPOSITORY / name, root / name, ignore=ignore)
        shutil.copy(REPOSITORY / "Snakefile", root)
        (root / "test.yaml").write_text(yaml.safe_dump(OVERLAY))

    def start(
        self, *arguments: str, config: str = "test.yaml", **environment: str
    ) -> subprocess.Popen:
        command = ["snakemake", "--cores", "2", *arguments]
        command += ["--scheduler", "greedy", "--configfile", *config.split()]
        return self.module(*command, **environment)

    def module(self, *command: str, **environment: str) -> subprocess.Popen:
        """Start a Python module with arguments."""
        return running.start(
            [sys.executable, "-m", *command],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root / "src"), **environment},
            stderr=subprocess.STDOUT,
        )

    def wait_for(self, process: subprocess.Popen, pattern: str) -> None:
        """Wait until ``process`` has written a file that matches ``pattern``."""
        running.awaited(lambda: list(self.root.glob(pattern)), process)

    def ngo(self, *arguments: str, code: int = 0) -> str:
        return finished(self.module("ngo", *arguments), code)

    def snakemake(
        self, *arguments: str, code: int = 0, within: float = running.LIMIT, **how: str
    ) -> str:
        return finished(self.start(*arguments, **how), code, within)

    def planned(self, *arguments: str, **how: str) -> dict[str, int]:
        """The number of jobs of each rule in a dry run."""
        text = self.snakemake("-n", *arguments, **how)
        stats = re.findall(r"^([A-Za-z0-9_]+) +(\d+)$", text, flags=re.MULTILINE)
        return {rule: int(count) for rule, count in stats if rule != "total"}

    def trained(self) -> set[str]:
        """The files that a training leaves last, with their dates: a run trained twice has two."""
        records = self.root.glob("results/runs/*/run.json")
        return {f"{path.parent.name} {path.stat().st_mtime_ns}" for path in records}

    @contextmanager
    def changed(self, name: str, old: str, new: str) -> Iterator[None]:
        """The text of a file with ``new`` in place of ``old``, for the time of a block."""
        path = self.root / name
        content = path.read_bytes()
        assert old.encode() in content
        path.write_bytes(content.replace(old.encode(), new.encode()))
        try:
            yield
        finally:
            path.write_bytes(content)

    def artefacts(self) -> dict[str, bytes]:
        return {name: (self.root / name).read_bytes() for name in FILES}


def assert_one_line(out: str, message: str) -> None:
    """One line of the output is an error of ngo's, which matches ``message``."""
    lines = [line for line in out.splitlines() if line.startswith("ngo: ")]
    assert len(lines) == 1, out
    assert re.search(message, lines[0])
    assert "Traceback" not in out

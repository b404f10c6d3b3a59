"""The pipeline on a real Slurm of one node: ``make test-slurm``, which needs root."""

import re
import signal
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml
from clone import FILES, OVERLAY, TARGETS, Clone
from lab import Unavailable, answer, slurm
from running import awaited, finished
from test_targets import RECORDER

# The profile as it is shipped, but for a Slurm that is small, near, and has no accounting.
PROFILE = [
    *("--workflow-profile", "workflow/profiles/slurm"),
    *("--cores", "1", "--latency-wait", "5"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
]
SMALL = {"mem_mb": 1000, "runtime": 10}

pytestmark = pytest.mark.timeout(2500)  # the demo, twice


@dataclass(frozen=True)
class Record:
    """What Slurm keeps of a job; ``comment`` names the rule and its wildcards."""

    job: int
    partition: str
    state: str
    minutes: str
    gpus: str
    comment: str


def records(out: str) -> list[Record]:
    """Slurm's own records of the jobs that a Snakemake submitted, oldest first."""
    name = re.search(r"SLURM run ID: (\S+)", out)[1]
    columns = "JobID:|,Partition:|,State:|,TimeLimit:|,tres-per-job:|,Comment:"
    rows = answer("squeue", f"--name={name}", "--states=all", "--noheader", f"--Format={columns}")
    fields = ([field.strip() for field in row.split("|")] for row in rows.splitlines())
    found = sorted((Record(int(job), *rest) for job, *rest in fields), key=lambda one: one.job)
    assert [one.job for one in found] == sorted(map(int, re.findall(r"SLURM jobid (\d+)", out)))
    return found


def of_rule(found: list[Record], rule: str) -> list[Record]:
    return [one for one in found if re.match(f"rule_{rule}(_wildcards|$)", one.comment)]


class Laboratory(Clone):
    """A clone with a config of its own, run on the cluster or, as ``local``, on this machine."""

    def __init__(self, root: Path, **overlay: object) -> None:
        super().__init__(root)
        config = {**OVERLAY, "resources": {"train": SMALL, "measure": SMALL}, **overlay}
        (root / "test.yaml").write_text(yaml.safe_dump(config))

    def submit(self, *arguments: str, **how: object) -> str:
        return self.snakemake(*arguments, *PROFILE, **how)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with ExitStack() as stack:
        try:
            stack.enter_context(slurm())
        except Unavailable as reason:
            pytest.skip(f"no Slurm: {reason}")
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A clone in which the cluster has made everything once, on what it takes for its GPU."""
    clone = Laboratory(tmp_path_factory.mktemp("cluster") / "ngo", device="auto", seeds_per_job=1)
    with (clone.root / "src/ngo/common/devices.py").open("a") as file:
        file.write(RECORDER)  # a stand-in for the card, that notes when it is in use
    clone.log = clone.submit(*TARGETS)
    clone.records = records(clone.log)
    return clone


def test_every_job_has_its_record(made):
    assert {one.state for one in made.records} == {"COMPLETED"}
    trained = of_rule(made.records, "train")
    assert len(trained) == 2  # a seed each
    places = {(one.partition, one.gpus, one.minutes) for one in trained}
    assert places == {("gpu", "gres:gpu:1", "30:00")}
    others = [one for one in made.records if one not in trained]
    assert {(one.partition, one.gpus) for one in others} == {("main", "N/A")}
    for rule in ("partition", "measure", "classes", "aggregate", *TARGETS):
        assert of_rule(others, rule), rule
    assert (made.root / "results/data/digits.json").exists()  # the data was seen to here
    assert len(made.records) == 2 + 2 + 1 + 1 + 1 + len(TARGETS)


def test_one_gpu_has_one_job_at_a_time(made):
    assert (made.root / "claims").read_text() == "+-" * 2


def test_the_bytes_are_those_of_one_machine(made, tmp_path):
    local = Laboratory(tmp_path / "ngo")
    local.snakemake(*TARGETS)
    assert made.artefacts() == local.artefacts()
    assert len(made.artefacts()) == len(FILES)


def test_a_job_that_fails_names_its_log(made):
    partition = made.root / "results/test/partitions/tiny.parquet"
    whole = partition.read_bytes()
    partition.write_bytes(whole[:4] + bytes(len(whole) - 12) + whole[-8:])
    table = "results/test/metrics/table1.parquet"
    for path in (made.root / table, *made.root.glob("results/runs/*-s1-*/metrics.parquet")):
        path.unlink()
    for path in made.root.glob("results/test/jobs/*.parquet"):
        path.unlink()  # so that the jobs start again
    out = made.submit(table, "--retries", "0", code=1)
    (failed,) = (one for one in records(out) if one.state == "FAILED")
    job = failed.comment.removeprefix("rule_train_wildcards_")
    log = made.root / f"logs/test/jobs/{job}.log"
    lines = [line for line in log.read_text().splitlines() if line.startswith("ngo: ")]
    assert f"SLURM-job '{failed.job}' failed, SLURM status is: 'FAILED'" in out
    assert f"log: logs/test/jobs/{job}.log" in out
    assert str(made.root / f"logs/slurm/rule_train/{job}/{failed.job}.log") in out
    assert "damaged" in lines[0]
    assert lines[0] in out
    made.submit(table)  # the partition was removed: it is drawn again
    assert partition.read_bytes() == whole


def test_a_run_that_is_ended_for_its_time_is_tried_again_and_goes_on(tmp_path):
    """It is frozen until Slurm ends it at its wall time, so that no machine is too fast."""
    long = {**OVERLAY["settings"]["tiny"], "epochs": 100, "eval_every": 20}
    table1 = {"settings": ["tiny"], "compare": [{"method": "ngo", "topology": "ring"}]}
    overlay = {"seeds": [0], "settings": {"tiny": long}, "training": {"table1": table1}}
    target = "results/test/metrics/table1.parquet"
    local = Laboratory(tmp_path / "local", **overlay)
    local.snakemake(target)

    resources = {"train": {**SMALL, "runtime": 1}, "measure": SMALL}
    clone = Laboratory(tmp_path / "cluster", **overlay, resources=resources)
    snakemake = clone.start(target, *PROFILE)
    checkpoint = awaited(lambda: next(clone.root.glob("results/runs/*/checkpoint.pt"), None))
    for process in psutil.process_iter(["cmdline", "cwd"]):
        command, folder = process.info["cmdline"], process.info["cwd"]
        if folder == str(clone.root) and "train" in (command or ()):
            process.send_signal(signal.SIGSTOP)
    before = checkpoint.stat().st_mtime_ns
    awaited(lambda: checkpoint.stat().st_mtime_ns > before)  # Slurm's SIGTERM has come through
    assert len(list((clone.root / "logs/slurm/rule_train").glob("*/*.log"))) == 1
    out = finished(snakemake)
    assert [one.state for one in of_rule(records(out), "train")] == ["TIMEOUT", "COMPLETED"]
    assert "SLURM status is: 'TIMEOUT'" in out
    [log] = clone.root.glob("logs/test/jobs/*.log")
    assert int(re.search(r"^resuming at step (\d+)", log.read_text(), flags=re.MULTILINE)[1]) > 0
    assert not checkpoint.exists()
    assert (clone.root / target).read_bytes() == (local.root / target).read_bytes()

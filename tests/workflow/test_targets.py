"""Targets, and what is refused before any job starts; jobs on GPUs."""

import re
from itertools import accumulate

import pandas as pd
import pytest
import yaml
from clone import OVERLAY, REPOSITORY, Clone, assert_one_line
from running import finished


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A clone without results."""
    return Clone(tmp_path_factory.mktemp("fresh") / "ngo")


def test_an_experiment_of_ones_own_as_documented(tmp_path):
    """The overlay and the command of docs/how_to/experiment.md, verbatim."""
    clone = Clone(tmp_path / "ngo")
    page = (REPOSITORY / "docs/how_to/experiment.md").read_text()
    overlay = re.search(r"^```yaml\n(tier: .*?)^```", page, flags=re.MULTILINE | re.DOTALL)[1]
    command = re.search(r"^snakemake (myexp .*)$", page, flags=re.MULTILINE)[1]
    assert len(overlay.splitlines()) == 6
    (clone.root / "config/mine.yaml").write_text(overlay)
    finished(clone.module("snakemake", *command.split()))
    table = pd.read_parquet(clone.root / "results/mine/metrics/myexp.parquet")
    assert set(table["method"]) == {"dsgd", "ngo"}
    assert table["run"].nunique() == 4
    made = {path.name for path in clone.root.glob("results/mine/**/*") if path.is_file()}
    assert {"myexp.parquet", "myexp.png", "myexp.md"} < made  # with its default figure and table
    config = ("--config", "config/config.yaml", "--config", "config/mine.yaml")
    assert "myexp: 4 runs" in clone.ngo("runs", *config)


def test_claims_of_ones_own_as_documented(tmp_path):
    """The files and the command of docs/how_to/paper.md, verbatim."""
    clone = Clone(tmp_path / "ngo")
    page = (REPOSITORY / "docs/how_to/paper.md").read_text()
    claims, overlay, *_ = re.findall(r"^```yaml\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    command = re.search(r"^snakemake (claims .*)$", page, flags=re.MULTILINE)[1]
    (clone.root / "config/mine-claims.yaml").write_text(claims)
    (clone.root / "config/mine.yaml").write_text(overlay)
    finished(clone.module("snakemake", *command.split()))
    (row,) = pd.read_csv(clone.root / "results/mine/tables/claims.csv").to_dict("records")
    assert (row["claim"], row["pairs"]) == ("ngo-on-my-ring", 5)
    assert row["verdict"] in {"holds", "fails", "equivalent", "undecided"}


def test_an_experiment_is_among_the_targets(fresh):
    own = {"training": {"sweep": OVERLAY["training"]["table1"]}}
    (fresh.root / "own.yaml").write_text(yaml.safe_dump(own))
    config = "test.yaml own.yaml"
    out = fresh.snakemake("-n", "sweeep", code=1, config=config)
    assert_one_line(out, "target: 'sweeep' is unknown; allowed: .*Did you mean 'sweep'")
    assert fresh.planned("sweep", config=config) == {
        "data": 1, "partition": 1, "train": 1, "aggregate": 1, "sweep": 1
    }  # fmt: skip


def test_without_a_target_everything_is_made(fresh):
    everything = fresh.planned("all")
    assert everything["report"] == 1
    with_profile = ("--workflow-profile", "workflow/profiles/local")  # as the Makefile starts it
    assert fresh.planned(*with_profile) == everything


def test_a_target_needs_its_own_inputs_only(fresh):
    assert fresh.planned("tableS1") == {"measure": 1, "tableS1": 1}
    assert fresh.planned("figS2") == {"data": 1, "partition": 1, "classes": 1, "figS2": 1}
    assert fresh.planned("table1") == {
        "data": 1, "partition": 1, "train": 1, "aggregate": 1, "table1": 1
    }  # fmt: skip


def test_a_mistake_in_the_config_stops_before_any_job(fresh):
    (fresh.root / "bad.yaml").write_text(yaml.safe_dump({"defaults": {"gama": 0.1}}))
    out = fresh.snakemake(code=1, config="test.yaml bad.yaml")
    assert_one_line(out, "'gama' is unknown. Did you mean 'gamma'.*`ngo fields` list")
    assert not (fresh.root / "results").exists()


def test_a_corrupt_data_file_stops_before_any_job(fresh, tmp_path):
    (tmp_path / "MNIST/raw").mkdir(parents=True)
    (tmp_path / "MNIST/raw/train-images-idx3-ubyte.gz").write_bytes(b"half")
    out = fresh.snakemake("fig4", code=1, config="config/laptop.yaml", NGO_DATA=str(tmp_path))
    assert_one_line(out, "train-images-idx3-ubyte.gz' is corrupt or truncated")
    assert not (fresh.root / "results").exists()


def test_a_share_that_only_a_draw_tells_stops_before_any_job(fresh):
    change = {"settings": {"tiny": {"partition": "dirichlet", "beta": 0.05, "workers": 20}}}
    (fresh.root / "bad.yaml").write_text(yaml.safe_dump(change))
    out = fresh.snakemake("table1", code=1, config="test.yaml bad.yaml")
    assert_one_line(out, "partition: dirichlet with beta 0.05 leaves worker .* without samples")
    assert not (fresh.root / "results").exists()


RECORDER = """

import time

@contextmanager
def claimed(device):
    with open("claims", "a") as file:
        file.write("+")
    wanted = int(os.environ.get("AT_ONCE", "1"))
    for _ in range(200):  # until others are here too, for 20 seconds at most
        with open("claims") as file:
            if file.read().count("+") >= wanted:
                break
        time.sleep(0.1)
    yield "cpu"
    with open("claims", "a") as file:
        file.write("-")
"""


@pytest.mark.parametrize(("told", "at_once"), [((), 1), (("--resources", "gpu=3"), 3)])
def test_jobs_do_not_share_a_gpu_unless_told(tmp_path, told, at_once):
    """Three jobs on a machine of four cores; a stand-in for the card notes when one is in use."""
    clone = Clone(tmp_path / "ngo")
    with (clone.root / "src/ngo/common/devices.py").open("a") as file:
        file.write(RECORDER)
    own = {"settings": ["tiny"], "compare": [{"method": "ngo", "topology": "ring"}]}
    overlay = {"device": "auto", "seeds": 3, "seeds_per_job": 1, "training": {"own": own}}
    (clone.root / "gpu.yaml").write_text(yaml.safe_dump(overlay))
    clone.snakemake(
        "own",
        "--cores",
        "4",
        *told,
        config="test.yaml gpu.yaml",
        CUDA_VISIBLE_DEVICES="0",
        AT_ONCE=str(at_once),
    )
    events = (clone.root / "claims").read_text()
    in_use = list(accumulate(1 if event == "+" else -1 for event in events))
    assert events.count("+") == 3
    assert max(in_use) == at_once


@pytest.mark.parametrize(
    ("cluster", "device", "gpus", "data", "memory"),
    [((), "cpu", 0, "mnist", 3000), (("--jobs", "9"), "auto", 1, "digits", 5000)],
)
def test_jobs_of_a_cluster_ask_for_a_gpu_and_memory(fresh, cluster, device, gpus, data, memory):
    """And for the memory of their data set."""
    resources = {"train": {"mem_mb_of": {data: 5000}}}
    (fresh.root / "gpu.yaml").write_text(yaml.safe_dump({"device": "auto", "resources": resources}))
    config = "test.yaml gpu.yaml"
    out = fresh.snakemake(
        "-n", "table1", *cluster, "--quiet", "host", config=config, CUDA_VISIBLE_DEVICES=""
    )
    asked = re.findall(r"^ +resources: (.*device=.*)$", out, flags=re.MULTILINE)
    assert len(asked) == 1
    for resources in asked:
        runtime = 6 * 240  # minutes: six runs
        expected = {f"mem_mb={memory}", f"runtime={runtime}", f"gpu={gpus}", f"device={device}"}
        assert expected <= set(resources.split(", "))


def test_a_gpu_that_is_not_there_is_told_before_any_job(fresh):
    (fresh.root / "gpu.yaml").write_text("device: cuda\n")
    out = fresh.snakemake(code=1, config="test.yaml gpu.yaml", CUDA_VISIBLE_DEVICES="")
    assert_one_line(out, "device: 'cuda' needs a GPU")

"""The DAG, run by Snakemake on a copy of the repository with a handful of short runs."""

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import accumulate
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import running
import yaml
from running import finished

from ngo import checkpoint
from ngo.artefacts import ARTEFACTS, tidy_table
from ngo.experiments import SCHEMA, plan, read_config

REPOSITORY = Path(__file__).parents[2]

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
                {"protocol": ["gossip", "ngo"], "topology": "ring"},
                {"protocol": "gossip", "topology": "complete", "gamma": 1000.0},  # diverges
            ],
        }
    },
    "consensus": {"fig3": {"rounds": 60}},
    "spectra": {"tableS1": {"draws": 2}},
    "partitions": {"figS2": {"settings": ["tiny"]}},
}  # fmt: skip

# What is made here: one of each kind of artefact.
TARGETS = ("table1", "tableS1", "fig3", "figS2")
FILES = [path for name in TARGETS for path in ARTEFACTS[name].outputs("test")]


class Clone:
    """A copy of what is committed, with the package's own copy, and Snakemake in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("workflow", "profiles", "config", "notebooks", "src"):
            ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(REPOSITORY / name, root / name, ignore=ignore)
        shutil.copy(REPOSITORY / "Snakefile", root)
        (root / "test.yaml").write_text(yaml.safe_dump(OVERLAY))
        (root / "warm.yaml").write_text("warm: true\n")

    def start(
        self, *arguments: str, config: str = "test.yaml", **environment: str
    ) -> subprocess.Popen:
        command = ["snakemake", "--cores", "2", *arguments]
        command += ["--scheduler", "greedy", "--configfile", *config.split()]
        return self.module(*command, **environment)

    def module(self, *command: str, **environment: str) -> subprocess.Popen:
        """A module and its arguments, with the package's copy."""
        return running.start(
            [sys.executable, "-m", *command],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root / "src"), **environment},
            stderr=subprocess.STDOUT,
        )

    def wait_for(self, process: subprocess.Popen, pattern: str) -> None:
        """Wait until ``process`` has made a file like ``pattern``."""
        running.awaited(lambda: list(self.root.glob(pattern)), process)

    def ngo(self, *arguments: str, code: int = 0) -> str:
        return finished(self.module("ngo", *arguments), code)

    def snakemake(
        self, *arguments: str, code: int = 0, within: float = running.LIMIT, **how: str
    ) -> str:
        return finished(self.start(*arguments, **how), code, within)

    def planned(self, *arguments: str, **how: str) -> dict[str, int]:
        """How many jobs of each rule a dry run would run."""
        text = self.snakemake("-n", *arguments, **how)
        stats = re.findall(r"^([A-Za-z0-9_]+) +(\d+)$", text, flags=re.MULTILINE)
        return {rule: int(count) for rule, count in stats if rule != "total"}

    def artefacts(self) -> dict[str, bytes]:
        return {name: (self.root / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone in which everything has been made once, its jobs forked from a warm process."""
    made = Clone(tmp_path_factory.mktemp("clone") / "ngo")
    made.log = made.snakemake(*TARGETS, "--rerun-incomplete", config="test.yaml warm.yaml")
    return made


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A clone in which nothing has been made."""
    return Clone(tmp_path_factory.mktemp("fresh") / "ngo")


def test_everything_is_made(clone):
    for name, content in clone.artefacts().items():
        assert content, name
    table = pd.read_csv(clone.root / "results/test/tables/table1.csv")
    assert set(table["tier"]) == {"test"}
    assert table["protocol"].tolist() == ["gossip", "ngo", "gossip"]
    assert table["seeds"].tolist() == [2, 2, 2]
    assert table["paper"].tolist() == [62.30, 64.84, 71.28]
    assert "digits" in (clone.root / "results/test/tables/table1.md").read_text()
    assert len(list(clone.root.glob("results/runs/*/run.json"))) == 6
    assert len(list(clone.root.glob("benchmarks/train/*.tsv"))) == 6


def test_a_run_that_diverges_is_shown_as_such_and_stops_nothing(clone):
    table = pd.read_csv(clone.root / "results/test/tables/table1.csv")
    assert table["diverged"].tolist() == [0, 0, 2]
    assert table["consensus"].isna().tolist() == [False, False, True]
    *_, last = (clone.root / "results/test/tables/table1.md").read_text().strip().splitlines()
    assert "2 of 2" in last
    assert "| –" in last
    record = next(clone.root.glob("results/runs/*complete*/run.json"))
    assert json.loads(record.read_text())["final"]["diverged"]


def test_a_tier_keeps_its_results_and_shares_its_runs(clone):
    before = clone.artefacts()
    (clone.root / "other.yaml").write_text(yaml.safe_dump({"tier": "other"}))
    how = {"config": "test.yaml other.yaml"}
    assert clone.planned(*TARGETS, **how) == {
        "measure": 2, "classes": 1, "aggregate": 1, **dict.fromkeys(TARGETS, 1)
    }  # fmt: skip
    clone.snakemake("table1", **how)
    assert clone.artefacts() == before
    table = pd.read_csv(clone.root / "results/other/tables/table1.csv")
    assert set(table["tier"]) == {"other"}
    for log in ("other/notebooks/table1.log", "other/aggregate/table1.log"):
        assert (clone.root / "logs" / log).exists()
    assert "Nothing to be done" in clone.snakemake("-n", *TARGETS)


def test_an_experiment_of_ones_own_as_documented(tmp_path):
    """The overlay and the command of config/README.md, as they stand there."""
    clone = Clone(tmp_path / "ngo")
    page = (REPOSITORY / "config/README.md").read_text()
    overlay = re.search(r"^```yaml\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)[1]
    command = re.search(r"^    snakemake (myexp .*)$", page, flags=re.MULTILINE)[1]
    assert len(overlay.splitlines()) == 5
    (clone.root / "config/mine.yaml").write_text(overlay)
    finished(clone.module("snakemake", *command.split()))
    table = pd.read_parquet(clone.root / "results/mine/metrics/myexp.parquet")
    assert set(table["protocol"]) == {"gossip", "ngo"}
    assert table["run"].nunique() == 4
    made = [path.name for path in clone.root.glob("results/mine/**/*") if path.is_file()]
    assert made == ["myexp.parquet"]
    config = ("--config", "config/config.yaml", "--config", "config/mine.yaml")
    assert "myexp: 4 runs" in clone.ngo("runs", *config)


@pytest.mark.parametrize("name", ["all", "train", "tables", "runs", "consensus_fig3"])
def test_an_experiment_has_no_name_of_the_pipelines_own(fresh, name):
    own = {"training": {name: OVERLAY["training"]["table1"]}}
    (fresh.root / "own.yaml").write_text(yaml.safe_dump(own))
    out = fresh.snakemake("-n", code=1, config="test.yaml own.yaml")
    assert_one_line(out, f"training: '{name}' is a name of the pipeline's own; take another")


def test_an_experiment_is_among_the_targets(fresh):
    own = {"training": {"sweep": OVERLAY["training"]["table1"]}}
    (fresh.root / "own.yaml").write_text(yaml.safe_dump(own))
    config = "test.yaml own.yaml"
    out = fresh.snakemake("-n", "sweeep", code=1, config=config)
    assert_one_line(out, "target: 'sweeep' is unknown; .*sweep.*Did you mean 'sweep'")
    listed = fresh.snakemake("--list-target-rules", config=config)
    assert "sweep (The runs of training.sweep" in listed
    assert fresh.planned("sweep", config=config) == {
        "data": 1, "partition": 2, "train": 6, "aggregate": 1, "sweep": 1
    }  # fmt: skip
    assert "results/test/metrics/sweep.parquet" in fresh.snakemake("-n", "all", config=config)


def test_logs_hold_no_warning(clone):
    logs = [path for path in clone.root.glob("logs/**/*") if path.is_file()]
    assert len(logs) > 15
    assert {path.suffix for path in logs} == {".log", ".ipynb"}
    for path in logs:
        assert "warning" not in path.read_text().lower(), path


def test_the_tidy_table_is_the_runs(clone):
    tidy = pd.read_parquet(clone.root / "results/test/metrics/table1.parquet")
    for record in clone.root.glob("results/runs/*/run.json"):
        run = json.loads(record.read_text())
        rows = tidy[tidy["run"] == run["id"]]
        assert rows["diverged"].iloc[-1] == run["final"]["diverged"]
        if run["final"]["diverged"]:
            continue
        assert rows["consensus_loss"].iloc[-1] == run["final"]["consensus_loss"]
        assert rows["gamma"].unique().tolist() == [run["spec"]["gamma"]]


def test_a_second_time_nothing_is_to_be_done(clone):
    assert "Nothing to be done" in clone.snakemake(*TARGETS)


def test_a_lost_run_is_trained_alone_and_everything_has_the_same_bytes(clone):
    """Also where its folder holds a checkpoint of another run; and without a warm process, which
    changes no byte either.
    """
    before = clone.artefacts()
    victim = sorted(clone.root.glob("results/runs/*"))[0]
    shutil.rmtree(victim)
    victim.mkdir()
    checkpoint.write(victim / checkpoint.NAME, {"run": "another"}, {})
    table = (tidy_table("test", "table1"), *ARTEFACTS["table1"].outputs("test"))
    for path in table:
        (clone.root / path).unlink()
    assert clone.planned(*TARGETS)["train"] == 1
    clone.snakemake(*TARGETS)
    assert clone.artefacts() == before


def test_a_killed_snakemake_goes_on_where_it_was_and_ends_with_the_same_bytes(clone, tmp_path):
    other = Clone(tmp_path / "ngo")
    command = ("table1", "--workflow-profile", "workflow/profiles/local")
    killed = other.start(*command, config="test.yaml warm.yaml")
    other.wait_for(killed, "results/runs/*/run.json")
    second = other.snakemake(*command, code=1, config="test.yaml warm.yaml")
    assert_one_line(second, "another process is at work in this folder")
    killed.kill()
    running.ended(killed)
    first = {path: path.stat().st_mtime_ns for path in other.root.glob("results/runs/*/run.json")}
    other.snakemake(*command, config="test.yaml warm.yaml")
    for path in ARTEFACTS["table1"].outputs("test"):
        assert (other.root / path).read_bytes() == (clone.root / path).read_bytes()
    kept = [path for path, mtime in first.items() if path.stat().st_mtime_ns == mtime]
    assert kept  # what was done before the kill was not done again


def test_an_archive_of_the_metrics_gives_the_same_tables_and_figures_alone(clone, tmp_path):
    configs = ("--config", "config/config.yaml", "--config", "test.yaml")
    clone.ngo("archive", *TARGETS, *configs, "--out", str(tmp_path / "shipped.tar"))
    other = Clone(tmp_path / "ngo")
    other.ngo("rebuild", str(tmp_path / "shipped.tar"))
    (shipped,) = other.root.glob("results/shipped/test-*")
    assert {name: (shipped / name).read_bytes() for name in FILES} == clone.artefacts()
    assert (shipped / "results/test/tables/assumptions.md").exists()
    assert not list(other.root.rglob("models.pt")) + list(
        other.root.rglob("results/runs/*/*.parquet")
    )
    assert {path.name for path in other.root.glob("results/*")} == {"shipped"}
    assert not list(other.root.rglob("logs/train"))
    (tmp_path / "shipped.tar").write_bytes((tmp_path / "shipped.tar").read_bytes()[:-1])
    refused = other.ngo("rebuild", str(tmp_path / "shipped.tar"), code=2)
    assert_one_line(refused, "archive: '.*shipped.tar' is refused: ")


def test_plots_retrain_nothing_and_the_coupling_retrains_everything(clone):
    def changed(module):
        path = clone.root / "src/ngo" / module
        text = path.read_text()
        path.write_text(text + "\n# changed\n")
        try:
            return clone.planned(*TARGETS)
        finally:
            path.write_text(text)
            os.utime(path, (0, 0))

    assert changed("plots.py") == {"fig3": 1, "figS2": 1}
    assert "train" not in changed("tables.py")
    assert changed("coupling.py")["train"] == 6
    assert changed("population.py")["train"] == 6
    assert "Nothing to be done" in clone.snakemake("-n", *TARGETS)


def test_a_target_needs_its_own_inputs_only(fresh):
    assert fresh.planned("tableS1") == {"measure": 1, "tableS1": 1}
    assert fresh.planned("fig3") == {"measure": 1, "fig3": 1}
    assert fresh.planned("figS2") == {"data": 1, "partition": 1, "classes": 1, "figS2": 1}
    assert fresh.planned("table1") == {
        "data": 1, "partition": 2, "train": 6, "aggregate": 1, "table1": 1
    }  # fmt: skip
    assert fresh.planned("assumptions") == {"assumptions": 1}


def test_a_target_of_the_demo_needs_its_own_inputs_only(fresh):
    """Every artefact alone: one notebook, and its own experiment's runs."""
    config = read_config([REPOSITORY / "config/config.yaml", REPOSITORY / "config/demo.yaml"])
    training = plan(config, REPOSITORY / SCHEMA).training
    demo = "config/demo.yaml"
    for name in ("fig2", "figS6", "table1_tuned", "theory"):
        planned = fresh.planned(name, config=demo)
        assert planned[name] == 1
        assert not set(planned) & (set(ARTEFACTS) - {name})
        trained = planned.get("train", 0) + planned.get("train_and_keep", 0)
        assert trained == len(training.get(name, ()))
    assert set(fresh.planned("figures", config=demo)) >= {n for n in ARTEFACTS if n[:3] == "fig"}
    assert set(fresh.planned("tables", config=demo)) >= {n for n in ARTEFACTS if n[:3] == "tab"}


def test_an_unknown_target_names_the_known_ones(fresh):
    out = fresh.snakemake("-n", "figS9", code=1)
    assert_one_line(out, "target: 'figS9' is unknown; allowed: .*fig1, fig2.*theory.*Did you mean")


def test_a_notebook_that_raises_leaves_its_traceback_and_no_figure(clone):
    path = clone.root / "notebooks/fig3.ipynb"
    text = path.read_text()
    book = nbformat.reads(text, 4)
    book.cells.append(nbformat.v4.new_code_cell("raise RuntimeError('half-made')", id="z1"))
    nbformat.write(book, path)
    try:
        out = clone.snakemake("fig3", code=1)
        assert "log: logs/test/notebooks/fig3.log" in out
        message = (clone.root / "logs/test/notebooks/fig3.log").read_text().strip()
        assert "RuntimeError: half-made; the executed notebook" in message
        assert "with its traceback is logs/test/notebooks/fig3.ipynb." in message
        assert message in out
        assert '"cell_type"' not in out
        executed = nbformat.read(clone.root / "logs/test/notebooks/fig3.ipynb", 4)
        assert any("RuntimeError" in line for line in executed.cells[-1].outputs[0].traceback)
        assert not list(clone.root.glob("results/test/figures/fig3.*"))
    finally:
        path.write_text(text)
    clone.snakemake("fig3")


def test_targets_are_listed_with_what_they_make(fresh):
    text = fresh.snakemake("--list-target-rules")
    for target in (*ARTEFACTS, "tables", "figures", "assumptions", "training", "all"):
        assert re.search(rf"^{target} \(\w.+\)$", text, flags=re.MULTILINE), target


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"defaults": {"gama": 0.1}}, "'gama' is unknown; allowed: .*Did you mean 'gamma'"),
        ({"defaults": {"lr": "1e-3"}}, "lr: '1e-3' is not a number.*write 0.001"),
        ({"settings": {"tiny": {"batch_size": 1000}}}, "batch_size: 1000 is larger than"),
    ],
)
def test_a_mistake_in_the_config_stops_before_any_job(fresh, change, message):
    (fresh.root / "bad.yaml").write_text(yaml.safe_dump(change))
    out = fresh.snakemake(code=1, config="test.yaml bad.yaml")
    assert_one_line(out, message)
    assert not (fresh.root / "results").exists()


def test_a_key_twice_in_a_config_file_stops_before_any_job(fresh):
    (fresh.root / "bad.yaml").write_text("defaults: {lr: 0.1}\ndefaults: {gamma: 0.2}\n")
    out = fresh.snakemake(code=1, config="test.yaml bad.yaml")
    assert_one_line(out, "config: 'bad.yaml', line 2: 'defaults' is there already, in line 1")
    assert not (fresh.root / "results").exists()


def test_a_corrupt_data_file_stops_before_any_job(fresh, tmp_path):
    (tmp_path / "MNIST/raw").mkdir(parents=True)
    (tmp_path / "MNIST/raw/train-images-idx3-ubyte.gz").write_bytes(b"half")
    out = fresh.snakemake("table1", code=1, config="config/laptop.yaml", NGO_DATA=str(tmp_path))
    assert_one_line(out, "train-images-idx3-ubyte.gz' is corrupt or truncated")
    assert not (fresh.root / "results").exists()


def test_a_share_that_only_a_draw_tells_stops_before_any_job(fresh):
    change = {"settings": {"tiny": {"partition": "dirichlet", "beta": 0.05, "workers": 20}}}
    (fresh.root / "bad.yaml").write_text(yaml.safe_dump(change))
    out = fresh.snakemake("table1", code=1, config="test.yaml bad.yaml")
    assert_one_line(out, "batch_size: 8 is larger than a worker's share of .*dirichlet")
    assert not (fresh.root / "results").exists()


def test_results_that_cannot_be_written_stop_before_any_job(fresh):
    (fresh.root / "results").write_text("in the way")
    try:
        out = fresh.snakemake(code=1)
    finally:
        (fresh.root / "results").unlink()
    assert_one_line(out, "results: the folder 'results' can't be written to")


RECORDER = """

@contextmanager
def claimed(device, runs_per_gpu=1):
    with open("claims", "a") as file:
        file.write("+")
    print("runs per GPU:", runs_per_gpu)
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


@pytest.mark.parametrize(("gpus", "runs_per_gpu", "at_once"), [("0", 1, 1), ("0,1", 2, 3)])
def test_gpu_jobs_are_as_many_as_gpus_have_room_for(tmp_path, gpus, runs_per_gpu, at_once):
    """Three runs on a machine of four cores; a stand-in for the card notes when one is in use."""
    clone = Clone(tmp_path / "ngo")
    with (clone.root / "src/ngo/devices.py").open("a") as file:
        file.write(RECORDER)
    compare = [{"protocol": "ngo", "topology": "ring", "p": [0.7, 0.8, 0.9]}]
    own = {"settings": ["tiny"], "compare": compare}
    overlay = {"device": "auto", "seeds": [0], "training": {"own": own}}
    overlay["runs_per_gpu"] = runs_per_gpu
    (clone.root / "gpu.yaml").write_text(yaml.safe_dump(overlay))
    clone.snakemake(
        "own",
        "--cores",
        "4",
        config="test.yaml gpu.yaml",
        CUDA_VISIBLE_DEVICES=gpus,
        AT_ONCE=str(at_once),
    )
    events = (clone.root / "claims").read_text()
    in_use = list(accumulate(1 if event == "+" else -1 for event in events))
    assert events.count("+") == 3
    assert max(in_use) == at_once
    for log in (clone.root / "logs/train").glob("*.log"):
        assert f"runs per GPU: {runs_per_gpu}" in log.read_text()


def test_runs_go_on_on_the_cpu_where_torch_cannot_use_the_gpu(tmp_path):
    """A GPU that is named, and is not there."""
    clone = Clone(tmp_path / "ngo")
    compare = [{"protocol": "ngo", "topology": "ring"}]
    overlay = {"device": "auto", "seeds": [0], "training": {"table1": {"compare": compare}}}
    (clone.root / "gpu.yaml").write_text(yaml.safe_dump(overlay))
    clone.snakemake(
        "results/test/metrics/table1.parquet",
        config="test.yaml gpu.yaml",
        CUDA_VISIBLE_DEVICES="99",
    )
    (log,) = (clone.root / "logs/train").glob("*.log")
    told = log.read_text().splitlines()[0]
    assert re.fullmatch("device: torch can't use the GPU: .*; using the CPU", told)


@pytest.mark.parametrize(("cluster", "gpus"), [((), 0), (("--jobs", "9"), 1)])
def test_jobs_of_a_cluster_ask_for_a_gpu_though_there_is_none_here(fresh, cluster, gpus):
    (fresh.root / "gpu.yaml").write_text("device: auto\n")
    config = "test.yaml gpu.yaml"
    out = fresh.snakemake("-n", "table1", *cluster, config=config, CUDA_VISIBLE_DEVICES="")
    asked = re.findall(r"^ +resources: (.*device=auto.*)$", out, flags=re.MULTILINE)
    assert len(asked) == 6
    for resources in asked:
        assert {"mem_mb=16000", "runtime=240", f"gpu={gpus}"} <= set(resources.split(", "))


def test_a_gpu_that_is_not_there_is_told_before_any_job(fresh):
    (fresh.root / "gpu.yaml").write_text("device: cuda\n")
    out = fresh.snakemake(code=1, config="test.yaml gpu.yaml", CUDA_VISIBLE_DEVICES="")
    assert_one_line(out, "device: 'cuda' needs a GPU")


def assert_one_line(out: str, message: str) -> None:
    lines = [line for line in out.splitlines() if line.startswith("ngo: ")]
    assert len(lines) == 1, out
    assert re.search(message, lines[0])
    assert "Traceback" not in out

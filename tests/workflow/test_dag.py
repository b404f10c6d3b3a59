"""The DAG, run by Snakemake on a copy of the repository with a handful of short runs."""

import json
import shutil
import signal

import nbformat
import pandas as pd
import running
import yaml
from clone import FILES, TARGETS, Clone, assert_one_line, outputs

from ngo.pipeline.paths import job_table, tidy_table
from ngo.training import checkpoint, run_folder


def test_everything_is_made(made):
    for name, content in made.artefacts().items():
        assert content, name
    table = pd.read_csv(made.root / "results/test/tables/table1.csv")
    assert set(table["tier"]) == {"test"}
    assert table["method"].tolist() == ["gossip", "ngo", "gossip"]
    assert table["seeds"].tolist() == [2, 2, 2]
    assert table["paper"].tolist() == [62.30, 64.84, 71.28]
    assert "digits" in (made.root / "results/test/tables/table1.md").read_text()
    assert len(list(made.root.glob("results/runs/*/run.json"))) == 6
    assert len(list(made.root.glob("logs/benchmarks/test/*.tsv"))) == 1


def test_a_run_that_diverges_is_shown_as_such_and_stops_nothing(made):
    table = pd.read_csv(made.root / "results/test/tables/table1.csv")
    assert table["diverged"].tolist() == [0, 0, 2]
    assert table["consensus"].isna().tolist() == [False, False, True]
    *_, last = (made.root / "results/test/tables/table1.md").read_text().strip().splitlines()
    assert "2 of 2" in last
    assert "| –" in last
    record = next(made.root.glob("results/runs/*complete*/run.json"))
    assert json.loads(record.read_text())["final"]["diverged"]


def test_a_tier_keeps_its_results_and_shares_its_runs(copy):
    before = copy.artefacts()
    (copy.root / "other.yaml").write_text(yaml.safe_dump({"tier": "other"}))
    how = {"config": "test.yaml other.yaml"}
    assert copy.planned(*TARGETS, **how) == {
        "partition": 1, "train": 1, "measure": 2, "classes": 1, "aggregate": 1,
        **dict.fromkeys(TARGETS, 1),
    }  # fmt: skip
    trained = copy.trained()
    copy.snakemake("table1", **how)
    assert copy.trained() == trained
    assert copy.artefacts() == before
    assert set(pd.read_csv(copy.root / "results/other/tables/table1.csv")["tier"]) == {"other"}
    for log in ("other/notebooks/table1.log", "other/aggregate/table1.log"):
        assert (copy.root / "logs" / log).exists()
    assert "Nothing to be done" in copy.snakemake("-n", *TARGETS)


def test_a_lost_run_is_trained_alone_and_everything_has_the_same_bytes(copy):
    """Even if its folder has a checkpoint of another run. A finished figure needs no run."""
    before, trained = copy.artefacts(), copy.trained()
    victim = sorted(copy.root.glob("results/runs/*"))[0]
    shutil.rmtree(victim)
    victim.mkdir()
    checkpoint.write(victim / run_folder.CHECKPOINT, {"run": "another"}, {})
    assert copy.planned(*TARGETS) == {}
    for path in (
        job_table("test", "table1-tiny"),
        tidy_table("test", "table1"),
        *outputs("table1"),
    ):
        (copy.root / path).unlink()
    copy.snakemake(*TARGETS)
    assert copy.artefacts() == before
    assert {run.split()[0] for run in copy.trained() - trained} == {victim.name}


def test_a_killed_snakemake_goes_on_where_it_was_and_ends_with_the_same_bytes(made, tmp_path):
    """Snakemake alone is killed: its job goes on while the same command starts it again."""
    other = Clone(tmp_path / "ngo")
    command = ("table1", "--workflow-profile", "workflow/profiles/local")
    killed = other.start(*command)
    running.awaited(other.trained, killed)
    killed.send_signal(signal.SIGSTOP)  # it holds its lock, however short its jobs are
    assert_one_line(other.snakemake(*command, code=1), "another process is working in this folder")
    killed.kill()
    running.ended(killed)
    first = other.trained()
    assert first
    other.snakemake(*command)
    for path in outputs("table1"):
        assert (other.root / path).read_bytes() == (made.root / path).read_bytes()
    assert first <= other.trained()  # what was done before the kill was not done again
    log = "".join(path.read_text() for path in other.root.glob("logs/test/jobs/*.log"))
    assert log.count("consensus model") <= len(other.trained())


def test_an_archive_of_the_metrics_gives_the_same_tables_and_figures_alone(made, tmp_path):
    configs = ("--config", "config/config.yaml", "--config", "test.yaml")
    made.ngo("archive", *TARGETS, *configs, "--out", str(tmp_path / "shipped.tar"))
    other = Clone(tmp_path / "ngo")
    other.ngo("rebuild", str(tmp_path / "shipped.tar"))
    (shipped,) = other.root.glob("results/shipped/test-*")
    assert {name: (shipped / name).read_bytes() for name in FILES} == made.artefacts()
    assert (shipped / "results/test/tables/assumptions.md").exists()
    assert not list(other.root.rglob("models.pt")) + list(
        other.root.rglob("results/runs/*/*.parquet")
    )
    assert {path.name for path in other.root.glob("results/*")} == {"shipped"}
    assert not list(other.root.rglob("logs/*/jobs"))


def test_a_changed_cell_changes_the_figure_and_one_that_raises_leaves_its_traceback(copy):
    book, label = "notebooks/fig3.ipynb", 'axes[0].set_ylabel(\\"state $x_i$\\")'
    drawn = (copy.root / "results/test/figures/fig3.png").read_bytes()
    with copy.changed(book, label, "raise RuntimeError('half-made')"):
        out = copy.snakemake("fig3", code=1)
    assert "log: logs/test/notebooks/fig3.log" in out
    message = (copy.root / "logs/test/notebooks/fig3.log").read_text().strip()
    assert "RuntimeError: half-made; the executed notebook" in message
    assert message.endswith("/logs/test/notebooks/fig3.ipynb.")
    assert message in out
    assert '"cell_type"' not in out
    executed = nbformat.read(copy.root / "logs/test/notebooks/fig3.ipynb", 4)
    assert "RuntimeError" in executed.cells[-2].outputs[0].ename
    assert not list(copy.root.glob("results/test/figures/fig3.*"))
    with copy.changed(book, label, 'axes[0].set_ylabel(\\"x\\")'):
        copy.snakemake("fig3")
    assert (copy.root / "results/test/figures/fig3.png").read_bytes() != drawn

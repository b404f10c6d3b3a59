import json

import pandas as pd
from command_line import SMALL, mistake, ngo
from conftest import CONFIGS

from ngo.common.columns import write_columns
from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan


def test_classes_are_counted_per_worker(tmp_path):
    file, table = tmp_path / "p.parquet", tmp_path / "classes.parquet"
    ngo("partition", "--dataset", "digits", "--workers", 3, "--out", file)
    assert ngo("classes", file, "--out", table) == f"1 files of partitions → {table}\n"
    assert set(pd.read_parquet(table)["worker"]) == {0, 1, 2}


def test_tables_of_jobs_and_metrics_of_runs_are_joined_and_a_damaged_table_is_removed(tmp_path):
    for seed in (0, 1):
        ngo("train", *SMALL, "--seed", seed, "--out", tmp_path / f"{seed}")
    job, tidy = tmp_path / "jobs/own.parquet", tmp_path / "tidy.parquet"
    job.parent.mkdir()
    files = [tmp_path / f"{seed}/metrics.parquet" for seed in (0, 1)]
    ngo("aggregate", *files, "--out", tidy)
    ngo("aggregate", files[0], "--out", job)
    for given in ([job, files[1]], [files[1], job]):
        ngo("aggregate", *given, "--out", tmp_path / "again.parquet")
        assert (tmp_path / "again.parquet").read_bytes() == tidy.read_bytes()
    (tmp_path / "elsewhere.parquet").write_bytes(job.read_bytes()[:-9])
    job.write_bytes(job.read_bytes()[:-9])
    line = mistake("aggregate", job, files[1], "--out", tidy)
    assert line.startswith(f"table: {str(job)!r} is damaged: ")
    assert line.endswith("The file is removed; the same snakemake command makes it again.")
    assert not job.exists()
    assert "is the wrong file" in mistake(
        "aggregate", tmp_path / "elsewhere.parquet", "--out", tidy
    )
    assert (tmp_path / "elsewhere.parquet").exists()  # it is the user's own

    record = tmp_path / "0/run.json"  # runs of two versions are told apart
    other = json.loads(record.read_text())
    other["versions"]["torch"] = "1.0"
    record.write_text(json.dumps(other))
    ngo("aggregate", *files, "--out", tidy)
    assert "torch 1.0" in set(pd.read_parquet(tmp_path / "tidy.parquet")["versions"])


def test_a_table_of_universes_has_their_columns(tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("only: [digits]")
    files = [CONFIGS[0], CONFIGS[0].with_name("demo.yaml"), own]
    config = [word for file in files for word in ("--config", file)]
    planned = plan(read_config(config[1::2])).universes["universes_digits"]
    runs = [run for each in planned for run in each.runs]
    columns = {"step": [0, 9], "diverged": [False, False], "consensus_accuracy": [0.1, 0.9]}
    for run in runs:
        (tmp_path / run).mkdir()
        file = tmp_path / run / "metrics.parquet"
        write_columns(file, {**columns, "workers_accuracy_mean": [0.1, 0.8]}, {"run": run})
    command = ["aggregate", *sorted(tmp_path.glob("*/metrics.parquet")), "--out", tmp_path / "t.pq"]
    ngo(*command, *config, "--universes", "universes_digits")
    table = pd.read_parquet(tmp_path / "t.pq")
    assert (table["universe"].nunique(), len(table)) == (8, 2 * len(runs))
    assert set(table.groupby("universe_accuracy_of")["chosen_accuracy"].max()) == {0.8, 0.9}
    assert "'digits' is unknown; allowed: universes_digits. Did you mean 'univ" in mistake(
        *command, *config, "--universes", "digits"
    )
    assert "'digits' is unknown; allowed: ." in mistake(*command, "--universes", "digits")

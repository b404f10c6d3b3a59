import json

import pandas as pd
from command_line import SMALL, mistake, ngo


def test_metrics_of_runs_become_one_table(tmp_path):
    for seed in (0, 1):
        ngo("train", *SMALL, "--seed", seed, "--out", tmp_path / f"{seed}")
    files = sorted(tmp_path.glob("*/metrics.parquet"))
    out = ngo("aggregate", *files, "--out", tmp_path / "tidy.parquet")
    assert out == f"2 runs, 4 evaluations, 0 diverged → {tmp_path / 'tidy.parquet'}\n"
    assert pd.read_parquet(tmp_path / "tidy.parquet")["seed"].tolist() == [0, 0, 1, 1]


def test_classes_are_counted_per_worker(tmp_path):
    file, table = tmp_path / "p.parquet", tmp_path / "classes.parquet"
    ngo("partition", "--dataset", "digits", "--workers", 3, "--out", file)
    assert ngo("classes", file, "--out", table) == f"1 partitions → {table}\n"
    assert set(pd.read_parquet(table)["worker"]) == {0, 1, 2}


def test_runs_of_two_versions_need_an_option(tmp_path):
    for seed in (0, 1):
        ngo("train", *SMALL, "--seed", seed, "--out", tmp_path / f"{seed}")
    record = tmp_path / "0/run.json"
    other = json.loads(record.read_text())
    other["versions"]["torch"] = "1.0"
    record.write_text(json.dumps(other))
    command = ["aggregate", *sorted(tmp_path.glob("*/metrics.parquet"))]
    assert "torch 1.0 (1 run)" in mistake(*command, "--out", tmp_path / "tidy.parquet")
    ngo(*command, "--out", tmp_path / "tidy.parquet", "--mixed-versions", "tell")
    assert "torch 1.0" in set(pd.read_parquet(tmp_path / "tidy.parquet")["versions"])

import pandas as pd
from command_line import SMALL, ngo


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

import pandas as pd
from command_line import SMALL, ngo


def test_a_partition_file_gives_what_is_drawn_without(tmp_path):
    shards = ["--partition", "shards", "--shards", "40"]
    file = tmp_path / "p.parquet"
    out = ngo("partition", "--dataset", "digits", *shards, "--seed", "3", "--out", file)
    assert "70 to 72 for each of 10 workers" in out or "for each of 10 workers" in out
    run = ["train", *SMALL, *shards, "--seed", "3", "--out"]
    ngo(*run, tmp_path / "with", "--partition-file", file)
    ngo(*run, tmp_path / "without")
    first, second = (
        pd.read_parquet(tmp_path / name / "metrics.parquet") for name in ("with", "without")
    )
    pd.testing.assert_frame_equal(first, second)

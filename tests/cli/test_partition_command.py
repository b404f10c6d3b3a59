import pandas as pd
from command_line import SMALL, mistake, ngo


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


def test_a_plot_shows_the_counts_of_the_partition_file(tmp_path):
    file, plot = tmp_path / "p.parquet", tmp_path / "plot.png"
    skewed = ["--partition", "quantity", "--smallest", "20", "--beta", "0.3", "--workers", "4"]
    out = ngo("partition", "--dataset", "digits", *skewed, "--out", file, "--plot", plot)
    assert "10 classes covered, Hellinger distance 0." in out
    assert sorted(path.name for path in tmp_path.glob("plot*")) == [
        "plot.csv", "plot.pdf", "plot.png"
    ]  # fmt: skip
    table, shown = pd.read_parquet(file), pd.read_csv(tmp_path / "plot.csv")
    sizes = shown.groupby("worker")["samples"].sum()
    assert sizes.tolist() == table.groupby("worker").size().tolist()
    assert sizes.sum() == 1437
    assert sizes.min() >= 20


def test_data_without_classes_has_no_plot(tmp_path):
    line = mistake(
        "partition", "--dataset", "sine", "--out", tmp_path / "p", "--plot", tmp_path / "q"
    )
    assert line == "plot: dataset 'sine' has no classes to draw."
    assert list(tmp_path.iterdir()) == []

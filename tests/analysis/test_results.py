"""Tidy tables of metrics and of partitions."""

from datetime import UTC, datetime

import pandas as pd
import pytest
from runs import digits_run

from ngo.analysis import table_files
from ngo.common.parquet_columns import write_columns
from ngo.training import partition_file, tidy
from verdicts.registry import UserError


def test_files_of_others_are_refused(tmp_path):
    def refused(name, *reasons):
        both = (tidy.aggregate, "metrics"), (table_files.class_counts, "partitions")
        for (read, key), reason in zip(both, 2 * reasons, strict=False):
            with pytest.raises(UserError, match=f"({key}|table): .*{name}' is .*{reason}"):
                read([tmp_path / name])

    (tmp_path / "text").write_text("no parquet")
    refused("text", "no Parquet file", "Parquet magic bytes")
    pd.DataFrame({"step": [0]}).to_parquet(tmp_path / "foreign")
    refused("foreign", "no metrics of runs", "ngo did not write it")
    write_columns(tmp_path / "ours", {"x": 1}, [{"x": [0]}])
    refused("ours", "its metadata has no '(run|partitions)'")
    write_columns(tmp_path / "half", {"run": "a", "partitions": []}, [{"x": [0]}])
    refused("half", "it has no column '(step|worker)'")
    facts, table = {"dataset": "sine", "workers": 1}, {"worker": [0], "sample": [0], "label": [0]}
    write_columns(tmp_path / "sine", {"partitions": [facts]}, [table])
    with pytest.raises(UserError, match="partitions: .*sine' partitions data without classes"):
        table_files.class_counts([tmp_path / "sine"])


def test_classes_are_counted_with_zeros_and_by_partition(tmp_path):
    table = {"worker": [0, 0, 1], "sample": [0, 1, 2], "label": [3, 3, 9]}
    facts = {"dataset": "digits", "workers": 2}
    write_columns(tmp_path / "p", {"partitions": [facts]}, [table])
    counts = table_files.class_counts([tmp_path / "p"]).set_index(["worker", "label"])["samples"]
    assert len(counts) == 2 * 10
    assert (counts[0, 3], counts[1, 9], counts.sum()) == (2, 1, 3)
    specs = [digits_run(seed=seed) for seed in (5, 6, 7)]
    partition_file.write(tmp_path / "p", specs, tmp_path)
    all_of_them = table_files.class_counts([tmp_path / "p"])
    assert set(all_of_them["seed"]) == {5, 6, 7}
    kept = table_files.class_counts([tmp_path / "p"], [each.partition_id for each in specs[1:]])
    assert set(kept["seed"]) == {6, 7}
    assert kept["samples"].sum() == 2 * 1437


def test_a_measured_table_says_when_it_was_started_in_no_column(tmp_path):
    table = pd.DataFrame({"x": [1.5, 2.5], "name": ["a", None]})
    path = tmp_path / "t.parquet"
    table_files.write(table, path)
    assert table_files.started(path) is None
    table_files.write(table, path, datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC))
    assert table_files.started(path) == "2026-01-02T03:04:05+00:00"
    assert list(pd.read_parquet(path)) == ["x", "name"]

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from runs import digits_run

from ngo.data.partition import owners
from ngo.training.partition_file import check_shares, draw, held_out, parts_by_owner, read, write
from ngo.training.spec_checks import resolve
from verdicts.registry import UserError


def test_a_partition_file_is_read_as_it_was_written(digits, tmp_path):
    spec = digits_run(partition="shards", shards=40)
    parts = draw(spec, digits.labels)
    write(tmp_path / "p.parquet", [spec], tmp_path)
    back = read(tmp_path / "p.parquet", replace(spec, lr=0.3))
    assert all(np.array_equal(a, b) for a, b in zip(parts, back, strict=True))
    with pytest.raises(UserError, match="p.parquet' is of seed 0, but the run is of seed 1"):
        read(tmp_path / "p.parquet", replace(spec, seed=1))
    content = (tmp_path / "p.parquet").read_bytes()
    (tmp_path / "p.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match="partition-file: .*damaged"):
        read(tmp_path / "p.parquet", spec)


def test_a_file_of_several_partitions_has_each_of_them(digits, tmp_path):
    shards = digits_run(partition="shards", shards=40)
    specs = [shards, replace(shards, seed=1), digits_run(holdout=0.2), digits_run(workers=5)]
    write(tmp_path / "p.parquet", specs, tmp_path)
    for spec in (*specs[::-1], replace(shards, seed=1, method="gossip", p=None)):
        parts = draw(spec, digits.labels)
        back = read(tmp_path / "p.parquet", spec)
        assert all(np.array_equal(a, b) for a, b in zip(parts, back, strict=True))
        write(tmp_path / "one.parquet", [spec], tmp_path)
        alone = read(tmp_path / "one.parquet", spec)
        assert all(np.array_equal(a, b) for a, b in zip(alone, back, strict=True))
    for other, named in (
        (replace(shards, seed=2), "seed 0, but the run is of seed 2"),
        (digits_run(workers=6), "partition 'shards', but the run is of partition 'iid'"),
    ):
        with pytest.raises(UserError, match=named):
            read(tmp_path / "p.parquet", other)
    first = (tmp_path / "p.parquet").read_bytes()
    write(tmp_path / "again.parquet", specs, tmp_path)
    assert (tmp_path / "again.parquet").read_bytes() == first


def test_shares_that_only_a_draw_shows_are_checked(digits, tmp_path):
    """Runs whose data is not there are not."""
    uneven = digits_run(partition="dirichlet", beta=0.05, workers=8)
    with pytest.raises(UserError, match="batch_size: 16 is larger than worker [0-9]+'s share of"):
        check_shares([digits_run(), uneven], tmp_path)
    mnist = replace(uneven, dataset="mnist")
    check_shares([digits_run(), mnist], tmp_path)


@pytest.fixture
def writers(own_entries):
    """Twelve owners of the digits; the first has three samples."""
    found = np.r_[np.zeros(3, int), 1 + np.arange(1434) % 11]
    owners("digits")(lambda root: found)
    return found


def test_a_natural_partition_keeps_owners_together_and_leaves_out_the_held_out(writers, tmp_path):
    spec = digits_run(partition="natural", workers=4, holdout=0.2)
    parts = parts_by_owner(spec, tmp_path)
    held = set(held_out(spec, 1437))
    owned = [set(writers[part]) for part in parts]
    assert [len(each) for each in owned] == [3, 3, 3, 3]
    assert set.union(*owned) == set(range(12))
    assert sorted(np.concatenate(parts)) == [i for i in range(1437) if i not in held]
    assert parts_by_owner(digits_run(), tmp_path) is None


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"worker": [0], "label": [0]}, "it has no column 'sample'"),
        (
            {"worker": [0], "sample": ["a"], "label": [0]},
            "its column 'sample' has missing values or another type",
        ),
        (
            {"worker": [None, 0], "sample": [0, 1], "label": [0, 0]},
            "its column 'worker' has missing values or another type",
        ),
        ({"worker": [0], "sample": [1437], "label": [0]}, "sample 1437 is out of range"),
    ],
)
def test_a_file_that_claims_to_be_the_runs_partition(tmp_path, table, message):
    spec = resolve({"dataset": "digits", "batch_size": 8})
    facts = {"ngo": json.dumps({"partitions": [spec.partition_fields]})}
    parquet.write_table(pa.table(table).replace_schema_metadata(facts), tmp_path / "p.parquet")
    with pytest.raises(UserError, match=f"partition-file: .*p.parquet'.* .*{message}"):
        read(tmp_path / "p.parquet", spec)

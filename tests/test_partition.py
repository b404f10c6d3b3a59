import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from ngo import partition
from ngo.partition_file import draw, read, write
from ngo.registry import UserError
from ngo.seeding import numpy_stream
from ngo.spec import DEFAULTS, resolve

LABELS = np.repeat(np.arange(10), 60)[numpy_stream(0, "test/labels").permutation(600)]


def stream(seed=0):
    return numpy_stream(seed, "partition")


def assert_disjoint(parts, of):
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together)
    assert set(together.tolist()) <= set(range(of))


@settings(deadline=None)
@given(n=st.integers(1, 50), seed=st.integers(0, 100))
def test_iid_is_exhaustive_and_even(n, seed):
    parts = partition.iid(LABELS, n, generator=stream(seed))
    assert_disjoint(parts, 600)
    assert sum(map(len, parts)) == 600
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@settings(deadline=None)
@given(n=st.integers(1, 12), per_worker=st.integers(1, 4), seed=st.integers(0, 100))
def test_shards_are_disjoint_and_of_few_classes(n, per_worker, seed):
    parts = partition.shards(LABELS, n, 60, per_worker, generator=stream(seed))
    assert_disjoint(parts, 600)
    assert [len(part) for part in parts] == [10 * per_worker] * n
    for part in parts:  # 60 shards of 10 within classes of 60: a shard is of one class
        assert len(np.unique(LABELS[part])) <= per_worker


def test_no_draw_of_shards_owns_more_than_the_rule_says():
    """600 samples in 7 shards: five of 86 and two of 85."""
    draws = [partition.shards(LABELS, 2, 7, 1, generator=stream(seed)) for seed in range(40)]
    owned = {sum(map(len, parts)) for parts in draws}
    assert owned == {170, 171, 172}
    assert partition.PARTITIONS["shards"].owned(600, 2, 7, 1) == 172
    assert partition.PARTITIONS["shards"].owned(600, 3, 7, 2) == 5 * 86 + 85


def test_taking_every_shard_takes_every_sample():
    parts = partition.shards(LABELS, 10, 40, 4, generator=stream())
    assert sorted(np.concatenate(parts).tolist()) == list(range(600))


@settings(deadline=None)
@given(n=st.integers(1, 20), beta=st.floats(0.05, 50), seed=st.integers(0, 100))
def test_dirichlet_is_exhaustive(n, beta, seed):
    parts = partition.dirichlet(LABELS, n, beta, generator=stream(seed))
    assert_disjoint(parts, 600)
    assert sum(map(len, parts)) == 600


def test_dirichlet_tends_to_even_as_beta_grows():
    def spread(beta):
        parts = partition.dirichlet(LABELS, 10, beta, generator=stream())
        return partition.summary(LABELS, parts, 10).counts.std()

    assert spread(1e6) < 0.5  # 6 of each class on each worker
    assert spread(0.1) > 10


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [("iid", (5,)), ("shards", (5, 40, 2)), ("dirichlet", (5, 0.5))],
)
def test_a_partition_is_its_streams_alone(rule, arguments):
    assign = partition.PARTITIONS[rule].assign
    first, again, other = (assign(LABELS, *arguments, generator=stream(seed)) for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_summary_counts_classes():
    labels = np.array([0, 0, 1, 2, 2, 2])
    summary = partition.summary(labels, [np.array([0, 2]), np.array([1])], classes=4)
    assert summary.counts.tolist() == [[1, 1, 0, 0], [1, 0, 0, 0]]
    assert summary.classes_covered == 2


def test_the_papers_mnist_setting_uses_4000_images():
    labels = np.repeat(np.arange(10), 6000)
    parts = partition.shards(labels, 10, 300, 2, generator=stream())
    assert [len(part) for part in parts] == [400] * 10
    spec = resolve({}, {**DEFAULTS, "partition": "shards", "shards": 300, "shards_per_worker": 2})
    assert spec.samples == 4000 * spec.epochs


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: partition.iid(LABELS, 601, generator=stream()), "workers: 601.*1 to 600"),
        (lambda: partition.shards(LABELS, 10, 601, 2, generator=stream()), "shards: 601.*1 to 600"),
        (lambda: partition.shards(LABELS, 10, 19, 2, generator=stream()), "20 is not possible"),
        (lambda: partition.dirichlet(LABELS, 10, 0, generator=stream()), "beta: 0.*above 0"),
        (lambda: partition.dirichlet(LABELS, 10, -1.0, generator=stream()), "beta: -1.0"),
        (lambda: partition.PARTITIONS["shard"], "partition: 'shard'.*Did you mean 'shards'"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(UserError, match=message):
        call()


def test_a_partition_file_is_of_its_run_only(tmp_path):
    spec = resolve(
        {}, {**DEFAULTS, "dataset": "digits", "partition": "shards", "shards": 40, "batch_size": 8}
    )
    labels = np.repeat(np.arange(10), 144)[:1437]
    parts = draw(spec, labels)
    write(tmp_path / "p.parquet", spec, labels, parts)
    back = read(tmp_path / "p.parquet", spec)
    assert all(np.array_equal(a, b) for a, b in zip(parts, back, strict=True))

    other = replace(spec, seed=1)
    with pytest.raises(UserError, match="p.parquet' is of seed 0, but the run is of seed 1"):
        read(tmp_path / "p.parquet", other)
    content = (tmp_path / "p.parquet").read_bytes()
    (tmp_path / "p.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match="partition-file: .*damaged"):
        read(tmp_path / "p.parquet", spec)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"worker": [0], "label": [0]}, "it has no column 'sample'"),
        ({"worker": [0], "sample": ["a"], "label": [0]}, "its column 'sample' holds other things"),
        ({"worker": [None, 0], "sample": [0, 1], "label": [0, 0]}, "its column 'worker' holds"),
        ({"worker": [0], "sample": [1437], "label": [0]}, "has samples beyond digits's 1437"),
        ({"worker": [0], "sample": [-1], "label": [0]}, "has samples beyond digits's 1437"),
    ],
)
def test_a_file_that_claims_to_be_the_runs_partition(tmp_path, table, message):
    spec = resolve({"dataset": "digits", "batch_size": 8})
    facts = {"ngo": json.dumps(spec.partition_fields)}
    parquet.write_table(pa.table(table).replace_schema_metadata(facts), tmp_path / "p.parquet")
    with pytest.raises(UserError, match=f"partition-file: .*p.parquet' .*{message}"):
        read(tmp_path / "p.parquet", spec)


@pytest.mark.parametrize("n", [1, 4, 16])
def test_equal_shares_whatever_the_number_of_workers(n):
    parts = partition.equal(np.zeros(200), n, 12, generator=numpy_stream(0, "test"))
    assert [len(part) for part in parts] == [12] * n
    assert len(set(np.concatenate(parts))) == 12 * n
    with pytest.raises(UserError, match="workers × samples_per_worker: 204 is not possible"):
        partition.equal(np.zeros(200), 17, 12, generator=numpy_stream(0, "test"))

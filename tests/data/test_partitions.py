"""Partitions: disjoint shares, distributed as stated; their heterogeneity; what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from cases import cases, mistake_of, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from rates import check_mean

from ngo.common.registries import DATASETS
from ngo.common.seeding import numpy_stream
from ngo.data import partition as rules
from ngo.data.heterogeneity import hellinger_to_global, label_entropy
from verdicts.registry import UserError

# 60 samples of each of 10 classes, in random order.
LABELS = np.repeat(np.arange(10), 60)[numpy_stream(0, "test/labels").permutation(600)]
SEVEN = np.random.default_rng(0).integers(0, 7, 200)[:, None]


def stream(seed=0):
    return numpy_stream(seed, "partition")


def assert_disjoint(parts, m):
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together)
    assert set(together.tolist()) <= set(range(m))


@cases(
    "name, arguments",
    ("iid", {}),
    ("equal", {"samples_per_worker": 12}),
    ("shards", {"shards": 40, "shards_per_worker": 2}),
    ("dirichlet", {"beta": 0.5}),
    ("dirichlet_min", {"beta": 0.5, "smallest": 5}),
    ("quantity", {"beta": 0.5, "smallest": 5}),
)
def test_a_partition_depends_on_its_stream_only(name, arguments):
    assign, streams = rules.PARTITIONS[name].assign, map(stream, (0, 0, 1))
    first, again, other = (assign(LABELS, 5, **arguments, generator=each) for each in streams)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@cases(
    "parts, problem",
    ([[0, 1]], " has 1 parts for 2 workers."),
    ([[0, 1], [2, 4]], ", worker 1: sample 4 is out of range; samples are whole numbers from"),
    ([[-1, 1], [2, 3]], ", worker 0: sample -1 is out of range"),
    ([[0, 1], [1, 2]], ", worker 1: sample 1 is worker 0's already; samples are"),
    ([[0, 0], [1, 2]], ", worker 0: it has a sample twice"),
    ([[0.5, 1], [2, 3]], ", worker 0: its samples are float64 of shape"),
    ([[0, 1], [True, False]], ", worker 1: its samples are bool of shape"),
    ([[0, 1], [[2], [3, 4]]], ", worker 1: its samples are object of shape"),
    ([[0, 1], None], ", worker 1: its samples are object of shape"),
)
def test_a_rule_shares_out_distinct_samples(parts, problem):
    error = mistake_of(rules.checked_parts, "partition: 'mine'", parts, 2, 4)
    assert error.startswith(f"partition: 'mine'{problem}")
    assert len(rules.checked_parts("mine", [np.array([0, 3]), []], 2, 4)[1]) == 0


@settings(deadline=None)
@given(n=st.integers(1, 50), seed=st.integers(0, 100))
def test_iid_is_exhaustive_and_even(n, seed):
    parts = rules.iid(LABELS, n, generator=stream(seed))
    assert_disjoint(parts, 600)
    assert sum(map(len, parts)) == 600
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("n", [1, 4, 16])
def test_equal_shares_for_any_number_of_workers(n):
    parts = rules.equal(np.zeros(200), n, samples_per_worker=12, generator=numpy_stream(0, "test"))
    assert [len(part) for part in parts] == [12] * n
    assert_disjoint(parts, 200)
    assert rules.PARTITIONS["equal"].owned(200, n, samples_per_worker=12) == 12 * n
    assert rules.PARTITIONS["equal"].smallest_share(200, n, samples_per_worker=12) == 12


def sharded(n, number, per_worker, seed=0):
    how = {"shards": number, "shards_per_worker": per_worker}
    return rules.shards(LABELS, n, **how, generator=stream(seed))


@settings(deadline=None)
@given(n=st.integers(1, 12), per_worker=st.integers(1, 4), seed=st.integers(0, 100))
def test_shards_are_disjoint_and_of_few_classes(n, per_worker, seed):
    parts = sharded(n, 60, per_worker, seed)
    assert_disjoint(parts, 600)
    assert [len(part) for part in parts] == [10 * per_worker] * n
    for part in parts:  # 60 shards of 10 within classes of 60: a shard is of one class
        assert len(np.unique(LABELS[part])) <= per_worker


def test_no_draw_gives_owners_to_more_samples_than_the_rule_says():
    """600 samples in 7 shards: five of 86 and two of 85."""
    assert {sum(map(len, sharded(2, 7, 1, seed))) for seed in range(40)} == {170, 171, 172}
    rule = rules.PARTITIONS["shards"]
    assert rule.owned(600, 2, shards=7, shards_per_worker=1) == 172
    assert rule.owned(600, 3, shards=7, shards_per_worker=2) == 5 * 86 + 85
    assert rule.smallest_share(600, 3, shards=7, shards_per_worker=2) == 2 * 85


@settings(deadline=None)
@given(n=st.integers(1, 20), beta=st.floats(0.05, 50), seed=st.integers(0, 100))
def test_dirichlet_and_quantity_are_exhaustive_and_no_share_is_smaller_than_told(n, beta, seed):
    for parts, least in (
        (rules.dirichlet(LABELS, n, beta=beta, generator=stream(seed)), 0),
        (rules.quantity(LABELS, n, beta=beta, smallest=5, generator=stream(seed)), 5),
    ):
        assert_disjoint(parts, 600)
        assert sum(map(len, parts)) == 600
        assert min(map(len, parts)) >= least


def test_shares_have_the_moments_of_their_concentration():
    """Σ s² of the shares of Dir_n(β) has the mean (β + 1) / (n β + 1): β to 5 %."""
    n, m, beta, labels, generator = 300, 10_000, 0.5, np.zeros(10_000, int), stream()

    def moment(beta):
        return (beta + 1) / (n * beta + 1)

    draws = [rules.dirichlet(labels, n, beta=beta, generator=generator) for _ in range(400)]
    sizes = np.array([[len(part) for part in parts] for parts in draws])
    found = np.square(sizes / m).sum(1)
    check_mean(found, moment(beta), sees=1 - moment(1.05 * beta) / moment(beta))


def test_dirichlet_min_keeps_a_first_draw_and_quantity_skews_sizes_alone():
    plain = rules.dirichlet(LABELS, 6, beta=0.5, generator=stream())
    least = min(map(len, plain))
    same = rules.dirichlet_min(LABELS, 6, beta=0.5, smallest=least, generator=stream())
    other = rules.dirichlet_min(LABELS, 6, beta=0.5, smallest=least + 1, generator=stream())
    assert all(np.array_equal(a, b) for a, b in zip(plain, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(plain, other, strict=True))

    def measured(beta):
        parts = rules.quantity(LABELS, 5, beta=beta, smallest=40, generator=stream())
        return max(map(len, parts)), hellinger_to_global(rules.samples_by_class(LABELS, parts, 10))

    most, distance = measured(0.1)
    even, _ = measured(1e6)
    assert most > 300
    assert even == pytest.approx(120, abs=2)
    assert distance < 0.2  # 40 samples of ten classes: the distance is that of the draw


def test_owners_are_dealt_out_whole_evenly_and_by_the_seed():
    """As many as there are workers, in their order."""
    parts = rules.natural(SEVEN, 7, generator=stream())
    assert all((SEVEN[part, 0] == i).all() for i, part in enumerate(parts))
    assert sum(map(len, parts)) == 200
    parts = rules.natural(SEVEN, 3, generator=stream())
    owned = [set(SEVEN[part, 0].tolist()) for part in parts]
    assert sorted(map(len, owned)) == [2, 2, 3]
    assert set.union(*owned) == set(range(7))
    assert sum(map(len, parts)) == 200
    assert_disjoint(parts, 200)
    again, other = (rules.natural(SEVEN, 3, generator=stream(seed)) for seed in (0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(parts, other, strict=True))
    with pytest.raises(UserError, match=r"workers: 8 is not allowed; it must be 1 to 7 \(owners\)"):
        rules.natural(SEVEN, 8, generator=stream())


def drawn(name, **values):
    """100 workers with two shards each."""
    values |= {"shards": 200, "shards_per_worker": 2, "generator": numpy_stream(0, "partition")}
    return rules.PARTITIONS[name].assign(np.tile(np.arange(10), 600), 100, **values)


def test_cliques_swap_shards_never_make_it_worse_and_find_the_obvious():
    parts, plain = drawn("cliques", label_clique=10), drawn("shards")
    assert sorted(map(tuple, parts)) == sorted(map(tuple, plain))
    assert not all(map(np.array_equal, parts, plain))
    # Four workers of one label each: every clique of two gets both labels.
    counts = np.array([[5, 0], [5, 0], [0, 5], [0, 5]])
    for seed in range(5):
        order = rules.greedy_swap(counts, np.array([0.5, 0.5]), 2, np.random.default_rng(seed))
        assert sorted(order) == [0, 1, 2, 3]
        assert (counts[order].reshape(2, 2, 2).sum(1) == 5).all()


def test_owners_are_numbered_by_name_and_each_sample_has_one(tmp_path, monkeypatch):
    monkeypatch.setitem(DATASETS, "four", replace(DATASETS["digits"], train_samples=4))
    monkeypatch.setitem(rules.OWNERS, "four", lambda root: ["eve", "adam", "eve", "bob"])
    found = rules.sample_owners("four", tmp_path)
    assert found.dtype == np.int64
    assert found.tolist() == [[2], [0], [2], [1]]
    monkeypatch.setitem(rules.OWNERS, "four", lambda root: np.zeros(3))
    with pytest.raises(UserError, match=r"'four': the shape .*\(3,\) is .* it must be \(4,\)"):
        rules.sample_owners("four", tmp_path)


def test_the_distances_are_those_of_the_definition():
    counts = np.random.default_rng(0).integers(0, 30, (5, 4))
    p = counts / counts.sum(1, keepdims=True)
    q = counts.sum(0) / counts.sum()

    def distance(a, b):
        return np.sqrt(0.5 * sum((np.sqrt(x) - np.sqrt(y)) ** 2 for x, y in zip(a, b, strict=True)))

    to_global = [distance(row, q) for row in p]
    entropies = [-sum(x * np.log(x) for x in row if x) for row in p]
    assert hellinger_to_global(counts) == pytest.approx(np.mean(to_global), abs=1e-12)
    assert label_entropy(counts) == pytest.approx(np.mean(entropies), abs=1e-12)
    counts = np.array([[4, 0], [0, 4]])
    more = np.vstack([counts, np.zeros((2, 2), int)])
    for measure in (hellinger_to_global, label_entropy):
        assert measure(more) == measure(counts)
    refused("partition: no worker has samples", label_entropy, np.zeros((2, 3)))

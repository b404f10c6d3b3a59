import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ngo.common import plugins
from ngo.common.registry import UserError
from ngo.common.seeding import numpy_stream
from ngo.data.partition import PARTITIONS, check_parts, samples_by_class

LABELS = np.repeat(np.arange(10), 60)[numpy_stream(0, "test/labels").permutation(600)]

HALVES = '''
import numpy as np
from ngo.data.partition import check_range, partition

@partition("halves", owned=lambda m, n, holdout: 2 * (m // 2))
def halves(labels, n, *, holdout, generator):
    """The first half of the samples for worker 0, the other for worker 1."""
    check_range("workers", n, 2, "halves")
    return np.split(np.arange(2 * (len(labels) // 2)), 2)
'''


def test_a_partition_of_a_plugin(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "_loaded", {})
    (tmp_path / "halves.py").write_text(HALVES)
    plugins.load([tmp_path / "halves.py"])
    rule = PARTITIONS.pop("halves")
    definition = PARTITIONS.definitions.pop("halves")
    assert definition == f"{plugins.PREFIX}halves:halves"
    del sys.modules[f"{plugins.PREFIX}halves"]
    assert rule.fields == ("holdout",)
    arguments = rule.arguments(SimpleNamespace(holdout=0.5, beta=1))
    assert arguments == {"holdout": 0.5}
    parts = rule.assign(LABELS[:5], 2, **arguments, generator=None)
    assert [part.tolist() for part in parts] == [[0, 1], [2, 3]]
    assert rule.owned(5, 2, **arguments) == 4
    assert rule.smallest_share is None
    with pytest.raises(UserError, match="workers: 3 is out of range; it must be 1 to 2 .halves."):
        rule.assign(LABELS, 3, **arguments, generator=None)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("iid", {}),
        ("equal", {"samples_per_worker": 12}),
        ("shards", {"shards": 40, "shards_per_worker": 2}),
        ("dirichlet", {"beta": 0.5}),
        ("dirichlet_min", {"beta": 0.5, "smallest": 5}),
        ("quantity", {"beta": 0.5, "smallest": 5}),
    ],
)
def test_a_partition_depends_on_its_stream_only(name, arguments):
    first, again, other = (
        PARTITIONS[name].assign(LABELS, 5, **arguments, generator=numpy_stream(seed, "partition"))
        for seed in (0, 0, 1)
    )
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_the_samples_of_each_class_on_each_worker():
    labels = np.array([0, 0, 1, 2, 2, 2])
    counts = samples_by_class(labels, [np.array([0, 2]), np.array([1])], classes=4)
    assert counts.tolist() == [[1, 1, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize("first", ["partition", "partitions"])
def test_rules_are_known_without_torch_and_imported_in_any_order(first):
    code = (
        f"import sys, ngo.data.{first}; from ngo.data.partition import PARTITIONS;"
        "assert len(PARTITIONS) == 8;"
        "print({'torch', 'pandas', 'scipy'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ([[0, 1]], "has 1 parts for 2 workers"),
        ([[0, 1], [2, 4]], "has an index outside 0 to 3"),
        ([[-1, 1], [2, 3]], "has an index outside 0 to 3"),
        ([[0, 1], [1, 2]], "gives a sample to two workers, or twice to one"),
        ([[0, 0], [1, 2]], "gives a sample to two workers, or twice to one"),
        ([[0.5, 1], [2, 3]], "has a part that is not an array of sample indices"),
    ],
)
def test_a_rule_shares_out_distinct_samples(parts, problem):
    with pytest.raises(UserError, match=f"^partition: 'mine' {problem}.$"):
        check_parts("mine", [np.array(part) for part in parts], 2, 4)
    check_parts("mine", [np.array([0, 3]), np.array([1])], 2, 4)

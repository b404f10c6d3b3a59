from collections import Counter

import pytest
from rates import check_uniform

from ngo.common.seeding import torch_stream
from ngo.gossip.topology import TOPOLOGIES

ALTERNATING, RANDOM = TOPOLOGIES["alternating_matching"], TOPOLOGIES["random_matching"]


@pytest.mark.parametrize("n", range(2, 10))
def test_a_period_covers_each_edge_of_the_ring_once(n):
    steps = [ALTERNATING.edges(n, t=t) for t in range(ALTERNATING.period(n))]
    met = [edge for edges in steps for edge in edges]
    assert sorted(met) == sorted(TOPOLOGIES["ring"].edges(n) * (2 if n == 2 else 1))


def test_the_matchings_of_five_workers():
    steps = [ALTERNATING.edges(5, t=t) for t in range(4)]
    assert steps == [[(0, 1), (2, 3)], [(1, 2), (3, 4)], [(0, 4)], [(0, 1), (2, 3)]]


def test_random_matchings_are_uniform():
    """Four workers have three perfect matchings, six have fifteen."""
    generator = torch_stream(0, "test")
    for n, count in ((4, 3), (6, 15)):
        drawn = Counter(tuple(sorted(RANDOM.edges(n, generator=generator))) for _ in range(6000))
        assert len(drawn) == count
        check_uniform(list(drawn.values()))


def test_one_of_an_odd_number_is_left_alone():
    generator = torch_stream(0, "test")
    for _ in range(20):
        met = [worker for edge in RANDOM.edges(7, generator=generator) for worker in edge]
        assert len(met) == len(set(met)) == 6

import pytest
import torch
from rates import check_rate

from ngo.gossip.exchange import Failures
from ngo.gossip.mixing_matrix import MixingMatrix, mixing_matrix, outgoing_shares
from ngo.gossip.topologies.static import complete, ring

N, STEPS = 6, 150
RING = mixing_matrix(ring(N))
COMPLETE = mixing_matrix(complete(N))
EDGES = [*((i, (i + 1) % N) for i in range(N)), (0, 2), (2, 0), (3, 1)]
DIRECTED = outgoing_shares(N, EDGES).dense()


def drawn(W, link_failure=0.0, absence=0.0, seed=0, steps=STEPS):
    """The matrix and the absent workers of each step."""
    failures = Failures(N, seed, link_failure=link_failure, absence=absence)
    for t in range(steps):
        absent = failures.absent(t)
        yield failures.matrix(W, absent).dense(), absent


@pytest.mark.parametrize("W", [RING, COMPLETE], ids=["ring", "complete"])
def test_a_symmetric_matrix_stays_symmetric_and_doubly_stochastic(W):
    for actual, absent in drawn(W, 0.3, 0.2, steps=100):
        assert torch.equal(actual, actual.T)
        assert torch.allclose(actual.sum(0), torch.ones(N).double(), rtol=0, atol=1e-15)
        edges = ~torch.eye(N, dtype=torch.bool)
        assert ((actual == W) | (actual == 0))[edges].all()
        assert torch.equal(actual[absent], torch.eye(N).double()[absent])


def test_a_directed_edges_share_stays_with_its_sender():
    lost = 0
    for actual, _ in drawn(DIRECTED, 0.3, 0.2, steps=100):
        assert torch.allclose(actual.sum(0), torch.ones(N).double(), rtol=0, atol=1e-15)
        for j in range(N):
            kept = [i for i in range(N) if i != j and actual[i, j]]
            assert all(actual[i, j] == DIRECTED[i, j] for i in kept)
            lost += int(DIRECTED[:, j].count_nonzero()) - 1 - len(kept)
        assert bool(actual[0, 2]) == bool(actual[2, 0])  # the two directions of one link
    assert lost > 0


# Drawn for each pair, and for each link.
@pytest.mark.parametrize(("workers", "rate"), [(256, 0.2), (300, 0.5)])
def test_links_fail_at_their_rate(rate, workers):
    n, steps = workers, 46
    failures = Failures(n, 0, link_failure=rate, absence=0)
    W = MixingMatrix.of(torch.full((n, n), 1 / n, dtype=torch.float64))
    lost = sum((W.edges - failures.matrix(W, []).edges) // 2 for _ in range(steps))
    check_rate(lost, steps * n * (n - 1) // 2, rate)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_workers_are_away_at_their_rate(rate):
    n, steps = 10_000, 160
    failures = Failures(n, 0, link_failure=0, absence=rate)
    away = sum(len(failures.absent(t)) for t in range(1, steps + 1))
    check_rate(away, steps * n, rate)


def test_failures_depend_on_the_seed_and_the_rates_alone():
    """Whatever the graph, and whether the other rate is 0; a higher rate adds failures."""
    links = [W == 0 for W, _ in drawn(COMPLETE, 0.2)]
    assert all(
        torch.equal((W != 0).fill_diagonal_(False), (~no & (RING != 0)).fill_diagonal_(False))
        for (W, _), no in zip(drawn(RING, 0.2), links, strict=True)
    )
    away = [set(absent) for _, absent in drawn(RING, 0.0, 0.2)]
    assert away == [set(absent) for _, absent in drawn(COMPLETE, 0.5, 0.2)]
    more = [set(absent) for _, absent in drawn(RING, 0.0, 0.4)]
    assert all(a <= b for a, b in zip(away, more, strict=True))
    assert away != [set(absent) for _, absent in drawn(RING, 0.0, 0.2, seed=1)]

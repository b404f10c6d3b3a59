"""Random graphs as a GPU draws them, beside NumPy's integers and Metropolis weights in loops."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ngo.common.seeding import stream_seed, torch_stream
from ngo.gossip.card_graphs import AHEAD, NUMBERS, CardGraphs, CardMatrix, joined
from ngo.gossip.exchange import Failures, JointNetwork, Network
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import MixingMatrix, mixing_of
from ngo.gossip.schedule import Mixing, ScheduledMixing
from ngo.gossip.topologies.varying import DRAWN_IN_FULL
from ngo.native.card_streams import HASH, STEP
from ngo.native.threads import in_order

CPU = torch.device("cpu")


def expected(seed, t, n, u, rule="metropolis"):
    """The mixing matrix of exchange ``t``, by SplitMix64 in NumPy."""
    words = np.arange(1, n * n + 1, dtype=np.uint64) * np.uint64(STEP)
    words += np.uint64(stream_seed(seed, "graphs", t))
    for shift, factor in HASH:
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    drawn = ((words >> np.uint64(41)) + 0.5).reshape(n, n) / 2**23 < np.float32(u)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if drawn[i, j]]
    degrees = [sum(i in pair for pair in pairs) for i in range(n)]
    W = np.zeros((n, n))
    for i, j in pairs:
        most = max(degrees) if rule == "uniform" else max(degrees[i], degrees[j])
        W[i, j] = W[j, i] = 1 / (1 + most)
    return W + np.diag(1 - W.sum(1))


def graphs(seed=0, n=10, u=0.2, rule="metropolis", device=CPU):
    return CardGraphs(SimpleNamespace(seed=seed, workers=n, u=u, weights=rule), device)


@pytest.mark.parametrize("rule", ["metropolis", "uniform"])
@pytest.mark.parametrize(("n", "u"), [(1, 0.5), (2, 0.5), (7, 0.15), (10, 1.0)])
def test_graphs_are_those_of_the_reference(n, u, rule):
    ours, isolated = graphs(3, n, u, rule), 0
    for t in (0, 1, AHEAD - 1, AHEAD, 2 * AHEAD + 5, 4):  # in any order
        W, reference = ours.at(t), expected(3, t, n, u, rule)
        for dense in (W.there[0], W.dense(), W.on(W.there, "dense")):
            assert dense.numpy() == pytest.approx(reference, abs=1e-15)
        assert W.edges == len(W.receivers) == np.count_nonzero(reference * (1 - np.eye(n)))
        assert W.on(W.there, "received").tolist() == pytest.approx(1 - reference.diagonal())
        assert W.on(W.there, "diagonal").tolist() == pytest.approx(reference.diagonal())
        isolated += (reference.diagonal() == 1).sum()
    assert isolated or u == 1 or n == 10


def test_the_frequency_of_edges_is_u_and_exchanges_and_seeds_differ():
    drawn = [graphs(seed, 20, 0.3).at(t).there[0] for seed in range(4) for t in range(25)]
    edges = torch.stack(drawn) > 0
    count = edges.triu(1).sum()
    pairs = 100 * 190
    assert abs(count - 0.3 * pairs) < 4 * (pairs * 0.21) ** 0.5
    assert len(set(map(str, edges.flatten(1).int().tolist()))) == 100


def test_no_more_is_drawn_ahead_than_memory_is_for():
    for n in (10, 64, DRAWN_IN_FULL):
        ahead = graphs(n=n)
        ahead.at(0)
        assert ahead._there.numel() <= max(NUMBERS, n * n)


def test_matrices_of_several_runs_are_joined_with_those_of_other_graphs():
    ring = mixing_of(10, np.array([(i, (i + 1) % 10) for i in range(10)]))
    parts = [graphs(0).at(2), ring, graphs(1, u=0.6).at(2)]
    whole, host = joined(*parts), MixingMatrix.joined(*parts)
    assert isinstance(whole, CardMatrix)
    assert not isinstance(host, CardMatrix)
    assert (whole.n, whole.size, whole.blocks, whole.edges) == (30, 10, 3, host.edges)
    for name in ("dense", "diagonal", "received"):
        assert torch.allclose(whole.on(whole.there, name), host.on(whole.there, name), atol=1e-15)
    assert torch.equal(whole.senders, host.senders)
    starts, senders, weights = whole.on(torch.zeros(0), "rows")
    dense = torch.zeros(30, 30)
    for i in range(30):
        row = slice(starts[i], starts[i + 1])
        dense[i, senders[row]] = weights[row]
    assert starts[-1] == len(senders) == len(weights) == 300
    apart = torch.block_diag(*host.dense().float())
    assert torch.equal(dense, apart - torch.diag(apart.diagonal()))
    assert joined(ring, ring).blocks == 2


@pytest.mark.parametrize("p", [0.8, 1.0])
def test_steps_of_joined_runs_are_those_of_each(p):
    X = torch.randn(20, 50, generator=torch_stream(0, "X"))
    networks = [Network(), Network()]
    joint = JointNetwork(networks, in_order)
    joint.set_matrices([graphs(seed).at(5) for seed in (0, 1)])
    new = gossip_step(X, joint.W, 0.3, p)
    joint.count_edges(X)
    for seed, rows, network in zip((0, 1), (slice(10), slice(10, 20)), networks, strict=True):
        W = torch.from_numpy(expected(seed, 5, 10, 0.2))
        assert torch.allclose(new[rows], gossip_step(X[rows], W, 0.3, p), atol=1e-6)
        assert network.messages == (W.fill_diagonal_(0) != 0).sum()


def test_the_host_does_not_wait_for_the_numbers_of_a_card():
    """The device ``meta`` has none."""
    parts = [graphs(seed, device=torch.device("meta")) for seed in (0, 1)]
    W, X = joined(*(part.at(5) for part in parts)), torch.zeros(20, 3, device="meta")
    assert all(gossip_step(X, W, 0.3, p).is_meta for p in (0.8, 1.0))
    assert [part.device.type for part in W.on(X, "rows")] == ["meta"] * 3
    assert W.edges == sum(graphs(seed).at(5).edges for seed in (0, 1))


def test_links_fail_as_in_any_graph():
    W = graphs(n=8, u=0.9).at(0)
    failures = Failures(8, 0, link_failure=0.5, absence=0.0)
    same = Failures(8, 0, link_failure=0.5, absence=0.0)
    left = failures.matrix(W, [])
    assert 0 < left.edges < W.edges
    assert torch.equal(left.dense(), same.matrix(MixingMatrix.of(W.dense()), []).dense())


def test_a_card_draws_random_graphs_and_no_others():
    fields = {"seed": 0, "u": 0.4, "weights": "metropolis", "schedule": "phases"}
    fields |= {"topology": "ring", "second_topology": "random", "second_phase": 0.5}
    run = SimpleNamespace(workers=10, third_phase=1.0, third_topology=None, **fields)
    mixing = ScheduledMixing(run, 10, torch_stream(0, "graphs"), CPU)
    drawn = [mixing.at(t, t // 2) for t in range(10)]
    assert [isinstance(W, CardMatrix) for W in drawn] == [False] * 5 + [True] * 5
    assert torch.equal(drawn[7].dense(), graphs(u=0.4).at(3).dense())
    run = SimpleNamespace(**vars(run) | {"workers": DRAWN_IN_FULL + 1})
    mixing = ScheduledMixing(run, 10, torch_stream(0, "graphs"), CPU)
    stream = torch_stream(0, "graphs")
    host = Mixing("random", run.workers, SimpleNamespace(u=0.4), stream).at(0)
    assert torch.equal(mixing.at(5, 5).senders, host.senders)

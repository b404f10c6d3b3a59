import networkx as nx
import pytest
import torch

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.network import Network
from ngo.native import shared_work
from ngo.native.pool import in_order, threads


def tree(n, seed):
    ordered = nx.empty_graph(n)
    ordered.add_edges_from(nx.random_labeled_tree(n, seed=seed).edges)
    return mixing_matrix(ordered)


def relayed(X, W, steps, spread=in_order):
    """The rows after some steps, with what was received; and the network."""
    network = Network(spread)
    received = X.new_zeros(2 * (len(X) - 1), X.shape[1] + 1)
    X = X.clone()
    for _ in range(steps):
        network.set_matrix(W)
        network.relay(X, received)
    return X, received, network


@pytest.mark.parametrize("seed", range(9))
def test_the_compiled_step_is_that_of_float64(seed):
    n, d = 2 + seed % 9, 1 + 37 * seed % 900
    X = torch.randn(n, d, generator=torch_stream(seed, "X"))
    X, received, network = relayed(X, tree(n, seed), 4)
    again = torch.randn(n, d, generator=torch_stream(seed, "X"))
    exact, exactly_received, other = relayed(again.double(), tree(n, seed), 4)
    assert torch.allclose(X.double(), exact, rtol=0, atol=1e-5)
    assert torch.allclose(received.double(), exactly_received, rtol=0, atol=1e-4)
    assert torch.equal(received[:, -1].double(), exactly_received[:, -1])
    assert (network.messages, 2 * network.bytes_sent) == (other.messages, other.bytes_sent)


def test_bytes_are_the_same_for_any_number_of_threads():
    X = torch.randn(7, 60_000, generator=torch_stream(0, "X"))
    if not shared_work.fits(X):
        pytest.skip("nothing is compiled here")
    one, *others = (relayed(X, tree(7, 0), 2, spread) for spread in (in_order, threads(3)))
    for other in others:
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])

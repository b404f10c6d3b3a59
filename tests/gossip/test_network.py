from types import SimpleNamespace

import pytest
import torch

from ngo.common.registry import UserError
from ngo.common.seeding import torch_stream
from ngo.gossip.coupling import COUPLINGS
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import metropolis_hastings, mixing_matrix, outgoing_shares
from ngo.gossip.network import Network
from ngo.gossip.topologies.static import ring
from ngo.native.pool import threads

N = 5
RUN = SimpleNamespace(p=0.8)


def rows(width=7, dtype=torch.float32):
    return torch.randn(N, width, generator=torch_stream(0, "rows"), dtype=dtype)


@pytest.fixture
def network():
    network = Network()
    network.set_matrix(mixing_matrix(ring(N)))
    return network


def counted(network):
    return network.messages, network.bytes_sent


def test_messages_and_bytes_are_counted_by_the_shape_of_a_row(network):
    assert counted(network) == (0, 0)
    network.send(rows())
    assert counted(network) == (10, 10 * 7 * 4)
    network.mix(rows(1))
    assert counted(network) == (20, 10 * 7 * 4 + 10 * 4)
    network.pull(rows(3, torch.float64), COUPLINGS["power"], 0.1, RUN)
    assert counted(network) == (30, 10 * 7 * 4 + 10 * 4 + 10 * 3 * 8)
    before = network.bytes_sent
    network.mean(rows(2))  # a row to the server and a row back for each worker
    assert counted(network) == (40, before + 10 * 2 * 4)
    network.index(rows())
    assert network.messages == 40


def test_nothing_is_sent_where_the_neighbours_rows_are_known(network):
    X, Y = rows(), rows() + 1
    expected = gossip_step(X, network.W, 0.3, 0.8, at=Y)
    network.pull(X, COUPLINGS["power"], 0.3, RUN, at=Y, theirs=Y[:0])
    assert torch.equal(X, expected)
    assert counted(network) == (0, 0)
    assert network.elsewhere() == []
    assert network.send(X).shape == (0, 7)


def test_a_row_of_its_own_crosses_each_edge(network):
    """On the path 0 – 2 – 1 – 3. Links are in order; row (i, j) is received as row (j, i)."""
    network.set_matrix(metropolis_hastings(4, [(0, 2), (1, 2), (1, 3)]))
    links = network.links()
    assert links.T.tolist() == [[0, 2], [1, 2], [1, 3], [2, 0], [2, 1], [3, 1]]
    names = (10 * links[0] + links[1])[:, None]
    assert network.swap(names).flatten().tolist() == [20, 21, 31, 2, 12, 13]
    assert counted(network) == (6, 6 * 8)
    network.set_matrix(torch.eye(4).double())
    assert network.swap(rows()[:0]).shape == (0, 7)


def test_each_step_has_its_own_matrix(network):
    network.set_matrix(metropolis_hastings(N, [(0, 1)]))
    network.send(rows())
    assert network.messages == 2
    network.set_matrix(torch.eye(N, dtype=torch.float64))
    X = rows()
    network.pull(X, COUPLINGS["power"], 0.1, RUN)
    network.mix(X)
    assert torch.equal(X, rows())
    assert network.messages == 2


def test_mixing_is_a_product_in_place(network):
    X = rows()
    network.mix(X)
    mixed = network.W.dense().float() @ rows()
    assert torch.allclose(X, mixed, atol=1e-6)
    X = rows()
    network.mix(X, 0.3)
    assert torch.allclose(X, rows().lerp(mixed, 0.3), atol=1e-6)


def test_mixing_on_a_directed_graph_conserves_the_sum():
    """And with the same weights for a column of ones, the ratio is the mean (push-sum)."""
    network = Network(threads(2))
    network.directed = True
    network.set_matrix(outgoing_shares(N, [(i, (i + 1) % N) for i in range(N)] + [(0, 2)]))
    X, weight = rows(dtype=torch.float64), torch.ones(N, 1, dtype=torch.float64)
    mean = X.mean(0)
    for _ in range(200):
        network.mix(X)
        network.mix(weight)
    assert torch.allclose(X.mean(0), mean)
    assert not torch.allclose(X, mean.expand_as(X))
    assert torch.allclose(X / weight, mean.expand_as(X), atol=1e-9)
    assert counted(network) == (200 * 2 * 6, 200 * 6 * 8 * (7 + 1))


def test_a_pull_is_refused_on_a_directed_graph(network):
    network.directed = True
    X = rows()
    with pytest.raises(UserError, match="^topology: a pull needs an undirected graph; ") as told:
        network.pull(X, COUPLINGS["power"], 0.3, RUN)
    assert "\n" not in str(told.value)
    assert torch.equal(X, rows())
    assert counted(network) == (0, 0)

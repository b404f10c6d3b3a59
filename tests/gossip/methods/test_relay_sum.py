"""RelaySGD: equal to its slow reference; exact, after delays that the tree decides."""

import by_worker
import networkx as nx
import numpy as np
import pytest
import torch
from stepping import Stepping, ring_matrix, states
from test_drift_corrections import LR, grad, trained

from ngo.common.registries import COMPRESSIONS
from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.exchange import Network
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import chain, complete, ring, star
from ngo.native.threads import fits, in_order, threads

OPTIONS = {"kept_share": 0.5, "levels": 5}


def branches(n):
    """A tree whose edges are in no order."""
    return nx.Graph([(4, 1), (1, 0), (5, 0), (3, 1), (2, 5)])


TREES = {"chain": chain(by_worker.N), "star": star(by_worker.N), "branches": branches(6)}


def weights(graph):
    ordered = nx.empty_graph(len(graph))
    ordered.add_edges_from(graph.edges)
    return mixing_matrix(ordered)


@pytest.mark.parametrize("graph", TREES.values(), ids=TREES)
def test_it_is_its_reference(graph):
    actual = trained("relay_sum", weights(graph), 50, lr=LR)
    expected = by_worker.relay_sum(list(graph.edges), grad, 50, LR)
    assert np.allclose(actual, np.stack(list(expected.values())), rtol=0, atol=1e-9)


def test_a_tree_that_falls_apart_relays_within_its_parts():
    """After the loss of a worker; messages that were on their way are lost with it."""
    X = torch.randn(5, 2, generator=torch_stream(0, "X"), dtype=torch.float64)
    stepping = Stepping("relay_sum", X, mixing_matrix(chain(5)))
    for _ in range(3):
        assert stepping.advance() == 8
    stepping.W = mixing_matrix(nx.Graph([(0, 1), (2, 2), (3, 4)]))
    assert stepping.advance() == 4
    for _ in range(60):
        stepping.advance()
    assert torch.allclose(stepping.X[0], stepping.X[1])
    assert torch.allclose(stepping.X[3], stepping.X[4])
    assert not torch.allclose(stepping.X[0], stepping.X[4])


def tree(n, seed):
    return weights(nx.random_labeled_tree(n, seed=seed))


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
    (X, received, network), (Y, exact, other) = (
        relayed(state, tree(n, seed), 4) for state in (X, X.double())
    )
    assert torch.allclose(X.double(), Y, rtol=0, atol=1e-5)
    assert torch.allclose(received.double(), exact, rtol=0, atol=1e-4)
    assert torch.equal(received[:, -1].double(), exact[:, -1])
    assert (network.messages, 2 * network.bytes_sent) == (other.messages, other.bytes_sent)


def test_bytes_are_the_same_for_any_number_of_threads():
    X = torch.randn(7, 60_000, generator=torch_stream(0, "X"))
    if not fits(X):
        pytest.skip("nothing is compiled here")
    one, other = (relayed(X, tree(7, 0), 2, spread) for spread in (in_order, threads(3)))
    assert all(map(torch.equal, one[:2], other[:2]))


# CHOCO-SGD: gossip without compression; where compression leads.


def reference_of(name):
    """C(i, z), as in its paper; random codecs draw like the codec of worker i alone."""
    exact = {"none": lambda z: z, "top_k": lambda z: by_worker.top(z, 2), "sign": by_worker.signs}
    if name in exact:
        return lambda i, z: exact[name](z)
    run = Stepping("choco", torch.zeros(1, by_worker.D), **OPTIONS).run
    streams = [torch_stream(0, "compression", i) for i in range(by_worker.N)]
    entry = COMPRESSIONS[name]
    codecs = [entry.codec(by_worker.D, torch.float64, run, [stream]) for stream in streams]
    return lambda i, z: codecs[i].decode(codecs[i].encode(torch.tensor(z)[None]))[0].numpy()


@pytest.mark.parametrize(("graph", "p"), [(ring, 0.9), (complete, 1.0)])
@pytest.mark.parametrize("name", sorted(COMPRESSIONS))
def test_choco_is_its_reference(name, graph, p):
    W = mixing_matrix(graph(by_worker.N))
    actual = trained("choco", W, 50, lr=LR, gamma=0.3, p=p, compression=name, **OPTIONS)
    expected = by_worker.choco(W.numpy(), grad, 50, LR, 0.3, p, reference_of(name))
    assert np.allclose(actual, np.stack(list(expected.values())), rtol=0, atol=1e-6)


@pytest.mark.parametrize("coupling", ["power", "capped"])
def test_without_compression_it_is_gossip(coupling):
    X, G = states()
    how = {"coupling": coupling, "cap": 1.0, "p": 0.8}
    choco, ngo = (Stepping(name, X, ring_matrix(), **how) for name in ("choco", "ngo"))
    for _ in range(20):
        assert choco.advance(G) == ngo.advance(G)
    assert torch.allclose(choco.X, ngo.X, rtol=0, atol=1e-12)
    assert choco.network.bytes_sent == ngo.network.bytes_sent


@pytest.mark.parametrize("name", sorted(COMPRESSIONS))
def test_the_mean_is_conserved_and_the_workers_agree(name):
    """Without gradients: theorem 2 of Koloskova et al. 2019, with any contraction."""
    X, _ = states()
    stepping = Stepping("choco", X, ring_matrix(), compression=name, gamma=0.4, p=1.0, **OPTIONS)
    for _ in range(150):
        stepping.advance()
    assert torch.allclose(stepping.X.mean(0), X.mean(0), atol=1e-12)
    assert synchronization_index(stepping.X) < 1e-4 * synchronization_index(X)

"""Methods that descend and average, at their own times and on their own graphs, and by relays."""

from dataclasses import replace

import by_worker
import networkx as nx
import numpy as np
import pytest
import torch
from stepping import D, N, Stepping, mixing_matrix, ring_matrix, states
from test_drift_corrections import LR, grad, gradients, trained

from ngo.common.registries import COMPRESSIONS, METHODS, TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.exchange import Network
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.schedule import learning_rate
from ngo.gossip.topologies.static import chain, complete, d_cliques, ring, star
from ngo.native.threads import fits, in_order, threads
from verdicts.registry import UserError

DIRECTED = TOPOLOGIES["directed_ring"].matrix(N)
GRAPH = d_cliques(by_worker.N, 3, "every_pair")
CLIQUES = mixing_matrix(GRAPH)
GRAPHS = {"epidemic_out": {"receivers": 2}, "epidemic_regular": {"degree": 2}}
RING = mixing_matrix(ring(by_worker.N))
COSINE_STEPS = 100  # those of a run by ``Stepping``


def test_centralized_workers_move_by_the_mean_gradient_through_a_server():
    x, G = states()[0][0], states()[1]
    stepping = Stepping("centralized", x.expand(N, D))
    assert stepping.advance(G) == 2 * N
    assert (stepping.X[0] == stepping.X).all()
    assert torch.allclose(stepping.X[0], x - 0.1 * G.mean(0))


def run(method, X=None, steps=100, **values):
    """The states after each step, and what was sent in it."""
    stepping = Stepping(method, states()[0] if X is None else X, ring_matrix(), **values)
    G = states()[1]
    return zip(*((stepping.advance(G), stepping.X.clone()) for _ in range(steps)), strict=True)


@pytest.mark.parametrize("together", [0.0, 0.3, 1.0])
def test_post_local_sgd_is_gossip_and_then_local_sgd(together):
    first, options = int(100 * together), {"together": together, "local_steps": 4}
    sent, actual = run("post_local_sgd", **options)
    rest = 100 - first
    assert [messages / 2 / N for messages in sent] == [1] * first + ([0, 0, 0, 1] * 25)[:rest]
    expected = [*run("ngo")][1][:first]
    if rest:
        start = actual[first - 1] if first else None
        expected += [*run("local_sgd", start, rest, local_steps=4)][1]
    assert all(map(torch.equal, actual, expected))


@pytest.mark.parametrize("threshold", [0.5, 5.0])
def test_gossip_is_repeated_until_v_is_small_enough(threshold):
    X, G = states()
    X *= 3
    stepping = Stepping("gossip_until", X, ring_matrix(), p=1.0, gamma=1.0, v_threshold=threshold)
    rounds, left = divmod(stepping.advance(G), 2 * N)
    reference = X - 0.1 * G
    assert synchronization_index(reference) > threshold >= synchronization_index(stepping.X)
    assert left == 0 < rounds
    for _ in range(rounds - 1):
        reference = gossip_step(reference, ring_matrix(), 1.0, 1.0)
    assert synchronization_index(reference) > threshold


class Pair:
    """A network in which row 0 meets worker 2."""

    messages = 0

    def __init__(self, X):
        self.X = X

    def set_matrix(self, W):
        pass

    def average(self, rows):
        mean = (rows[0] + self.X[2]) / 2
        rows[0], self.X[2] = mean, mean


def test_a_worker_of_ad_psgd_averages_with_its_partner_and_then_descends():
    X, G = states()
    stepping = Stepping("ad_psgd", X, network=Pair(X.clone()))
    stepping.advance(G)
    mean = (X[0] + X[2]) / 2
    assert torch.allclose(stepping.network.X[2], mean)
    assert torch.allclose(stepping.X[0], mean - 0.1 * G[0])
    with pytest.raises(UserError, match="workers meet in pairs with clock 'asynchronous' only"):
        Stepping("ad_psgd", X, ring_matrix()).advance()


@pytest.mark.parametrize("delay", [1, 2, 3])
def test_a_delayed_pull_is_that_of_the_state_some_steps_ago(delay):
    """With no gradients, and all workers in agreement before the start."""
    X0, _ = states()
    stepping = Stepping("delayed", X0, ring_matrix(), delay=delay)
    seen = []
    for t in range(8):
        X = stepping.X.clone()
        seen.append(X)
        pulled = t >= delay
        expected = gossip_step(X, ring_matrix(), 0.2, 0.8, at=seen[t - delay]) if pulled else X
        assert stepping.advance() == 2 * N
        assert torch.equal(stepping.X, expected)
        assert len(stepping.matrices) == min(t, delay) + 1


def test_the_weighted_mean_is_conserved_and_a_step_is_eta_long_whatever_the_weight():
    X, G = states()
    stepping = Stepping("async_push_sum", X, DIRECTED)
    w = torch.tensor([[0.5], [2.0], [0.25], [1.25], [1.0]], dtype=torch.float64)
    stepping.matrices["w"] = w.clone()
    stepping.advance(G)
    assert torch.allclose((stepping.matrices["w"] * stepping.X).sum(0), (w * (X - 0.1 * G)).sum(0))
    assert torch.allclose(stepping.matrices["w"].sum(), w.sum())


def clique_averaging(grad, steps, lr, gamma, p, clique, pull):
    """Each worker takes the mean gradient of its clique, then gossips along all edges."""
    x = by_worker.start()
    for _ in range(steps):
        g = {i: grad(i, x[i]) for i in x}
        half = {}
        for i in x:
            mine = [g[j] for j in x if j // clique == i // clique]
            half[i] = x[i] - lr * sum(mine) / len(mine)
        x = by_worker.pulled(CLIQUES.numpy(), half, gamma, p, pull)
    return np.stack(list(x.values()))


@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("capped", 0.8)])
def test_clique_averaging_is_its_reference(coupling, p):
    given = {"coupling": coupling, "cap": 0.5, "clique": 3}
    actual = trained("clique_averaging", CLIQUES, 50, lr=LR, gamma=0.6, p=p, **given)
    expected = clique_averaging(grad, 50, LR, 0.6, p, 3, getattr(by_worker, coupling))
    assert np.allclose(actual, expected, rtol=0, atol=1e-9)


def test_models_cross_all_edges_and_gradients_those_within_cliques():
    X = torch.zeros(by_worker.N, by_worker.D).double()
    stepping = Stepping("clique_averaging", X, CLIQUES, clique=3)
    inside = sum(i // 3 == j // 3 for i, j in GRAPH.edges)
    assert stepping.advance() == 2 * (len(GRAPH.edges) + inside)
    assert stepping.network.exchanges == 1


def drawn_graphs(name, steps):
    """The directed edges (from, to) of each step, and its mixing matrix."""
    topology = TOPOLOGIES[name]
    streams = [torch_stream(0, "graphs"), torch_stream(0, "graphs")]
    for _ in range(steps):
        edges = topology.edges(by_worker.N, generator=streams[0], **GRAPHS[name])
        both = edges if topology.directed else [*edges, *((j, i) for i, j in edges)]
        yield both, topology.matrix(by_worker.N, generator=streams[1], **GRAPHS[name])


@pytest.mark.parametrize("name", GRAPHS)
def test_epidemic_is_its_reference(name):
    """EL-Local and EL-Oracle: after its half step, each worker averages what it has."""
    stepping = Stepping("epidemic", torch.zeros(by_worker.N, by_worker.D).double(), lr=LR)
    x = by_worker.start()
    for edges, W in drawn_graphs(name, 50):
        stepping.W = W
        stepping.advance(gradients(stepping.X))
        half = {i: x[i] - LR * grad(i, x[i]) for i in x}
        received = {i: [half[a] for a, b in edges if b == i] for i in x}
        x = {i: sum([half[i], *received[i]]) / (1 + len(received[i])) for i in x}
        assert np.allclose(stepping.X, np.stack(list(x.values())), rtol=0, atol=1e-9)


def by_cosine(method, **values):
    """The states after each step of a run with half a cosine."""
    X = torch.zeros(by_worker.N, by_worker.D).double()
    stepping, states = Stepping(method, X, RING, lr=LR, lr_schedule="cosine", **values), []
    for t in range(COSINE_STEPS):
        lr = learning_rate(stepping.run, t, COSINE_STEPS)
        METHODS[method].update(replace(stepping.step(gradients(stepping.X)), lr=lr))
        stepping.t += 1
        states.append(stepping.X.numpy().copy())
    return states


@pytest.mark.parametrize(("power", "start"), [(3.0, 0.2), (1.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("power", 0.9), ("capped", 0.8)])
def test_dsgd_ac_is_its_reference(coupling, p, power, start):
    """With x + γ_t Σ_j W_ij φ(x_j − x_i) − η_t g; γ_t falls with η_t from step s on."""
    given = {"coupling": coupling, "cap": 0.5, "gamma": 0.4, "p": p, "warmup": 0.1}
    actual = by_cosine("dsgd_ac", ac_power=power, ac_start=start, **given)
    x, s, t = by_worker.start(), round(max(start, 0.1) * COSINE_STEPS), np.arange(COSINE_STEPS)
    etas = LR * (1 + np.cos(np.pi * t / COSINE_STEPS)) / 2 * np.minimum(1, (1 + t) / 10)
    for t, eta in enumerate(etas):
        gamma = 0.4 * (eta / etas[s]) ** power if t >= s else 0.4
        g = {i: grad(i, x[i]) for i in x}
        pulled = by_worker.pulled(RING.numpy(), x, gamma, p, getattr(by_worker, coupling))
        x = {i: pulled[i] - eta * g[i] for i in x}
        assert np.allclose(actual[t], np.stack(list(x.values())), rtol=0, atol=1e-9)


OPTIONS = {"kept_share": 0.5, "levels": 5}
BRANCHES = nx.Graph([(4, 1), (1, 0), (5, 0), (3, 1), (2, 5)])  # edges in no order
TREES = {"chain": chain(by_worker.N), "star": star(by_worker.N), "branches": BRANCHES}


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
    codecs = [entry.of(by_worker.D, torch.float64, run, [stream]) for stream in streams]
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

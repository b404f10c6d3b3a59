"""What methods exchange beside rows: a row for each edge, compressed changes, copies of rows."""

from functools import partial

import pytest
import torch
from in_threads import networks, together
from stepping import Stepping

from ngo.common.seeding import torch_stream
from ngo.distributed.process_group import PeerUnreachable
from ngo.gossip.network import SharedMatrix
from ngo.gossip.topologies.chain import chain
from ngo.gossip.topologies.complete import complete
from ngo.gossip.topologies.ring import ring
from ngo.gossip.weights import metropolis_hastings, mixing_matrix, without_workers

N, D = 6, 5


def normal(*shape, name="X"):
    return torch.randn(*shape, generator=torch_stream(0, name), dtype=torch.float64)


def of_processes(W, processes):
    """The networks of some processes at a step with the matrix ``W``."""
    found, _ = networks(len(W), processes)
    for network in found:
        network.set_matrix(W)
    return found


@pytest.mark.parametrize("processes", [1, 2, 3, 6])
@pytest.mark.parametrize("graph", [ring, complete, chain])
def test_rows_of_edges_reach_the_other_ends(graph, processes):
    W = mixing_matrix(graph(N))
    shared = SharedMatrix()
    shared.set_matrix(W)
    links = shared.links()
    assert links.T.tolist() == [[i, j] for i in range(N) for j in sorted(graph(N)[i])]
    numbered = (10 * links[0] + links[1])[:, None].double()  # edge (i, j) sends 10 i + j
    expected = (10 * links[1] + links[0])[:, None].double()
    assert torch.equal(shared.swap(numbered), expected)
    found = of_processes(W, processes)
    owners = torch.tensor([k for k, each in enumerate(found) for _ in each.own])
    calls = []
    for me, network in enumerate(found):
        mine = owners[links[0]] == me
        i, j = network.links()
        assert torch.equal(torch.stack([i + network.own.start, j]), links[:, mine])
        calls.append(partial(network.swap, numbered[mine]))
    assert torch.equal(torch.cat(together(*calls)), expected)
    assert sum(network.messages for network in found) == shared.messages == links.shape[1]
    assert sum(network.bytes_sent for network in found) == shared.bytes_sent == 8 * links.shape[1]
    across = int((owners[links[0]] != owners[links[1]]).sum())
    assert sum(network.group.sent["models"] for network in found) == across


class Run:
    """A method in processes, and in one, with the same gradients."""

    def __init__(self, W, processes, method, **how):
        X = normal(len(W), D)
        self.G = normal(20, len(W), D, name="G")
        self.networks, self.lost = networks(len(W), processes)
        self.parts = [
            Stepping(method, X[[*each.own]], W, network=each, **how) for each in self.networks
        ]
        self.whole = Stepping(method, X, W, **how)

    def advance(self):
        """A step of all processes that are not lost; their results."""
        G = self.G[self.whole.t]
        alive = [part for part in self.parts if part.network.group.me not in self.lost]
        return together(*(partial(p.advance, G[[*p.network.own]]) for p in alive))

    def advance_whole(self):
        self.whole.advance(self.G[self.whole.t])

    def sent(self, what):
        return sum(network.group.sent[what] for network in self.networks)


CASES = [
    ("choco", ring, {"compression": "top_k", "kept_share": 0.4, "p": 0.8}),
    ("choco", complete, {"compression": "none", "coupling": "clipped", "clip": 0.1}),
    ("choco", ring, {"compression": "sign", "p": 1.0}),
    ("relay_sum", chain, {}),
]


@pytest.mark.parametrize("processes", [1, 2, 3, 6])
@pytest.mark.parametrize(("method", "graph", "how"), CASES)
def test_processes_take_the_steps_of_one(method, graph, how, processes):
    run = Run(mixing_matrix(graph(N)), processes, method, **how)
    for _ in range(8):
        run.advance()
        run.advance_whole()
    whole = run.whole
    for part in run.parts:
        assert torch.allclose(part.X, whole.X[[*part.network.own]], atol=1e-12)
        for name, rows in part.network.copies.items():
            theirs = whole.matrices[name][part.network.elsewhere()]
            assert torch.allclose(rows, theirs, atol=1e-12)
    assert any(part.network.copies for part in run.parts) == (method == "choco" and processes > 1)
    counted = whole.network.messages, whole.network.bytes_sent
    assert sum(network.messages for network in run.networks) == counted[0]
    assert sum(network.bytes_sent for network in run.networks) == counted[1]
    if processes == N:  # every edge is one between two processes
        assert (run.sent("models"), run.sent("bytes")) == counted


def test_copies_are_sent_anew_after_a_loss():
    """On a chain whose last worker is lost. Its neighbour, 1, misses a step; worker 0 does not, and
    has a change of 1 that 1 has not made.
    """
    W = mixing_matrix(chain(3))
    run = Run(W, 3, "choco", compression="top_k", kept_share=0.4)
    for _ in range(4):
        run.advance()
    run.lost.add(2)
    first, second = run.advance()
    assert first == 1
    assert isinstance(second, PeerUnreachable)
    zero, one = run.parts[:2]
    assert not torch.equal(zero.network.copies["x_hat"], one.matrices["x_hat"])
    one.t += 1  # the step counts as taken
    for part in (zero, one):
        part.network.group.rejoin()
        part.network.copies.clear()
    before = zero.network.messages
    run.whole.t = zero.t
    run.advance()
    assert zero.network.messages == before + 2  # x̂ and a change of it
    for _ in range(6):
        for near, far in ((zero, one), (one, zero)):
            assert torch.equal(near.network.copies["x_hat"], far.matrices["x_hat"])
        rows = torch.cat([zero.X, one.X, torch.zeros(1, D)])
        hat = torch.cat([zero.matrices["x_hat"], one.matrices["x_hat"], torch.zeros(1, D)])
        run.whole.X, run.whole.t = rows, zero.t
        run.whole.W = without_workers(W, {2}, metropolis_hastings)
        run.whole.matrices["x_hat"] = hat
        run.advance()
        run.advance_whole()
        assert torch.allclose(torch.cat([zero.X, one.X]), run.whole.X[:2], atol=1e-12)


def test_a_relay_starts_again_within_the_parts_of_a_tree():
    """After the loss of the worker in the middle, and a step that those behind take alone."""
    run = Run(mixing_matrix(chain(5)), 5, "relay_sum")
    for _ in range(5):
        run.advance()
    run.lost.add(2)
    run.advance()
    left = [run.parts[k] for k in (0, 1)]
    for part in left:
        part.network.group.rejoin()
        part.t = 6
    connected, left[1].network = left[1].network, SharedMatrix()
    left[1].W, W = torch.eye(1).double(), left[1].W
    left[1].advance(torch.zeros(1, D))
    left[1].network, left[1].W = connected, W
    for _ in range(2):
        together(*(partial(part.advance, torch.zeros(1, D)) for part in left))
    assert torch.allclose(left[0].X, left[1].X)
    counts = [part.matrices["received"][:, -1].tolist() for part in left]
    assert counts == [[1.0], [1.0]]

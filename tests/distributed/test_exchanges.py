"""What methods exchange beside rows: a row for each edge, compressed changes, copies of rows."""

from functools import partial

import torch
from in_threads import networks, together
from stepping import Stepping

from ngo.common.seeding import torch_stream
from ngo.distributed.meeting import PeerUnreachable
from ngo.gossip.network import SharedMatrix
from ngo.gossip.topologies.static import chain
from ngo.gossip.weights import metropolis_hastings, mixing_matrix, without_workers

N, D = 6, 5


def normal(*shape, name="X"):
    return torch.randn(*shape, generator=torch_stream(0, name), dtype=torch.float64)


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

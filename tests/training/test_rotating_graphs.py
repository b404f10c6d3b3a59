"""The k-th exchange of a run takes place on the k-th graph of a topology that rotates."""

import pytest
import torch
from runs import CONVEX, digits_run

from ngo.gossip.exchange import Network
from ngo.gossip.method import METHODS
from ngo.gossip.topology import GENERATOR, STEP, TOPOLOGIES, Mixing
from ngo.training.learning_problem import make_problem
from ngo.training.stepper import Stepper

ROTATING = sorted(
    name
    for name, entry in TOPOLOGIES.items()
    if STEP in entry.arguments and GENERATOR not in entry.arguments
)
DECENTRALIZED = sorted(
    name for name, each in METHODS.items() if each.decentralized and each.arrivals != "pair"
)
SELDOM = {
    "local_sgd": [{"local_steps": h} for h in (1, 3)],
    "gossip_until": [{"v_threshold": v} for v in (1e-3, 0.3)],
    "delayed": [{"delay": 3}],
}


class Recording(Network):
    """A network that keeps the matrix of each step in which something was sent."""

    def __init__(self):
        super().__init__()
        self.used, self.begun = [], 0

    def set_matrix(self, W):
        super().set_matrix(W)
        self.begun += 1
        self._last = 0

    def count(self, messages, row):
        super().count(messages, row)
        if self._last == self.begun:
            self.used.pop()  # clique averaging exchanges gradients first, with other weights
        self._last = self.begun
        self.used.append(self._W)


def made(data, **values):
    """A stepper on a network that records."""
    spec = digits_run(**{**CONVEX, "lr": 0.02, "workers": 8, **values})
    stepper = Stepper(spec, make_problem(spec, data), steps=100, threads=1)
    stepper.connect(Recording())
    return stepper


def possible():
    """Each method with a graph, ``ngo`` with all; with intervals of exchanges, if it has them."""
    for name in (name for name in DECENTRALIZED if METHODS[name].graph == "any"):
        able = [g for g in ROTATING if METHODS[name].directed or not TOPOLOGIES[g].directed]
        for graph in able if name == "ngo" else able[-1:]:
            for values in SELDOM.get(name, [{}]):
                yield {"method": name, "topology": graph, **values}


@pytest.mark.parametrize("values", list(possible()), ids=lambda v: "-".join(map(str, v.values())))
def test_every_graph_of_a_period_is_used_in_its_turn(values, least_squares):
    stepper = made(least_squares, **values)
    mixing = Mixing(values["topology"], 8, stepper._spec)
    period = TOPOLOGIES[values["topology"]].period(8, peers=1)
    network = stepper.network
    while len(network.used) < period + 2:
        stepper.advance()
        assert stepper.t <= 100
    assert network.exchanges == len(network.used)
    for k, W in enumerate(network.used):
        assert torch.equal(W.dense(), mixing.at(k).dense()), k
        assert W.edges > 0


def test_graphs_that_are_drawn_are_drawn_in_every_step(least_squares):
    """Their draws do not depend on what the method does with them."""
    seldom = made(least_squares, method="local_sgd", local_steps=2, topology="random", u=0.5)
    always = made(least_squares, method="ngo", topology="random", u=0.5)
    for _ in range(6):
        seldom.advance()
        always.advance()
    assert all(
        torch.equal(W.dense(), other.dense())
        for W, other in zip(seldom.network.used, always.network.used[1::2], strict=True)
    )

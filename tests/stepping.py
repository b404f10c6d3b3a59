"""Steps of a method by hand, without a run."""

from types import SimpleNamespace

import numpy as np
import torch
from runs import defaults

from ngo.common.registries import COMPRESSIONS, COUPLINGS, LOCAL_RULES, METHODS
from ngo.common.seeding import torch_stream
from ngo.gossip.exchange import Network
from ngo.gossip.mixing_matrix import MixingMatrix, mixing_of
from ngo.gossip.step import Step
from ngo.gossip.topologies.static import ring

N, D = 5, 7


def fields(**values):
    """The fields of a run: the package's defaults, but for some values."""
    return SimpleNamespace(
        **{**defaults(), "lr": 0.1, "gamma": 0.2, "p": 0.8, "delay": 0, **values}
    )


def mixing_matrix(graph):
    """The dense Metropolis–Hastings weights of an undirected graph on workers 0 to n − 1."""
    return mixing_of(len(graph), np.array([*graph.edges], np.int64).reshape(-1, 2)).dense()


def ring_matrix(n=N):
    return mixing_matrix(ring(n))


def states(seed=0, n=N, d=D):
    """Parameters and gradients ``[n, d]``."""
    X, G = torch.randn(2, n, d, generator=torch_stream(seed, "test"), dtype=torch.float64)
    return X, G


class Stepping:
    """Takes the steps of a method, one after another, on a matrix of its own."""

    def __init__(
        self, method, X, W=None, *, rule="sgd", coupling="power", compression="none", network=None,
        **values,
    ):  # fmt: skip
        self.X = X.clone()
        self.W, self._edges = W, (None, None)  # a matrix, and its edges
        self.run = fields(**values)
        self.network = network or Network()
        self.matrices = {}
        self.t = 0
        self._method = METHODS[method].update if isinstance(method, str) else method
        self._rule = LOCAL_RULES[rule]
        self._coupling = COUPLINGS[coupling]
        streams = [torch_stream(0, "compression", i) for i in range(len(X))]
        self._codec = COMPRESSIONS[compression].of(X.shape[1], X.dtype, self.run, streams)

    def step(self, G=None):
        """The next step, as the method sees it."""
        if self.W is not None and self._edges[0] is not self.W:
            self._edges = self.W, MixingMatrix.of(self.W)
        self.network.set_matrix(self._edges[1])
        G = torch.zeros_like(self.X) if G is None else G.clone()
        return Step(
            self.t, 100, self.X, G, self.run, self.run.lr, self.network, self._rule,
            self._coupling, self.matrices, self._codec, samples=self._one_sample,
        )  # fmt: skip

    def _one_sample(self):
        """What is drawn where each worker owns one sample."""
        return torch.zeros(len(self.X), 1, dtype=torch.long), torch.ones(len(self.X))

    def advance(self, G=None):
        """Take a step with the gradients ``G``, by default 0; the messages that it sent."""
        before = self.network.messages
        self._method(self.step(G))
        self.t += 1
        return self.network.messages - before

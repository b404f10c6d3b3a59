"""Epidemic learning equals its slow reference on its graphs, drawn in each step."""

import by_worker
import numpy as np
import pytest
import torch
from stepping import Stepping
from test_corrections import LR, grad

from ngo.common.seeding import torch_stream
from ngo.gossip.methods.gossip import equal_shares
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.topology import TOPOLOGIES

GRAPHS = {"epidemic_out": {"receivers": 2}, "epidemic_regular": {"degree": 2}}


def drawn(name, steps):
    """The directed edges (from, to) of each step, and its mixing matrix."""
    topology = TOPOLOGIES[name]
    streams = [torch_stream(0, "graphs"), torch_stream(0, "graphs")]
    for _ in range(steps):
        edges = topology.edges(by_worker.N, generator=streams[0], **GRAPHS[name])
        both = edges if topology.directed else [*edges, *((j, i) for i, j in edges)]
        yield both, topology.matrix(by_worker.N, generator=streams[1], **GRAPHS[name])


@pytest.mark.parametrize("name", GRAPHS)
def test_it_is_its_reference(name):
    """EL-Local and EL-Oracle: after its half step, each worker averages what it has."""
    stepping = Stepping("epidemic", torch.zeros(by_worker.N, by_worker.D).double(), lr=LR)
    x = by_worker.start()
    for edges, W in drawn(name, 50):
        stepping.W = W
        rows = stepping.X.numpy()
        stepping.advance(torch.tensor(np.stack([grad(i, row) for i, row in enumerate(rows)])))
        half = {i: x[i] - LR * grad(i, x[i]) for i in x}
        received = {i: [half[a] for a, b in edges if b == i] for i in x}
        x = {i: sum([half[i], *received[i]]) / (1 + len(received[i])) for i in x}
        assert np.allclose(stepping.X, np.stack(list(x.values())), rtol=0, atol=1e-9)


def test_rows_sum_to_1_and_on_a_regular_graph_columns_do_too():
    for name, conserves in (("epidemic_out", False), ("epidemic_regular", True)):
        found = [equal_shares(MixingMatrix.of(W)).dense() for _, W in drawn(name, 10)]
        assert all(torch.allclose(R.sum(1), torch.ones(by_worker.N).double()) for R in found)
        sums = torch.stack([R.sum(0) for R in found])
        assert torch.allclose(sums, torch.ones_like(sums)) == conserves


def test_the_mean_is_conserved_on_average():
    W = TOPOLOGIES["epidemic_out"].matrix
    stream, n = torch_stream(0, "graphs"), 8
    sums = [equal_shares(W(n, generator=stream, receivers=2)).dense().sum(0) for _ in range(1000)]
    assert torch.allclose(torch.stack(sums).mean(0), torch.ones(n).double(), rtol=0, atol=0.06)

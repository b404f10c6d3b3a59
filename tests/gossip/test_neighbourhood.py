from types import SimpleNamespace

import pytest
import torch
from weighted import random_weights

from ngo.common.seeding import torch_stream
from ngo.gossip.coupling import COUPLINGS, Coupling
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.neighbourhood import mix_rows, pull_rows
from ngo.gossip.steps.linear import mix
from ngo.gossip.weights import outgoing_shares
from ngo.native.pool import in_order

POWER = COUPLINGS["power"]
PLAIN = Coupling(POWER.pull, POWER.fields)  # in torch's operations
N = 9


def shares(W, k):
    """The own workers of k processes, and the neighbours of each among the others."""
    for own in torch.arange(N).chunk(k):
        reached = (W[own] != 0).any(0) | (W[:, own] != 0).any(1)
        reached[own] = False
        yield own.tolist(), reached.nonzero().flatten().tolist()


@pytest.mark.parametrize("coupling", [POWER, PLAIN], ids=["fast", "plain"])
@pytest.mark.parametrize("p", [0.5, 0.8, 1])
@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_pulled_rows_are_those_of_the_whole_step(coupling, p, stale, k):
    X, Y = torch.randn(2, N, 60, generator=torch_stream(0, "X"), dtype=torch.float64)
    W, run = MixingMatrix.of(random_weights(N, 0.4, 3)), SimpleNamespace(p=p)
    whole = coupling.step(X, W, 0.3, run, at=Y if stale else None)
    for own, others in shares(W.dense(), k):
        rows, at = X[own], Y[own] if stale else None
        theirs = (Y if stale else X)[others]
        pull_rows(rows, theirs, own + others, W, coupling, 0.3, run, at=at, spread=in_order)
        assert torch.allclose(rows, whole[own], atol=1e-14)


@pytest.mark.parametrize("k", [1, 2, 4, 9])
@pytest.mark.parametrize("directed", [False, True])
def test_mixed_rows_are_those_of_the_whole_product(k, directed):
    """Rows of any width, with symmetric and with column-stochastic weights."""
    W = MixingMatrix.of(random_weights(N, 0.4, 3))
    if directed:
        W = outgoing_shares(N, [(i, (i + 1 + i % 3) % N) for i in range(N)])
        assert not torch.equal(W.dense(), W.dense().T)
    for width in (1, 60):
        X = torch.randn(N, width, generator=torch_stream(0, "X"), dtype=torch.float64)
        whole = X.clone()
        mix(whole, W, spread=in_order)
        for own, others in shares(W.dense(), k):
            rows = X[own]
            mix_rows(rows, X[others], own + others, W, 1.0, spread=in_order)
            assert torch.allclose(rows, whole[own], atol=1e-14)

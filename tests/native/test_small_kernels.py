"""Losses and relayed sums, against float64."""

import math

import pytest
import torch
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.native import build
from ngo.native.gossip_step import relayed_sums
from ngo.native.layer_chain import Chain, Layer
from ngo.native.pool import in_order

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


# The tree 0 – 1, 1 – 2: the edges (0, 1), (1, 0), (1, 2), (2, 1), as (receiver, sender).
STARTS, SENDERS, TURNED = (torch.tensor(x) for x in ([0, 1, 3, 4], [1, 0, 2, 1], [1, 0, 3, 2]))


def test_sums_along_a_path_of_three():
    X = torch.tensor([[1.0], [10.0], [100.0]]).repeat(1, 700)
    received = torch.zeros(4, 701)
    received[:, :-1] = torch.tensor([[2.0], [3.0], [4.0], [5.0]])
    received[:, -1] = 9
    counts = torch.tensor([[2.0], [4.0], [8.0]])
    relayed_sums(X, received, STARTS, SENDERS, TURNED, counts)
    # 0 sends 1, 1 sends 10 + 4 to 0 and 10 + 3 to 2, 2 sends 100.
    sums = torch.tensor([[14.0], [1.0], [100.0], [13.0]])
    assert torch.equal(received[:, :-1], sums.expand(4, 700))
    assert (received[:, -1] == 9).all()
    means = torch.tensor([[15.0 / 2], [111.0 / 4], [113.0 / 8]])
    assert torch.equal(X, means.expand(3, 700))


def found(loss, outputs, targets):
    """The mean loss of outputs ``[b, k]``, its gradient by them, and the number of right classes.

    A layer whose weights are 0 has its bias as outputs: one sample at a time.
    """
    b, k = outputs.shape
    layer = Layer(1, 3, 1, 1, k, weight=0, bias=3 * k)
    chain = Chain([layer], loss, (3,), k, spread=in_order, threads=1)
    X, G = torch.cat([torch.zeros(b, 3 * k), outputs], 1), torch.empty(b, 4 * k)
    losses = chain.gradients(X, G, torch.zeros(b, 3), targets)
    correct = [
        chain.scores(X[v : v + 1], [torch.zeros(1, 3)], [targets[v : v + 1]])[1] for v in range(b)
    ]
    return losses.double(), G[:, 3 * k :].double() / b, int(sum(correct)[0])


def same(ours, theirs):
    return torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("scale", [1, 30, 1e4])
@pytest.mark.parametrize("value", [None, math.inf, -math.inf, math.nan])
def test_cross_entropy_is_torchs(scale, value):
    """The gradients of non-finite outputs are not all NaN where torch's are not."""
    outputs = scale * torch.randn(40, 7, generator=torch_stream(0, "test"))
    if value is not None:
        outputs[torch.arange(10), torch.arange(10) % 7] = value
        outputs[10:13] = value
    outputs[20:25, 3] = outputs[20:25].amax(1)  # ties
    targets = torch.arange(40) % 7
    losses, gradient, correct = found("cross_entropy", outputs, targets)
    exact = outputs.double().requires_grad_()
    expected = F.cross_entropy(exact, targets, reduction="none")
    (wanted,) = torch.autograd.grad(expected.mean(), exact)
    assert same(losses, expected.detach())
    assert same(gradient, wanted)
    assert correct == int((outputs.argmax(1) == targets).sum())


@pytest.mark.parametrize("value", [0.5, math.inf, math.nan])
def test_squared_error_is_the_mean_over_outputs(value):
    outputs, targets = torch.randn(2, 30, 5, generator=torch_stream(0, "test"))
    outputs[0, 1] = value
    losses, gradient, _ = found("squared_error", outputs, targets)
    exact = outputs.double().requires_grad_()
    expected = (exact - targets).square().mean(1)
    (wanted,) = torch.autograd.grad(expected.mean(), exact)
    assert same(losses, expected.detach())
    assert same(gradient, wanted)

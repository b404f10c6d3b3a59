"""Chains of layers and their losses, against autograd; relayed sums by hand."""

import math

import pytest
import torch
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.native import build
from ngo.native.gossip_step import relayed_sums
from ngo.native.layer_chain import Chain, Layer
from ngo.native.threads import in_order, threads

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")


def linear(loss="cross_entropy", spread=in_order, count=1, **random):
    """A linear layer from images ``[2, 3, 3]`` to 4 outputs; with ``random``, dropout before it."""
    layers = [Layer(1, 18, 1, 1, 4, weight=0, bias=72, drawn=random.get("draws", 0))]
    if random:
        layers = [Layer(3, 18, 1, 1, **random), *layers]
    return Chain(layers, loss, (2, 3, 3), 4, spread=spread, threads=count)


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch_stream(seed, "test"))


def expected(X, inputs, targets):
    X = X.clone().requires_grad_()
    outputs = inputs.flatten(1) @ X[:72].view(4, 18).T + X[72:]
    loss = torch.nn.functional.cross_entropy(outputs, targets)
    (gradient,) = torch.autograd.grad(loss, X)
    return loss.detach(), gradient


def test_samples_and_shades_select_the_batches():
    X, G = numbers(3, 76), torch.empty(3, 76)
    images = torch.randint(256, (50, 2, 3, 3), generator=torch_stream(0, "images")).byte()
    classes = torch.arange(50) % 4
    samples = torch.randint(50, (3, 7), generator=torch_stream(0, "samples"))
    shades = numbers(2, 256, seed=1)
    losses = linear().gradients(X, G, images, classes, samples=samples, shades=shades)
    for i, own in enumerate(samples):
        inputs = torch.stack([shades[c][images[own, c].long()] for c in (0, 1)], 1)
        loss, gradient = expected(X[i], inputs, classes[own])
        assert torch.allclose(losses[i], loss)
        assert torch.allclose(G[i], gradient, atol=1e-6)
        one, alone = torch.empty(1, 76), linear()
        assert torch.equal(
            alone.gradients(X[i : i + 1], one, inputs, classes[own]), losses[i : i + 1]
        )
        assert torch.equal(one[0], G[i])


def test_dropout_takes_each_models_noise():
    X, G = numbers(2, 76), torch.empty(2, 76)
    inputs, classes = numbers(10, 2, 3, 3), torch.arange(10) % 4
    noise = (numbers(2, 5 * 18, seed=2) > 0).float()
    chain = linear(draws=18, keep=0.5)
    losses = chain.gradients(X, G, inputs, classes, noise=noise)
    masked = 2 * noise.view(10, 2, 3, 3) * inputs
    for i in range(2):
        own = slice(5 * i, 5 * i + 5)
        loss, gradient = expected(X[i], masked[own], classes[own])
        assert torch.allclose(losses[i], loss)
        assert torch.allclose(G[i], gradient, atol=1e-6)
    assert torch.equal(
        chain.gradients(X, G, inputs, classes), linear().gradients(X, G, inputs, classes)
    )


def test_any_number_of_threads_gives_the_same_bytes():
    found = []
    for count in (1, 2, 5):
        X, G = numbers(9, 76), torch.empty(9, 76)
        chain = linear(spread=threads(count), count=count)
        inputs, classes = numbers(9 * 4, 2, 3, 3, seed=1), torch.arange(9 * 4) % 4
        losses = chain.gradients(X, G, inputs, classes)
        scores = chain.scores(X, inputs.split(10), classes.split(10))
        found.append((losses, G, torch.tensor(scores, dtype=torch.float64)))
    for other in found[1:]:
        assert all(torch.equal(*pair) for pair in zip(found[0], other, strict=True))


def test_tensors_that_do_not_fit_are_refused():
    X, G = numbers(2, 76), torch.empty(2, 76)
    inputs, classes = numbers(6, 2, 3, 3), torch.arange(6) % 4
    far = torch.tensor([[0, 1], [2, 6]])
    for message, arguments, how in (
        ("X must be a contiguous", (X.double(), G, inputs, classes), {}),
        ("inputs must be a contiguous", (X, G, inputs, classes), {"shades": numbers(2, 256)}),
        ("samples must be in 0 to 5", (X, G, inputs, classes), {"samples": far}),
        ("a target is not a class from 0 to 3", (X, G, inputs, classes + 1), {}),
    ):
        with pytest.raises(ValueError, match=message):
            linear().gradients(*arguments, **how)


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
    samples = [(X[v : v + 1], [torch.zeros(1, 3)], [targets[v : v + 1]]) for v in range(b)]
    correct = sum(chain.scores(*sample)[0][1] for sample in samples)
    return losses.double(), G[:, 3 * k :].double() / b, correct


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

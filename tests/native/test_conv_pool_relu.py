"""The kernels of convolution, pooling and ReLU, against torch and float64."""

import math
import platform

import pytest
import torch
from torch.nn import functional as F

from ngo.common.seeding import torch_stream
from ngo.models.layers import KERNEL_SIZES, _ConvPoolReLU
from ngo.native import build
from ngo.native.gossip_step import relayed_sums
from ngo.native.layer_chain import Chain, Layer
from ngo.native.threads import in_order, threads

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")
GENERATOR = torch_stream(0, "test")
# The tree 0 – 1, 1 – 2: the edges (0, 1), (1, 0), (1, 2), (2, 1), as (receiver, sender).
STARTS, SENDERS, TURNED = (torch.tensor(x) for x in ([0, 1, 3, 4], [1, 0, 2, 1], [1, 0, 3, 2]))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_are_pooled_as_by_torch(value):
    generator = torch_stream(0, "test")
    x = torch.randn(3, 2, 10, 10, generator=generator)
    x[1, 0, 4, 5] = value
    weight = torch.randn(4, 2, 3, 3, generator=generator)
    bias = torch.randn(4, generator=generator)
    expected = F.relu(F.max_pool2d(F.conv2d(x, weight, bias), 2))
    y = _ConvPoolReLU.apply(x, weight, bias)
    assert torch.allclose(y, expected, atol=1e-5, equal_nan=True)
    assert not expected.isfinite().all()


@pytest.fixture(params=["native", "x86-64-v3"])
def processor(request, monkeypatch):
    """Kernels for this processor, and for one with vectors of 256 bits."""
    if request.param != "native":
        if platform.machine() != "x86_64":
            pytest.skip("vectors of x86-64")
        monkeypatch.setenv("NGO_MARCH", request.param)
    build.library.cache_clear()
    yield
    build.library.cache_clear()


def integers(*shape):
    return torch.randint(-3, 4, shape, generator=GENERATOR).float()


def normal(*shape):
    return torch.randn(shape, generator=GENERATOR)


def random_layer(number, draw=normal):
    """Images ``[b, channels, h, w]``, kernels and biases."""
    b, out = 1 + number % 37, 1 + number % 11
    channels, k = (1, 2, 3, 6, 10, 16, 19, 33)[number % 8], KERNEL_SIZES[number // 8 % 2]
    h, w = k + 1 + number % 5, k + 1 + number // 5 % 7
    x, weight = draw(channels, h, w, b).movedim(-1, 0), draw(out, k, k, channels).movedim(-1, 1)
    return x.requires_grad_(), weight.requires_grad_(), draw(out).requires_grad_()


def exact(x, weight, which, gradient):
    """The gradients of x, weight and bias in float64, given the winners."""
    h, w = (x.shape[i] - weight.shape[2] + 1 for i in (2, 3))
    of_convolution = x.new_zeros(len(x), len(weight), h, w, dtype=torch.float64)
    for place in range(4):
        corner = of_convolution[:, :, place // 2 : h // 2 * 2 : 2, place % 2 : w // 2 * 2 : 2]
        corner += torch.where(which.movedim(-1, 0) == place, gradient.double(), 0)
    leaves = [x.detach().double().requires_grad_(), weight.detach().double().requires_grad_()]
    leaves += [torch.zeros(len(weight), dtype=torch.float64, requires_grad=True)]
    return torch.autograd.grad(F.conv2d(*leaves), leaves, of_convolution)


@pytest.mark.parametrize("number", range(0, 4000, 171))
def test_outputs_and_gradients_equal_torchs(processor, number):
    """On integers, so that sums are exact and ties frequent. Where a side of the convolution's
    output is odd, pooling ignores the last row or column.
    """
    leaves = x, weight, bias = random_layer(number, integers)
    expected = F.relu(F.max_pool2d(F.conv2d(*leaves), 2))
    gradient = integers(*expected.shape)
    y = _ConvPoolReLU.apply(*leaves)
    assert torch.equal(y, expected)
    ours = torch.autograd.grad(y, leaves, gradient)
    wanted = torch.autograd.grad(expected, leaves, gradient)
    for mine, theirs in zip(ours, wanted, strict=True):
        assert torch.equal(mine, theirs)
    y = _ConvPoolReLU.apply(x.detach(), weight, bias)
    same = torch.autograd.grad(y, (weight, bias), gradient)
    for mine, theirs in zip(same, ours[1:], strict=True):
        assert torch.equal(mine, theirs)


def test_gradients_are_exact_to_rounding(processor):
    """Each is a sum: its error is at most some units of rounding of the sum of absolute terms."""
    for number in range(0, 1500, 4):
        leaves = x, weight, _ = random_layer(number)
        y = _ConvPoolReLU.apply(*leaves)
        *_, which = y.grad_fn.saved_tensors
        dropped = (
            torch.rand(y.shape[1], 1, 1, len(y)).movedim(-1, 0) <= 0.25
        )  # samples of a channel
        gradient = normal(*y.shape) * ~dropped
        ours = torch.autograd.grad(y, leaves, gradient)
        theirs = exact(x, weight, which, gradient)
        absolute = exact(x.abs(), weight.abs(), which, gradient.abs())
        for mine, wanted, size in zip(ours, theirs, absolute, strict=True):
            assert ((mine - wanted).abs() <= 1e-6 * size).all(), number


# Chains of layers and their losses, against autograd; relayed sums by hand.


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


def test_samples_and_shades_select_batches_and_dropout_takes_each_models_noise():
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
        one = torch.empty(1, 76)
        alone = linear().gradients(X[i : i + 1], one, inputs, classes[own])
        assert torch.equal(alone, losses[i : i + 1])
        assert torch.equal(one[0], G[i])
    X, G = numbers(2, 76), torch.empty(2, 76)
    inputs, classes = numbers(10, 2, 3, 3), torch.arange(10) % 4
    noise = (numbers(2, 5 * 18, seed=2) > 0).float()
    chain = linear(draws=18, constant=0.5)
    losses = chain.gradients(X, G, inputs, classes, noise=noise)
    masked = 2 * noise.view(10, 2, 3, 3) * inputs
    for i in range(2):
        own = slice(5 * i, 5 * i + 5)
        loss, gradient = expected(X[i], masked[own], classes[own])
        assert torch.allclose(losses[i], loss)
        assert torch.allclose(G[i], gradient, atol=1e-6)
    found, plain = (each.gradients(X, G, inputs, classes) for each in (chain, linear()))
    assert torch.equal(found, plain)


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

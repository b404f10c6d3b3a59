"""Layers of modules that are no chains, by compiled code: outputs and gradients are torch's."""

from contextlib import nullcontext
from copy import deepcopy

import pytest
import torch
from own_modules import quick
from torch import nn

from ngo.engine.operations import operations
from ngo.native import build

pytestmark = pytest.mark.skipif(not build.available(), reason="no compiler")

IMAGES = {"memory_format": torch.channels_last}
CASES = {
    "linear, few samples": (nn.Linear(784, 512), torch.rand(32, 784)),
    "linear, many positions": (nn.Linear(64, 190), torch.rand(4, 256, 64)),
    "linear, no bias": (nn.Linear(1100, 35, bias=False), torch.rand(131, 1100)),
    "group norm": (nn.GroupNorm(4, 44), 1 + torch.rand(5, 44, 7, 9).to(**IMAGES)),
    "group norm, plain": (nn.GroupNorm(2, 12, affine=False), torch.rand(3, 12, 5, 5).to(**IMAGES)),
}


def passed(module, x, compiled, penalty):
    """The output, and the gradients of a sum of it, or of its input's gradient's square."""
    x = x.clone().requires_grad_()
    with operations(module) if compiled else nullcontext():
        y = module(x)
        assert (type(y.grad_fn).__name__ == "_TakenBackward") == compiled
        stream = torch.Generator().manual_seed(0)
        weights = torch.randn(y.shape, generator=stream).to(y.dtype)
        total = (y * weights).sum()
        if penalty:
            (slope,) = torch.autograd.grad((y * y * weights).sum(), x, create_graph=True)
            total = slope.square().sum()
        total.backward()
    assert "forward" not in vars(module)
    return [y.detach(), x.grad, *(parameter.grad for parameter in module.parameters())]


@pytest.mark.parametrize("penalty", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_passes_are_those_of_float64(name, penalty):
    """Also where gradients have gradients."""
    module, x = CASES[name]
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-1, 1)
    found = passed(deepcopy(module), x, True, penalty)
    expected = passed(deepcopy(module).double(), x.double(), False, penalty)
    for a, b in zip(found, expected, strict=True):
        assert (a - b).abs().max() <= 1e-4 * b.abs().max()


def test_other_layers_types_and_transforms_are_torchs():
    layer, x = nn.Linear(784, 512), torch.rand(32, 784)
    with operations(layer):
        assert torch.equal(layer(x[:2]), nn.functional.linear(x[:2], layer.weight, layer.bias))
        with torch.autocast("cpu", torch.bfloat16):
            assert layer(x).dtype == torch.bfloat16
        rows = torch.func.vmap(layer)(x.view(2, 16, 784))
        assert torch.allclose(rows.view(32, 512), layer(x), atol=1e-5)
    own = type("Own", (nn.Linear,), {})(784, 512)
    with operations(own):
        assert "forward" not in vars(own)


class Net(nn.Module):
    """No chain: a sum of two branches."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 700), nn.Linear(4, 700)
        self.wide, self.last = nn.Linear(700, 700), nn.Linear(700, 3)

    def forward(self, x):
        """Logits."""
        return self.last(self.wide(self.first(x).tanh() + self.second(x)).relu())


def test_a_module_that_is_brought_takes_them_in_threads_and_loop(monkeypatch):
    inputs = torch.rand(60, 4)
    data = inputs, torch.randint(3, (60,), generator=torch.Generator().manual_seed(0))

    def states():
        return [quick(Net, data, batch_size=8, backend=name).consensus for name in ways]

    ways = "loop", "threads", "auto"
    first, *others = (dict(each.named_parameters()) for each in states())
    monkeypatch.setattr("ngo.engine.operations.LEAST_PRODUCTS", 2**40)
    plain = dict(states()[0].named_parameters())
    for other in others:
        assert all(torch.equal(x, other[name]) for name, x in first.items())
    assert not all(torch.equal(x, plain[name]) for name, x in first.items())
    assert all(torch.allclose(x, plain[name], atol=1e-4) for name, x in first.items())

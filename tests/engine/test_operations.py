"""Layers of modules that are no chains, by compiled code: outputs and gradients are torch's."""

import random
from contextlib import nullcontext
from copy import deepcopy

import pytest
import torch
from own_modules import quick
from torch import nn
from torch.nn import functional as F

from ngo.engine.module_chain import KINDS
from ngo.engine.operations import layers_of, operations
from ngo.engine.population import bind, fill, named_tensors
from ngo.engine.straight_forward import calls_of, with_rows
from ngo.models.layers import ConvPoolReLU2d, Dropout, channels_last
from ngo.native import build

pytestmark = pytest.mark.skipif(not build.available(), reason="no compiler")

IMAGES = {"memory_format": torch.channels_last}
CONVOLUTIONS = nn.Conv2d(3, 5, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(5, 4, 5)
CASES = {
    "chain of linear layers": (
        nn.Sequential(nn.Flatten(), nn.Linear(70, 33), nn.ReLU(), nn.Linear(33, 20, bias=False)),
        torch.rand(9, 7, 10),
    ),
    "chain with normalization": (
        nn.Sequential(nn.Linear(70, 33), nn.LayerNorm(33), nn.GELU(), nn.Linear(33, 20)),
        torch.rand(9, 70),
    ),
    "chain of compiled convolutions": (
        channels_last(nn.Sequential(ConvPoolReLU2d(3, 8, 3, padding=1), nn.AvgPool2d(2))),
        torch.rand(5, 3, 14, 13).to(**IMAGES),
    ),
    "chain of convolutions": (
        channels_last(nn.Sequential(*CONVOLUTIONS, nn.MaxPool2d(2), nn.Sigmoid())),
        torch.rand(5, 3, 14, 13).to(**IMAGES),
    ),
    "linear, few samples": (nn.Linear(784, 512), torch.rand(32, 784)),
    "linear, many positions": (nn.Linear(64, 190), torch.rand(4, 256, 64)),
    "linear, no bias": (nn.Linear(1100, 35, bias=False), torch.rand(131, 1100)),
    "convolution": (nn.Conv2d(16, 48, 3, padding=1), torch.rand(3, 16, 7, 10).to(**IMAGES)),
    "convolution, many tiles": (
        nn.Conv2d(32, 16, 3, padding="valid", bias=False),
        torch.rand(9, 32, 20, 3),
    ),
    "group norm": (nn.GroupNorm(4, 44), 1 + torch.rand(5, 44, 7, 9).to(**IMAGES)),
    "batch norm": (nn.BatchNorm2d(44), 1 + torch.rand(5, 44, 7, 9).to(**IMAGES)),
    "group norm, plain": (nn.GroupNorm(2, 12, affine=False), torch.rand(3, 12, 5, 5).to(**IMAGES)),
}


def in_rows(module):
    """The module, whose parameters and buffers are views of rows."""
    kinds = named_tensors(module)
    rows = [torch.empty(sum(map(torch.numel, each.values()))) for each in kinds]
    rows[2] = rows[2].long()  # the numbers of batches
    for named, row in zip(kinds, rows, strict=True):
        fill(named, row)
    bind(module, rows[0], None, *rows[1:])
    return module


def passed(module, x, compiled, penalty):
    """The output, and the gradients of a sum of it, or of its input's gradient's square."""
    x = x.clone().requires_grad_()
    with operations(layers_of(module)) if compiled else nullcontext():
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
def test_passes_are_those_of_float64(name, penalty, small):
    """Also where gradients have gradients."""
    module, x = CASES[name]
    module = channels_last(module)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-1, 1)
    found = passed(in_rows(deepcopy(module)), x, True, penalty)
    expected = passed(deepcopy(module).double(), x.double(), False, penalty)
    for a, b in zip(found, expected, strict=True):
        assert (a - b).abs().max() <= 1e-4 * b.abs().max()


@pytest.mark.parametrize("sizes", [(1, 3), (8, 8), (7, 9)])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("channels", [2, 6, 8, 16, 24, 32, 64, 80])
def test_group_norm_of_any_width_and_its_relu_are_those_of_float64(channels, affine, sizes):
    """With groups of 1, 2 and 8 channels, and of all."""
    stream = torch.Generator().manual_seed(0)
    for each in {k for k in (1, 2, 8, channels) if channels % k == 0}:
        norm = nn.GroupNorm(channels // each, channels, affine=affine)
        x = torch.randn(3, channels, *sizes, generator=stream).to(**IMAGES) - 0.5
        for parameter in norm.parameters():
            parameter.data.uniform_(-1, 1, generator=stream)
        for module in norm, nn.Sequential(norm, nn.ReLU()):
            found = passed(deepcopy(module), x, True, False)
            expected = passed(deepcopy(module).double(), x.double(), False, False)
            for a, b in zip(found, expected, strict=True):
                assert (a - b).abs().max() <= 1e-4 * (1 + b.abs().max())


@pytest.mark.parametrize("frozen", ["weight", "bias"])
def test_a_convolution_whose_weight_or_bias_is_frozen_has_the_other_gradients(frozen):
    module, x = channels_last(nn.Conv2d(16, 16, 3)), torch.randn(2, 16, 5, 5).to(**IMAGES)
    getattr(module, frozen).requires_grad_(False)
    exact = deepcopy(module).double()
    (exact(x.double()) ** 2).sum().backward()
    with operations(layers_of(module)):
        (module(x) ** 2).sum().backward()
    for found, expected in zip(module.parameters(), exact.parameters(), strict=True):
        assert (found.grad is None) == (expected.grad is None)
        assert found.grad is None or (found.grad - expected.grad).abs().max() < 1e-3


OTHERS = {"stride": 2}, {"dilation": 2}, {"groups": 2}, {"padding": (0, 2)}
OTHERS += {"padding": 1, "padding_mode": "reflect"}, {"kernel_size": (3, 1)}


@pytest.mark.parametrize("other", OTHERS)
def test_other_convolutions_are_torchs(other):
    module = channels_last(nn.Conv2d(32, 32, **{"kernel_size": 3} | other))
    x = torch.randn(2, 32, 9, 8).to(**IMAGES)
    expected = module(x)
    with operations(layers_of(module)):
        assert torch.equal(module(x), expected)


def summed(module, x, g):
    """The output, gradients, and buffers of a step in training."""
    x = x.clone().requires_grad_()
    y = module(x)
    y.backward(g)
    rest = [each.grad for each in module.parameters()] + [*module.buffers()]
    return [y.detach(), x.grad, *rest]


@pytest.mark.parametrize("how", [{}, {"affine": False}, {"track_running_stats": False}])
@pytest.mark.parametrize("relu", [False, True])
def test_batch_norm_with_channels_last_sums_as_exactly_as_torch_does_with_channels_first(relu, how):
    """Torch's own sums then lose up to two digits more."""
    stream = torch.Generator().manual_seed(0)
    x, g = (torch.randn(32, 16, 32, 32, generator=stream).to(**IMAGES) + k for k in (2, 0.2))
    norm = nn.BatchNorm2d(16, **how)
    module = nn.Sequential(norm, *[nn.ReLU()] * relu)
    expected = summed(deepcopy(module).double(), x.double(), g.double())
    with operations(layers_of(module)):
        found = summed(module, x, g)
    for a, b in zip(found, expected, strict=True):
        assert (a - b).double().norm() <= 2e-5 * b.double().norm()


def test_a_relu_with_a_hook_or_a_forward_of_its_own_stays_by_itself():
    norm, relu, x = nn.GroupNorm(2, 4), nn.ReLU(), torch.randn(2, 4, 5, 5).to(**IMAGES)
    module, seen = nn.Sequential(norm, relu), []

    def steps():
        with operations(layers_of(module)):
            y = module(x)
        assert torch.allclose(y, relu(norm(x)), atol=1e-5)
        return type(y.grad_fn).__name__

    assert steps() == "_TakenBackward"
    for layer in norm, relu:
        hook = layer.register_forward_hook(lambda *given: seen.append(given[2].min()))
        assert steps() == "ReluBackward0"
        hook.remove()
    assert [x < 0 for x in seen] == [True, True, False, False]
    hook = nn.modules.module.register_module_forward_hook(lambda *given: None)
    assert steps() == "ReluBackward0"
    hook.remove()
    relu.forward = torch.relu
    assert steps() == "ReluBackward0"


class Shortcut(nn.Module):
    """Its input's gradient would have channels first."""

    def forward(self, x):
        """A sum over halves of the rows."""
        if x.requires_grad:
            x.register_hook(lambda grad: setattr(self, "grad", grad))
        return nn.functional.pad(x[:, :, ::2], (0, 0, 0, 0, 0, 1)).sum((2, 3))


def test_gradients_of_images_have_their_layout():
    x = torch.randn(2, 4, 6, 6, requires_grad=True)
    module = nn.Sequential(nn.Tanh(), Shortcut(), nn.Tanh())
    for given, compiled in (x, True), (x.to(**IMAGES), True), (x.to(**IMAGES), False):
        with operations(layers_of(module)) if compiled else nullcontext():
            module(given).sum().backward()
        last = module[1].grad.is_contiguous(**IMAGES)
        assert last == (compiled and given is not x)


def test_passes_without_gradients_leave_those_with_them_as_they_were():
    module, x = nn.Sequential(Shortcut(), nn.Identity()), torch.randn(2, 4, 6, 6).to(**IMAGES)
    x.requires_grad_()
    for _ in range(2):
        with operations(layers_of(module)):
            module(x * 1).sum().backward()
            with torch.no_grad():
                module(x * 1)
        assert module[0].grad.is_contiguous(**IMAGES)


def test_the_first_pass_of_a_sequence_is_like_those_after_it():
    """A run that goes on from a checkpoint has the bytes of one that was not interrupted."""
    stream = torch.Generator().manual_seed(0)
    layers = nn.Conv2d(24, 24, 1), nn.BatchNorm2d(24), nn.ReLU6()
    module, seen = channels_last(nn.Sequential(*layers)), []
    x, g = (torch.randn(8, 24, 16, 16, generator=stream) for _ in range(2))
    x = x.to(**IMAGES).requires_grad_()
    for _ in range(3):
        with operations(layers_of(module)):
            total = (module(x * 1) * g).sum()  # whose gradient has its channels first
        seen.append(torch.autograd.grad(total, [x, *module.parameters()]))
    for first, *others in zip(*seen, strict=True):
        assert all(torch.equal(first, other) for other in others)


class NoGradient(torch.autograd.Function):
    """The sum of images, which has no gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.sum((1, 2, 3))

    @staticmethod
    def backward(ctx, grad):
        return None


class Ended(nn.Module):
    """The sum of its input's images."""

    def forward(self, x):
        """One number for each image."""
        return NoGradient.apply(x)


def test_a_gradient_may_end_in_a_sequence_of_images():
    module = nn.Sequential(nn.Tanh(), Ended())
    x = torch.randn(2, 4, 6, 6).to(**IMAGES).requires_grad_()
    with operations(layers_of(module)):
        module(x).sum().backward()
    assert x.grad is None or not x.grad.any()


def test_hooks_of_saved_tensors_may_copy(small):
    """Also the parameters of a chain, which are then not one after another."""
    module = in_rows(nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4)))
    x, found = torch.rand(3, 6), []
    for compiled in True, False:
        with operations(layers_of(module)) if compiled else nullcontext():
            with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda x: x):
                y = module(x)
            found.append(torch.autograd.grad(y.square().sum(), [*module.parameters()]))
    for a, b in zip(*found, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_many_gradients_may_be_taken_at_once(small):
    """By vmap, as in ``torch.autograd.functional.jacobian``."""
    module = in_rows(nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4)))
    x, found = torch.rand(3, 6), []
    for compiled in True, False:
        with operations(layers_of(module)) if compiled else nullcontext():
            found.append(torch.autograd.functional.jacobian(module, x, vectorize=True))
    assert torch.allclose(*found, atol=1e-5)


def test_an_input_may_be_given_by_its_name():
    module, x = nn.Sequential(nn.Linear(784, 512)), torch.rand(32, 784)
    with operations(layers_of(module)):
        assert torch.equal(module(input=x), module(x))
        assert torch.equal(module[0](input=x), module(x))


def test_other_layers_types_and_transforms_are_torchs():
    layer, x = nn.Linear(784, 512), torch.rand(32, 784)
    with operations(layers_of(layer)):
        assert torch.equal(layer(x[:2]), nn.functional.linear(x[:2], layer.weight, layer.bias))
        with torch.autocast("cpu", torch.bfloat16):
            assert layer(x).dtype == torch.bfloat16
        rows = torch.func.vmap(layer)(x.view(2, 16, 784))
        assert torch.allclose(rows.view(32, 512), layer(x), atol=1e-5)
    own = type("Own", (nn.Linear,), {})(784, 512)
    with operations(layers_of(own)):
        assert "forward" not in vars(own)


class Parts(nn.Module):
    """Sequences of random layers, of which one is used twice."""

    def __init__(self, seed):
        super().__init__()
        rng, self.stream = random.Random(seed), torch.Generator()
        self.shape = (rng.choice([1, 3]), 16, 18)
        width = rng.randint(1, 40)
        self.images = nn.Sequential(*self.some_images(rng), nn.Flatten(), nn.LazyLinear(width))
        self.twice = nn.Sequential(*self.some(rng, width, 30), *self.some(rng, 30, width))
        self.last = nn.Sequential(nn.Sequential(*self.some(rng, width, 9)), *self.some(rng, 9, 3))
        self(torch.rand(2, *self.shape))
        for layer in self.modules():
            if rng.random() < 0.1:
                layer.requires_grad_(False)
            if rng.random() < 0.1:
                layer.register_forward_hook(lambda layer, given, y: 2 * y)
            if rng.random() < 0.1:
                layer.register_full_backward_hook(lambda layer, dx, dy: (3 * dx[0],))
            layer.train(rng.random() < 0.8)
        channels_last(self)

    def some_images(self, rng):
        """Layers for images."""
        conv = nn.Conv2d(self.shape[0], 5, rng.choice([3, 5]), rng.choice([1, 1, 2]), padding=1)
        then = rng.sample([nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(5)], 3)[: rng.randint(0, 3)]
        return [conv, *then, nn.Conv2d(5, 4, 2), rng.choice([nn.Tanh(), nn.Sigmoid()])]

    def some(self, rng, width, out):
        """Layers for numbers."""
        others = nn.ReLU(), nn.Sigmoid(), nn.Tanh(), nn.GELU(), nn.Softsign()
        others += Dropout(self.stream), nn.BatchNorm1d(out), nn.Unflatten(1, (out, 1)), nn.Flatten()
        layers = nn.Linear(width, out, bias=rng.random() < 0.8), *rng.sample(others, 3)
        return [*layers, nn.Flatten(), nn.Linear(out, out), rng.choice(others[:4])]

    def forward(self, x):
        """Some numbers."""
        self.stream.manual_seed(0)
        x = self.twice(self.twice(self.images(x)))
        return self.last(x) + self.last[0][0].weight.square().sum()


@pytest.fixture
def small(monkeypatch):
    """Chains of a few multiplications, too, and batches of a few positions."""
    monkeypatch.setattr("ngo.engine.operations.LEAST_IN_CHAIN", 0)
    monkeypatch.setattr("ngo.engine.operations.LEAST_POSITIONS", 0)


@pytest.mark.parametrize("part", range(4))
def test_sequences_in_modules_are_those_of_float64(part, small):
    """Used twice, frozen, with hooks, dropout and buffers, in training and evaluation."""
    chained = 0
    for seed in range(part, 80, 4):
        torch.manual_seed(seed)
        module = Parts(seed)
        x, found = torch.rand(random.Random(seed).choice([7, 32]), *module.shape), []
        for kind, compiled in (
            (torch.float32, True),
            (torch.float32, False),
            (torch.float64, False),
        ):
            each = in_rows(deepcopy(module)) if compiled else deepcopy(module).to(kind)
            given = x.to(kind, copy=True).requires_grad_()
            for _ in range(2):  # the second time from what is known
                each.zero_grad()
                with operations(layers_of(each)) if compiled else nullcontext():
                    y = each(given)
                    y.square().sum().backward()
                chained += "_TakenBackward" in names(y.grad_fn)
            found.append([y, given.grad, *each.state_dict().values()])
            found[-1] += [z.grad for z in each.parameters() if z.grad is not None]
        for a, b, exact in zip(*found, strict=True):
            most = 1e-4 * exact.abs().max() + 1e-5 + 30 * (b - exact).abs().max()
            assert (a - exact).abs().max() <= most, seed
    assert chained > 20


def names(node):
    """Those of a graph's nodes."""
    seen, new = set(), {node}
    while new := new - seen - {None}:
        seen |= new
        new = {before for each in new for before, _ in each.next_functions}
    return {type(each).__name__ for each in seen}


def test_a_chain_is_read_again_where_its_layers_change(small):
    """Their number, weights, sizes, hooks and types, and the inputs' shape."""
    module, x = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4)), torch.rand(3, 6)
    deep = in_rows(nn.ModuleList([module]))
    changes = {
        "nothing": lambda: None,
        "another layer": lambda: module.__setitem__(2, nn.Linear(5, 3)),
        "another weight": lambda: setattr(module[0], "weight", nn.Parameter(torch.rand(5, 6))),
        "an activation": lambda: module.__setitem__(1, nn.Tanh()),
        "an own forward": lambda: setattr(module[1], "forward", torch.sin),
        "a hook": lambda: module[0].register_forward_hook(lambda layer, given, y: y + 1),
        "a frozen layer": lambda: module[2].requires_grad_(False),
        "a layer more": lambda: module.append(nn.Tanh()),
        "float64": lambda: module.double(),
    }
    for change in changes.values():
        change()
        given = x.to(module[0].weight.dtype)
        expected = module(given)
        with operations(layers_of(deep)):
            assert torch.allclose(module(given), expected, atol=1e-5)


class Row(nn.Module):
    """Calls its layers in a row."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 4)

    def forward(self, x):
        """Some numbers."""
        return self.last(F.relu(self.first(x)))


def test_modules_that_call_layers_in_a_row_are_sequences(small):
    row, x = in_rows(Row()), torch.rand(3, 6, requires_grad=True)
    with_rows(row, calls_of(Row(), (6,), KINDS), None)
    layers, other = layers_of(row), torch.rand(2, 3, 6)
    with operations(layers):
        y = row(other)  # of another shape than when its calls were recorded
    assert torch.allclose(y, row(other))
    changes = {
        "nothing": lambda: None,
        "a hook": lambda: row.register_forward_hook(lambda row, given, y: 2 * y),
        "a hook of a layer": lambda: row.first.register_forward_hook(lambda row, given, y: y + 1),
        "another layer": lambda: setattr(row, "last", nn.Linear(5, 2)),
        "an own forward": lambda: setattr(row, "forward", torch.sin),
    }
    for name, change in changes.items():
        change()
        expected = row(x)
        slope = torch.autograd.grad(expected.square().sum(), x)[0]
        with operations(layers):
            y = row(x)
        assert ("_TakenBackward" in names(y.grad_fn)) == (name in ("nothing", "a hook"))
        assert torch.allclose(y, expected, atol=1e-5)
        assert torch.allclose(torch.autograd.grad(y.square().sum(), x)[0], slope, atol=1e-5)


class Part(nn.Module):
    """Layers in a row, with dropout and a function, which others may change."""

    def __init__(self):
        super().__init__()
        self.first, self.last, self.act = nn.Linear(6, 6), nn.Linear(6, 6), F.relu

    def forward(self, x):
        """Some numbers."""
        return self.last(F.dropout(self.act(self.first(x)), 0.5, self.training))


@pytest.mark.parametrize("how", ["act", "last", "training"])
def test_a_part_that_others_change_calls_what_it_has_now(small, how):
    part, x = Part(), torch.rand(3, 6)
    calls = calls_of(nn.Sequential(part, nn.Softsign()), (6,), KINDS)
    assert list(calls) == ["0"]
    given, values = (
        {"act": torch.tanh, "last": nn.Linear(6, 6), "training": False},
        part.state_dict(),
    )
    expected, made = Part(), nn.Sequential(part, nn.Softsign())
    expected.load_state_dict(values)
    with_rows(made, calls, torch.Generator())
    for each in expected, part:
        each.train(how == "training")
        setattr(each, how, given[how])
    with operations(layers_of(made)):
        assert torch.allclose(part(x), expected(x), atol=1e-6)


class Listed(nn.Sequential):
    """A sequence with dropout at its end."""

    def forward(self, x):
        """Some numbers."""
        for layer in self:
            x = layer(x)
        return F.dropout(x, 0.5, self.training)


def test_a_sequence_of_the_users_has_the_layers_it_had():
    listed = Listed(nn.Linear(6, 6), nn.Tanh())
    calls = calls_of(listed, (6,), KINDS)
    with_rows(listed, calls, torch.Generator())
    assert (list(calls), len(listed)) == ([""], 2)


class Net(nn.Module):
    """No chain: a sum of two branches."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 700), nn.Linear(4, 700)
        self.wide, self.last = nn.Linear(700, 700), nn.Linear(700, 3)

    def forward(self, x):
        """Logits."""
        return self.last(self.wide(self.first(x).tanh() + self.second(x)).relu())


class Split(nn.Module):
    """Two sequences, with something between them."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 3, 3), nn.ReLU())
        self.features += nn.Sequential(nn.MaxPool2d(2), nn.Flatten())
        linear = nn.Linear(27, 12), nn.Tanh(), nn.Linear(12, 9)
        self.classifier = nn.Sequential(*linear, nn.Dropout(), nn.Linear(9, 3))

    def forward(self, x):
        """Logits."""
        return self.classifier(self.features(x) - 1)


@pytest.mark.parametrize(
    ("module", "width", "least"), [(Net, 4, "LEAST_PRODUCTS"), (Split, 64, "LEAST_IN_CHAIN")]
)
def test_a_module_that_is_brought_takes_them_in_threads_and_loop(module, width, least, monkeypatch):
    """With the same bytes for any number of threads."""
    inputs = torch.rand(60, width)
    data = inputs, torch.randint(3, (60,), generator=torch.Generator().manual_seed(0))

    def states(*ways):
        runs = [quick(module, data, batch_size=8, **way) for way in ways]
        return [dict(run.consensus.named_parameters()) for run in runs]

    monkeypatch.setattr("ngo.engine.operations.LEAST_IN_CHAIN", 0)
    ways = {"backend": "loop"}, {"backend": "threads"}, {}, {"threads": 2}
    first, *others = states(*ways)
    monkeypatch.setattr(f"ngo.engine.operations.{least}", 2**40)
    (plain,) = states(ways[0])
    for other in others:
        assert all(torch.equal(x, other[name]) for name, x in first.items())
    assert not all(torch.equal(x, plain[name]) for name, x in first.items())
    assert all(torch.allclose(x, plain[name], atol=1e-4) for name, x in first.items())

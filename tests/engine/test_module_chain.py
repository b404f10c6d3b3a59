"""Chains against autograd in float64, and what is no chain."""

import random
from dataclasses import replace
from threading import Lock

import pytest
import torch
from conftest import apart, batch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from ngo.common.registries import MODELS, TASKS
from ngo.common.seeding import torch_stream
from ngo.engine.backends import Stacked
from ngo.engine.module_chain import KINDS, find_chain
from ngo.engine.population import Population
from ngo.engine.straight_forward import calls_of
from ngo.models.layers import VAE, ConvPoolReLU2d, Dropout, RandomLayer
from ngo.models.model import Model
from ngo.native import build, layer_chain

pytestmark = pytest.mark.skipif(build.march() == "none", reason="NGO_MARCH=none")

CHAINS = ("linear", "toy_net", "mnist_fc", "mnist_cnn", "cifar10_cnn", "cifar100_cnn", "mnist_vae")
IMAGES = {
    "other padding": lambda g: nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"), nn.Flatten()
    ),
    "strides": lambda g: nn.Sequential(ConvPoolReLU2d(1, 2, 3, stride=2), nn.Flatten()),
    "padded pooling": lambda g: nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.MaxPool2d(3, padding=1), nn.Flatten()
    ),
    "a mean of rows": lambda g: nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.AdaptiveAvgPool2d((1, 7)), nn.Flatten()
    ),
    "a falling activation": lambda g: nn.Sequential(
        nn.Flatten(), nn.Linear(81, 3), nn.LeakyReLU(-0.1)
    ),
    "other limits": lambda g: nn.Sequential(nn.Flatten(), nn.Linear(81, 3), nn.Hardtanh(-1, 2)),
    "a steeper softplus": lambda g: nn.Sequential(nn.Flatten(), nn.Linear(81, 3), nn.Softplus(2)),
    "images as outputs": lambda g: ConvPoolReLU2d(1, 2, 3),
    "linear layers of columns": lambda g: nn.Sequential(nn.Linear(9, 3), nn.Flatten()),
}


EXACT = [nn.ReLU(), nn.LeakyReLU(0.25), nn.ReLU6(), nn.Hardtanh(), nn.Hardtanh(-2, 2)]
SMOOTH = [
    *(nn.Tanh(), nn.Sigmoid(), nn.ELU(), nn.ELU(0.5), nn.CELU(0.7), nn.SELU(), nn.Softplus()),
    *(nn.Hardsigmoid(), nn.Hardswish(), nn.Mish(), nn.SiLU(), nn.GELU(), nn.GELU("tanh")),
]
POOLS = [(nn.MaxPool2d(3), 3, 3), (nn.MaxPool2d([3, 3], 2), 3, 2), (nn.AvgPool2d(2), 2, 2)]


def random_model(seed):
    """A model of random layers of random sizes."""
    rng = random.Random(seed)
    images = rng.random() < 0.6
    sizes = [rng.choice([(1, 3), (16, 16)]), (6, 13), (6, 13)] if images else [(1, 40)]
    shape = tuple(rng.randint(*size) for size in sizes)
    task, exact = rng.choice(["classification", "regression"]), rng.random() < 0.5
    state = rng.getstate()

    def build(generator):
        rng.setstate(state)
        layers, size = [], shape
        while len(size) == 3 and min(size[1:]) > 3 and rng.random() < 0.8:
            out, k = (
                rng.choice([rng.randint(1, 9), 16]),
                rng.choice([k for k in (3, 5) if min(size[1:]) > k]),
            )
            p, pool, kind = rng.choice([0, 0, 1, 2]), 2, rng.randrange(5)
            squash = rng.choice(EXACT if exact else SMOOTH)
            if kind == 0:
                layers.append(ConvPoolReLU2d(size[0], out, k, padding=p))
            elif kind == 1:  # without pooling; any kernel
                pool, k = 1, rng.choice([1, 2, k])
                layers += [nn.Conv2d(size[0], out, k, padding=p, bias=rng.random() < 0.5)]
                layers += [rng.choice([squash, nn.ReLU()])] * (rng.random() < 0.8)
            else:
                after = [nn.MaxPool2d(2), nn.ReLU() if kind == 2 else squash]
                after = after[:1] if rng.random() < 0.3 else after[:: rng.choice([1, -1])]
                layers += [nn.Conv2d(size[0], out, k, padding=p), *after]
            size = (out, *((side + 2 * p - k + 1) // pool for side in size[1:]))
            if rng.random() < 0.3 and torch.Size(size).numel() > out:
                groups = rng.choice([g for g in range(1, 10) if out % g == 0])
                layers.append(nn.GroupNorm(groups, out, eps=0.1))
            elif rng.random() < 0.3:
                layers.append(nn.BatchNorm2d(out, eps=0.1))
            if rng.random() < 0.4 and min(size[1:]) >= 3:
                layer, k, step = rng.choice(POOLS)
                layers.append(layer)
                size = (out, *((side - k) // step + 1 for side in size[1:]))
                layers += [rng.choice(EXACT if exact else SMOOTH)] * (rng.random() < 0.5)
            if rng.random() < 0.3:
                layers.append(Dropout(generator, channels=rng.random() < 0.7))
        if len(size) == 3 and size[1] == size[2] and rng.random() < 0.5:
            layers.append(nn.AdaptiveAvgPool2d(1))
            size = (size[0], 1, 1)
        if len(size) == 3:
            layers.append(nn.Flatten())
        features = torch.Size(size).numel()
        for _ in range(rng.randint(1, 3)):
            out = rng.randint(2, 40)
            layers.append(nn.Linear(features, out, bias=rng.random() < 0.8))
            features = out
            norms = nn.LayerNorm(out), nn.GroupNorm(1, out), nn.BatchNorm1d(out, eps=0.1)
            layers += [rng.choice(norms)] * (rng.random() < 0.3)
            layers += [nn.Softmax(1)] * (not exact and rng.random() < 0.2)
            layers += [rng.choice(EXACT if exact else SMOOTH)] * (rng.random() < 0.5)
            layers += [Dropout(generator, 0.75)] * (rng.random() < 0.3)
        layers.append(nn.Linear(features, rng.randint(2, 12)))
        return nn.Sequential(*layers, *[nn.LogSoftmax(1)] * (task == "classification"))

    return Model(build, shape, task)


def in_float64(population, model, i, inputs, targets):
    """The loss and the gradient of worker i's module in float64, with the same random numbers."""
    drawn = []
    generator = torch_stream(0, "dropout", i)

    def record(generator, sample):
        drawn.append(sample(generator))
        return drawn[-1]

    single, double = model.build(generator), model.build(generator)
    for module, source in ((single, record), (double, lambda *_: drawn.pop(0).double())):
        module.load_state_dict(population.modules[i].state_dict())
        for layer in module.modules():
            if isinstance(layer, RandomLayer):
                layer.source = source
    with torch.no_grad():
        single(inputs)
    loss = TASKS[model.task].loss(double.double()(inputs.double()), targets).mean()
    loss.backward()
    return loss.detach(), [parameter.grad for parameter in double.parameters()]


def check(population, model, given):
    losses = population.gradients(given)
    for i, module in enumerate(population.modules):
        loss, exact = in_float64(population, model, i, given.inputs[i], given.targets[i])
        assert losses[i].double() == pytest.approx(loss.item(), rel=1e-5, abs=1e-6)
        found = torch.cat([parameter.grad.flatten() for parameter in module.parameters()])
        exact = torch.cat([each.flatten() for each in exact])
        assert (found - exact).norm() <= 1e-5 * exact.norm() + 5e-6  # of 1 − p, where p is nearly 1


@pytest.mark.parametrize("part", range(4))
def test_gradients_of_random_chains_are_those_of_float64(part):
    """On whole numbers and halves, so that ties of ReLU and pooling are exact and frequent.

    After tanh and the like, and the mean of 9 numbers, no tie is exact: those chains have random
    numbers.
    """
    for seed in range(part, 200, 4):
        model, generator = random_model(seed), torch_stream(seed, "test")
        population = Population(model, 2, seed=0, backend="compiled", threads=1)
        normed = population.chain.of_batches
        b, X = seed % 37 + 1 + 8 * normed, population.X
        inexact = *map(type, SMOOTH), nn.Softmax, nn.AdaptiveAvgPool2d, nn.GroupNorm, nn.LayerNorm
        kinds = [isinstance(layer, inexact) for layer in population.modules[0].modules()]
        smooth = normed or any(kinds)

        def drawn(*shape, generator=generator, smooth=smooth):
            if smooth:
                return torch.randn(shape, generator=generator)
            return torch.randint(-2, 3, shape, generator=generator).float()

        X.copy_(drawn(*X.shape) / 4)
        (*_, last) = (x for x in population.modules[0].modules() if isinstance(x, nn.Linear))
        outputs = last.out_features
        for i, stream in enumerate(population.generators):
            stream.set_state(torch_stream(0, "dropout", i).get_state())
        inputs = drawn(2, b, *model.input_shape)
        targets = {
            "classification": torch.randint(outputs, (2, b), generator=generator),
            "regression": torch.randint(-2, 3, (2, b, outputs), generator=generator).float(),
        }[model.task]
        check(population, model, Stacked(inputs, targets))


@pytest.mark.parametrize("name", CHAINS)
def test_the_papers_networks_are_chains_in_training_and_evaluation(name):
    """Of the models, these, and not ResNet-18 and the VAE with batch normalization."""
    check(apart(name, 2, "compiled"), MODELS[name], batch(name, 2, b=9))
    # VAEs have the same noise in both.
    ours, theirs = apart(name, 3, "compiled", threads=2), apart(name, 3, "loop")
    chunks = [batch(name, 1, b=b, seed=b) for b in (40, 40, 13)]
    given = [chunk.inputs[0] for chunk in chunks], [chunk.targets[0] for chunk in chunks]
    found, expected = ours.evaluate(*given), theirs.evaluate(*given)
    assert ours.chain is not None
    for name in ("loss", "accuracy"):
        for key in (f"consensus_{name}", f"worker_{'losses' if name == 'loss' else 'accuracies'}"):
            wanted = pytest.approx(getattr(expected, key), rel=1e-5, nan_ok=True)
            assert getattr(found, key) == wanted
    assert ours.evaluate(*given, workers=()).worker_losses == []


def normed(generator):
    """Batch normalization of images and of features."""
    images = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4, momentum=0.3), nn.ReLU(), nn.Flatten()
    return nn.Sequential(*images, nn.Linear(36, 7), nn.BatchNorm1d(7), nn.Linear(7, 3))


def test_batch_normalization_keeps_its_running_numbers_and_is_torchs_in_evaluation():
    """Also where only some workers take a step."""
    model, stream = Model(normed, (1, 5, 5), "classification"), torch_stream(0, "test")
    ours, theirs = (Population(model, 3, seed=0, backend=name) for name in ("compiled", "loop"))
    for workers in None, [0, 2], None:
        k = 3 if workers is None else 2
        inputs = torch.randn(k, 8, 1, 5, 5, generator=stream) + 1
        given = Stacked(inputs, torch.randint(3, (k, 8), generator=stream), workers)
        for training in True, False:
            for population in ours, theirs:
                for module in population.modules:
                    module.train(training)
            losses, expected = ours.gradients(given), theirs.gradients(given)
            assert torch.allclose(losses, expected, atol=1e-5)
            rows = slice(None) if workers is None else workers
            assert torch.allclose(ours.G[rows], theirs.G[rows], atol=1e-5)
            assert torch.allclose(ours.buffers, theirs.buffers, atol=1e-5)
    assert not (ours.buffers[0] == ours.buffers[1]).all()
    assert ours.counts.tolist() == theirs.counts.tolist() == [[3, 3], [2, 2], [3, 3]]
    samples = [inputs[0]], [given.targets[0]]
    found, expected = ours.evaluate(*samples), theirs.evaluate(*samples)
    assert found.worker_losses == pytest.approx(expected.worker_losses, rel=1e-5)
    ours.modules[0].train()
    with pytest.raises(ValueError, match="more than one value"):
        ours.gradients(Stacked(inputs[:, :1].clone(), given.targets[:, :1].clone()))


def changed(change):
    """A function that makes a chain and changes it."""

    def make(generator):
        module = nn.Sequential(nn.Linear(6, 6), nn.ReLU())
        change(module)
        return module

    return make


class Own(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def shared(layer):
    return nn.Sequential(layer, nn.ReLU(), layer)


def tied(first, second):
    second.weight = first.weight
    return nn.Sequential(first, nn.ReLU(), second)


class Straight(nn.Module):
    """The layers of a CNN."""

    def __init__(self, generator):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 4, 3)
        self.pool, self.drop = nn.MaxPool2d(2, 2), Dropout(generator)
        self.hidden = nn.ModuleList([nn.Linear(4, 5), nn.Linear(5, 6)])
        self.kept, self.width, self.more = 1.0, 4, None


class Functions(Straight):
    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = F.max_pool2d(torch.nn.functional.relu(self.conv2(x), inplace=True), 2)
        x = self.drop(torch.flatten(x, 1))
        for i, layer in enumerate(self.hidden):
            x = layer(x) if i == len(self.hidden) - 1 else torch.tanh(layer(x))
        return F.log_softmax(x, dim=1)


class Views(Straight):
    def forward(self, x):
        b = x.size(0)
        x = F.relu(F.max_pool2d(self.conv1(x.reshape(-1, 1, 9, 9)), kernel_size=2))
        x = self.drop(F.max_pool2d(self.conv2(x), (2, 2)).relu().view(x.shape[0], -1))
        x = x if self.more is None else self.more(x)
        return self.hidden[1](self.hidden[0](x.view(b, self.width)).sigmoid()).view(-1, 6)


class Shapes(Straight):
    def forward(self, x):
        if x.dim() == 4:
            x = x[:, 0] if x.size(1) == 2 else torch.squeeze(x, 1)
        x = self.pool(F.relu(self.conv1(x.unsqueeze(1))))
        x = F.max_pool2d(self.conv2(x), x.shape[-1] // 2).contiguous()
        x = x.view(-1, x.shape[1] * x.shape[-2] * x.shape[-1])
        return self.hidden[1](torch.relu(self.hidden[0](x)).view(-1, self.features(x) + 1))

    def features(self, x):
        count = 1
        for side in x.size()[1:]:
            count *= side
        return count


class Inner(Straight):
    def forward(self, x):
        x = F.relu(self.conv2(F.relu(F.max_pool2d(self.conv1(x), 2))))
        return self.hidden[1](F.relu(self.hidden[0](F.max_pool2d(x, 2).flatten(1))))


class Outer(nn.Module):
    def __init__(self, generator):
        super().__init__()
        self.body, self.head = Inner(generator), nn.Sequential(nn.ReLU(), nn.Linear(6, 3))

    def forward(self, x):
        return self.head(self.body(x))


class Nothings(Inner):
    """With layers that do nothing."""

    def __init__(self, generator):
        super().__init__(generator)
        self.conv2 = nn.Sequential(nn.Dropout2d(0), self.conv2, nn.Identity())


class Named(Inner):
    """With functions of torch as attributes, and other activations."""

    def __init__(self, generator):
        super().__init__(generator)
        self.act, self.pooled = F.gelu, F.avg_pool2d

    def forward(self, x):
        x = self.act(
            self.conv2(F.leaky_relu(self.pooled(self.conv1(x), 2), 0.2)), approximate="tanh"
        )
        x = F.adaptive_avg_pool2d(F.elu(F.relu6(x)), 1).flatten(1)
        return self.hidden[1](F.softmax(F.silu(self.hidden[0](x)), dim=1))


@pytest.mark.parametrize("kind", [Functions, Views, Shapes, Outer, Nothings, Named])
def test_forward_passes_of_layers_in_a_row_are_chains(kind):
    model = Model(kind, (1, 9, 9), "classification")
    population = Population(model, 2, seed=0, backend="compiled", threads=1)
    inputs = torch.randn(2, 7, 1, 9, 9, generator=torch_stream(0, "test"))
    check(population, model, Stacked(inputs, torch.arange(14).reshape(2, 7) % 3))


def other_forward(forward):
    """A function that makes a module with this forward pass."""

    def make(generator):
        module = type("Other", (Straight,), {"forward": forward})(generator)
        module.ours = relu
        return module

    return make


def relu(x):
    return F.relu(x) if random.random() < 0.5 else x


def kept(self, x):
    self.kept = 0.9 * self.kept
    return self.conv1(x).flatten(1)


def by_value(self, x):
    return self.ours(self.conv1(x)).flatten(1)


def overlapping(self, x):
    """Both layers have the same input."""
    self.conv1(x)
    return self.pool(x).flatten(1)


def going_on(self, x):
    try:
        x = 2 * x
    except:  # noqa: E722
        x = self.conv1(x)
    return x.flatten(1)


activation = F.relu  # which other code may change


#: Of forward passes that are not the same at each call, or not of layers in a row.
FORWARDS = {
    "training": lambda self, x: self.conv1(x if self.training else 2 * x).flatten(1),
    "what it keeps": kept,
    "a function of its own": by_value,
    "other functions": lambda self, x: relu(self.conv1(x)).flatten(1),
    "dropout from a global stream": lambda self, x: F.dropout(self.conv1(x)).flatten(1),
    "a residual": lambda self, x: (x + self.conv1(x)).flatten(1),
    "an output that is not used": overlapping,
    "the number of samples": lambda self, x: self.conv1(x if len(x) < 9 else 2 * x).flatten(1),
    "arithmetic with the samples": lambda self, x: self.conv1(
        x if x.shape[0] // 9 == 0 else 2 * x
    ).flatten(1),
    "a failure that goes on": going_on,
    "options in another order": lambda self, x: torch.max_pool2d(
        self.conv1(x), 2, 2, 0, 1, True
    ).flatten(1),
    "a function with another name": lambda self, x: activation(self.conv1(x)).flatten(1),
    "the first side": lambda self, x: self.conv1(x if x.shape[0] < 9 else 2 * x).flatten(1),
    "a view of other samples": lambda self, x: self.conv1(x).flatten(0, 1).flatten(1),
    "several inputs": lambda self, x, scale=1: self.conv1(x).flatten(1),
    "a comprehension": lambda self, x: torch.cat([self.conv1(y) for y in [x]]).flatten(1),
    "a view over samples": lambda self, x: self.conv1(x).view(3, -1),
    "a flat batch": lambda self, x: self.conv1(x).flatten(),
    "outputs that are two": lambda self, x: (self.conv1(x), x),
}


def test_auto_leaves_wide_convolutions_without_pooling_to_torch(monkeypatch):
    def made(generator):
        return nn.Sequential(nn.Conv2d(60, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))

    model = Model(made, (60, 4, 4), "classification")
    population = Population(model, 2, seed=0)
    assert (population.backend, population.chain) == ("threads", None)
    assert population.reason.startswith("auto: torch's convolutions without pooling are faster")
    assert Population(model, 2, seed=0, backend="compiled").chain is not None
    monkeypatch.setattr(layer_chain, "MOST_OF_WINDOW", 9 * 60)
    assert Population(model, 2, seed=0).chain is not None


class Single(nn.Module):
    """One number for each sample."""

    def __init__(self, generator):
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 1)

    def forward(self, x):
        return self.last(self.first(x).tanh()).squeeze(-1)


def test_one_output_may_have_no_dimension():
    model = Model(Single, (6,), "regression")
    population = Population(model, 2, seed=0, backend="compiled", threads=1)
    inputs = torch.randn(2, 7, 6, generator=torch_stream(0, "test"))
    check(population, model, Stacked(inputs, inputs.sum(2)))


class Scaled(nn.Module):
    """A number of its part may be another at each call."""

    def __init__(self):
        super().__init__()
        self.part = Views(torch.Generator())

    def forward(self, x):
        self.part.kept = 2.0
        return self.part(x) + 1


def test_numbers_belong_to_the_forward_pass_of_a_whole_model_alone():
    assert list(calls_of(Views(torch.Generator()), (1, 9, 9), KINDS)) == [""]
    assert not calls_of(Scaled(), (1, 9, 9), KINDS)


@pytest.mark.parametrize("name", FORWARDS)
def test_other_forward_passes_are_no_chains(name):
    model = Model(other_forward(FORWARDS[name]), (1, 9, 9), "classification")
    assert Population(model, 2, seed=0).chain is None
    assert not calls_of(model.build(torch.Generator()), (1, 9, 9), KINDS)


class Holder(nn.Module):
    """Its layers are called by others, and its method has the name of a function."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 6)

    def relu(self, x):
        return relu(x)


class Halved(nn.ModuleList):
    def __iter__(self):
        return iter(list(self._modules.values())[: 2 if self.training else 1])


class Deciding(nn.Module):
    """Its forward pass reads as layers in a row; what it calls is decided elsewhere."""

    def __init__(self, generator):
        super().__init__()
        self.holder, self.last = Holder(), nn.Tanh()

    def forward(self, x):
        return self.last(self.holder.head(x))


class ByMethod(Deciding):
    def head(self, x):
        return self.holder.head(x) if self.training else x

    def forward(self, x):
        return self.last(self.head(x))


class ByMethodOfLayer(Deciding):
    def forward(self, x):
        return self.holder.relu(self.holder.head(x))


class ByList(Deciding):
    def __init__(self, generator):
        super().__init__(generator)
        self.layers = Halved([self.holder.head, self.last])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class ByTrain(Deciding):
    def train(self, mode=True):
        return super().train()


class ByAttribute(Deciding):
    def __getattribute__(self, name):
        return super().__getattribute__(name)


class ByHook(Deciding):
    def __init__(self, generator):
        super().__init__(generator)
        self.last.register_forward_hook(lambda *_: None)


class ByOwnForward(Deciding):
    def __init__(self, generator):
        super().__init__(generator)
        self.forward = torch.tanh


class ByDefault(Deciding):
    def head(self, x, before=[]):  # noqa: B006
        before += [x.dim()]
        return self.last(x) if before[9:] else x

    def forward(self, x):
        return self.holder.head(self.head(x))


class ByPlace(Deciding):
    def __init__(self, generator):
        super().__init__(generator)
        self.layers = nn.ModuleList([nn.Linear(6, 6), nn.Tanh()])

    def forward(self, x):
        layers = self.layers
        layers[0], layers[1] = layers[1], layers[0]
        return layers[1](layers[0](x))


class ByOperator(Deciding):
    def __matmul__(self, x):
        return self.holder.head(x) if random.random() < 2 else x

    def forward(self, x):
        return self.last(self @ x)


class Acting(nn.Module):
    """Its function is as constant as what it is given."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class BySibling(Deciding):
    def __init__(self, generator):
        super().__init__(generator)
        self.acts = nn.Sequential(
            Acting(F.relu), Acting(lambda x: x if random.random() > 2 else x.tanh())
        )

    def forward(self, x):
        return self.acts(self.holder.head(x))


class BySubclass(Deciding):
    """Its subclasses must have a key."""

    def __init_subclass__(cls, key):
        super().__init_subclass__()


@pytest.mark.parametrize("kind", Deciding.__subclasses__())
def test_modules_that_decide_elsewhere_what_they_call_are_no_chains(kind):
    assert Population(Model(Deciding, (6,), "classification"), 2, seed=0).chain is not None
    assert Population(Model(kind, (6,), "classification"), 2, seed=0).chain is None
    assert "" not in calls_of(kind(torch.Generator()), (6,), KINDS)


class Keeps(nn.Module):
    def __init__(self, kept):
        super().__init__()
        self.last, self.kept = nn.Linear(6, 6), kept

    def forward(self, x):
        return F.relu(self.last(x))


class Unhashable:
    __hash__ = None

    def __call__(self):
        return None


def test_modules_that_keep_what_cant_be_copied_or_hashed_have_no_rows():
    assert calls_of(Keeps([1.5]), (6,), KINDS)
    assert not calls_of(Keeps(Lock()), (6,), KINDS)
    assert not calls_of(Keeps(Unhashable()), (6,), KINDS)


OTHERS = {
    "hooks": changed(lambda m: m[0].register_forward_hook(lambda *_: None)),
    "frozen parameters": changed(lambda m: m[0].bias.requires_grad_(False)),
    "hooks of parameters": changed(lambda m: m[0].weight.register_hook(lambda g: 2 * g)),
    "another forward": changed(lambda m: setattr(m[1], "forward", torch.tanh)),
    "subclasses": lambda g: Own(6, 6),
    "layers used twice": lambda g: shared(nn.Linear(6, 6)),
    "shared parameters": lambda g: tied(nn.Linear(6, 6), nn.Linear(6, 6)),
    "parametrizations": lambda g: weight_norm(nn.Linear(6, 6)),
    "unknown layers": lambda g: nn.Sequential(nn.Linear(6, 6), nn.Softsign()),
    "all batches' statistics": lambda g: nn.Sequential(
        nn.Linear(6, 6), nn.BatchNorm1d(6, momentum=None)
    ),
    "a batch's statistics": lambda g: nn.Sequential(
        nn.Linear(6, 6), nn.BatchNorm1d(6, track_running_stats=False)
    ),
    "a count of its own": changed(lambda m: m.register_buffer("count", torch.tensor(7))),
    "another stream": lambda g: nn.Sequential(nn.Linear(6, 6), Dropout(torch.Generator())),
    "layers after a softmax": lambda g: nn.Sequential(nn.LogSoftmax(1), nn.Linear(6, 6)),
    "softmax over the batch": lambda g: nn.Sequential(nn.Linear(6, 6), nn.LogSoftmax(0)),
    "dropout from a global stream": lambda g: nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5)),
    "no parameters": lambda g: nn.Flatten(),
    "an inner autoencoder": lambda g: nn.Sequential(VAE(nn.Linear(6, 4), nn.Linear(2, 6), 2, g)),
}


@pytest.mark.parametrize("name", [*OTHERS, *IMAGES])
def test_other_modules_are_no_chains(name):
    build = OTHERS.get(name) or IMAGES[name]
    model = Model(build, (6,) if name in OTHERS else (1, 9, 9), "classification")
    assert Population(model, 2, seed=0).chain is None


def test_other_tasks_types_and_precisions_are_no_chains():
    model = MODELS["mnist_fc"]
    population = Population(model, 2, seed=0)
    assert population.chain is not None
    task = TASKS["classification"]
    for changed in (
        replace(task, loss=lambda outputs, targets: outputs.sum(1)),
        replace(task, score=lambda outputs, targets: targets == 0),
        TASKS["vae"],
    ):
        assert Population(model, 2, seed=0, task=changed).chain is None
    for how in ({"precision": "bfloat16"}, {"backend": "loop"}):
        assert Population(model, 2, seed=0, **how).chain is None
    for name in ("resnet18", "cifar10_vae"):
        assert Population(name, 1, seed=0).chain is None
    population.modules[1][1].register_forward_hook(lambda *_: None)
    assert find_chain(population) is None

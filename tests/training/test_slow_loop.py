"""``fit`` on modules of all kinds equals a slow loop over them, with the matrix W."""

from copy import deepcopy

import pytest
import torch
from cases import cases
from own_modules import line
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

import ngo
from ngo.common.seeding import torch_stream

N, B, LR, STEPS = 16, 4, 0.1, 3
W = torch.eye(N).roll(1, 0) / 4 + torch.eye(N).roll(-1, 0) / 4 + torch.eye(N) / 2


def data(*shape, tokens=0):
    """The samples of each worker, and test samples."""
    generator = torch_stream(0, "slow loop")
    X = torch.randn((N + 1) * B, *shape, generator=generator)
    X = torch.randint(0, tokens, X.shape, generator=generator) if tokens else X
    y = torch.randint(0, 3, (len(X),), generator=generator)
    *train, test = zip(X.split(B), y.split(B), strict=True)
    return train, test


def seeded(make):
    torch.manual_seed(0)
    return make()


def slow(make, train):
    """The modules of all workers after steps of D-PSGD with full batches."""
    modules = [seeded(make).train() for _ in train]
    trained = [[x for x in each.parameters() if x.requires_grad] for each in modules]
    for _ in range(STEPS):
        for each, (X, y) in zip(modules, train, strict=True):
            each.zero_grad()
            F.cross_entropy(each(X), y).backward()
        with torch.no_grad():
            for same in zip(*trained, strict=True):
                rows = torch.stack([(x - LR * x.grad.to_dense()).flatten() for x in same])
                for x, row in zip(same, W @ rows, strict=True):
                    x.copy_(row.view_as(x))
    return modules


class Teacher(nn.Module):
    """Its second layer is frozen, and follows the first one."""

    def __init__(self):
        super().__init__()
        self.student, self.head = nn.Linear(6, 5), nn.Linear(5, 3)
        self.teacher = deepcopy(self.student).requires_grad_(False)

    def forward(self, x):
        if self.training:
            pairs = zip(self.student.parameters(), self.teacher.parameters(), strict=True)
            for one, other in pairs:
                other.data.mul_(0.5).add_(one.data, alpha=0.5)
        return self.head(torch.tanh(self.student(x) - 2 * self.teacher(x)))


class Standardized(nn.Module):
    """A parameter with four dimensions that is viewed as a matrix."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 2, 2, 2))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        weight = F.normalize(self.weight.view(4, -1)).view(4, 2, 2, 2)
        return self.head(torch.tanh(F.conv2d(x, weight)).flatten(1))


class Tied(nn.Module):
    """Two layers with one weight, of which one is there twice."""

    def __init__(self):
        super().__init__()
        self.one, self.other, self.head = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
        self.other.weight, self.again = self.one.weight, self.other

    def forward(self, x):
        for layer in (self.one, self.other, self.again):
            x = torch.tanh(layer(x))
        return self.head(x)


def shared():
    norm = nn.BatchNorm1d(6)
    return nn.Sequential(nn.Linear(6, 6), norm, nn.Tanh(), nn.Linear(6, 6), norm, nn.Linear(6, 3))


class Viewed(nn.Module):
    """Its views change the number of rows, and that of dimensions."""

    def __init__(self):
        super().__init__()
        self.one, self.head = nn.Linear(3, 2), nn.Linear(4, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.one(x.view(-1, 3))).view(-1).reshape(-1, 4))


class Scalars(nn.Linear):
    def __init__(self):
        super().__init__(1, 3)

    def forward(self, x):
        return super().forward(x.view(x.size(0), -1))


class Undropped(nn.Module):
    """It looks for layers of dropout, and sets their probability."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.head = nn.Dropout(), nn.Dropout2d(), nn.Linear(6, 3)

    def forward(self, x):
        for kind in (nn.Dropout, nn.Dropout2d):
            (layer,) = (each for each in self.modules() if isinstance(each, kind))
            assert type(layer).__name__.startswith(kind.__name__)
            layer.p = float(kind is nn.Dropout2d)
        x = torch.tanh(self.one(x))
        return self.head(x + self.two(x[:, :, None, None]).flatten(1))


class Aliased(nn.Linear):
    """It takes its weight from a list, which vmap leaves as it is."""

    def __init__(self):
        super().__init__(6, 3)
        self.weights = [self.weight]

    def forward(self, x):
        return F.linear(x, self.weights[0], self.bias)


def pruned():
    """Its weight is computed by a hook."""
    return nn.Sequential(prune.l1_unstructured(nn.Linear(6, 6), "weight", 0.5), nn.Linear(6, 3))


def embedding(**how):
    return nn.Sequential(nn.EmbeddingBag(7, 4, **how), nn.Linear(4, 3))


@cases(
    "make, shape, tokens, backends",
    (shared, (6,), 0, ("auto", "threads", "vmap")),
    (Tied, (6,), 0, ("auto", "loop", "vmap")),
    (Teacher, (6,), 0, ("auto", "threads", "vmap")),
    (Standardized, (2, 2, 2), 0, ("auto", "vmap")),
    (lambda: embedding(sparse=True), (5,), 7, ("auto", "loop")),
    (Scalars, (), 0, ("auto", "threads", "vmap")),
    (Viewed, (6,), 0, ("auto", "threads", "vmap")),
    (Undropped, (6,), 0, ("auto", "threads", "vmap")),
    (Aliased, (6,), 0, ("auto", "threads")),
    (pruned, (6,), 0, ("auto", "threads", "vmap")),
)
def test_modules_equal_those_of_a_slow_loop(make, shape, tokens, backends):
    module, (train, test) = seeded(make), data(*shape, tokens=tokens)
    expected = slow(make, train)
    for backend in backends:
        how = {"method": "dsgd", "topology": W.double(), "backend": backend, "threads": 2}
        how |= {"lr": LR, "batch_size": B, "epochs": STEPS, "progress": False}
        run = ngo.fit(module, train, test, **how)
        for one, other in zip(run.models, expected, strict=True):
            state = other.state_dict()
            for name, tensor in one.state_dict().items():
                assert torch.allclose(tensor, state[name], atol=1e-5), (backend, name)


class Kept(nn.Linear):
    """It counts its batches in ``calls``."""

    def __init__(self, calls):
        super().__init__(6, 3)
        self.calls = calls
        if isinstance(calls, torch.Tensor):
            del self.calls
            self.register_buffer("calls", calls)

    def forward(self, x):
        if self.training:
            self.calls += 1
        return super().forward(x) / (1 + abs(self.calls))


def test_what_a_module_keeps_elsewhere_than_in_buffers_is_refused():
    """The mean model had it from the start, and vmap had one for all workers."""
    train, test = data(6)
    for calls in (0, torch.tensor(0, dtype=torch.int32), torch.zeros(1, dtype=torch.complex64)):
        with line("module: its outputs depend on what it keeps from call to call elsewhere"):
            fit(Kept(calls), train, test)
    run = fit(Kept(torch.tensor(0)), train, test)
    assert {int(model.calls) for model in (*run.models, run.consensus)} == {2}


def fit(module, train, test, **how):
    how |= {"batch_size": B, "epochs": 2, "progress": False}
    return ngo.fit(module, train, test, workers=N, **how)


class Assigned(nn.Linear):
    def forward(self, x):
        self.weight.data = self.weight.data.clamp(-0.1, 0.1)
        return super().forward(x)


class Listed(nn.Linear):
    def __init__(self):
        super().__init__(6, 3)
        self.layers = [nn.Linear(6, 6)]

    def forward(self, x):
        return super().forward(self.layers[0](x))


class Once(nn.Linear):
    def __init__(self):
        super().__init__(6, 3)
        self.double = self.weight * 2

    def forward(self, x):
        return F.linear(x, self.double)


class Learned(nn.CrossEntropyLoss):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, outputs, targets):
        return super().forward(outputs * self.scale, targets)


class Always(nn.BatchNorm1d):
    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, training=True)


def hooked():
    module = nn.Linear(6, 3)
    module.weight.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
    return module


@cases(
    "make, how, part",
    (lambda: Assigned(6, 3), {}, "its tensor 'weight' is replaced in a forward pass"),
    (Listed, {}, "depends on a parameter [6"),
    (Once, {}, "depends on a parameter [3, 6] that it does not have"),
    (
        lambda: nn.Linear(6, 3),
        {"loss": Learned()},
        "depends on a parameter [] that it does not have",
    ),
    (
        lambda: nn.Sequential(Always(6), nn.Linear(6, 3)),
        {},
        "'0.running_mean' changes in evaluation",
    ),
    (hooked, {}, "its parameter 'weight' has a hook, which copies lose"),
)
def test_what_workers_would_not_train_or_would_lose_is_refused(make, how, part):
    with line("module: ", part):
        fit(make(), *data(6), **how)
    with line("its tensor '0.weight' changes in evaluation"):
        fit(embedding(max_norm=0.5), *data(5, tokens=7))


@pytest.mark.usefixtures("own_entries")
def test_hooks_of_a_registered_models_parameters_are_not_left_out():
    @ngo.model("hooked", input_shape=(1, 28, 28), task="classification")
    def build(generator):
        module = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
        module[1].weight.register_hook(lambda gradient: 0 * gradient)
        return module

    from ngo.engine.backends import Stacked
    from ngo.engine.population import Population

    batch = Stacked(torch.ones(3, 2, 1, 28, 28), torch.zeros(3, 2, dtype=torch.long))
    population = Population("hooked", 3, 0, backend="loop")
    population.gradients(batch)
    assert (population.G[:, :7840] == 0).all()
    assert (population.G[:, 7840:] != 0).all()
    with line("backend: 'vmap' leaves out parameters' hooks"):
        Population("hooked", 3, 0, backend="vmap")

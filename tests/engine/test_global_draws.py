"""What modules draw from torch's global stream is each worker's, with any number of threads."""

from functools import partial

import numpy as np
import pytest
import torch
from own_modules import DATA, Checkpointed, Dropping, equal, line, metrics, quick, row
from runs import short_run
from torch import nn
from torch.nn import functional as F

import ngo
from ngo.common.registries import MODELS
from ngo.engine.backends import Stacked
from ngo.engine.global_draws import stream_of_pass
from ngo.engine.population import Population
from ngo.models.model import Model
from ngo.training.learning_problem import load_problem
from ngo.training.lockstep import together
from ngo.training.run import Training


class Noisy(nn.Module):
    """Layers of dropout, and what a function makes of their output."""

    def __init__(self, function, layer=None):
        super().__init__()
        self.first, self.last, self.function = nn.Linear(3, 8), nn.Linear(8, 4), function
        self.drop, self.layer = nn.Dropout(0.2), layer or nn.Identity()

    def forward(self, x):
        h = self.layer(self.drop(self.first(x)).unsqueeze(1))
        h = h[0] if isinstance(h, tuple) else h
        return self.last(self.function(h).flatten(1))


def with_noise(x):
    return x + torch.randn_like(x) * torch.rand(x.shape[-1]).normal_()


def one_of_four(x):
    functions = torch.randn_like, torch.rand_like, F.dropout, F.gumbel_softmax
    return x + functions[torch.randint(4, ())](x)


def by_numpy(x):
    return x * torch.from_numpy(np.random.rand(8)).float()


def with_fork(x):
    with torch.random.fork_rng(devices=[]):
        x = with_noise(x)
    return with_noise(x)


def with_derivative(x):
    return torch.func.jvp(with_noise, (x,), (torch.ones_like(x),))[1] * x


SCRIPTED = torch.jit.script(with_noise)


class Derived(nn.Linear):
    """It draws nothing."""

    def forward(self, x):
        return sum(torch.func.jvp(super().forward, (x,), (torch.ones_like(x),)))


class Attention(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x)[0]


class Dropped(Checkpointed):
    def hidden(self, x):
        return F.dropout(self.first(x).relu(), 0.2, self.training)


DRAWING = {
    "noise": lambda: Noisy(with_noise),
    "dropout that goes on": lambda: Noisy(partial(F.dropout, p=0.3)),
    "attention": lambda: Noisy(torch.tanh, Attention(8, 2, dropout=0.5)),
    "a transformer": lambda: Noisy(torch.tanh, nn.TransformerEncoderLayer(8, 2, 8, 0.5)),
    "codes": lambda: Noisy(partial(F.gumbel_softmax, hard=True)),
    "LSTM": lambda: Noisy(torch.tanh, nn.LSTM(8, 8, 2, dropout=0.5)),
    "slopes": lambda: Noisy(nn.RReLU()),
    "not all at first": lambda: Noisy(one_of_four),
    "a fork of the stream": lambda: Noisy(with_fork),
    "forward derivatives": lambda: Noisy(with_derivative),
    "forward derivatives alone": lambda: Derived(3, 4),
    "in evaluation": Dropping,
    "checkpoints": Checkpointed,
    "reentrant checkpoints": partial(Checkpointed, True),
    "checkpoints without layers of dropout": Dropped,
    "NumPy": lambda: Noisy(by_numpy),
    "TorchScript": lambda: Noisy(lambda x: SCRIPTED(x)),
}


@pytest.mark.parametrize("name", DRAWING)
def test_runs_do_not_depend_on_threads_evaluations_and_what_others_draw(name):
    torch.manual_seed(0)
    module = DRAWING[name]()
    first = quick(module)
    again = quick(module, threads=2, on_step=lambda state: torch.rand(3))
    assert equal(first, again)
    loop = quick(module, backend="loop", threads=3)
    assert all(torch.equal(row(a), row(b)) for a, b in zip(first.models, loop.models, strict=True))
    assert not equal(first, quick(module, seed=1))
    rare = metrics(quick(module, eval_every=1))
    columns = [name for name in rare if "loss" in name and name != "train_loss"]
    last = [run[columns].iloc[-1].tolist() for run in (rare, metrics(first))]
    np.testing.assert_array_equal(*last)


class Later(nn.Linear):
    """It draws from its fourth pass in training on."""

    def __init__(self, always=False):
        super().__init__(3, 4)
        self.always = always
        self.register_buffer("passes", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.passes += self.training
        if self.always:
            torch.rand(())
        return super().forward(with_noise(x) if self.passes > 3 else x)


def test_draws_that_begin_later_are_told_once_and_can_be_made_known(caplog):
    quick(Later(), epochs=2)
    (message,) = caplog.messages
    assert message.startswith("module: it draws by torch now, but did not at first")
    caplog.clear()
    module = Later(always=True)
    assert equal(*(quick(module, epochs=2, threads=threads) for threads in (1, 2)))
    assert not caplog.messages


class Direct(Checkpointed):
    def forward(self, x):
        return self.last(self.hidden(x))


@pytest.mark.parametrize("kind", [Checkpointed, partial(Checkpointed, True), Direct])
def test_gradients_are_those_of_torch_with_the_stream_of_the_pass(kind):
    """Checkpoints of activations drew other masks in the backward pass: 90 % of a gradient."""
    X, y = DATA[0][:10].reshape(2, 5, 3), DATA[1][:10].reshape(2, 5)
    model = Model(lambda generator: kind(), (3,), "classification", draws=True, functions=None)
    workers = Population(model, 2, 0, backend="loop")
    plain = Direct()
    torch.nn.utils.vector_to_parameters(workers.X[0], plain.parameters())
    streams = [torch.Generator().set_state(each.get_state()) for each in workers.generators]
    losses = workers.gradients(Stacked(X, y))
    for i, own in enumerate(streams):
        plain.zero_grad()
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(stream_of_pass(own).get_state())
            loss = F.cross_entropy(plain(X[i]), y[i])
        loss.backward()
        gradient = torch.cat([x.grad.flatten() for x in plain.parameters()])
        torch.testing.assert_close(workers.G[i], gradient, rtol=1e-5, atol=1e-6)
        assert losses[i] == pytest.approx(loss.item(), rel=1e-6)
        assert torch.equal(workers.generators[i].get_state(), own.get_state())


def test_chunks_of_an_evaluation_draw_different_numbers_and_models_equal_ones():
    model = Model(lambda generator: Noisy(with_noise), (3,), "classification", draws=True)
    workers = Population(model, 2, 0, threads=1)
    once, twice = (workers.evaluate([DATA[0]] * k, [DATA[1]] * k) for k in (1, 2))
    assert once.consensus_loss != pytest.approx(twice.consensus_loss, rel=1e-3)
    workers.X[1] += 1e-6
    assert workers.evaluate([DATA[0]], [DATA[1]]).worker_losses == pytest.approx(once.worker_losses)


@pytest.fixture
def registered():
    """Models by a plugin, until the test ends."""
    facts = {"input_shape": (1, 28, 28), "task": "classification"}

    def small(*layers):
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 8), *layers, nn.Linear(8, 10))

    builds = {
        "dropping": lambda generator: small(nn.Dropout(0.5), nn.Softsign()),
        "noisy": lambda generator: small(nn.Dropout(0.5), Calls(with_noise)),
        "by_numpy": lambda generator: small(Calls(lambda x: x * np.random.rand())),
    }
    for name, build in builds.items():
        ngo.model(name, **facts)(build)
    yield
    for name in builds:
        MODELS.pop(name)


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", ["dropping", "noisy"])
def test_runs_with_a_plugins_model_are_equal_alone_in_threads_and_in_lockstep(
    name, registered, digits
):
    """Three runs with nn.Dropout had 58, 73 and 84 % of the digits right."""
    specs = [short_run(model=name, seed=seed) for seed in range(3)]
    ends = {}

    def start(spec, signals, threads):
        training = Training(spec, load_problem(spec, None, "cpu", data=digits), threads=threads)
        torch.rand(threads)
        for _ in training.turns():
            yield training
        ends.setdefault(spec, []).append(training)

    for width, threads in ((1, 1), (1, 2), (3, 2)):
        together(
            {spec: partial(start, spec, threads=threads) for spec in specs}, width, pytest.fail
        )
    for trainings in ends.values():
        first, *others = (training.population.X for training in trainings)
        assert len(others) == 2
        assert all(torch.equal(first, other) for other in others)
    assert not torch.equal(ends[specs[0]][0].population.X, ends[specs[1]][0].population.X)


def test_a_plugins_model_that_draws_by_numpy_is_refused(registered, digits):
    spec = short_run(model="by_numpy")
    with line("model 'by_numpy': it draws from a global random stream of Python, NumPy or "):
        load_problem(spec, None, "cpu", data=digits)


def test_a_plugins_model_whose_layers_are_drawn_by_numpy_is_refused(own_entries, digits):
    """Each run had other initial parameters."""

    @ngo.model("by_hand", input_shape=(1, 28, 28), task="classification")
    def by_hand(generator):
        layer = nn.Linear(784, 10)
        layer.bias.data.fill_(np.random.rand())
        return nn.Sequential(nn.Flatten(), layer)

    with line("model 'by_hand': it draws from a global random stream of Python, NumPy or "):
        load_problem(short_run(model="by_hand"), None, "cpu", data=digits)

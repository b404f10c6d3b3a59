"""``fit``: its arguments, results and callbacks, and that it changes nothing else."""

import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from cases import cases, refused
from conftest import REPOSITORY
from own_modules import (
    DATA,
    Stochastic,
    blobs,
    equal,
    linear,
    metrics,
    prepared,
    quick,
    row,
    stop_at,
    told,
)
from runs import CONVEX, trained
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

import ngo
from ngo.common import plugins
from ngo.common.registries import METHODS, MODELS, TOPOLOGIES
from ngo.common.seeding import torch_stream
from ngo.engine.population import Population
from ngo.native.build import march
from ngo.training.fit import fit
from ngo.training.global_state import isolated
from ngo.training.spec_checks import resolve


def test_the_result_is_that_of_the_packages_own_run(least_squares):
    """Same values, data and initial parameters: the same metrics and models, bit by bit."""
    fields = {"workers": 4, "batch_size": 8, "epochs": 2.0, "eval_every": 0.5, "seed": 3}
    rows, population = trained(resolve({**CONVEX, **fields}), least_squares)
    d = least_squares
    train, test = ((d.train_inputs, d.train_targets), (d.test_inputs, d.test_targets))
    module = partial(MODELS["linear"].build, torch.Generator())
    run = fit(module, train, test, progress=False, **fields)
    assert torch.equal(population.X, torch.stack([row(model) for model in run.models]))
    for name in ("consensus_loss", "workers_loss_std", "train_loss", "V", "bytes_sent", "step"):
        expected = [getattr(each, name) for each in rows]
        assert run.metrics[name].tolist() == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


def test_metrics_hold_every_field_and_models_are_independent_modules_of_the_users_class():
    run = quick(lr=0.2, batch_size=np.int64(4), p=np.float64(0.8))
    table = run.metrics
    assert table["step"].tolist() == [0, 2, 4]
    assert set(run.spec.values()) <= set(table.columns)
    assert (table["run"] == run.spec.id).all()
    assert (run.spec.lr, run.spec.p, run.spec.model) == (0.2, 0.8, "Linear")
    assert repr(run).startswith(f"Fit({run.spec.id}: 3 workers, step 4, consensus loss ")
    assert f"(workers {table['workers_accuracy_mean'].iloc[-1]:.1%}, the worst " in repr(run)
    assert run.summary["V"].equals(table["V"])
    assert not {"lr", "run", "holdout_loss"} & {*run.summary}
    assert len(run.summary.columns) == table.notna().any()[[*run.summary]].sum() < 22
    assert run.to_latex().count(r"\\") == 1 + len(table)

    class Net(nn.Linear):
        pass

    run = quick(Net(3, 4))
    everyone = [run.consensus, *run.models]
    assert all(type(each) is Net and not each.training for each in everyone)
    assert len({each.weight.data_ptr() for each in everyone}) == 4
    before = run.models[1].weight.clone()
    run.models[0].weight.data.zero_()
    assert torch.equal(run.models[1].weight, before)
    accuracy = (run.consensus(DATA[0]).argmax(1) == DATA[1]).float().mean()
    assert float(accuracy) == pytest.approx(run.metrics["consensus_accuracy"].iloc[-1])


DRAWN = ("at the end", "disagreement", "training", "disagreement")


def test_a_run_draws_itself(tmp_path):
    axes = quick(epochs=3).plot(tmp_path / "run.png").axes
    titles = [f"({letter}) {name}" for letter, name in zip("abcd", DRAWN, strict=True)]
    assert [axis.get_title() for axis in axes] == titles
    assert (tmp_path / "run.png").stat().st_size > 10_000
    run = quick(nn.Linear(3, 1), (DATA[0], DATA[0][:, :1]), workers=1, method="centralized")
    (loss,) = run.plot().axes  # one evaluation after the start is no curve
    assert (loss.get_xlabel(), loss.get_xscale()) == ("test loss,\nmean model", "linear")
    assert "accuracy" not in repr(run)


def test_a_model_is_made_at_its_first_use_and_kept():
    made = []

    class Told(nn.Linear):
        def __deepcopy__(self, memo):
            made.append(self)
            other = Told(3, 4)
            other.load_state_dict(self.state_dict())
            return other

    run = quick(Told(3, 4))
    assert len(run.models) == 3
    before = len(made)
    last = run.models[-1]
    assert len(made) == before + 1
    last.weight.data.zero_()
    assert run.models[2] is last
    assert run.models[1:][1] is last
    assert not run.models[2].weight.any()
    assert run.models[0].weight.any()
    with pytest.raises(IndexError):
        run.models[3]
    copies = pickle.loads(pickle.dumps(quick().models))
    assert [row(copy).tolist() for copy in copies] == [row(m).tolist() for m in quick().models]


@pytest.mark.parametrize("backend", ["vmap", "compiled"])
def test_models_of_workers_whose_modules_no_backend_made_are_those_of_callbacks(backend):
    module, data = linear(), DATA
    if backend == "vmap":
        layers = nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 4)
        module, data = nn.Sequential(*layers), (DATA[0].reshape(-1, 3, 1, 1), DATA[1])
    made, states = [], []

    def count(state):
        state.consensus()
        made.append(len(state._training.population.modules.made))

    def keep(state):
        states[:] = [state.worker(i).state_dict() for i in range(16)]

    fields = {"workers": 16, "batch_size": 2, "backend": backend, "eval_workers": 2}
    models = quick(module, data, on_evaluation=count, **fields).models
    quick(module, data, on_evaluation=keep, **fields)
    assert max(made) < 16
    with torch.inference_mode():
        assert not any(parameter.is_inference() for parameter in models[0].parameters())
    for model, state in zip(models, states, strict=True):
        assert model.state_dict().keys() == state.keys()
        assert all(torch.equal(state[name], x) for name, x in model.state_dict().items())
    places = {x.untyped_storage().data_ptr() for model in models for x in model.parameters()}
    assert len(places) == 16 * len(list(module.parameters()))


class Sampling(nn.Linear):
    def forward(self, x):  # in evaluation too
        return super().forward(x + torch.randn_like(x))


def test_equal_arguments_give_equal_results_with_draws_of_each_workers_stream():
    dropping = nn.Sequential(nn.Dropout(), linear())
    for module in (linear, dropping, Stochastic(3, 4), Sampling(3, 4), ByNumPy(3, 4)):
        first = quick(module)
        torch.rand(1)
        assert equal(first, quick(module))
        assert equal(first, quick(module, threads=2, on_step=lambda state: torch.rand(3)))
        assert not equal(first, quick(module, seed=1))
    images = DATA[0].reshape(-1, 3, 1, 1), DATA[1]
    first = nn.Dropout2d(0.3), nn.Conv2d(3, 8, 1), nn.Flatten()
    module = nn.Sequential(*first, nn.Dropout(), nn.Linear(8, 4))
    runs = [quick(module, images, backend=name) for name in ("loop", "threads", "vmap")]
    assert torch.equal(*(run.models[0][1].weight for run in runs[:2]))
    assert torch.allclose(runs[0].models[2][4].weight, runs[2].models[2][4].weight, atol=1e-5)


class ByNumPy(nn.Linear):
    def forward(self, x):
        return super().forward(x) * float(np.random.rand())


class Dropping(nn.Module):
    """Its forward pass drops by a function, or by a layer."""

    def __init__(self, by_layer):
        super().__init__()
        self.first, self.last = nn.Linear(3, 3), linear()
        if by_layer:
            self.drop = nn.Dropout(0.3)

    def forward(self, x):
        return self.last(F.dropout(self.first(x).relu(), 0.3, training=self.training))


class ByLayer(Dropping):
    def forward(self, x):
        return self.last(self.drop(self.first(x).relu()))


@pytest.mark.parametrize("backend", ["auto", "loop", "vmap"])
def test_functions_of_dropout_in_training_draw_as_layers_do(backend):
    torch.manual_seed(0)
    module, other = Dropping(False), ByLayer(True)
    other.load_state_dict(module.state_dict())
    run, same = quick(module, backend=backend), quick(other, backend=backend)
    assert [*map(type, run.models)] == [Dropping] * len(run.models)
    assert run.metrics["train_loss"].equals(same.metrics["train_loss"])
    for one, two in zip(run.models, same.models, strict=True):
        assert torch.equal(row(one), row(two))
    plain = quick(nn.Sequential(module.first, nn.ReLU(), module.last), backend=backend)
    assert not run.metrics["train_loss"].equals(plain.metrics["train_loss"])


def test_fits_in_threads_are_what_they_are_alone_and_nothing_global_changes():
    def module():
        first = nn.Linear(3, 8)
        time.sleep(0.02)  # another thread would draw here
        return nn.Sequential(first, nn.AlphaDropout(0.1), nn.Linear(8, 4))

    before = torch.get_rng_state()
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda seed: quick(module, seed=seed), range(3)))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(equal(run, quick(module, seed=seed)) for seed, run in enumerate(runs))

    def settings():
        streams = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()
        return streams, torch.get_default_dtype(), torch.get_num_threads(), sys.getswitchinterval()

    before = settings()[1:]
    try:
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(2)
        sys.setswitchinterval(0.01)
        own = settings()
        quick(lambda: nn.Linear(3, 4))
        assert settings() == own
    finally:
        torch.set_default_dtype(before[0])
        torch.set_num_threads(before[1])
        sys.setswitchinterval(before[2])
    module = nn.Linear(3, 4).eval()
    values = {name: value.clone() for name, value in module.state_dict().items()}
    quick(module)
    assert not module.training
    assert module.weight.grad is None
    assert all(torch.equal(module.state_dict()[name], values[name]) for name in values)


def test_autocast_of_a_users_own_keeps_no_converted_weights():
    weight = torch.ones(2, 2, requires_grad=True)
    with isolated(0):
        for value in (1, 2):
            weight.data.fill_(value)
            with torch.autocast("cpu", torch.bfloat16):
                assert (torch.eye(2) @ weight == value).all()


def test_a_run_that_diverges_is_warned_of_in_a_line():
    with pytest.warns(RuntimeWarning) as caught:
        run = quick(nn.Linear(3, 3), (DATA[0],) * 2, lr=1e30, epochs=20)
    assert run.metrics["diverged"].iloc[-1]
    (warning,) = caught
    before, step = run.metrics["step"].iloc[-2:]
    assert str(warning.message) == (
        f"fit: the run diverged between steps {before} and {step}: a loss or a parameter is no "
        "longer finite, and it ended there; try a smaller lr or gamma (lr is 1e+30, gamma is 1)."
    )
    assert warning.filename.endswith("own_modules.py")


def test_callbacks_see_every_step_and_evaluation_as_long_as_they_run():
    steps, evaluations = [], []
    run = quick(on_step=steps.append, on_evaluation=evaluations.append)
    assert [state.step for state in steps] == [1, 2, 3, 4]
    assert [state.epoch for state in steps] == [0.25, 0.5, 0.75, 1]
    assert [state.metrics["V"] for state in evaluations] == run.metrics["V"].tolist()
    assert steps[0].metrics is None
    assert run.stopped is None
    states = []
    quick(on_step=states.append)
    refused("the run has gone on from step 1 to 4", states[0].consensus)
    with pytest.raises(ngo.UserError, match="worker: 7 is not allowed; the workers are 0 to 2"):
        quick(on_step=lambda state: state.worker(7))


@pytest.mark.parametrize("name", ["on_step", "on_evaluation"])
def test_a_callback_stops_the_run(name):
    run = quick(**{name: stop_at(2)})
    assert (run.stopped, run.metrics["step"].tolist()) == (name, [0, 2])
    assert quick(on_step=stop_at(3)).metrics["step"].tolist() == [0, 2, 3]
    for error in (ZeroDivisionError, SystemExit):
        with pytest.raises(error):
            quick(**{name: stop_at(2, error)})


X, y = DATA
ENDLESS = type("Endless", (IterableDataset,), {"__iter__": iter})()
RING = TOPOLOGIES["ring"].matrix(4).dense()


@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_regression(shape):
    class Shaped(nn.Linear):
        def forward(self, x):
            return super().forward(x).reshape(len(x), *shape)

    X = DATA[0]
    targets = X @ torch.tensor([[1.0, 0], [0, 2], [1, 1]])
    targets = targets[:, : max(1, *shape, 1)].reshape(-1, *shape)
    run = quick(Shaped(3, *shape or (1,)), (X, targets), epochs=10, lr=0.05)
    assert run.metrics["consensus_loss"].iloc[-1] < 0.1 * run.metrics["consensus_loss"].iloc[0]
    assert run.metrics["consensus_accuracy"].isna().all()
    expected = F.mse_loss(run.consensus(X), targets).item()
    assert run.metrics["consensus_loss"].iloc[-1] == pytest.approx(expected, rel=1e-5)


def test_losses_as_means_or_per_sample_and_scores_in_the_columns_of_accuracy():
    names = (F.cross_entropy, nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="none"))
    runs = [quick(loss=loss) for loss in (None, *names)]
    for other in runs[1:]:  # by the same way: there is one for the cross entropy
        assert torch.equal(row(runs[0].consensus), row(other.consensus))
        assert runs[0].metrics["workers_loss_mean"].equals(other.metrics["workers_loss_mean"])

    def error(outputs, targets):
        return (outputs["first"] - targets).abs().mean(1)

    class Parts(nn.Linear):
        def forward(self, x):
            return {"first": super().forward(x), "others": (x, x)}

    def loss(outputs, targets):
        return F.mse_loss(outputs["first"], targets)

    each = quick(Parts(3, 3), (DATA[0],) * 2, loss=loss, score=error)
    found = error(each.consensus(DATA[0]), DATA[0]).mean().item()
    assert each.metrics["consensus_accuracy"].iloc[-1] == pytest.approx(found, rel=1e-5)
    assert "accuracy -1.5 (workers -1.5, the worst -1.5)" in repr(quick(score=lambda *_: -1.5))
    right = quick(score=lambda outputs, targets: outputs.argmax(1) == targets)
    expected = quick().metrics["workers_accuracy_mean"]
    assert right.metrics["workers_accuracy_mean"].tolist() == pytest.approx(expected.tolist())


def test_torchs_other_losses_as_they_are_take_the_way_of_the_default():
    """The negative log-likelihood does only after a log-softmax."""
    for layers, losses, train in (
        ([nn.Linear(3, 4), nn.LogSoftmax(1)], (F.nll_loss, nn.NLLLoss()), DATA),
        ([nn.Linear(3, 3)], (F.mse_loss, nn.MSELoss()), (DATA[0],) * 2),
    ):
        runs = [quick(nn.Sequential(*layers), train, loss=loss) for loss in (None, *losses)]
        for other in runs:
            assert torch.equal(row(runs[0].consensus), row(other.consensus))
    run = quick(loss=F.nll_loss)
    expected = F.nll_loss(run.consensus(DATA[0]), DATA[1]).item()
    assert run.metrics["consensus_loss"].iloc[-1] == pytest.approx(expected, rel=1e-5)


class Viewing(nn.Module):
    """``call`` makes rows of the outputs of a convolution."""

    def __init__(self, call):
        super().__init__()
        self.conv, self.linear, self.call = nn.Conv2d(2, 3, 3), nn.Linear(12, 4), call

    def forward(self, x):
        return self.linear(self.call(F.relu(self.conv(x))))


class Straight(Viewing):
    def forward(self, x):
        return self.linear(F.relu(self.conv(x)).view(-1, 12))


class Indirect(Viewing):
    def forward(self, x):
        return self.linear(F.relu(self.conv(x)).view(len(x), 12))


def test_modules_may_view_outputs_of_convolutions():
    """Which has no view where its channels come last, as convolutions are fastest."""
    images = torch.randn(48, 2, 4, 4, generator=torch_stream(0, "test"))
    made = {kind: partial(kind, nn.Flatten()) for kind in (Viewing, Straight, Indirect)}
    runs = {kind: quick(make, (images, DATA[1])) for kind, make in made.items()}
    wanted = row(runs[Viewing].consensus)
    for kind in (Straight, Indirect):
        model, _, task = prepared(made[kind](), (images, DATA[1]))
        is_chain = Population(model, 2, seed=0, task=task).chain is not None
        assert is_chain == (kind is Straight and march() != "none")
        assert row(runs[kind].consensus).allclose(wanted, rtol=1e-4, atol=1e-6)
    by_loop = quick(made[Straight], (images, DATA[1]), backend="loop")
    assert row(by_loop.consensus).allclose(wanted, rtol=1e-4, atol=1e-6)
    assert type(runs[Straight].models[0].conv) is nn.Conv2d


def rows_of(x):
    return x.view(len(x), -1)


@pytest.mark.parametrize(("channels", "k"), [(1, 3), (2, 1), (2, 3)])
@pytest.mark.parametrize("place", ["method", "function", "loss"])
def test_convolutions_have_torchs_layout_where_a_module_or_a_loss_needs_it(place, channels, k):
    """Kernels of one channel, or of one pixel, are contiguous in both layouts."""

    class Net(nn.Sequential):
        def rows(self, x):
            return x.view(len(x), -1)

        def forward(self, x):
            x = super().forward(x)
            return x if place == "loss" else (self.rows if place == "method" else rows_of)(x)

    def loss(outputs, targets):
        return F.cross_entropy(rows_of(outputs), targets)

    images = torch.randn(48, channels, 4, 4, generator=torch_stream(0, "test"))
    run = quick(lambda: Net(nn.Conv2d(channels, 3, k), nn.ReLU()), (images, DATA[1]), loss=loss)
    plain = quick(
        lambda: nn.Sequential(nn.Conv2d(channels, 3, k), nn.ReLU(), nn.Flatten()),
        (images, DATA[1]),
    )
    assert row(run.consensus).allclose(row(plain.consensus), rtol=1e-4, atol=1e-6)


class Padded(nn.Module):
    """Two convolutions in a row, that are no chain."""

    def __init__(self):
        super().__init__()
        self.first, self.last = (nn.Conv2d(k, 16, 3, padding=1) for k in (2, 16))

    def forward(self, x):
        return self.last(F.relu(self.first(x)))


def test_a_loss_may_view_images_that_compiled_code_makes():
    images = torch.randn(48, 2, 4, 4, generator=torch_stream(0, "test"))
    runs = [
        quick(Padded, (images, DATA[1]), loss=lambda x, y, rows=rows: F.cross_entropy(rows(x), y))
        for rows in (rows_of, lambda x: x.flatten(1))
    ]
    assert row(runs[0].consensus).allclose(row(runs[1].consensus), rtol=1e-4, atol=1e-6)


def test_a_view_that_allows_it_leaves_convolutions_their_layout():
    """As in ResNets whose last images have one pixel."""

    class Pooled(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.linear = nn.Conv2d(2, 3, 3), nn.Linear(3, 4)

        def forward(self, x):
            x = F.avg_pool2d(self.conv(x) * 2, 2)
            return self.linear(x.view(x.size(0), -1))

    images = torch.randn(48, 2, 4, 4, generator=torch_stream(0, "test"))
    model, _, task = prepared(Pooled, (images, DATA[1]))
    assert not Population(model, 1, seed=0, task=task).modules[0].conv.weight.is_contiguous()


def test_torchscript_is_refused_in_one_line():
    script = torch.jit.script(linear())
    for module in (script, nn.Sequential(script, nn.Linear(4, 4))):
        assert "give the module that it was made of" in told(module=module)


def test_tokens_and_sequences_of_targets():
    tokens = torch.randint(0, 5, (40, 6), generator=torch_stream(0, "test"))

    class Next(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.lstm = nn.Embedding(5, 5), nn.LSTM(5, 5, batch_first=True)

        def forward(self, x):
            return self.lstm(self.embedding(x))[0]

    def loss(outputs, targets):
        return F.cross_entropy(outputs.transpose(1, 2), targets, reduction="none").mean(1)

    run = quick(Next, (tokens, tokens.roll(-1, 1)), loss=loss, lr=1.0, epochs=5)
    assert run.metrics["consensus_loss"].iloc[-1] < run.metrics["consensus_loss"].iloc[0]


@pytest.mark.parametrize("method", ["gossip", "slowmo", "push_diging"])
@pytest.mark.usefixtures("examples")
def test_frozen_parameters_keep_their_bits_and_are_not_sent(method):
    module = nn.Sequential(nn.Linear(3, 5).requires_grad_(False), nn.Linear(5, 4))
    run = quick(module, method=method, topology="ring", workers=5)
    for model in (run.consensus, *run.models):
        assert torch.equal(model[0].weight, module[0].weight)
        assert not torch.equal(model[1].weight, module[1].weight)
    if method == "gossip":
        assert run.metrics["bytes_sent"].iloc[-1] == run.metrics["messages"].iloc[-1] * 4 * 24


@pytest.fixture
def examples(own_entries):
    """The example plugins, until the test ends."""
    plugins.load(sorted((REPOSITORY / "examples/plugins").glob("*.py")))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_trains(method):
    entry = METHODS[method]
    tree = {"topology": "chain"} if entry.graph == "tree" else {}
    clock = {"clock": "asynchronous"} if entry.arrivals == "pair" else {}
    size = {"batch_size": 1} if "batch_size" in entry.fixed else {}
    run = quick(method=method, **tree, **clock, **size)
    assert np.isfinite(run.metrics["consensus_loss"]).all()
    assert run.metrics["consensus_loss"].iloc[-1] < run.metrics["consensus_loss"].iloc[0]


def fedavg(module, clients, weights, rounds, local_steps, lr):
    """FedAvg of McMahan et al. 2017, with all clients and full batches."""
    server = deepcopy(module)
    for _ in range(rounds):
        local = [deepcopy(server) for _ in clients]
        for model, (inputs, targets) in zip(local, clients, strict=True):
            optimizer = torch.optim.SGD(model.parameters(), lr)
            for _ in range(local_steps):
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), targets).backward()
                optimizer.step()
        states = [model.state_dict() for model in local]
        pairs = [*zip(weights, states, strict=True)]
        mean = {k: sum(w * state[k] for w, state in pairs) / sum(weights) for k in states[0]}
        server.load_state_dict(mean)
    return server


@cases(
    "how",
    {"method": "diloco", "outer_lr": 1, "outer_momentum": 0},
    {"method": "local_sgd", "topology": "complete"},
)
@cases(
    "objective, weights", ("workers", (1, 1, 1)), ("samples", (4, 8, 24)), ([2, 6, 1], (2, 6, 1))
)
def test_fedavg_by_hand_is_ours(how, objective, weights):
    """Unequal clients, of which each batch of 24 has every sample equally often."""
    module, (inputs, targets) = nn.Linear(3, 4), blobs(36)
    clients = [(inputs[a:b], targets[a:b]) for a, b in ((0, 4), (4, 12), (12, 36))]
    expected = row(fedavg(module, clients, weights, rounds=20, local_steps=5, lr=0.1))
    setting = {"local_steps": 5, "batch_size": 24, "short_share": "repeat", "lr": 0.1}
    setting |= {"epochs": 20 * 5 * 3 * 24 / 36, "eval_every": 200, "objective": objective}
    run = quick(module, clients, (inputs, targets), **how, **setting)
    assert run.metrics["step"].iloc[-1] == 100
    for model in (run.consensus, *run.models):
        assert torch.allclose(row(model), expected, rtol=0, atol=2e-6)
    assert (expected - row(module)).abs().max() > 0.5


def test_a_single_worker():
    run = quick(workers=1, method="centralized")
    assert len(run.models) == 1
    assert torch.equal(row(run.models[0]), row(run.consensus))


class Samples(Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        if i >= len(X):
            raise IndexError
        return X[i].numpy(), int(y[i])


class Columns(Samples):
    def __getitem__(self, i):
        return dict(zip("xy", super().__getitem__(i), strict=True))


@cases(
    "arguments, part",
    ({"method": "gosip"}, "method: 'gosip' is unknown; allowed: "),
    ({"method": print}, "<built-in function print> is not a name; register a function with "),
    ({"topolgy": "ring"}, "fit: 'topolgy' is not an argument. Did you mean 'topology' or "),
    ({"learning_rate": 0.1}, "argument. Did you mean 'lr'? fit takes module, train, test"),
    ({"step_size": 0.1}, "an argument. Did you mean 'lr' or 'gamma'? fit takes"),
    ({"graph": [(0, 1)]}, "graph: [(0, 1)] has no effect with topology 'ring'; graph is"),
    ({"partition": "dirichlet", "beta": 0.01}, "leaves worker 2 without samples; use a larger"),
    ({"partition": "dirichlet", "beta": 0.01}, "or dirichlet_min, which gives each worker at"),
    ({"lr": "fast"}, "lr: 'fast' is not a number; it must be a number, above 0"),
    ({"threads": 0}, "threads: 0 is out of range; it must be a whole number, 1 or more"),
    ({"workers": 1}, "workers: 1 is too few for method 'ngo'"),
    ({"workers": 100}, "workers: 100 is more than own's 48 samples"),
    ({"device": "gpu"}, "Did you mean 'cuda'?"),
    ({"shards": 4}, "shards: 4 has no effect with partition 'iid'"),
    ({"score": "accuracy"}, "score: 'accuracy' is not a function (outputs, targets)"),
    ({"score": lambda out, y: out[:2, 0]}, "score: it returned [2] for 48 samples"),
    ({"module": Sampling(3, 4), "backend": "vmap"}, "backend: 'vmap' can't draw from torch's"),
    ({"module": ByNumPy(3, 4), "backend": "vmap"}, "backend: 'vmap' is not allowed; a "),
    ({"module": ByNumPy(3, 4), "backend": "threads"}, "needs auto or loop"),
    ({"train": DataLoader(Samples())}, "of a DataLoader, loader.dataset (fit draws its own b"),
    ({"train": {"x": DATA[0], "y": DATA[1]}}, "of columns, give (data['x'], data['y']), of a "),
    (
        {"train": Columns()},
        "(input, target): they are dictionaries; give a pair of",
    ),
    ({"partition": {0: [0, 1], 1: [2]}}, "[3, 4, 5]]: it is a dict; give the values"),
    ({"lr_schedule": lambda t: t}, "is not a name; register a function with @ngo.lr_schedule"),
    ({"score": [print]}, "is not a function (outputs, targets); several are {'f1': f"),
    ({"local_steps": [1, 2]}, "local_steps: fit trains one run, whose workers have equal values;"),
    ({"on_step": [print]}, "on_step: [<built-in function print>] is not allowed; it must be a"),
    ({"callbacks": []}, "'callbacks' is not an argument. Did you mean 'on_evaluation'"),
    ({"train": ENDLESS}, "the samples of the Endless are no pairs (input, target): "),
    ({"train": TensorDataset(X, y, y)}, "samples of the TensorDataset are no pairs (input, "),
    ({"train": Subset(Samples(), [])}, "train: the Subset has no samples."),
    ({"train": (X.numpy().astype(object), y)}, "train inputs: ndarray is no array of number"),
    ({"train": ("images.npy", y)}, "train inputs: str is no array of numbers with a row per"),
    ({"train": (X.half(), y), "test": (X.half(), y)}, "failed on inputs of float16 of shape "),
    ({"partition": [[0, 1, 2], [0, 5], [7]]}, "worker 1: sample 0 is worker 0's already"),
    ({"partition": [[0, 1], [2], []]}, "partition, worker 2: it has no samples; samples are"),
    ({"partition": 3}, "a list with the indices of each worker's samples, such as"),
    ({"partition": [range(9), range(9, 20)]}, "workers: 3 is not allowed; 2 workers have samples"),
    (
        {"partition": [[0]] * 3, "holdout": 0.1},
        "holdout: 0.1 is not allowed; each worker's samples are given",
    ),
    ({"train": [DATA] * 3, "partition": "iid"}, "partition: train is a list of workers' data"),
    ({"topology": 2 * torch.eye(3)}, "has columns that do not sum to 1; networkx.from_numpy_a"),
    ({"topology": torch.eye(3).roll(1, 0)}, "is not symmetric; a directed topology is"),
    ({"topology": torch.eye(4)}, "workers: 3 is not allowed; the topology has 4"),
    ({"topology": [(0, 1)]}, "does not connect the 3 workers: there are no paths both ways"),
    ({"topology": "rong"}, "Did you mean 'ring'?"),
    ({"topology": nx.Graph()}, "workers: "),
    ({"topology": nx.from_numpy_array(np.eye(3) / 2)}, "graph has edges with weights, which"),
    ({"topology": object()}, "object is no graph or matrix; for example topology='ring', [("),
)
def test_a_mistake_is_told_in_a_line(arguments, part):
    assert part in told(**{"test": DATA} | arguments)


def test_data_sets_and_arrays_in_another_order_or_type_are_the_same_numbers():
    for data in (Samples(), TensorDataset(X, y), Subset(Samples(), range(48))):
        assert equal(quick(), quick(train=data))
    # Also tables, sparse tensors, and float64, which becomes float32.
    N = X.numpy()
    backwards = np.ascontiguousarray(N[::-1])[::-1]
    with torch.inference_mode():
        inferred = X + 0
    leaf = X.clone().requires_grad_()
    floats = N.astype(">f4"), N.astype(">f8"), X.double(), pd.DataFrame(N), X.to_sparse()
    for inputs in (*floats, backwards, np.asfortranarray(N), X.T.contiguous().T, inferred, leaf):
        assert equal(quick(train=(inputs, y.numpy().astype(">i8")), test=DATA), quick())


@pytest.mark.parametrize("m", [4, 48])
def test_a_data_set_that_is_random_is_told_to_be_read_once(m):
    """Its samples were frozen without a word."""

    class Drawn(Samples):
        def __getitem__(self, i):
            return torch.randn(3), int(y[i])

    with pytest.warns(RuntimeWarning, match="train: .* differ from read to read; .*augmentation"):
        quick(train=Subset(Drawn(), range(m)), test=DATA, batch_size=1)


@pytest.mark.parametrize("made", [torch.Tensor.clone, lambda x: x.numpy().copy()])
def test_data_that_a_callback_changes_are_those_of_the_start(made):
    own = made(X), made(y)

    def change(state):
        own[0][:] = 0
        own[1][:] = 0

    assert equal(quick(train=own, test=own, on_step=change), quick())


def test_lists_of_indices_and_of_data_sets_are_partitions():
    parts = [list(range(0, 16)), np.arange(16, 32), torch.arange(32, 48)]
    lists = quick(partition=parts)
    sets = quick(train=[(X[i], y[i]) for i in map(np.asarray, parts)], test=DATA)
    mixed = quick(train=[Subset(Samples(), each) for each in np.array(parts)], test=DATA)
    tables = [(pd.DataFrame(X[i].numpy()), y[i].numpy()) for i in map(np.asarray, parts)]
    assert equal(quick(train=tables, test=DATA), sets)
    assert equal(lists, sets)
    assert equal(sets, mixed)
    assert lists.spec.partition.startswith("own-")
    assert len(quick(partition=[[0, 1, 2, 3], range(8, 20)], workers=2).models) == 2


def signs(dtype=torch.int64):
    return X, torch.where(y > 1, 1, -1).to(dtype)


def test_targets_below_0_are_those_of_a_users_own_loss():
    """A hinge loss on −1 and 1, equal to the one on float targets."""

    def hinge(outputs, targets):
        assert set(targets.tolist()) <= {-1, 1}
        return (1 - targets * outputs[:, 0]).clamp(min=0)

    whole, real = (
        quick(train=signs(dtype), loss=hinge).metrics["consensus_loss"].tolist()
        for dtype in (torch.int64, torch.float32)
    )
    assert whole == real
    assert told(train=signs()).startswith("targets: -1 is not a class; int64 classes start from 0")


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.bool])
def test_squared_errors_of_targets_of_any_type_are_those_of_float32(dtype):
    targets, module = (X[:, :2] > 0).to(dtype), nn.Linear(3, 2)
    runs = [quick(module, (X, z), loss=nn.MSELoss()) for z in (targets, targets.float())]
    assert torch.allclose(*(row(run.consensus) for run in runs), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.bool])
def test_a_users_own_loss_gets_targets_of_any_type_as_they_are(dtype):
    seen = []

    def loss(outputs, targets):
        seen.append(targets.dtype)
        return (outputs[:, 0] * targets.float()).mean()

    assert len(quick(train=(X, y.to(dtype)), loss=loss).models) == 3
    assert set(seen) == {dtype}


def ring(topology, **fields):
    return quick(workers=4, topology=topology, **fields)


def test_a_matrix_edges_and_a_graph_are_the_ring_and_may_be_directed():
    known, expected = set(TOPOLOGIES), ring("ring")
    edges, graph = [(0, 1), (1, 2), (2, 3), (3, 0)], nx.cycle_graph(4)
    for given in (RING, RING.float(), RING.numpy(), edges, np.array(edges), graph):
        run = ring(given)
        assert run.spec.topology.startswith("own-")
        assert values(run).equals(values(expected))
    assert set(TOPOLOGIES) == known
    assert equal(ring(graph), ring(graph))
    run = ring(nx.cycle_graph(4, create_using=nx.DiGraph), method="push_sum")
    assert run.metrics["messages"].iloc[-1] > 0


def values(run):
    """The metrics; the name of a graph depends on how its edges are written."""
    return metrics(run).drop(columns=["run", "topology"])

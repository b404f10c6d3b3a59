import copy
import re

import pytest
import torch
from cases import cases
from runs import CONVEX, digits_run
from stepping import mixing_matrix
from torch import nn
from torch.nn import functional as F

from ngo.common.registries import METHODS, MODELS, TOPOLOGIES
from ngo.common.seeding import stream_seed, torch_stream
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.exchange import Failures, Network
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.schedule import Mixing
from ngo.gossip.topologies.static import ring
from ngo.gossip.topology import GENERATOR, STEP
from ngo.models.model import Model, mnist_cnn
from ngo.training.batches import BatchStream
from ngo.training.learning_problem import make_problem
from ngo.training.run import stepper_of
from ngo.training.stepper import Stepper

W = mixing_matrix(ring(4))
LR = 0.02
N = 4
RATES = {"link_failure": 0.3, "absence": 0.4}
ALL = sorted(name for name in METHODS if METHODS[name].arrivals != "pair")
DECENTRALIZED = [name for name in ALL if METHODS[name].decentralized]
ABLE = [name for name in DECENTRALIZED if not METHODS[name].needs_every_message]
TAKEN = {name: entry.arguments for name, entry in TOPOLOGIES.items()}
ROTATING = sorted(name for name in TAKEN if STEP in TAKEN[name] and GENERATOR not in TAKEN[name])
SELDOM = {
    "local_sgd": [{"local_steps": h} for h in (1, 3)],
    "gossip_until": [{"v_threshold": v} for v in (1e-3, 0.3)],
    "delayed": [{"delay": 3}],
}


def made(data, here=None, **values):
    spec = digits_run(**{**CONVEX, "lr": LR, "gamma": 0.1, **values})
    problem = make_problem(spec, data)
    problem = problem if here is None else problem.restricted_to(here)
    return Stepper(spec, problem, steps=100, threads=1, workers=here)


def expected(name, X, G, t, past):
    """The next state of a method on the ring, from its formula."""
    half = X - LR * G
    past.append(half)
    if name == "centralized":
        return X - LR * G.mean(0)
    if name == "local_sgd" and (t + 1) % 3:
        return half
    if name == "delayed":
        return gossip_step(half, W, 0.1, 0.8, at=past[t - 2]) if t >= 2 else half
    if name == "decaying":
        return gossip_step(half, W, 0.1 / (1 + t) ** 0.5, 0.8)
    return gossip_step(half, W, 0.1, 1.0 if name == "gossip" else 0.8)


@cases(
    "name, values",
    ("centralized", {}),
    ("gossip", {}),
    ("ngo", {"p": 0.8}),
    ("decaying", {"p": 0.8, "gamma_decay": 0.5}),
    ("local_sgd", {"p": 0.8, "local_steps": 3}),
    ("delayed", {"p": 0.8, "delay": 2}),
)
def test_a_step_is_the_methods_formula(least_squares, name, values):
    """On least squares, whose losses (z·x − y)² have known gradients."""
    stepper = made(least_squares, method="ngo" if name == "decaying" else name, **values)
    parts = make_problem(digits_run(**CONVEX), least_squares).parts
    own = [torch_stream(0, "batches", i) for i in range(4)]
    streams = [BatchStream(part, 16, stream) for part, stream in zip(parts, own, strict=True)]
    past = []
    for t in range(7):
        assert stepper.t == t
        X = stepper.population.X.clone()
        samples = torch.cat([stream.take(1) for stream in streams])
        losses = stepper.advance()
        z, y = least_squares.train_inputs[samples], least_squares.train_targets[samples]
        errors = z @ X[:, :, None] - y
        assert torch.allclose(losses, errors.square().mean((1, 2)), rtol=1e-4)
        G = 2 * (errors * z).mean(1)
        assert torch.allclose(stepper.population.X, expected(name, X, G, t, past), atol=1e-5)


def test_centralized_on_one_worker_is_plain_torch_sgd(digits):
    """Step by step, each from the same state: pooling magnifies differences of rounding."""
    spec = digits_run(method="centralized", workers=1, lr=0.1, backend="loop")
    problem = make_problem(spec, digits)
    stepper = Stepper(spec, problem, steps=24)
    with torch.random.fork_rng():
        torch.manual_seed(stream_seed(0, "init"))
        model = mnist_cnn(torch_stream(0, "dropout", 0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    stream = BatchStream(problem.parts[0], 16, torch_stream(0, "batches", 0))
    for _ in range(24):
        stepper.advance()
        indices = stream.take(1)[0]
        optimizer.zero_grad()
        images = digits.normalised(digits.train_inputs[indices])
        F.cross_entropy(model(images), digits.train_targets[indices]).backward()
        optimizer.step()
        ours = stepper.population.modules[0].parameters()
        with torch.no_grad():
            for own, plain in zip(ours, model.parameters(), strict=True):
                assert torch.allclose(own, plain, atol=1e-5)
                plain.copy_(own)


@pytest.mark.parametrize(("graph", "lines"), [("one_peer_hypercube", 1), ("ring", 0)])
def test_gossip_that_ends_above_its_threshold_says_so_once(graph, lines, least_squares, caplog):
    """Rounds on one matching average pairs, which stay apart from each other."""
    values = {"method": "gossip_until", "topology": graph, "v_threshold": 0.001}
    stepper = made(least_squares, **values, gamma=1.0)
    for _ in range(4):
        stepper.advance()
    assert [record.levelname for record in caplog.records] == ["WARNING"] * lines
    assert (float(synchronization_index(stepper.population.X)) > 0.001) == bool(lines)
    for text in caplog.messages:
        assert re.match(r"method: gossip ended at V = .*, above v_threshold 0.001, in", text)
        assert "the step's graph does not connect all workers" in text
    elsewhere = made(least_squares, [1, 2], **values)
    caplog.clear()
    elsewhere._warn("as worker 0's process does")
    assert caplog.messages == []


def failing(data, **values):
    return made(data, **RATES, **values)


def absences(steps, seed=0):
    """The workers that are away in each step."""
    failures = Failures(N, seed, **RATES)
    return [failures.absent(t) for t in range(steps)]


def advanced(stepper, steps):
    """Take steps; yields who is away, and the state before and after each."""
    for absent in absences(steps):
        before = stepper.population.X.clone(), copy.deepcopy(stepper.state_dict()["matrices"])
        stepper.advance()
        yield absent, before, (stepper.population.X, stepper.state_dict()["matrices"])


@pytest.mark.parametrize("method", ABLE)
def test_the_rows_of_absent_workers_stay_as_they_are(method, least_squares):
    fixed = "local_rule" in METHODS[method].fixed
    stepper = failing(least_squares, method=method, local_rule="sgd" if fixed else "nesterov")
    seen = 0
    for absent, (X, matrices), (new, others) in advanced(stepper, 12):
        present = [i for i in range(N) if i not in absent]
        seen += len(absent)
        assert torch.equal(new[absent], X[absent])
        assert (new[present] != X[present]).any(1).all()
        for name, rows in matrices.items():
            assert torch.equal(others[name][absent], rows[absent])
    assert seen > 5


def test_the_mean_and_sums_of_corrections_are_conserved_and_failed_links_are_silent(least_squares):
    stepper = failing(least_squares, p=0.8)
    for absent in absences(12):
        stepper.gradients()
        X, G = stepper.population.X.clone(), stepper.population.G.clone()
        G[absent] = 0
        stepper.update()
        mean = X.mean(0) - LR * G.mean(0)
        assert torch.allclose(stepper.population.X.mean(0), mean, rtol=0, atol=1e-6)
    # Σ y = Σ g in gradient tracking, Σ w = n in push-sum, and what adds up pulls sums to 0.
    tracking = failing(least_squares, method="gradient_tracking")
    for _, _, (_, matrices) in advanced(tracking, 12):
        assert torch.allclose(matrices["y"].sum(0), matrices["g"].sum(0), rtol=0, atol=1e-4)
    sums = {"d2": "c", "exact_diffusion": "c", "extra": "c", "proxskip": "h", "admm": "multiplier"}
    for name, of in sums.items():
        for _, _, (_, matrices) in advanced(failing(least_squares, method=name), 12):
            assert float(matrices[of].sum(0).abs().max()) < 1e-5
        assert float(matrices[of].abs().max()) > 0.01
    for _, _, (_, matrices) in advanced(failing(least_squares, method="push_sum"), 12):
        assert float(matrices["w"].sum()) == pytest.approx(N, abs=1e-5)
    stepper = failing(least_squares, topology="complete")
    failures = Failures(N, 0, **RATES)
    expected, complete = 0, MixingMatrix.of(torch.ones(N, N))
    for t in range(12):
        expected += failures.matrix(complete, failures.absent(t)).edges
        stepper.advance()
    assert stepper.network.messages == expected < 12 * N * (N - 1)


def test_buffers_of_absent_workers_stay_as_they_are(monkeypatch, digits):
    def normalised(generator):
        return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(784), nn.Linear(784, 10))

    model = Model(normalised, input_shape=MODELS["mnist_cnn"].input_shape, task="classification")
    monkeypatch.setitem(MODELS, "normalised", model)
    spec = digits_run(model="normalised", workers=N, **RATES)
    stepper = Stepper(spec, make_problem(spec, digits), steps=100, threads=1)
    for absent in absences(6):
        before = stepper.population.buffers.clone()
        stepper.advance()
        changed = (stepper.population.buffers != before).any(1)
        assert changed.tolist() == [i not in absent for i in range(N)]


# The k-th exchange of a run takes place on the k-th graph of a topology that rotates.


class Recording(Network):
    """A network that keeps the matrix of each step in which something was sent."""

    def __init__(self):
        super().__init__()
        self.used, self.begun = [], 0

    def set_matrix(self, W):
        super().set_matrix(W)
        self.begun += 1
        self._last = 0

    def count(self, messages, row):
        super().count(messages, row)
        if self._last == self.begun:
            self.used.pop()  # clique averaging exchanges gradients first, with other weights
        self._last = self.begun
        self.used.append(self._W)


def recording(data, **values):
    """A stepper on a network that records."""
    stepper = made(data, workers=8, **values)
    stepper.connect(Recording())
    return stepper


def possible():
    """Each method with a graph, ``ngo`` with all; with intervals of exchanges, if it has them."""
    for name in (name for name in DECENTRALIZED if METHODS[name].graph == "any"):
        able = [g for g in ROTATING if METHODS[name].directed or not TOPOLOGIES[g].directed]
        for graph in able if name == "ngo" else able[-1:]:
            for values in SELDOM.get(name, [{}]):
                yield {"method": name, "topology": graph, **values}


@pytest.mark.parametrize("values", list(possible()), ids=lambda v: "-".join(map(str, v.values())))
def test_every_graph_of_a_period_is_used_in_its_turn(values, least_squares):
    stepper = recording(least_squares, **values)
    mixing = Mixing(values["topology"], 8, stepper._spec)
    period = TOPOLOGIES[values["topology"]].period(8, peers=1)
    network = stepper.network
    while len(network.used) < period + 2:
        stepper.advance()
        assert stepper.t <= 100
    assert network.exchanges == len(network.used)
    for k, W in enumerate(network.used):
        assert torch.equal(W.dense(), mixing.at(k).dense()), k
        assert W.edges > 0


def test_graphs_that_are_drawn_are_drawn_in_every_step(least_squares):
    """Their draws do not depend on what the method does with them."""
    seldom = recording(least_squares, method="local_sgd", local_steps=2, topology="random", u=0.5)
    always = recording(least_squares, method="ngo", topology="random", u=0.5)
    for _ in range(6):
        seldom.advance()
        always.advance()
    for W, other in zip(seldom.network.used, always.network.used[1::2], strict=True):
        assert torch.equal(W.dense(), other.dense())


def half_stepper(data, threads, fields):
    spec = digits_run(**{"workers": 6, "epochs": 4.0, **fields})
    return stepper_of(spec, make_problem(spec, data), (), threads=threads)


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "ngo", "local_rule": "momentum", "weight_decay": 0.01},
        {"method": "dsgd", "local_rule": "adamw", "weight_decay": 0.01},
        {"method": "diloco", "local_steps": 2, "participants": 3},
        {"method": "local_sgd", "local_steps": 2, "backend": "loop"},
        {"method": "ngo", "order": "combine_then_adapt"},
    ],
    ids=lambda fields: ", ".join(map(str, fields.values())),
)
def test_half_steps_with_the_gradients_are_those_after_them(fields, monkeypatch, digits):
    """To the byte, with one thread and two; a half step that is taken leaves G alone."""
    found = []
    for threads, alone in ((1, False), (2, False), (1, True)):
        with monkeypatch.context() as patch:
            if alone:
                patch.setattr(Stepper, "_half_step", lambda self: None)
            run = half_stepper(digits, threads, fields)
            taken = [run.advance() for _ in range(5)]
            run.population.G.fill_(7)
            run.advance()
        found.append((torch.stack(taken), run.population.X.clone()))
        untouched = bool((run.population.G == 7).all())
        assert untouched == (not alone and "order" not in fields)
    for losses, X in found[1:]:
        assert torch.equal(losses, found[0][0])
        assert torch.equal(X, found[0][1])

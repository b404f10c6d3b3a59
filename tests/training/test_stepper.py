import re

import pytest
import torch
from runs import CONVEX, digits_run
from torch.nn import functional as F

from ngo.common.seeding import stream_seed, torch_stream
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.static import ring
from ngo.models.model import mnist_cnn
from ngo.training.batches import BatchStream
from ngo.training.learning_problem import make_problem
from ngo.training.stepper import Stepper

W = mixing_matrix(ring(4))
LR = 0.02


def made(data, *, workers=None, **values):
    spec = digits_run(**{**CONVEX, "lr": LR, "gamma": 0.1, **values})
    problem = make_problem(spec, data)
    if workers is not None:
        problem = problem.restricted_to(workers)
    return Stepper(spec, problem, steps=100, threads=1, workers=workers)


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


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("centralized", {}),
        ("gossip", {}),
        ("ngo", {"p": 0.8}),
        ("decaying", {"p": 0.8, "gamma_decay": 0.5}),
        ("local_sgd", {"p": 0.8, "local_steps": 3}),
        ("delayed", {"p": 0.8, "delay": 2}),
    ],
)
def test_a_step_is_the_methods_formula(least_squares, name, values):
    """On least squares, whose losses (z·x − y)² have known gradients."""
    stepper = made(least_squares, method="ngo" if name == "decaying" else name, **values)
    streams = [
        BatchStream(part, 16, torch_stream(0, "batches", i))
        for i, part in enumerate(make_problem(digits_run(**CONVEX), least_squares).parts)
    ]
    past = []
    for t in range(7):
        assert stepper.t == t
        X = stepper.population.X.clone()
        samples = torch.stack([next(stream) for stream in streams])
        losses = stepper.advance()
        z, y = least_squares.train_inputs[samples], least_squares.train_targets[samples]
        errors = z @ X[:, :, None] - y
        assert torch.allclose(losses, errors.square().mean((1, 2)), rtol=1e-4)
        G = 2 * (errors * z).mean(1)
        new = expected(name, X, G, t, past)
        assert torch.allclose(stepper.population.X, new, atol=1e-5)


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
        indices = next(stream)
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
    V = float(synchronization_index(stepper.population.X))
    assert (V > 0.001) == bool(lines)
    for text in caplog.messages:
        assert re.match(r"method: gossip ended at V = .*, above v_threshold 0.001, in", text)
        assert "the step's graph does not connect all workers" in text
    elsewhere = made(least_squares, **values, workers=[1, 2])
    caplog.clear()
    elsewhere._warn("as worker 0's process does")
    assert caplog.messages == []

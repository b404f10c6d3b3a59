"""Outer optimizers: equal to slow references; where they are each other, and local SGD."""

import by_worker
import numpy as np
import pytest
import torch
from by_worker import D, N, gradient, pulled
from stepping import Stepping, mixing_matrix, ring_matrix, states
from test_drift_corrections import A, B, gradients

from ngo.common.seeding import torch_stream
from ngo.gossip.exchange import Network
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import mixing_of
from ngo.gossip.topologies.static import ring
from ngo.gossip.topologies.varying import random_matching

LR, H, OUTER = 0.03, 4, 20
RING = mixing_matrix(ring(N))
START = torch.randn(D, generator=torch_stream(0, "x"), dtype=torch.float64)
RULES = {
    "sgd": lambda x: torch.optim.SGD(x, lr=LR),
    "momentum": lambda x: torch.optim.SGD(x, lr=LR, momentum=0.9),
    "adamw": lambda x: torch.optim.AdamW(x, lr=LR, weight_decay=0.1),
}


def models_of(method, W=None, *, outer_steps=OUTER, graphs=None, **values):
    """The workers' models ``[n, d]`` after each outer step."""
    outer = {"outer_lr": 0.7, "outer_momentum": 0.6}
    run = {"lr": LR, "local_steps": H, "gamma": 1.0, "p": 1.0, **outer, **values}
    stepping, models = Stepping(method, START.repeat(N, 1), W, **run), []
    for t in range(outer_steps * run["local_steps"]):
        if graphs is not None:
            stepping.W = graphs[t // run["local_steps"]]
        stepping.advance(gradients(stepping.X))
        if (t + 1) % run["local_steps"] == 0:
            models.append(stepping.X.numpy().copy())
    return np.stack(models)


def close(one, other, atol=1e-12):
    return np.allclose(one, other, rtol=0, atol=atol)


def inner(x):
    """Each worker's model after H steps of SGD from ``x``."""
    x = dict(x)
    for _ in range(H):
        x = {i: x[i] - LR * gradient(A, B, i, x[i]) for i in x}
    return x


def reference(outer_step):
    """The models after each of ``outer_step(t, x, x̃)``, which also keeps its memory."""
    x, models = {i: START.numpy() for i in range(N)}, []
    for t in range(OUTER):
        x = outer_step(t, x, inner(x))
        models.append(np.stack([x[i] for i in range(N)]))
    return np.stack(models)


@pytest.mark.parametrize("outer_rule", ["momentum", "nesterov"])
@pytest.mark.parametrize("rule", RULES)
def test_diloco_is_algorithm_1_with_torchs_optimizers(rule, outer_rule):
    workers = [START.clone().requires_grad_() for _ in range(N)]
    optimizers = [RULES[rule]([x]) for x in workers]
    shared = START.clone().requires_grad_()
    outer = torch.optim.SGD([shared], lr=0.7, momentum=0.6, nesterov=outer_rule == "nesterov")
    decay = 0.1 if rule == "adamw" else 0.0
    models = models_of("diloco", rule=rule, outer_rule=outer_rule, weight_decay=decay)
    for model in models:
        for i, (x, optimizer) in enumerate(zip(workers, optimizers, strict=True)):
            x.data.copy_(shared.data)
            for _ in range(H):
                x.grad = torch.tensor(gradient(A, B, i, x.detach().numpy()))
                optimizer.step()
        shared.grad = shared.detach() - torch.stack([x.detach() for x in workers]).mean(0)
        outer.step()
        assert close(model, shared.detach().numpy(), 1e-6)
        assert (model == model[0]).all()


@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("power", 0.9), ("capped", 0.7)])
@pytest.mark.parametrize("nesterov", [False, True])
def test_outer_steps_on_gossip_are_their_reference(nesterov, coupling, p):
    m = by_worker.start()

    def step(t, x, half):
        half = pulled(RING.numpy(), half, 0.5, p, getattr(by_worker, coupling))
        for i in x:
            m[i] = 0.6 * m[i] + half[i] - x[i]
        return {i: x[i] + 0.7 * (half[i] - x[i] + 0.6 * m[i] if nesterov else m[i]) for i in x}

    rule = "nesterov" if nesterov else "momentum"
    how = {"coupling": coupling, "p": p, "gamma": 0.5, "cap": 0.5, "outer_rule": rule}
    assert close(models_of("outer", RING, **how), reference(step), 1e-6)


def test_noloco_is_its_outer_step_pair_by_pair():
    """Over a pair: m ← μ m + η (mean drift) + η (mean model − x); x ← x + m."""
    generator, m = torch_stream(0, "graphs"), by_worker.start()
    pairs = [list(random_matching(N, generator=generator).edges) for _ in range(OUTER)]

    def step(t, x, half):
        partner = {i: j for a, b in pairs[t] for i, j in ((a, b), (b, a))}
        for i, j in partner.items():
            drift = (half[i] - x[i] + half[j] - x[j]) / 2
            m[i] = 0.6 * m[i] + 0.7 * drift + 0.7 * ((x[i] + x[j]) / 2 - x[i])
        return {i: x[i] + m[i] for i in x}

    graphs = [mixing_of(N, np.array(matching)) for matching in pairs]
    assert close(models_of("noloco", graphs=graphs, outer_rule="momentum"), reference(step), 1e-6)


@pytest.mark.parametrize("p", [1.0, 0.9])
@pytest.mark.parametrize("of", ["sent", "pulled"])
def test_gasloc_is_its_reference(of, p):
    before = {i: START.numpy() for i in range(N)}

    def step(t, x, half):
        nonlocal before
        y = {i: x[i] + 0.7 * (half[i] - x[i]) for i in x}
        z = pulled(RING.numpy(), y, 0.4, p)
        now = y if of == "sent" else z
        x = {i: z[i] + 0.6 * (now[i] - before[i]) for i in x}
        before = now
        return x

    models = models_of("gasloc", RING, gamma=0.4, p=p, outer_momentum_of=of)
    assert close(models, reference(step), 1e-6)


@pytest.mark.parametrize("method", ["local_sgd", "diloco", "outer", "noloco", "gasloc"])
def test_workers_exchange_after_every_hth_step(method):
    """Two messages for each of five workers: with a server, or on the ring."""
    (X, G), messages = states(), 10
    stepping = Stepping(method, X, ring_matrix(), local_steps=3)
    assert [stepping.advance(G) for _ in range(6)] == [0, 0, messages, 0, 0, messages]
    assert stepping.network.bytes_sent == 2 * messages * X.shape[1] * X.element_size()
    expected = X.clone()
    for t in range(6 * (method == "local_sgd")):
        expected.sub_(G, alpha=0.1)
        expected = gossip_step(expected, ring_matrix(), 0.2, 0.8) if t % 3 == 2 else expected
    assert method != "local_sgd" or torch.equal(stepping.X, expected)


@pytest.mark.parametrize("method", ["outer", "gasloc"])
def test_after_a_failed_exchange_no_drift_is_followed_twice(method):
    class Failing(Network):
        def pull(self, *arguments, **named):
            raise ConnectionError

    X, G = states()
    plain = {"outer_lr": 1.0, "outer_momentum": 0.0}
    stepping = Stepping(method, X, ring_matrix(), local_steps=1, **plain)
    stepping.advance(G)
    before, whole, stepping.network = stepping.X.clone(), stepping.network, Failing()
    with pytest.raises(ConnectionError):
        stepping.advance(G)
    stepping.t += 1
    stepping.network = whole
    stepping.advance(G)
    other = Stepping("dsgd", before - 0.1 * G, ring_matrix())
    other.advance(G)
    assert torch.allclose(stepping.X, other.X, rtol=0, atol=1e-12)

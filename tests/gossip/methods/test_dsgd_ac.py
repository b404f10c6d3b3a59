"""DSGD-AC equals its slow reference; its workers go on disagreeing where others agree."""

from dataclasses import replace

import by_worker
import numpy as np
import pytest
import torch
from stepping import Stepping
from test_corrections import LR, grad, trained

from ngo.gossip.method import METHODS
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.schedule import learning_rate
from ngo.gossip.topologies.static import ring

RING = mixing_matrix(ring(by_worker.N))
STEPS = 100  # those of a run by ``Stepping``


def rates(lr, warmup=0.0):
    """Half a cosine, after a linear warm-up."""
    cosine = lr * (1 + np.cos(np.pi * np.arange(STEPS) / STEPS)) / 2
    return cosine * np.minimum(1, (1 + np.arange(STEPS)) / (warmup * STEPS or 1))


def by_cosine(method, noise=0.0, **values):
    """The states after each step of a run with half a cosine."""
    X = torch.zeros(by_worker.N, by_worker.D).double()
    stepping = Stepping(method, X, RING, lr=LR, lr_schedule="cosine", **values)
    draws, states = np.random.default_rng(0), []
    for t in range(STEPS):
        rows = stepping.X.numpy()
        G = np.stack([grad(i, row) for i, row in enumerate(rows)]) + noise * draws.normal(
            size=rows.shape
        )
        lr = learning_rate(stepping.run, t, STEPS)
        METHODS[method].update(replace(stepping.step(torch.tensor(G)), lr=lr))
        stepping.t += 1
        states.append(stepping.X.numpy().copy())
    return states


@pytest.mark.parametrize(("power", "start"), [(3.0, 0.2), (1.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize(("coupling", "p"), [("power", 1.0), ("power", 0.9), ("capped", 0.8)])
def test_it_is_its_reference(coupling, p, power, start):
    """With x + γ_t Σ_j W_ij φ(x_j − x_i) − η_t g; γ_t falls with η_t from step s on."""
    given = {"coupling": coupling, "cap": 0.5, "gamma": 0.4, "p": p, "warmup": 0.1}
    found = by_cosine("dsgd_ac", ac_power=power, ac_start=start, **given)
    x, etas, s = by_worker.start(), rates(LR, 0.1), round(max(start, 0.1) * STEPS)
    for t, eta in enumerate(etas):
        gamma = 0.4 * (eta / etas[s]) ** power if t >= s else 0.4
        g = {i: grad(i, x[i]) for i in x}
        pulled = by_worker.pulled(RING.numpy(), x, gamma, p, getattr(by_worker, coupling))
        x = {i: pulled[i] - eta * g[i] for i in x}
        assert np.allclose(found[t], np.stack(list(x.values())), rtol=0, atol=1e-9)


def test_with_a_constant_rate_it_is_gossip_that_combines_first():
    found = trained("dsgd_ac", RING, 50, lr=LR, gamma=0.4, p=0.9, ac_power=3.0, ac_start=0.05)
    given = {"lr": LR, "gamma": 0.4, "p": 0.9, "order": "combine_then_adapt"}
    assert np.array_equal(found, trained("ngo", RING, 50, **given))


def test_the_consensus_error_stays():
    """With noise, V of gossip falls with η², and here less."""

    def fall(method, **values):
        V = [((x - x.mean(0)) ** 2).sum() for x in by_cosine(method, noise=3.0, p=1.0, **values)]
        return np.mean(V[20:40]) / np.mean(V[80:90])

    falls = fall("gossip", gamma=1.0), fall("dsgd_ac", gamma=1.0, ac_power=3.0, ac_start=0.05)
    assert falls[0] > 10 * falls[1]

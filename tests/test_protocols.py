from types import SimpleNamespace

import pytest
import torch

from ngo.consensus import simulate, synchronization_index
from ngo.coupling import gossip_step
from ngo.graphs import metropolis_hastings, ring
from ngo.protocols import PROTOCOLS, rate
from ngo.seeding import torch_stream

N, D = 5, 7


def settings(**values):
    common = {"lr": 0.1, "gamma": 0.2, "gamma_decay": 0.0, "p": 0.8, "local_steps": 1, "delay": 0}
    return SimpleNamespace(**{**common, "v_threshold": 1.0, **values})


def ring_matrix():
    return metropolis_hastings(N, list(ring(N).edges()))


def states(seed=0):
    generator = torch_stream(seed, "test")
    X, G = torch.randn(2, N, D, generator=generator, dtype=torch.float64)
    return X, G


def test_delay_0_is_ngo():
    X, G = states()
    undelayed, stale, past = X.clone(), X.clone(), []
    for t in range(4):
        sent = PROTOCOLS["ngo"].step(t, undelayed, G, ring_matrix(), settings(), [])
        assert PROTOCOLS["delayed"].step(t, stale, G, ring_matrix(), settings(), past) == sent
    assert torch.equal(undelayed, stale)


def test_a_delayed_pull_is_that_of_the_state_some_steps_ago():
    """With no gradients, and all workers in agreement before the start."""
    X0, _ = states()
    X, past, spec = X0.clone(), [], settings(delay=2)
    seen = []
    for t in range(6):
        seen.append(X.clone())
        expected = X.clone() if t < 2 else gossip_step(X, ring_matrix(), 0.2, 0.8, at=seen[t - 2])
        PROTOCOLS["delayed"].step(t, X, torch.zeros_like(X), ring_matrix(), spec, past)
        assert torch.equal(X, expected)
        assert len(past) <= 2


def test_stale_linear_gossip_diverges_beyond_the_limit_only():
    """γτ beyond π/(2λ_n), λ_n = (2 − 2cos(4π/5))/3 on this ring: 1.30."""
    X0, _ = states()
    ends = {}
    for delay in (5, 8):  # γτ = 1.0 and 1.6, γ = 0.2
        ends[delay] = simulate(X0, ring_matrix(), 1.0, 0.2, 2000, delay=delay).V
    assert ends[5][-1] < 1e-6 * ends[5][0]
    assert ends[8][-1] > 1e6 * ends[8][0]


@pytest.mark.parametrize("threshold", [0.5, 5.0])
def test_gossip_goes_on_until_v_is_small_enough(threshold):
    X, G = states()
    X *= 3
    spec = settings(p=1.0, gamma=1.0, v_threshold=threshold)
    start = synchronization_index(X - 0.1 * G)
    messages = PROTOCOLS["gossip_until"].step(0, X, G, ring_matrix(), spec, [])
    rounds, left = divmod(messages, 2 * N)
    assert start > threshold >= synchronization_index(X)
    assert left == 0
    assert rounds >= 1
    reference = states()[0] * 3 - 0.1 * G
    for _ in range(rounds - 1):
        reference = gossip_step(reference, ring_matrix(), 1.0, 1.0)
    assert synchronization_index(reference) > threshold


def test_gossip_on_a_graph_in_pieces_ends():
    X, G = states()
    W = metropolis_hastings(N, [(0, 1), (2, 3)])
    spec = settings(p=1.0, gamma=1.0, v_threshold=1e-9)
    assert PROTOCOLS["gossip_until"].step(0, X, G, W, spec, []) > 0
    assert torch.allclose(X[0], X[1])


def test_the_rate_decays_as_its_power():
    assert [rate(t, settings(gamma=0.6, gamma_decay=0.0)) for t in (0, 9)] == [0.6, 0.6]
    assert rate(3, settings(gamma=0.6, gamma_decay=0.5)) == pytest.approx(0.3)
    assert rate(9, settings(gamma=0.6, gamma_decay=1.0)) == pytest.approx(0.06)
    X, G = states()
    decayed, constant = X.clone(), X.clone()
    PROTOCOLS["ngo"].step(3, decayed, G, ring_matrix(), settings(gamma_decay=0.5), [])
    PROTOCOLS["ngo"].step(3, constant, G, ring_matrix(), settings(gamma=0.1), [])
    assert torch.allclose(decayed, constant)

"""Methods that descend and average, at their own times: step by step."""

import pytest
import torch
from runs import CONVEX, digits_run, trained
from stepping import D, N, Stepping, ring_matrix, states

from ngo.common.registry import UserError
from ngo.data import loading
from ngo.gossip.consensus import synchronization_index
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import metropolis_hastings
from ngo.training.resolve import resolve


def test_centralized_workers_move_by_the_mean_gradient_through_a_server():
    x, G = states()[0][0], states()[1]
    stepping = Stepping("centralized", x.expand(N, D))
    assert stepping.advance(G) == 2 * N
    assert (stepping.X[0] == stepping.X).all()
    assert torch.allclose(stepping.X[0], x - 0.1 * G.mean(0))


def test_dsgd_takes_the_weighted_mean_of_the_neighbours_half_steps():
    X, G = states()
    stepping = Stepping("dsgd", X, ring_matrix(), gamma=1.0, p=1.0)
    assert stepping.advance(G) == 2 * N
    half = X.sub(G, alpha=0.1)
    assert torch.allclose(stepping.X, ring_matrix() @ half, rtol=0, atol=1e-12)


def test_gamma_of_dsgd_is_1_on_any_topology_and_no_other():
    for topology in ("ring", "random_matching"):
        spec = resolve({"method": "dsgd", "topology": topology, "workers": 8})
        assert (spec.gamma, spec.gamma_decay, spec.p, spec.coupling) == (1, 0, 1, "power")
    with pytest.raises(UserError, match=r"gamma: 0.5 has no effect with method 'dsgd' \(it is 1"):
        resolve({"method": "dsgd", "gamma": 0.5})


def test_workers_of_local_sgd_exchange_after_every_hth_step():
    X, G = states()
    stepping = Stepping("local_sgd", X, ring_matrix(), local_steps=3)
    assert [stepping.advance(G) for _ in range(6)] == [0, 0, 2 * N, 0, 0, 2 * N]
    expected = X.clone()
    for _ in range(2):
        for _ in range(3):
            expected.sub_(G, alpha=0.1)
        expected = gossip_step(expected, ring_matrix(), 0.2, 0.8)
    assert torch.equal(stepping.X, expected)


def run(method, X=None, steps=100, **values):
    """The states after each step, and what was sent in it."""
    stepping = Stepping(method, states()[0] if X is None else X, ring_matrix(), **values)
    G = states()[1]
    return zip(*((stepping.advance(G), stepping.X.clone()) for _ in range(steps)), strict=True)


@pytest.mark.parametrize("together", [0.0, 0.3, 1.0])
def test_post_local_sgd_is_gossip_and_then_local_sgd(together):
    first, own = int(100 * together), {"together": together, "local_steps": 4}
    sent, found = run("post_local_sgd", **own)
    rest = 100 - first
    assert [each / 2 / N for each in sent] == [1] * first + [0, 0, 0, 1] * (rest // 4) + [0] * (
        rest % 4
    )
    expected = [*run("ngo")][1][:first]
    if rest:
        start = found[first - 1] if first else None
        expected += [*run("local_sgd", start, rest, local_steps=4)][1]
    assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize("threshold", [0.5, 5.0])
def test_gossip_is_repeated_until_v_is_small_enough(threshold):
    X, G = states()
    X *= 3
    stepping = Stepping("gossip_until", X, ring_matrix(), p=1.0, gamma=1.0, v_threshold=threshold)
    rounds, left = divmod(stepping.advance(G), 2 * N)
    reference = X - 0.1 * G
    assert synchronization_index(reference) > threshold >= synchronization_index(stepping.X)
    assert left == 0 < rounds
    for _ in range(rounds - 1):
        reference = gossip_step(reference, ring_matrix(), 1.0, 1.0)
    assert synchronization_index(reference) > threshold


def test_gossip_until_on_a_disconnected_graph_ends():
    X, G = states()
    W = metropolis_hastings(N, [(0, 1), (2, 3)])
    stepping = Stepping("gossip_until", X, W, p=1.0, gamma=1.0, v_threshold=1e-9)
    assert stepping.advance(G) > 0
    assert torch.allclose(stepping.X[0], stepping.X[1])


class Pair:
    """A network in which row 0 meets worker 2."""

    messages = 0

    def __init__(self, X):
        self.X = X

    def set_matrix(self, W):
        pass

    def average(self, rows):
        mean = (rows[0] + self.X[2]) / 2
        rows[0], self.X[2] = mean, mean


def test_a_worker_of_ad_psgd_averages_with_its_partner_and_then_descends():
    X, G = states()
    stepping = Stepping("ad_psgd", X, network=Pair(X.clone()))
    stepping.advance(G)
    mean = (X[0] + X[2]) / 2
    assert torch.allclose(stepping.network.X[2], mean)
    assert torch.allclose(stepping.X[0], mean - 0.1 * G[0])
    with pytest.raises(UserError, match="workers meet in pairs with clock 'asynchronous' only"):
        Stepping("ad_psgd", X, ring_matrix()).advance()


@pytest.mark.parametrize(
    "fields",
    [
        {"method": "ad_psgd", "slow_workers": 1, "slow_factor": 5.0},
        {"method": "async_push_sum", "topology": "directed_ring", "speed": "log_normal",
         "latency": 3.0, "message_loss": 0.1},
    ],
)  # fmt: skip
def test_asynchronous_workers_learn(fields, tmp_path):
    """Where one is slow; with late and lost messages."""
    run = {**fields, "clock": "asynchronous", "epochs": 2, "eval_every": 2, "lr": 0.05}
    spec = digits_run(**CONVEX, **run)
    rows, _ = trained(spec, loading.load(spec.dataset, tmp_path))
    assert rows[-1].consensus_loss < 0.1 * rows[0].consensus_loss

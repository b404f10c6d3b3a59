"""Modelled seconds against sums by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from cases import cases, refused

from ngo.analysis.network_time import NetworkModel, network_seconds, read_network
from ngo.gossip.exchange import Failures
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.topology import topology

N, ROW = 4, 1000.0
PLAIN = NetworkModel(latency=0.5, bandwidth=2000, step=3)


def run(method="ngo", topology="ring", edges=2 * N, rounds=1, steps=(0, 10, 20), **fields):
    """Evaluations of a run that sends ``rounds`` messages along each edge in each step.

    ``edges`` is their number in a step, or that up to each evaluation.
    """
    sent = np.array(edges if np.ndim(edges) else np.array(steps) * edges) * rounds
    return pd.DataFrame(
        {
            "run": f"{method}-{topology}", "method": method, "topology": topology,
            "workers": N, "seed": 0, "step": steps, "messages": sent, "bytes_sent": sent * ROW,
            "local_steps": 1, "delay": 0, **fields,
        }
    )  # fmt: skip


def test_local_steps_save_what_is_sent_and_a_server_has_one_link():
    rows = run("local_sgd", rounds=1 / 5, local_steps=5)
    assert network_seconds(rows, PLAIN).tolist() == [0, 2 * (15 + 1.5), 4 * (15 + 1.5)]
    rows = run("centralized", None, edges=2 * N)
    assert network_seconds(rows, PLAIN).tolist() == [0, 10 * (3 + 1 + 4), 20 * (3 + 1 + 4)]


def test_a_graph_that_changes_is_followed_step_by_step():
    """Base-2 on three workers has one edge in each step: (0, 1), (0, 2), (0, 1)."""
    rows = run("gossip", "base_graph", workers=3, peers=1, edges=2, steps=(0, 1, 2, 3))
    assert network_seconds(rows, PLAIN).tolist() == [0, 4, 8, 11.5]


def test_late_messages_are_not_waited_for():
    """They arrive while the next steps are computed."""
    found = network_seconds(run("delayed", delay=1), NetworkModel(0.5, 2000, 3))
    assert found.tolist() == [0, 10 * 4, 20 * 4]
    slow = network_seconds(run("delayed", delay=1), NetworkModel(latency=9, bandwidth=2000, step=3))
    assert np.isclose(slow.iloc[-1], (20 - 2) / 2 * (3 + 1 + 9) + 2 * 4, rtol=0.1)


def test_a_worker_that_is_away_takes_no_time_and_sends_nothing(monkeypatch):
    """Two workers; 0 is away in step 1, so 1 is 3 s ahead in step 2, and 0 waits for it."""
    monkeypatch.setattr(Failures, "absent", lambda self, t: [0] if t == 1 else [])
    each = run(workers=2, absence=0.3, edges=[0, 2, 2, 4], steps=(0, 1, 2, 3))
    assert network_seconds(each, PLAIN).tolist() == [0, 4, 7, 11]
    once = run(workers=2, absence=0.3, edges=[0, 4], steps=(0, 3))
    assert network_seconds(once, PLAIN).tolist() == [0, 11]


def test_failed_links_are_those_of_the_run():
    """Two workers have one link: a step takes 4 s with it, and 3 s without it."""
    links = Failures(2, 0, link_failure=0.5, absence=0)
    whole = MixingMatrix.of(torch.full((2, 2), 0.5))
    up = [links.matrix(whole, []).edges > 0 for _ in range(20)]
    assert 0 < sum(up[:10]) < 10
    rows = run(workers=2, link_failure=0.5, edges=[0, 2 * sum(up[:10]), 2 * sum(up)])
    assert network_seconds(rows, PLAIN).tolist() == [0, 30 + sum(up[:10]), 60 + sum(up)]


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("topology", ["ring", "complete", "star"])
def test_equal_workers_need_their_degree_in_transfers(n, topology):
    """In closed form: step + the largest degree · transfer + latency."""
    degree = min(2, n - 1) if topology == "ring" else n - 1
    edges = 2 * (n - 1) if topology == "star" else degree * n
    rows = run(topology=topology, workers=n, edges=edges, steps=(0, 10))
    assert network_seconds(rows, PLAIN).iloc[-1] == 10 * (3 + degree * 0.5 + 0.5)


@pytest.fixture
def hub(own_entries):
    """All workers send to worker 0, which sends to worker 1 alone."""

    @topology("hub", directed=True)
    def edges(n):
        return [(0, 1), *((j, 0) for j in range(1, n))]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(("latency", "step"), [(0, 0), (2, 0), (0, 5), (2, 5)])
def test_a_hub_receives_its_messages_one_after_another(latency, step):
    """Eight workers send a message of 1 s each to a hub in 10 steps: its link needs 80 s.

    They are ahead of the hub, so only the first step's computation and latency show.
    """
    rows = run("push_sum", "hub", workers=9, edges=9, steps=(0, 10))
    found = network_seconds(rows, NetworkModel(latency, ROW, step))
    assert found.tolist() == [0, step + latency + 80]


def test_a_ring_waits_less_for_slow_workers_than_a_complete_graph():
    """With free communication, between the slowest worker's own time and that of barriers."""
    free = NetworkModel(latency=0, bandwidth=np.inf, step=1, slow=0.1, slowdown=6)
    steps = (0, 200)
    ring = network_seconds(run(steps=steps), free).iloc[-1]
    complete = network_seconds(run(topology="complete", edges=12, steps=steps), free).iloc[-1]
    server = network_seconds(run("centralized", None, steps=steps), free).iloc[-1]
    barrier = 200 * (1 + 5 * (1 - 0.9**N))
    assert complete == server
    assert abs(complete - barrier) < 4 * 5 * np.sqrt(200 * 0.9**N * (1 - 0.9**N))
    assert 200 * 1.5 < ring < complete


@cases(
    "values, message",
    ({"bandwidth": 0}, "network.bandwidth: 0 is out of range; it must be a number, above 0"),
    ({"slowdown": 0.5}, "network.slowdown: 0.5 is out of range; it must be a number, 1 or"),
    ({"slow": 2}, "network.slow: 2 is out of range; it must be a number, 0 to 1"),
    ({"latence": 1}, "latence"),
)
def test_a_network_that_cannot_be_is_refused(values, message):
    refused(message, read_network, {"latency": 0.1, "bandwidth": 1e6, "step": 0.1, **values})

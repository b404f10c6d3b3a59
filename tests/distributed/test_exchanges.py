"""What methods exchange among processes, which are threads here: rows and lies."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from queue import SimpleQueue

import lying
import pytest
import torch
from cases import cases, refused
from lying import FIELDS, GAMMA, HONEST, N, W, start
from stepping import Stepping

from ngo.common.registries import ATTACKS, COUPLINGS
from ngo.common.registries import HONEST as NO_ATTACK
from ngo.distributed.process_network import ProcessNetwork
from ngo.gossip.attack import Byzantine
from ngo.gossip.exchange import Network
from ngo.native.threads import in_order

LIMIT = 20.0  # seconds that a message may take
DEFENCES = ("power", "clipped", "clipped_adaptive", "trimmed_mean", "median")


class ThreadGroup:
    """A ``rendezvous.Group`` whose messages go through queues."""

    def __init__(self, me, size, queues):
        self.me, self.size, self._queues = me, size, queues

    @property
    def others(self):
        return [q for q in range(self.size) if q != self.me]

    def exchange(self, like, send, receive):
        for q, rows in send.items():
            self._queues[self.me, q].put(rows.clone())
        received = {q: self._queues[q, self.me].get(timeout=LIMIT) for q in receive}
        for q, rows in received.items():
            assert (len(rows), rows.dtype) == (receive[q], like.dtype)
            assert rows.shape[1:] == like.shape[1:]
        return received


def networks(workers, processes):
    """The network of each process."""
    queues = {pair: SimpleQueue() for pair in product(range(processes), repeat=2)}
    groups = [ThreadGroup(me, processes, queues) for me in range(processes)]
    return [ProcessNetwork(group, workers, in_order) for group in groups]


def together(*calls):
    """Call functions that wait for each other's messages."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


def lying_networks(processes, attack, run):
    """The network of one process, and those of several, with the same liars."""
    several = networks(N, processes)
    for network in (alone := Network(), *several):
        network.byzantine = Byzantine(ATTACKS[attack], run, 0, HONEST)
    return alone, several


@pytest.mark.parametrize("attack", sorted({*ATTACKS} - {NO_ATTACK}))
@cases("defence, processes", *((each, 2) for each in DEFENCES), ("power", 6))
def test_pulls_and_mixes_among_byzantine_are_those_of_one_process(attack, defence, processes):
    """On a graph where liars have several neighbours, and with six processes each has its own."""
    run = Stepping("ngo", torch.tensor(start()), W, coupling=defence, gamma=GAMMA, **FIELDS).run
    alone, several = lying_networks(processes, attack, run)
    X, step = torch.tensor(start()), partial(COUPLINGS[defence].step, gamma=GAMMA, run=run)
    parts = [X[each.local.start : each.local.stop].clone() for each in several]
    pushes = torch.tensor(start()).flip(0) / 10  # away from consensus
    for t in range(15):
        for network in (alone, *several):
            network.set_matrix(W)
        at = X + pushes
        alone.pull(X, step, at=at if t % 2 else None)
        alone.mix(X, 0.3)
        steps = []
        for each, part in zip(several, parts, strict=True):
            own_at = part + pushes[each.local.start : each.local.stop]
            steps.append(partial(taken, each, part, step, own_at if t % 2 else None))
        together(*steps)
    found = torch.cat(parts)
    assert torch.isfinite(X).all()
    assert torch.allclose(found, X, rtol=1e-9, atol=1e-9)
    assert sum(each.messages for each in several) == alone.messages
    assert sum(each.bytes_sent for each in several) == alone.bytes_sent


def taken(network, part, step, at):
    """A pull and a mix of one process's rows, in place."""
    network.pull(part, step, at=at)
    network.mix(part, 0.3)


@pytest.mark.parametrize("processes", [2, 3, N])
def test_neighbours_rows_are_those_of_one_process(processes):
    """Each row of a part of the model goes along each edge, and nothing else counts."""
    alone, several, X = Network(), networks(N, processes), torch.tensor(start())[:, 1:3]
    for network in (alone, *several):
        network.set_matrix(W)
    parts = [X[each.local.start : each.local.stop] for each in several]
    calls = [partial(each.neighbours, part) for each, part in zip(several, parts, strict=True)]
    sums = []
    for rows, found in zip([X, *parts], [alone.neighbours(X), *together(*calls)], strict=True):
        receivers, weights, theirs = found
        sums.append(torch.zeros_like(rows).index_add_(0, receivers, weights * theirs))
    expected = W.clone().fill_diagonal_(0).to(X) @ X
    assert torch.allclose(sums[0], expected)
    assert torch.allclose(torch.cat(sums[1:]), expected)
    edges = int((W.clone().fill_diagonal_(0) > 0).sum())
    assert alone.messages == edges == sum(each.messages for each in several)
    assert alone.bytes_sent == edges * 2 * X.element_size()


def test_exchanges_in_which_nobody_would_lie_are_refused():
    run = Stepping("ngo", torch.tensor(start()), W, gamma=GAMMA, **FIELDS).run
    _, (network, _) = lying_networks(2, "sign_flip", run)
    network.set_matrix(W)
    for exchange in (network.mean, network.index, network.swap, network.neighbours):
        refused("attack: workers lie in pulls and mixes", exchange, torch.zeros(3, lying.D))

"""Seconds that runs would take on a network, computed afterwards from the traffic on record.

Nothing is trained: another network gives other seconds of the same runs.

Each worker has one link. It carries messages in both directions at once, each at the full
bandwidth. A message takes bytes / bandwidth on the sender's link, and as much on the receiver's,
which begins one latency later: a single message arrives after one transfer and the latency.

A worker's messages of a step share its link equally. At the receiver, messages wait in a queue if
they come faster than its link carries them, those of an earlier step first. None waits if all
workers have equally many neighbours. A step ends when the worker has sent its messages and
received its neighbours'.

Runs in virtual time (``virtual.event_simulation``) send one message after another instead, so that
their order matters: on a complete graph the last worker waits almost twice as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from ngo.analysis.best_in_training import TUNED, best_of_cases
from ngo.analysis.budgets import time_to
from ngo.analysis.universes import known_fields
from ngo.common.fields import above, at_least, from_mapping, number, within
from ngo.common.lazy import pd
from ngo.common.registries import METHODS
from ngo.common.seeding import numpy_stream, torch_stream
from ngo.gossip.exchange import Failures
from ngo.gossip.schedule import ScheduledMixing
from verdicts import final


@dataclass(frozen=True)
class NetworkModel:
    """A network in which each worker has one link."""

    latency: float = number(
        "seconds between a message's transfer and its arrival", None, at_least(0)
    )
    bandwidth: float = number("bytes per second of a link in each direction", None, above(0))
    step: float = number("seconds of a worker's gradient step", None, at_least(0))
    slow: float = number(
        "probability that a worker is slow in a step", 0.0, within(0, 1), optional=True
    )
    slowdown: float = number(
        "factor by which a slow worker's step is longer", 1.0, at_least(1), optional=True
    )


def network_seconds(metrics: pd.DataFrame, network: NetworkModel) -> pd.Series:
    """Modelled seconds from the start of a run to each of its evaluations.

    ``metrics`` are tidy: the evaluations of runs, with ``step``, ``messages`` and ``bytes_sent`` so
    far. The result is aligned with its rows; evaluations themselves take no time.
    """
    parts = [_seconds_of(rows.sort_values("step"), network) for _, rows in metrics.groupby("run")]
    return pd.concat(parts).reindex(metrics.index)


def _seconds_of(rows: pd.DataFrame, network: NetworkModel) -> pd.Series:
    steps = rows["step"].to_numpy(int)
    clock = _Clock(known_fields(rows.iloc[0]), network, steps[-1])
    sent = rows[["messages", "bytes_sent"]].diff().to_numpy(float)[1:]
    seconds = [0.0]
    for (start, end), (messages, size) in zip(pairwise(steps), sent, strict=True):
        clock.pass_steps(start, end, messages, size)
        seconds.append(clock.now)
    return pd.Series(seconds, index=rows.index)


class _Clock:
    """When each worker of a run is done with each step."""

    def __init__(self, run: Mapping[str, object], network: NetworkModel, steps: int) -> None:
        n, seed = run["workers"], run["seed"]
        self._network = network
        slow = numpy_stream(seed, "stragglers").random((steps, n)) < network.slow
        self._compute = network.step * np.where(slow, network.slowdown, 1.0)
        self._done = np.zeros(n)
        self._received = np.zeros(n)  # when the last message of the steps so far was received
        self._every, self._delay = run.get("local_steps", 1), run.get("delay", 0)
        self._halves: list[np.ndarray] = []  # when the last half steps were done
        self._mixing = None
        if METHODS[run["method"]].decentralized:
            fields, graphs = SimpleNamespace(**run), torch_stream(seed, "graphs")
            self._mixing = ScheduledMixing(fields, steps, graphs)
            rates = {name: run.get(name, 0) for name in ("link_failure", "absence")}
            self._failures = Failures(n, seed, **rates)

    @property
    def now(self) -> float:
        """When the last worker is done."""
        return float(self._done.max())

    def pass_steps(self, start: int, end: int, messages: float, sent: float) -> None:
        """Take the steps from ``start`` to ``end``; all workers sent so much in them together.

        Messages are shared equally among the edges of these steps, and so are bytes. Without edges,
        all workers wait for a server, whose link carries all messages, to it and back.
        """
        if self._mixing is None:
            meetings = max(1, end // self._every - start // self._every)
            for t in range(start, end):
                self._done = self._done + self._compute[t]
                if (t + 1) % self._every == 0:
                    end = self.now + 2 * self._network.latency
                    self._done[:] = end + sent / meetings / self._network.bandwidth
            return
        graphs = [self._edges(t) for t in range(start, end)]
        crossed = max(1, sum(int(edges.sum()) for edges in graphs))
        for t, edges in enumerate(graphs, start):
            self._done = self._done + self._compute[t]
            self._halves = [*self._halves, self._done][-1 - self._delay :]
            if edges.any():
                self._exchange(edges, messages / crossed, sent / crossed)

    def _exchange(self, edges: np.ndarray, messages: float, sent: float) -> None:
        """Each worker sends, then waits for the messages that its neighbours sent τ steps ago.

        So many messages cross each edge, one after the other, and so many bytes.
        """
        transfer = sent / self._network.bandwidth
        sending = transfer * edges.sum(0)
        self._done = self._done + sending
        if len(self._halves) > self._delay:  # else nothing is due yet
            begin = self._halves[0] + messages * self._network.latency
            self._received = _received(edges, begin, sending, transfer, self._received)
            self._done = np.maximum(self._done, self._received)

    def _edges(self, t: int) -> np.ndarray:
        """``[n, n]``: whether j sends to i in step t; call it once for each step, in order.

        The links that fail and the workers that are away are those of the run. A worker that is
        away takes no time.
        """
        absent = self._failures.absent(t)
        self._compute[t, absent] = 0
        W = self._failures.matrix(self._mixing.at(t, t // self._every), absent).dense().numpy()
        edges = W != 0
        np.fill_diagonal(edges, False)
        return edges if (t + 1) % self._every == 0 else np.zeros_like(edges)


def _received(
    edges: np.ndarray, begin: np.ndarray, sending: np.ndarray, transfer: float, free: np.ndarray
) -> np.ndarray:
    """When each worker's link has received all messages of a step, ``[n]``.

    ``edges[i, j]`` says whether j sends to i. The messages of worker j begin to arrive at
    ``begin[j]``. Without a queue, all have arrived ``sending[j]`` later. Each takes ``transfer`` on
    the receiver's link, which carries earlier steps until ``free``. The link is done when the last
    message has arrived, and when it has carried all that arrived since any earlier moment. Without
    a message, that is ``free``.
    """
    end = begin + sending
    # [k, j]: what is left to arrive of a message of worker j when those of worker k begin
    left = np.clip(end - begin[:, None], 0, sending) / np.maximum(edges.sum(0), 1)
    load = edges @ left.T
    queued = np.where(load > 0, begin + load, -np.inf).max(1)
    last = np.where(edges, end, -np.inf).max(1)
    return np.maximum.reduce([last, queued, free + transfer * edges.sum(1)])


def read_network(values: Mapping[str, object]) -> NetworkModel:
    """The network that a config or a claim describes; a one-line UserError for a wrong one."""
    return from_mapping(NetworkModel, values, "network")


# The price of a point of accuracy, in bytes and in modelled seconds.

SITUATION = ["dataset", "partition"]

#: The column of the bytes that a worker has sent so far.
SENT = "sent_per_worker"


def priced(metrics: pd.DataFrame, networks: Mapping[str, NetworkModel]) -> pd.DataFrame:
    """The evaluations of each case's runs at its best p, γ and learning rate, with their costs.

    Columns: ``case`` (``best_of_cases``); ``sent_per_worker``, bytes so far; a column of modelled
    seconds so far for each network, under its name.
    """
    chosen = best_of_cases(metrics)
    seconds = {name: network_seconds(chosen, network) for name, network in networks.items()}
    return chosen.assign(**{SENT: chosen["bytes_sent"] / chosen["workers"]}, **seconds)


def costs_to(rows: pd.DataFrame, target: float, costs: Sequence[str]) -> pd.DataFrame:
    """What it costs each case to reach the accuracy ``target`` (percent): medians over seeds.

    ``rows`` are those of ``priced``.

    Columns: ``SITUATION``, ``case``, the best ``TUNED``, one for each of ``costs``, and how many
    ``seeds`` of how many ``runs`` reach it. inf where half of them or more do not.
    """
    last = final(rows)
    for cost in costs:
        last[cost] = last["run"].map(time_to(rows, target / 100, "consensus_accuracy", cost))
    groups = last.groupby([*SITUATION, "case"], sort=False)
    return groups.agg(
        **{name: (name, "first") for name in TUNED},
        **{cost: (cost, "median") for cost in costs},
        seeds=(costs[0], lambda values: int(np.isfinite(values).sum())),
        runs=("run", "size"),
    ).reset_index()

"""Seconds that runs would take on a given network, from the traffic on record.

Nothing is trained: another network gives other seconds of the same runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ngo.common.registry import UserError, shown
from ngo.common.seeding import numpy_stream, torch_stream
from ngo.gossip.method import METHODS
from ngo.gossip.topology import Mixing

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class NetworkModel:
    """Workers on a network. Each has a link of its own, over which its messages go in turn."""

    #: Seconds until a message arrives, beside its transfer.
    latency: float
    #: Bytes per second that a link carries, in each direction.
    bandwidth: float
    #: Seconds of a worker's gradient step.
    step: float
    #: The probability that a worker is slow in a step, and by which factor.
    slow: float = 0.0
    slowdown: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a network on which nothing would end."""
        for name, least in (("latency", 0), ("step", 0), ("slow", 0), ("slowdown", 1)):
            if not getattr(self, name) >= least:
                raise _refused(name, getattr(self, name), f"{least} or more")
        if not self.bandwidth > 0:
            raise _refused("bandwidth", self.bandwidth, "above 0")
        if not self.slow <= 1:
            raise _refused("slow", self.slow, "1 or less")


def network_seconds(metrics: pd.DataFrame, network: NetworkModel) -> pd.Series:
    """Modelled seconds from the start of a run to each of its evaluations.

    ``metrics`` are tidy: the evaluations of runs, with ``step``, ``messages`` and ``bytes_sent`` so
    far. The result is aligned with its rows; evaluations themselves take no time.
    """
    parts = [_seconds_of(rows.sort_values("step"), network) for _, rows in metrics.groupby("run")]
    return pd.concat(parts).reindex(metrics.index)


def _seconds_of(rows: pd.DataFrame, network: NetworkModel) -> pd.Series:
    run = SimpleNamespace(**rows.iloc[0].to_dict())
    steps = rows["step"].to_numpy(int)
    clock = _Clock(run, network, steps[-1])
    found = [0.0]
    for start, end in pairwise(steps):
        place = len(found)
        sent = rows[["messages", "bytes_sent"]].iloc[place - 1 : place + 1].diff().iloc[1]
        clock.pass_steps(start, end, float(sent["messages"]), float(sent["bytes_sent"]))
        found.append(clock.now)
    return pd.Series(found, index=rows.index)


class _Clock:
    """When each worker of a run is done with each step."""

    def __init__(self, run: SimpleNamespace, network: NetworkModel, steps: int) -> None:
        n = int(run.workers)
        self._run, self._network = run, network
        slow = numpy_stream(int(run.seed), "stragglers").random((steps, n)) < network.slow
        self._compute = network.step * np.where(slow, network.slowdown, 1.0)
        self._done = np.zeros(n)
        self._delay = _whole(run, "delay", 0)
        self._halves: list[np.ndarray] = []  # when the last half steps were done
        self._mixing = None
        if METHODS[run.protocol].decentralized:
            graphs = torch_stream(int(run.seed), "graphs")
            self._mixing = Mixing(run.topology, n, run, graphs)

    @property
    def now(self) -> float:
        """When the last worker is done."""
        return float(self._done.max())

    def pass_steps(self, start: int, end: int, messages: float, sent: float) -> None:
        """Take the steps from ``start`` to ``end``, in which all workers sent so much together."""
        every = _whole(self._run, "local_steps", 1)
        exchanges = end // every - start // every
        for t in range(start, end):
            half = self._done + self._compute[t]
            if self._mixing is None:
                self._done = self._meet(half, sent / (end - start))
                continue
            edges = self._edges(t)
            self._halves = [*self._halves, half][-1 - self._delay :]
            self._done = half
            if (t + 1) % every == 0 and edges.any():
                rounds = messages / exchanges / edges.sum()
                own = sent / exchanges * edges.sum(0) / edges.sum()
                self._done = self._exchange(half, edges, rounds, own)

    def _meet(self, half: np.ndarray, sent: float) -> np.ndarray:
        """All workers wait for a server, whose link carries all messages, to it and back."""
        end = half.max() + 2 * self._network.latency + sent / self._network.bandwidth
        return np.full(len(half), end)

    def _exchange(
        self, half: np.ndarray, edges: np.ndarray, rounds: float, own: np.ndarray
    ) -> np.ndarray:
        """Each worker sends, and waits for what those that it hears sent τ steps before."""
        done = half + own / self._network.bandwidth
        if len(self._halves) <= self._delay:
            return done  # nothing is due yet
        arrive = self._halves[0] + own / self._network.bandwidth + rounds * self._network.latency
        return np.maximum(done, np.where(edges, arrive, 0.0).max(1))

    def _edges(self, t: int) -> np.ndarray:
        """``[n, n]``: whether i hears j."""
        edges = self._mixing.at(t).numpy() != 0
        np.fill_diagonal(edges, False)
        return edges


def _whole(run: SimpleNamespace, name: str, default: int) -> int:
    value = getattr(run, name, None)
    return default if value is None or pd.isna(value) else int(value)


def read_network(values: Mapping[str, object]) -> NetworkModel:
    """The network that a config describes; a one-line UserError for a key that it lacks."""
    try:
        return NetworkModel(**values)
    except TypeError as error:
        raise UserError(f"network: {error}") from None


def _refused(name: str, value: object, allowed: str) -> UserError:
    return UserError(f"network.{name}: {shown(value)} is not allowed; it must be {allowed}.")

"""The neighbours of each worker, exchange after exchange, as the schedule reads them."""

from __future__ import annotations

from dataclasses import dataclass

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.gossip.schedule import ScheduledMixing, topologies
from ngo.gossip.topology import TOPOLOGIES
from ngo.training.spec import RunSpec


@dataclass(frozen=True)
class Graph:
    """A mixing matrix by rows and by columns."""

    #: To whom each worker sends, and the weights at the receivers.
    out: list[list[tuple[int, float]]]
    #: From whom each worker receives, and the weights.
    into: list[dict[int, float]]
    #: The weights of the workers' own models.
    own: list[float]
    W: MixingMatrix


def as_graph(W: MixingMatrix) -> Graph:
    """The graph of a mixing matrix."""
    out: list[list[tuple[int, float]]] = [[] for _ in range(W.n)]
    into: list[dict[int, float]] = [{} for _ in range(W.n)]
    edges = zip(W.receivers.tolist(), W.senders.tolist(), W.weights.tolist(), strict=True)
    for i, j, weight in edges:
        out[j].append((i, weight))
        into[i][j] = weight
    return Graph(out, into, W.diagonal.tolist(), W)


class Graphs:
    """The graphs of a run, by the number of a worker's own step."""

    def __init__(self, spec: RunSpec, steps: int) -> None:
        first, *others = topologies(spec)
        entry = TOPOLOGIES[first]
        values = {name: getattr(spec, name) for name in entry.fields}
        self._period = None if others else entry.period(spec.workers, **values)
        self._mixing = ScheduledMixing(spec, steps, torch_stream(spec.seed, "graphs"))
        self._every = spec.local_steps or 1
        self._known: dict[int, Graph] = {}
        self._next = 0
        #: Whether graphs are made one after another, and forgotten.
        self.drawn = self._period is None
        #: Whether there is one graph.
        self.constant = self._period == 1

    def at(self, t: int, oldest: int = 0) -> Graph:
        """The graph of a worker's step ``t``; no later call asks for one before ``oldest``."""
        if self._period is not None:
            k = (t // self._every) % self._period
            if k not in self._known:
                self._known[k] = as_graph(self._mixing.at(t, k))
            return self._known[k]
        while self._next <= t:  # one for each step, as in a run in which all step together
            exchange = self._next // self._every
            self._known[self._next] = as_graph(self._mixing.at(self._next, exchange))
            self._next += 1
        for k in [k for k in self._known if k < oldest]:
            del self._known[k]
        return self._known[t]

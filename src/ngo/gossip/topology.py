"""Topologies: who exchanges models with whom, exchange by exchange.

A topology is a function that returns edges, or a mixing matrix; weights, networkx graphs and
spectra follow from it (see ``mixing_matrix``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any

from ngo.common.fields import Options, declare
from ngo.common.lazy import np, nx
from ngo.common.plugins import blamed
from ngo.common.registries import METROPOLIS, TOPOLOGIES
from ngo.gossip.mixing_matrix import MixingMatrix, checked_matrix, mixing_of, outgoing_shares
from verdicts.registry import UserError, in_a_line

Edges = list[tuple[int, int]]

# Parameters of a topology's function, other than n, that are not fields of a run.
STEP, GENERATOR = "t", "generator"

#: The most workers for which a random number is drawn for each pair of them, edge or not.
DRAWN_IN_FULL = 256


@dataclass(frozen=True)
class Topology:
    """An entry of the registry. ``define`` is the registered function."""

    name: str
    define: Callable[..., object]
    #: Whether edges have a direction, (i, j) from i to j.
    directed: bool
    #: Whether the function returns the mixing matrix itself.
    weighted: bool
    #: The names of the function's parameters after n.
    arguments: tuple[str, ...]
    #: ``period`` and ``matching``: values, or functions of n and of fields. ``check``: such a
    #: function, which raises a UserError if they have no graph.
    facts: Mapping[str, object] = field(hash=False)
    #: Whether the graphs of a period are meant to connect all workers.
    connected: bool = True

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a run that the topology reads."""
        return tuple(name for name in self.arguments if name not in (STEP, GENERATOR))

    @property
    def varies(self) -> bool:
        """Whether the graph may change during a run."""
        return bool({STEP, GENERATOR} & set(self.arguments))

    def period(self, n: int, **values: object) -> int | None:
        """After how many exchanges the matrices repeat; None if they may never repeat."""
        return self._fact("period", n, values) if self.varies and n > 1 else 1

    def matching(self, n: int, **values: object) -> bool:
        """Whether each worker has at most one neighbour in each step."""
        return n == 2 or self._fact("matching", n, values)

    def check_values(self, n: int, **values: object) -> None:
        """Raise a one-line UserError if the topology has no graph on ``n`` workers."""
        self._fact("check", n, values)

    def edges(self, n: int, **values: object) -> Edges:
        """The edges on ``n`` workers, each once, without self-loops.

        ``values`` are the function's arguments by name: ``t`` (the number of the exchange),
        ``generator``, and the fields of the run. An undirected edge is (i, j) with i < j. In a
        matrix, each entry off the diagonal that is not 0 is an edge. One worker has no edges.
        """
        return [(i, j) for i, j in self.pairs(n, **values).tolist()]

    def pairs(self, n: int, **values: object) -> np.ndarray:
        """The edges as an array ``[e, 2]``, in order."""
        if self.weighted and n > 1:
            W = self.matrix(n, **values)  # type: ignore[arg-type]  # own weights read no rule
            edges = np.stack([W.senders.numpy(), W.receivers.numpy()], 1)
            return simple(n, edges, directed=self.directed)
        return _checked_edges(self.name, n, self._define(n, values), directed=self.directed)

    def matrix(self, n: int, *, weights: str = METROPOLIS, **values: object) -> MixingMatrix:
        """The mixing matrix on ``n`` workers: row i weighs what worker i receives.

        A weighted topology returns its own matrix. Other undirected graphs have ``weights`` by a
        rule, Metropolis–Hastings by default. In other directed graphs, each worker divides its mass
        equally among itself and its receivers (column-stochastic weights). The matrix of one worker
        is 1.
        """
        if self.weighted and n > 1:
            W = self._define(n, values)
            return checked_matrix(self.name, W, n, directed=self.directed)
        edges = self.pairs(n, **values)
        if self.directed:
            return outgoing_shares(n, edges)
        return mixing_of(n, edges, weights)

    def _fact(self, fact: str, n: int, values: Mapping[str, object]) -> Any:
        """A fact; of a function, what it returns for n and the ``values`` that it takes."""
        if not callable(function := self.facts.get(fact)):
            return function
        with blamed(f"topology {self.name!r}, {fact}", function):
            names = tuple(inspect.signature(function).parameters)[1:]
            return function(n, **{name: values[name] for name in names})

    def _define(self, n: int, values: Mapping[str, object]) -> Any:
        self.check_values(n, **values)
        if n == 1:
            return []
        with blamed(f"topology {self.name!r}", self.define):
            return self.define(n, **{name: values[name] for name in self.arguments})


def topology(
    name: str,
    *,
    directed: bool = False,
    weighted: bool = False,
    period: int | Callable[..., int] | None = None,
    matching: bool | Callable[..., bool] = False,
    check: Callable[..., object] | None = None,
    connected: bool = True,
    options: Options | None = None,
    version: int = 1,
) -> Callable[[Callable[..., object]], Callable[..., nx.Graph]]:
    """Register a function ``(n, …) → edges`` under the name that configs and commands use.

    Edges are pairs of workers, or an array ``[e, 2]`` of them, which is quicker for many workers.
    In addition to ``n``, the function may take

    - ``t``: the number of exchanges before this one. If a method exchanges in every step, it is the
      number of the step, from 0.
    - ``generator``: the run's random stream for graphs, a ``torch.Generator``.
    - fields of a run by their names, such as ``u``.

    It is called at every step if it takes ``t`` or ``generator``, else once. An edge that it
    returns several times, in either direction if undirected, counts once.

    A ``directed`` topology has edges (from, to), and needs a method that allows it. A ``weighted``
    topology returns the mixing matrix instead of edges: doubly stochastic and symmetric, or
    column-stochastic if it is directed. It may be dense or one of SciPy's sparse arrays.
    ``options`` are new fields of a run. The decorated function returns the networkx graph.

    Two facts are values, or functions of ``n`` and of fields by name. ``period`` is the number of
    exchanges after which the matrices of a topology with ``t`` repeat. Each step is a ``matching``
    if a worker has at most one neighbour in it. ``check`` takes the same arguments, and raises a
    UserError if they have no graph. Graphs of a period that
    together do not connect all workers are an error, unless ``connected=False`` declares that this
    is meant.
    ``version`` is raised when its results change.
    """

    def register(function: Callable[..., object]) -> Callable[..., nx.Graph]:
        declare("topology", name, options, function)
        arguments = tuple(inspect.signature(function).parameters)[1:]
        facts = {"period": period, "matching": matching, "check": check}
        entry = Topology(name, function, directed, weighted, arguments, facts, connected)
        TOPOLOGIES.add(name, entry, function, version)

        @wraps(function)
        def graph(n: int, *given: object, **named: object) -> nx.Graph:
            if n < 2:
                raise ValueError(f"a topology needs 2 workers or more, not {n}")
            built = nx.empty_graph(n, create_using=nx.DiGraph if directed else nx.Graph)
            values = dict(zip(arguments, given, strict=False))
            built.add_edges_from(entry.edges(n, **values, **named))
            return built

        return graph

    return register


def _whole(i: Any) -> int:
    if (k := int(i)) != float(i):
        raise ValueError(f"{i!r} is not a whole number")
    return k


def _checked_edges(name: str, n: int, edges: Any, *, directed: bool) -> np.ndarray:
    """The ``simple`` edges; a UserError for what is no pair of workers from 0 to n − 1."""
    try:
        if hasattr(edges, "shape"):
            pairs = np.asarray(edges).reshape(len(edges), 2)
            pairs = pairs.astype(np.int64, casting="same_kind", copy=False)
        else:
            pairs = np.array([(_whole(i), _whole(j)) for i, j in edges], np.int64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError) as error:
        fault = f"does not return pairs of workers: {in_a_line(error)}"
        raise UserError(f"topology: {name!r} {fault}.") from error
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < n:
        outside = pairs[((pairs < 0) | (pairs >= n)).any(1)]
        i, j = outside[0].tolist() if directed else sorted(outside[0].tolist())
        fault = f"has an edge ({i}, {j}) on {n} workers; they are 0 to {n - 1}"
        raise UserError(f"topology: {name!r} {fault}.")
    return simple(n, pairs, directed=directed)


def simple(n: int, pairs: np.ndarray, *, directed: bool) -> np.ndarray:
    """Each edge ``[e, 2]`` once, in order, without self-loops; an undirected one as i < j."""
    if not directed and (pairs[:, 0] > pairs[:, 1]).any():
        pairs = np.stack([pairs.min(1), pairs.max(1)], 1)
    keys = pairs[:, 0] * n + pairs[:, 1]
    if not (keys[1:] > keys[:-1]).all():
        pairs = pairs[np.unique(keys, return_index=True)[1]]
    loops = pairs[:, 0] == pairs[:, 1]
    return pairs[~loops] if loops.any() else pairs


def check_undirected(names: Iterable[str]) -> None:
    """Raise a UserError for a directed topology, on which only linear gossip is defined."""
    for name in names:
        if TOPOLOGIES[name].directed:
            allowed = sorted(other for other in TOPOLOGIES if not TOPOLOGIES[other].directed)
            fault = "is directed, where only p = 1 of coupling power is defined"
            raise UserError(f"topology: {name!r} {fault}; allowed: {', '.join(allowed)}.")


def check_connected(name: str, n: int, values: Mapping[str, object]) -> None:
    """Raise a UserError unless the graphs of one period together connect ``n`` workers.

    In directed graphs, a path must lead from each worker to each other. ``values`` are the fields
    of a run that the topology reads. A topology that may never repeat is not checked, nor one that
    declares ``connected=False``, nor the package's: tests show that they connect all workers.
    """
    topology = TOPOLOGIES[name]
    known = TOPOLOGIES.definitions.get(name, "").startswith("ngo.")
    if topology.connected and not known and topology.period(n, **values) is not None:
        _check_period(topology, n, tuple(sorted(values.items())))


@lru_cache(maxsize=1000)
def _check_period(topology: Topology, n: int, values: tuple[tuple[str, object], ...]) -> None:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    period = topology.period(n, **dict(values)) or 1
    edges = np.concatenate([topology.pairs(n, t=t, **dict(values)) for t in range(period)])
    graph = coo_array((np.ones(len(edges)), edges.T), shape=(n, n))
    components, labels = connected_components(graph, topology.directed, connection="strong")
    if components > 1:
        apart = f"between worker 0 and worker {(labels != labels[0]).argmax()}"
        fault = f"does not connect the {n} workers: there are no paths both ways {apart}"
        advice = "if that is meant, register it with @ngo.topology('name', connected=False)"
        raise UserError(f"topology: {topology.name!r} {fault}; {advice}.")

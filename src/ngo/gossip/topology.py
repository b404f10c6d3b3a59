"""Topologies: who exchanges models with whom, exchange by exchange.

A topology is a function that returns edges, or a mixing matrix; weights, networkx graphs and
spectra follow from it (see ``weights`` and ``spectrum``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any

from ngo.common.options import Options, declare, takes_options
from ngo.common.registry import Registry, UserError, in_a_line

if TYPE_CHECKING:
    import networkx as nx
    import torch

Edges = list[tuple[int, int]]

# Parameters of a topology's function beside n that are no fields of a run.
STEP, GENERATOR = "t", "generator"


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
    #: ``period``, ``exact`` and ``matching``: values, or functions of n and of fields by name.
    facts: Mapping[str, object] = field(default_factory=dict, hash=False)
    #: Raises a UserError if n and fields, by name, have no such graph; None if all have one.
    check: Callable[..., object] | None = None
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

    def exact(self, n: int, **values: object) -> bool:
        """Whether the product of the matrices of one period is the mean, 1/n everywhere."""
        return self._fact("exact", n, values)

    def matching(self, n: int, **values: object) -> bool:
        """Whether each worker has at most one neighbour in each step."""
        return n == 2 or self._fact("matching", n, values)

    def check_values(self, n: int, **values: object) -> None:
        """Raise a one-line UserError if there is no such graph on ``n`` workers."""
        if self.check is not None:
            _call(self.check, n, values)

    def edges(self, n: int, **values: object) -> Edges:
        """The edges on ``n`` workers, each once, without self-loops.

        ``values`` are the function's arguments by name: ``t`` (the number of the exchange),
        ``generator``, and the fields of the run. An undirected edge is (i, j) with i < j. A matrix
        has an edge where an entry off its diagonal is not 0. One worker has none.
        """
        return self._edges_of(n, self._define(n, values))

    def matrix(self, n: int, **values: object) -> torch.Tensor:
        """The mixing matrix on ``n`` workers, float64 ``[n, n]``: row i weighs what i receives.

        Metropolis–Hastings weights; for directed edges, each worker shares its mass equally among
        itself and those that it sends to (column-stochastic); or the function's own matrix. That of
        one worker is 1.
        """
        from ngo.gossip.weights import checked_matrix, metropolis_hastings, outgoing_shares

        found = self._define(n, values)
        if self.weighted and n > 1:
            return checked_matrix(self.name, found, n, directed=self.directed)
        edges = self._edges_of(n, found)
        return outgoing_shares(n, edges) if self.directed else metropolis_hastings(n, edges)

    def _fact(self, name: str, n: int, values: Mapping[str, object]) -> Any:
        fact = self.facts.get(name)
        return _call(fact, n, values) if callable(fact) else fact

    def _define(self, n: int, values: Mapping[str, object]) -> Any:
        self.check_values(n, **values)
        if n == 1:
            return []
        return self.define(n, **{name: values[name] for name in self.arguments})

    def _edges_of(self, n: int, found: Any) -> Edges:
        if self.weighted and n > 1:
            from ngo.gossip.weights import checked_matrix

            W = checked_matrix(self.name, found, n, directed=self.directed)
            found = [(j, i) for i, j in W.nonzero().tolist()]
        return _simple(self.name, n, found, directed=self.directed)


TOPOLOGIES: Registry[Topology] = Registry("topology")


@takes_options
def topology(
    name: str,
    *,
    directed: bool = False,
    weighted: bool = False,
    period: int | Callable[..., int] | None = None,
    exact: bool | Callable[..., bool] = False,
    matching: bool | Callable[..., bool] = False,
    check: Callable[..., object] | None = None,
    connected: bool = True,
    options: Options | None = None,
) -> Callable[[Callable[..., object]], Callable[..., nx.Graph]]:
    """Register a function ``(n, …) → edges`` under the name that configs and commands use.

    Beside ``n`` the function may take ``t`` (the number of exchanges before, from 0: that of the
    step, if a method exchanges in every step), ``generator`` (the run's random stream for graphs)
    and fields of a run by their names, such as ``u``. It is called at every step if it takes ``t``
    or ``generator``, else once. Edges may repeat, an undirected one in either direction, and count
    once.

    A ``directed`` topology has edges (from, to), and needs a method that allows it. A ``weighted``
    one returns the mixing matrix instead: doubly stochastic and symmetric, or column-stochastic if
    it is directed. ``options`` are fields of a run that it adds. The decorated function returns
    the networkx graph.

    Three facts about it are values, or functions of ``n`` and of fields by name: the ``period`` of
    a topology that takes ``t``, after which its matrices repeat; whether one period is ``exact``,
    so that every worker has the mean of all; whether each step is a ``matching``, in which a worker
    has at most one neighbour. ``check`` takes the same arguments, and raises a UserError if there
    is no such graph. Declare ``connected=False`` if the graphs of a period are not meant to connect
    all workers together, which is an error otherwise.
    """

    def register(function: Callable[..., object]) -> Callable[..., nx.Graph]:
        declare("topology", name, options)
        arguments = tuple(inspect.signature(function).parameters)[1:]
        facts = {"period": period, "exact": exact, "matching": matching}
        entry = Topology(name, function, directed, weighted, arguments, facts, check, connected)
        TOPOLOGIES.add(name, entry, function)

        @wraps(function)
        def graph(n: int, *given: object, **named: object) -> nx.Graph:
            import networkx as nx

            if n < 2:
                raise ValueError(f"a topology needs 2 workers or more, not {n}")
            built = nx.empty_graph(n, create_using=nx.DiGraph if directed else nx.Graph)
            values = {**dict(zip(arguments, given, strict=False)), **named}
            built.add_edges_from(entry.edges(n, **values))
            return built

        return graph

    return register


class Mixing:
    """The mixing matrices of a run, exchange after exchange."""

    def __init__(
        self, name: str, n: int, fields: object, generator: torch.Generator | None = None
    ) -> None:
        """``fields`` holds the fields of the run as attributes; ``generator`` is changed."""
        self._topology = TOPOLOGIES[name]
        self.directed = self._topology.directed
        self._n = n
        for key in self._topology.fields:
            if not hasattr(fields, key):
                raise UserError(f"topology: {name!r} needs {key!r}, which cannot be given here.")
        self._values = {key: getattr(fields, key) for key in self._topology.fields}
        self._period = self._topology.period(n, **self._values)
        self._known: dict[int, torch.Tensor] = {}  # those of one period
        self._values[GENERATOR] = generator
        if GENERATOR not in self._topology.arguments:  # a mistake in it stops the run at its start
            self.at(0)

    def at(self, t: int) -> torch.Tensor:
        """The matrix of exchange ``t``, float64 ``[n, n]``, counted from 0.

        Call it once for each step, in order: graphs that are drawn are drawn in every step, also
        where nothing is exchanged.
        """
        if self._period is None:
            return self._topology.matrix(self._n, **self._values, t=t)
        t %= self._period
        if t not in self._known:
            self._known[t] = self._topology.matrix(self._n, **self._values, t=t)
        return self._known[t]


def _call(function: Callable[..., object], n: int, values: Mapping[str, object]) -> object:
    """``function`` of n and of those ``values`` that it takes by name."""
    names = tuple(inspect.signature(function).parameters)[1:]
    return function(n, **{name: values[name] for name in names})


def _simple(name: str, n: int, edges: Iterable[tuple[int, int]], *, directed: bool) -> Edges:
    """Each edge once, without self-loops; a UserError for an edge to a worker outside 0 … n − 1."""
    try:
        pairs = [(int(i), int(j)) for i, j in edges]
    except (TypeError, ValueError) as error:
        raise UserError(
            f"topology: {name!r} does not return pairs of workers: {in_a_line(error)}."
        ) from error
    if not directed:
        pairs = [(min(pair), max(pair)) for pair in pairs]
    for pair in pairs:
        if min(pair) < 0 or max(pair) >= n:
            raise UserError(
                f"topology: {name!r} has an edge {pair} on {n} workers; they are 0 to {n - 1}."
            )
    return [(i, j) for i, j in dict.fromkeys(pairs) if i != j]

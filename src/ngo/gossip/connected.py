"""Whether the graphs of a topology connect all workers, found before a run."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ngo.common.lazy import np, torch
from ngo.common.registry import UserError
from ngo.gossip.topology import GENERATOR, TOPOLOGIES, Topology
from ngo.gossip.weights import simple

log = logging.getLogger("ngo")

#: The number of graphs that are checked, if the topology may never repeat.
GRAPHS = 1000


def check_connected(name: str, n: int, values: Mapping[str, object]) -> None:
    """Raise a UserError unless the graphs of one period together connect ``n`` workers.

    In directed graphs, a path must lead from each worker to each other. ``values`` are the fields
    of a run that the topology reads. Of a topology that may never repeat, the first ``GRAPHS``
    graphs are checked. For this topology, and for one that declares ``connected=False``, a warning
    takes the place of the error, once in a process. The package's topologies are not checked: tests
    show that they connect all workers.
    """
    if not TOPOLOGIES.definitions.get(name, "").startswith("ngo."):
        _check(TOPOLOGIES[name], n, tuple(sorted(values.items())))


@lru_cache(maxsize=1000)
def _check(topology: Topology, n: int, values: tuple[tuple[str, object], ...]) -> None:
    period = topology.period(n, **dict(values))
    apart = _apart(topology.directed, n, _graphs(topology, n, dict(values), period or GRAPHS))
    if apart is None:
        return
    where = {1: "", None: f" in its first {GRAPHS} graphs"}.get(period, f" in its {period} graphs")
    own = topology.name not in TOPOLOGIES.definitions  # the graph itself was given, to fit
    what = "the given graph" if own else repr(topology.name)
    found = (
        f"topology: {what} does not connect the {n} workers: there are no paths "
        f"both ways between worker 0 and worker {apart}{where}"
    )
    if period is None or not topology.connected:
        log.warning(f"{found}, so that they may never agree")
    else:
        how = "declare it with connected=False if that is meant"
        if own:
            how = (
                "join its parts or, if that is meant, register it with @ngo.topology('name', "
                "connected=False) and give the name"
            )
        raise UserError(f"{found}; {how}.")


def _graphs(
    topology: Topology, n: int, values: Mapping[str, object], count: int
) -> Iterator[np.ndarray]:
    """The edges of the first graphs. Random graphs are drawn from a stream that no run uses."""
    drawn = {}
    if GENERATOR in topology.arguments:
        drawn[GENERATOR] = torch.Generator().manual_seed(0)
    for t in range(count):
        yield topology.pairs(n, t=t, **drawn, **values)


def _apart(directed: bool, n: int, graphs: Iterator[np.ndarray]) -> int | None:
    """A worker that has no paths both to and from worker 0 in the union of graphs; else None."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    union, labels = np.empty((0, 2), np.int64), np.arange(n)
    for edges in graphs:
        larger = simple(n, np.concatenate([union, edges]), directed=directed)
        if len(larger) > len(union):
            union = larger
            graph = coo_array((np.ones(len(union)), union.T), shape=(n, n))
            count, labels = connected_components(graph, directed, connection="strong")
            if count == 1:
                return None
    return int((labels != labels[0]).argmax())

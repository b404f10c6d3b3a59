"""Random graphs that are drawn once for a run, from its seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ngo.common.registry import UserError
from ngo.common.seeding import numpy_stream
from ngo.gossip.topology import Edges

if TYPE_CHECKING:
    import networkx as nx

DRAWS = 1000


def connected(name: str, seed: int, draw: Callable[[object], nx.Graph]) -> Edges:
    """The edges of the first connected graph; a UserError if ``DRAWS`` draws give none."""
    from networkx import is_connected

    source = numpy_stream(seed, "graph")
    for _ in range(DRAWS):
        graph = draw(source)
        if is_connected(graph):
            return list(graph.edges)
    raise UserError(
        f"topology: none of {DRAWS} draws of {name!r} is connected; it needs more edges."
    )

"""Mixing matrices ``[n, n]`` in float64: row i weighs what worker i receives."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import torch

from ngo.common.registry import UserError, in_a_line

if TYPE_CHECKING:
    import networkx as nx

    from ngo.gossip.topology import Edges

# The largest error of the sums and the symmetry of a topology's own matrix.
TOLERANCE = 1e-9


def mixing_matrix(graph: nx.Graph) -> torch.Tensor:
    """Metropolis–Hastings weights of an undirected graph, rows in the order of ``graph.nodes``."""
    if graph.is_directed():
        raise ValueError("a directed graph has no symmetric mixing matrix; give an undirected one")
    row = {node: k for k, node in enumerate(graph)}
    return metropolis_hastings(len(row), [(row[i], row[j]) for i, j in graph.edges()])


def metropolis_hastings(n: int, edges: Edges) -> torch.Tensor:
    """Symmetric, doubly stochastic weights of undirected ``edges``; self-loops are ignored.

    W_ij = 1/(1 + max(deg i, deg j)) on edges, W_ii = 1 − Σ_{j≠i} W_ij. A worker without an edge
    keeps its own state (W_ii = 1).
    """
    adjacency = torch.zeros(n, n, dtype=torch.bool)
    if edges:
        i, j = torch.tensor(edges).T
        adjacency[i, j] = adjacency[j, i] = True
        adjacency.fill_diagonal_(False)
    degree = adjacency.sum(1, dtype=torch.float64)
    W = adjacency / (1 + torch.maximum(degree[:, None], degree[None, :]))
    return W + torch.diag(1 - W.sum(1))


def outgoing_shares(n: int, edges: Edges) -> torch.Tensor:
    """Column-stochastic weights of directed ``edges`` (from, to): W_ij = 1/(1 + out-degree of j).

    Each worker keeps one share of its mass and sends one along each of its edges.
    """
    sends = torch.eye(n, dtype=torch.float64)
    for i, j in edges:
        sends[j, i] = 1
    return sends / sends.sum(0)


def checked_matrix(name: str, matrix: object, n: int, *, directed: bool) -> torch.Tensor:
    """A topology's own matrix as float64; a UserError unless it is a mixing matrix on n workers.

    Entries must be 0 or more, and columns must sum to 1. An undirected topology's matrix must be
    symmetric.
    """
    try:
        W = torch.as_tensor(matrix, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _refused(name, f"is not a matrix ({in_a_line(error)})") from None
    if W.shape != (n, n):
        raise _refused(name, f"has shape {list(W.shape)}, and not {[n, n]}")
    if not (W >= 0).all():
        raise _refused(name, "has entries that are not 0 or more")
    if (W.sum(0) - 1).abs().max() > TOLERANCE:
        raise _refused(name, "has columns that do not sum to 1")
    if not directed and (W - W.T).abs().max() > TOLERANCE:
        raise _refused(name, "is not symmetric; declare the topology directed=True")
    return W


def without_workers(W: torch.Tensor, lost: Collection[int]) -> torch.Tensor:
    """Metropolis–Hastings weights on the graph of ``W`` without the edges of the ``lost``."""
    edges = W.triu(1).nonzero().tolist()
    return metropolis_hastings(
        len(W), [(i, j) for i, j in edges if i not in lost and j not in lost]
    )


def _refused(name: str, reason: str) -> UserError:
    return UserError(f"topology: the mixing matrix of {name!r} {reason}.")

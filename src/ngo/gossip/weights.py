"""The weights of mixing matrices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ngo.common.registry import UserError, in_a_line
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix, order_by
from ngo.gossip.topology import simple
from ngo.gossip.weight_rule import WeightRule

if TYPE_CHECKING:
    import networkx as nx

# Pairs of workers, or an array [e, 2] of them.
Edges = Iterable[tuple[int, int]] | np.ndarray

# The largest error of the sums and the symmetry of a topology's own matrix.
TOLERANCE = 1e-9


def mixing_matrix(graph: nx.Graph) -> torch.Tensor:
    """Metropolis–Hastings weights ``[n, n]`` of an undirected graph, float64.

    Rows are in the order of ``graph.nodes``.
    """
    if graph.is_directed():
        raise ValueError("a directed graph has no symmetric mixing matrix; give an undirected one")
    row = {node: k for k, node in enumerate(graph)}
    return metropolis_hastings(len(row), [(row[i], row[j]) for i, j in graph.edges()]).dense()


def metropolis_hastings(n: int, edges: Edges) -> MixingMatrix:
    """Symmetric, doubly stochastic weights of undirected ``edges``; self-loops are ignored.

    W_ij = 1/(1 + max(deg i, deg j)) on edges, W_ii = 1 − Σ_{j≠i} W_ij. A worker without an edge
    keeps its own state (W_ii = 1).
    """
    return _doubly_stochastic(n, edges, lambda share, i, j: torch.minimum(share[i], share[j]))


def uniform_weights(n: int, edges: Edges) -> MixingMatrix:
    """The same with W_ij = 1/(1 + Δ) on edges; Δ is the largest degree."""
    return _doubly_stochastic(n, edges, lambda share, i, j: share.min().repeat(len(i)))


def _doubly_stochastic(
    n: int,
    edges: Edges,
    weigh: Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor],
) -> MixingMatrix:
    """``weigh(1/(1 + degrees) [n], i [e], j [e])`` returns the weights ``[e]`` of edges (i, j)."""
    i, j = _columns(n, edges, directed=False)
    smaller, larger = torch.bincount(j, minlength=n), torch.bincount(i, minlength=n)
    # Each worker receives first from smaller ones, then from larger; a sort of i by j suffices.
    first = torch.tensor([True, False]).repeat(n)
    first = first.repeat_interleave(torch.stack([smaller, larger], 1).flatten())
    receivers = torch.arange(n).repeat_interleave(smaller + larger)
    senders = receivers.masked_scatter(first, i[order_by(n, j)]).masked_scatter_(~first, j)
    shares = 1 / (1 + smaller + larger).double()
    weights = weigh(shares, receivers, senders)
    diagonal = 1 - torch.bincount(receivers, weights, n)
    return MixingMatrix(n, receivers, senders, weights, diagonal, in_order=True)


def outgoing_shares(n: int, edges: Edges) -> MixingMatrix:
    """Column-stochastic weights of directed ``edges`` (from, to): W_ij = 1/(1 + out-degree of j).

    Each worker keeps one share of its mass and sends one along each of its edges.
    """
    senders, receivers = _columns(n, edges, directed=True)
    shares = 1 / (1 + torch.bincount(senders, minlength=n).double())
    return MixingMatrix(n, receivers, senders, shares[senders], shares)


def undirected_weights(
    n: int, i: torch.Tensor, j: torch.Tensor, weights: torch.Tensor | float
) -> MixingMatrix:
    """The symmetric matrix of edges (i, j) of these weights, each once; rows sum to 1."""
    weights = torch.as_tensor(weights, dtype=torch.float64).expand(len(i)).repeat(2)
    i, j = torch.cat([i, j]), torch.cat([j, i])
    return MixingMatrix(n, i, j, weights, (1 - torch.bincount(i, weights, n)).clamp(min=0))


def checked_matrix(name: str, matrix: Any, n: int, *, directed: bool) -> MixingMatrix:
    """A topology's own matrix; a UserError unless it is a mixing matrix on n workers.

    Entries must be 0 or more, and columns must sum to 1. An undirected topology's matrix must be
    symmetric. It is dense, one of SciPy's sparse arrays, or a ``MixingMatrix``.
    """
    try:
        W = _read(matrix)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _refused(name, f"is not a matrix ({in_a_line(error)})") from None
    shape = [W.n, W.n] if isinstance(W, MixingMatrix) else list(W.shape)
    if shape != [n, n]:
        raise _refused(name, f"has shape {shape}, and not {[n, n]}")
    W = MixingMatrix.of(W)
    if not ((W.weights >= 0).all() and (W.diagonal >= 0).all()):
        raise _refused(name, "has entries that are not 0 or more")
    if (torch.bincount(W.senders, W.weights, n) + W.diagonal - 1).abs().max() > TOLERANCE:
        raise _refused(name, "has columns that do not sum to 1")
    if not directed and _asymmetry(W) > TOLERANCE:
        raise _refused(name, "is not symmetric; declare the topology directed=True")
    return W


def without_workers(W: Matrix, lost: Collection[int], rule: WeightRule) -> MixingMatrix:
    """Weights by a ``rule`` on the graph of ``W`` without the edges of the ``lost``."""
    W = MixingMatrix.of(W)
    edges = torch.stack(W.pairs[:2], 1)
    kept = ~torch.isin(edges, torch.tensor(sorted(lost))).any(1)
    return rule(W.n, edges[kept].numpy())


def _columns(n: int, edges: Edges, *, directed: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The first and the second ends of ``simple`` edges."""
    pairs = edges if isinstance(edges, np.ndarray) else np.array(list(edges), np.int64)
    i, j = torch.from_numpy(
        np.ascontiguousarray(simple(n, pairs.reshape(-1, 2), directed=directed).T)
    )
    return i, j


def _read(matrix: Any) -> MixingMatrix | torch.Tensor:
    """The matrix of a sparse array; a dense one as a tensor of any shape."""
    if isinstance(matrix, MixingMatrix):
        return matrix
    if not hasattr(matrix, "tocoo") or matrix.shape[0] != matrix.shape[1]:
        return torch.as_tensor(matrix, dtype=torch.float64)
    entries = matrix.tocsr().tocoo()  # which adds up entries of the same place
    i, j = (torch.from_numpy(part.astype(np.int64)) for part in (entries.row, entries.col))
    weights = torch.from_numpy(entries.data.astype(np.float64))
    edges = (i != j) & (weights != 0)
    diagonal = torch.from_numpy(matrix.diagonal().astype(np.float64))
    return MixingMatrix(len(diagonal), i[edges], j[edges], weights[edges], diagonal)


def _asymmetry(W: MixingMatrix) -> float:
    """The largest |W_ij − W_ji|."""
    signed = torch.where(W.receivers < W.senders, W.weights, -W.weights)
    return float(torch.bincount(W.links[0], signed, 1).abs().max())


def _refused(name: str, reason: str) -> UserError:
    return UserError(f"topology: the mixing matrix of {name!r} {reason}.")

"""The nonlinear coupling φ_p and one gossip step on a stacked state.

The consensus step of Algorithm 1: x_i ← x_i + γ Σ_j W_ij φ_p(x_j − x_i), for all workers at once.
"""

import torch

# Elements of one block of edge differences: small enough for a core's cache, large enough that
# the cost of a call does not count (from 2^15 to 2^18 the time is the same within a tenth).
BLOCK = 1 << 16


def phi(z: torch.Tensor, p: float) -> torch.Tensor:
    """φ_p(z) = sign(z)|z|^(2p−1), elementwise, for p > 0 (Theorem 3.1, which asks for p ≥ 1/2).

    p = 1 is linear, p = 1/2 the sign, p in [1/2, 1) sublinear (NGO), p > 1 superlinear. Below 1/2
    it is singular: the smaller a difference, the stronger the pull; φ_p(0) = 0 by definition.
    """
    if not p > 0:
        raise ValueError(f"p is {p!r}; the coupling is defined for p above 0")
    if p == 1:
        return z.clone()
    if p == 0.5:
        return z.sign()
    pull = z.abs().pow_(2 * p - 1).mul_(z.sign())
    return pull if p > 0.5 else pull.masked_fill_(z == 0, 0)


def gossip_step(
    X: torch.Tensor, W: torch.Tensor, gamma: float, p: float, at: torch.Tensor | None = None
) -> torch.Tensor:
    """One consensus step: the new state ``[n, d]``; ``X`` stays as it is.

    The differences are those of ``X``, or of the state ``at`` ``[n, d]`` where one is given: with a
    past state, this is the delayed step (equation "delay"). ``W`` is a symmetric weight matrix
    ``[n, n]`` (its diagonal plays no part). The mean of the rows is conserved. For p = 1 this is a
    product with I − γL(W); otherwise each undirected edge's φ is computed once and serves both of
    its ends, block by block over the columns, so that memory stays O(n·d).
    """
    if p == 1:
        off_diagonal = W - torch.diag(W.diagonal())
        pull = gamma * (off_diagonal - torch.diag(off_diagonal.sum(1)))
        if at is not None:
            return torch.addmm(X, pull.to(X), at)
        step = torch.eye(len(W), dtype=W.dtype, device=W.device) + pull
        return step.to(X) @ X
    i, j = torch.nonzero(W.triu(1), as_tuple=True)
    edges = len(i)
    weights = gamma * W[i, j]
    # Column e of `ends` gives edge e's pull to its two ends: +γw on i, −γw on j.
    ends = torch.zeros(len(X), edges, dtype=W.dtype, device=W.device)
    ends[i, torch.arange(edges, device=W.device)] = weights
    ends[j, torch.arange(edges, device=W.device)] = -weights
    ends = ends.to(X)
    i, j = i.to(X.device), j.to(X.device)
    new = X.clone()
    seen = X if at is None else at
    for start, stop in _blocks(X.shape[1], edges):
        x = seen[:, start:stop]
        pull = phi(x[j].sub_(x[i]), p)
        new[:, start:stop].addmm_(ends, pull)
    return new


def _blocks(d: int, edges: int) -> list[tuple[int, int]]:
    """Column ranges of at most BLOCK edge differences each; none on a graph without edges."""
    if edges == 0:
        return []
    width = max(1, BLOCK // edges)
    return [(start, min(start + width, d)) for start in range(0, d, width)]

"""The nonlinear coupling φ_p and one gossip step on a stacked state.

The consensus step of Algorithm 1: x_i ← x_i + γ Σ_j W_ij φ_p(x_j − x_i), for all workers at once.
"""

import ctypes
from collections.abc import Callable
from typing import NamedTuple

import torch

from ngo import kernels, pool
from ngo.transfers import kept_there, sent

# Elements of one block of the state, and columns that it has at least. Fewer, and threads that work
# side by side spend their time on handing over Python's lock, which each operation gives back; more
# would not stay in a core's cache.
BLOCK, COLUMNS = 1 << 17, 4096

# Elements of the state for each thread of the compiled step: with fewer, it would be done before
# another thread is awake.
SHARE = 1 << 17


def phi(z: torch.Tensor, p: float) -> torch.Tensor:
    """φ_p(z) = sign(z)|z|^(2p−1), elementwise, for p > 0 (Theorem 3.1, which asks for p ≥ 1/2).

    p = 1 is linear, p = 1/2 the sign, p in [1/2, 1) sublinear (NGO), p > 1 superlinear. Below 1/2
    it is singular: the smaller a difference, the stronger the pull; φ_p(0) = 0 by definition. NaN
    stays NaN. In float32, it is right to 1e-5 of its size; in the compiled step to 3e-7, p up to 2.
    """
    z = z.clone()
    sign = z.sign()
    return _power_(z, _exponent(p)).mul_(sign)


def _exponent(p: float) -> float:
    if not p > 0:
        raise ValueError(f"p is {p!r}; the coupling is defined for p above 0")
    return 2 * p - 1


def _power_(z: torch.Tensor, e: float) -> torch.Tensor:
    """|z|^e in place, by 2^(e log₂|z|), which is faster than ``pow``; 0 stays 0 for e < 0 too."""
    if e == 0:
        return z.abs_().clamp_(max=1).ceil_()  # sign_ would make 0 of NaN
    if e == 1:
        return z.abs_()
    z.abs_()
    zeros = z == 0 if e < 0 else None
    z.log2_().mul_(e).exp2_()
    return z if zeros is None else z.masked_fill_(zeros, 0)


def gossip_step(
    X: torch.Tensor,
    W: torch.Tensor,
    gamma: float,
    p: float,
    at: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """One consensus step: the new state ``[n, d]``, in ``out`` (which may be ``X``) if it is given.

    The differences are those of ``X``, or of the state ``at`` ``[n, d]`` where one is given: with a
    past state, this is the delayed step (equation "delay"). ``W`` is a symmetric weight matrix
    ``[n, n]`` (its diagonal plays no part). The mean of the rows is conserved. For p = 1 this is a
    product with I − γL(W). Otherwise each undirected edge's φ is computed once and serves both of
    its ends; on a GPU that Triton knows one kernel does it all, in a single pass over the state.
    Columns are shared out among the threads of :func:`ngo.pool.current`; memory beyond the new
    state is some blocks of them for each thread.
    """
    e = _exponent(p)
    seen = X if at is None else at
    if p != 1 and X.is_cuda:
        from ngo import fused

        if fused.available(X.device):
            new = fused.gossip_step(X, W, gamma, p, seen)
            return new if out is None else out.copy_(new)
    new = torch.empty_like(X) if out is None else out
    if p == 1:
        _linear(X, W, gamma, seen, new)
    elif _can_be_compiled(X, seen, new):
        _compiled(X, W, gamma, e, seen, new)
    else:
        _nonlinear(X, W, gamma, e, seen, new)
    return new


def _in_blocks(X: torch.Tensor, elements: int, step: Callable[[slice], None]) -> None:
    """Call ``step`` with columns of some ``elements`` of X at a time, until all are done."""
    n, d = X.shape
    count = 1 if X.is_cuda else -(-d // max(elements // n, COLUMNS))
    width = -(-d // count)
    pool.current()(lambda k: step(slice(k * width, min((k + 1) * width, d))), count)


def _linear(
    X: torch.Tensor, W: torch.Tensor, gamma: float, seen: torch.Tensor, new: torch.Tensor
) -> None:
    factor = (gamma * kept_there(W, X.device)).fill_diagonal_(0)
    factor.diagonal().sub_(factor.sum(1))
    if seen is X:
        factor.diagonal().add_(1)
    factor = factor.to(X)

    def step(at: slice) -> None:
        if seen is not X:
            new[:, at] = torch.addmm(X[:, at], factor, seen[:, at])
        elif new.data_ptr() == X.data_ptr():
            new[:, at] = factor @ X[:, at]
        else:
            torch.mm(factor, X[:, at], out=new[:, at])

    # A product costs little, and handing a block to another thread as much as a small one.
    _in_blocks(X, 4 * BLOCK, step)


def _can_be_compiled(*states: torch.Tensor) -> bool:
    plain = (x.is_cpu and x.dtype == torch.float32 and x.is_contiguous() for x in states)
    return all(plain) and kernels.available()


def _compiled(
    X: torch.Tensor, W: torch.Tensor, gamma: float, e: float, seen: torch.Tensor, new: torch.Tensor
) -> None:
    W = W.double().contiguous()
    taken = ctypes.c_int64()

    def step(_: int) -> None:
        if taken.value < X.shape[1]:
            kernels.gossip(seen, X, new, W, gamma, e, taken)

    pool.current()(step, -(-X.numel() // SHARE))


def _nonlinear(
    X: torch.Tensor, W: torch.Tensor, gamma: float, e: float, seen: torch.Tensor, new: torch.Tensor
) -> None:
    rings = [
        (runs, gamma * sent(weights, X.device).to(X.dtype)[:, None])
        for runs, weights in _rings(W.tolist())
    ]

    def step(at: slice) -> None:
        x, y = seen[:, at], X[:, at].clone()
        buffer, other = torch.empty_like(y), torch.empty_like(y)
        for runs, weights in rings:
            z = buffer[: len(weights)]
            for run in runs:
                torch.sub(x[run.j], x[run.i], out=z[run.at])
            pull = torch.sign(z, out=other[: len(weights)]).mul_(weights)
            pull.mul_(_power_(z, e))
            for run in runs:
                y[run.i].add_(pull[run.at])
                y[run.j].sub_(pull[run.at])
        new[:, at] = y

    _in_blocks(X, BLOCK, step)


class Run(NamedTuple):
    """Edges from consecutive workers ``i`` to consecutive workers ``j``, one to one.

    ``at`` is their place among the edges of their ring. Slices of rows need no copies.
    """

    i: slice
    j: slice
    at: slice


def _rings(W: list[list[float]]) -> list[tuple[list[Run], torch.Tensor]]:
    """The edges of a graph by the distance k of their ends around the circle of workers.

    The edges (i, i + k mod n) of one distance are a ring or several: no two of them begin, or end,
    at one worker, so that their pulls can be added at once. A ring graph is one ring, a complete
    graph has ⌊n/2⌋. Returns for each distance its runs and the weights ``[edges]``.
    """
    n = len(W)
    found = []
    for k in range(1, n // 2 + 1):
        starts = range(n if 2 * k < n else k)  # at distance n/2, both ends see the same edge
        edges = [i for i in starts if W[i][(i + k) % n] != 0]
        runs: list[list[int]] = []
        for i in edges:
            if runs and runs[-1][-1] == i - 1 and (i + k) % n != 0:
                runs[-1].append(i)
            else:
                runs.append([i])
        if edges:
            weights = torch.tensor([W[i][(i + k) % n] for i in edges], dtype=torch.float64)
            found.append((_places(runs, k, n), weights))
    return found


def _places(runs: list[list[int]], k: int, n: int) -> list[Run]:
    places, at = [], 0
    for run in runs:
        i, j, length = run[0], (run[0] + k) % n, len(run)
        places.append(Run(slice(i, i + length), slice(j, j + length), slice(at, at + length)))
        at += length
    return places

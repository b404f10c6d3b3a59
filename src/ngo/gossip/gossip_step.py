"""One gossip step with φ_p or another pull, by the implementation that suits the state.

Where γ is applied: ``Coupling.step`` hands it on to the arithmetic, which multiplies the weight of
each edge by it. That is ``native/gossip_step.c`` on a CPU, ``native/triton_kernels.py`` on a GPU,
and the coupling's own function (``coupling``) where there is neither, or no compiled step. Which
value γ has in step t, ``step.Step.gamma`` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

from ngo.common.lazy import Run, Tensor, torch
from ngo.common.registries import COUPLINGS
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix
from ngo.native import gossip_step as compiled
from ngo.native.threads import Map, fits, in_order
from verdicts.registry import UserError


def phi(z: Tensor, p: float) -> Tensor:
    """φ_p(z) = sign(z)|z|^(2p−1), elementwise, for p > 0 (Theorem 3.1, which asks for p ≥ 1/2).

    p = 1 is linear, p = 1/2 the sign, p in [1/2, 1) sublinear (NGO), p > 1 superlinear. Below 1/2
    it is singular: a smaller difference has a stronger pull, and φ_p(0) = 0 by definition. NaN
    stays NaN. For p up to 2 the relative error in float32 is 1e-5, in the compiled step 3e-7.
    """
    return power_(z.clone(), 2 * p - 1).mul_(z.sign())


def power_(z: Tensor, e: float) -> Tensor:
    """|z|^e in place, by 2^(e log₂|z|), which is faster than ``pow``; 0 stays 0 also for e < 0."""
    if e == 0:
        return z.abs_().clamp_(max=1).ceil_()  # sign_ would turn NaN into 0
    if e == 1:
        return z.abs_()
    z.abs_()
    zeros = z == 0 if e < 0 else None
    z.log2_().mul_(e).exp2_()
    return z if zeros is None else z.masked_fill_(zeros, 0)


# Elements of a block. With smaller blocks, threads spend their time handing over Python's lock,
# which each operation releases; larger ones would not stay in a core's cache.
BLOCK = 1 << 17

T = TypeVar("T")


def in_blocks(
    X: Tensor, rows: int, step: Callable[[slice], T], spread: Map, *, blocks: int = 1
) -> list[T]:
    """The results of ``step`` for slices of all columns of ``X``, in order.

    A step's largest tensor has so many ``rows``, and about ``blocks`` · BLOCK elements; on a GPU as
    many as ``X`` if that is more.
    """
    d, elements = X.shape[1], blocks * BLOCK
    if X.is_cuda:
        elements = max(elements, X.numel())
    count = -(-d // max(elements // max(rows, 1), 1))
    width = -(-d // count)
    return spread(lambda k: step(slice(k * width, min((k + 1) * width, d))), count)


#: ``(z, weights)`` → pulls ``[edges, k]`` for differences z ``[edges, k]``, which it may overwrite,
#: and weights ``[edges, 1]``.
EdgePulls = Callable[["Tensor", "Tensor"], "Tensor"]


def step_along_edges(
    X: Tensor, W: MixingMatrix, pull: EdgePulls, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor:
    """``X`` plus all pulls: each edge's pull is added at one end and subtracted at the other.

    ``W`` is symmetric.
    """
    (i, j, weights), ends, starts = (W.on(at, name) for name in ("pairs", "ends", "starts"))
    weights = weights[:, None]

    def step(part: slice) -> None:
        x = at[:, part]
        pulls = pull(x[j] - x[i], weights)
        both = torch.cat([pulls, -pulls])[ends]
        new = torch.segment_reduce(both, "sum", offsets=starts, axis=0, unsafe=True)
        out[:, part] = new.add_(X[:, part])

    in_blocks(X, W.edges, step, spread)
    return out


# The most workers for which torch multiplies by a dense matrix, also if there are few edges.
DENSE = 256

# The most workers for which compiled code takes edge after edge, also where most pairs are edges:
# the rows of a block of columns stay in a core's first-level cache.
FEW = 32


def linear_step(
    X: Tensor, W: MixingMatrix, gamma: float, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor:
    """X − γL(W)Y, with the differences of ``at`` = Y; ``at`` may be ``X``."""
    if at is X:
        return _sums(None, W, (1, -gamma, "received"), gamma, at, out, spread)
    return _sums(X, W, (0, -gamma, "received"), gamma, at, out, spread)


def mix(X: Tensor, W: MixingMatrix, gamma: float = 1.0, *, spread: Map) -> None:
    """Replace ``X`` by X + γ (W X − X)."""
    _sums(None, W, (1 - gamma, gamma, "diagonal"), gamma, X, X, spread)


def _sums(
    X: Tensor | None,
    W: MixingMatrix,
    diagonal: tuple[float, float, str],
    gamma: float,
    at: Tensor,
    out: Tensor,
    spread: Map,
) -> Tensor:
    """``X`` + c_i at_i + γ Σ_j W_ij at_j: a dense product where most pairs are edges.

    ``diagonal`` are a, b and the name of v: c_i = a + b v_i.
    """
    a, b, v = diagonal
    if (not W.crowded or W.size <= FEW) and fits(at, out, at if X is None else X):
        compiled.sums(at, X, out, W.rows, (a, b, getattr(W, v)), gamma, spread=spread)
        return out
    factors = a + b * W.on(at, v)
    if W.crowded or W.size <= DENSE:
        count = W.n
        factor = gamma * W.on(at, "dense")
        factor.diagonal(dim1=-2, dim2=-1).copy_(factors.view(factor.shape[:-1]))

        def sums(seen: Tensor) -> Tensor:
            return (factor @ seen.view(*factor.shape[:-1], -1)).flatten(0, -2)

    else:
        count = W.edges
        starts, senders, weights = W.on(at, "rows")
        weights, own_weights = gamma * weights[:, None], factors[:, None]

        def sums(seen: Tensor) -> Tensor:
            received = seen[senders].mul_(weights)
            new = torch.segment_reduce(received, "sum", offsets=starts, axis=0, unsafe=True)
            return new.addcmul_(seen, own_weights)

    def step(part: slice) -> None:
        new = sums(at[:, part])
        out[:, part] = new if X is None else new.add_(X[:, part])

    # A product is cheap: handing a small block to another thread would cost as much.
    in_blocks(at, count, step, spread, blocks=4)
    return out


def gossip_step(X: Tensor, W: Matrix, gamma: float, p: float, **how: Any) -> Tensor:
    """The consensus step of Algorithm 1, for all workers at once: x_i + γ Σ_j W_ij φ_p(x_j − x_i).

    The new state ``[n, d]`` is written to ``out``, or to new memory; ``out`` may be ``X``. The
    differences are those of ``at`` ``[n, d]``, or of ``X``. With a past state as ``at``, this is
    the delayed step (equation "delay"). ``W`` is symmetric, dense ``[n, n]`` or as edges; its
    diagonal is ignored. The mean of the rows is conserved. ``spread`` distributes columns over
    threads. It is the step of the coupling ``power``, whose arguments by name are optional.
    Raises a ValueError unless p > 0.
    """
    if not p > 0:
        raise ValueError(f"p is {p!r}; the coupling is defined for p above 0")
    run: Any = SimpleNamespace(p=p)
    return COUPLINGS["power"].step(X, W, gamma, run, **how)


Pull = Callable[["Tensor", "Tensor", float, "Run"], "Tensor"]


@dataclass(frozen=True)
class Coupling:
    """An entry of the registry."""

    #: The fields of a run that the coupling reads.
    fields: tuple[str, ...]
    #: ``(z, weights, gamma, run)`` → pulls ``[edges, d]``, added at one end of each edge and
    #: subtracted at the other, for differences z ``[edges, d]`` and weights W_ij ``[edges, 1]``.
    #: None if there are no such pulls; then ``fast`` is the step.
    pull: Pull | None = None
    #: A form of ``step`` that is faster, or that needs whole rows; W is a ``MixingMatrix``, and
    #: ``at`` and ``out`` are given. It returns ``out``, or None where it does not apply.
    fast: Callable[..., Tensor | None] | None = None
    #: Whether it needs a matching: in each step, a worker has at most one neighbour.
    matching: bool = False
    #: ``fast`` by differences, opposite at the ends of an edge bit for bit, where ``fast`` may take
    #: weighted sums of rows.
    exact: Callable[..., Tensor | None] | None = None

    @property
    def weighs(self) -> bool:
        """Whether a pull is added at both ends of an edge, in proportion to the edge's weight."""
        return self.pull is not None and not self.matching

    def step(
        self,
        X: Tensor,
        W: Tensor | MixingMatrix,
        gamma: float,
        run: Run,
        *,
        at: Tensor | None = None,
        out: Tensor | None = None,
        spread: Map = in_order,
    ) -> Tensor:
        """One gossip step ``[n, d]`` with this coupling (see ``gossip_step``)."""
        W = MixingMatrix.of(W) if isinstance(W, torch.Tensor) else W
        at = X if at is None else at
        out = torch.empty_like(X) if out is None else out
        taken = self.fast(X, W, gamma, run, at=at, out=out, spread=spread) if self.fast else None
        if taken is not None:
            return taken

        def pull(z: Tensor, weights: Tensor) -> Tensor:
            return self.pull(z, weights, gamma, run)  # type: ignore[misc]  # fast has no None

        if self.pull not in _TRIED:
            _check_pull(pull, getattr(self.pull, "__name__", "pull"))
            _TRIED.add(self.pull)
        return step_along_edges(X, W, pull, at=at, out=out, spread=spread)


# The pulls of couplings that this process has tried.
_TRIED: set[object] = set()


def _check_pull(pull: EdgePulls, name: str) -> None:
    """Raise a UserError for a pull that is not odd in each entry of z by itself."""
    z = torch.tensor([[1.5, -0.25, 0.01, 20, -1e-4], [-2.0, 0.5, 3.0, -1e3, 1e-6]])
    weights = torch.tensor([[0.25], [0.5]])
    columns = [pull(-z[:, k : k + 1], weights) for k in range(z.shape[1])]
    if not isinstance(one := columns[0], torch.Tensor) or one.shape != weights.shape:
        returned = list(one.shape) if isinstance(one, torch.Tensor) else type(one).__name__
        told = f"returned {returned} for differences [2, 1]; it must be a tensor of their shape"
        raise UserError(f"coupling: {name!r} {told}.")
    if not torch.allclose(pull(z.clone(), weights), -torch.cat(columns, 1), equal_nan=True):
        raise UserError(
            f"coupling: {name!r} is not odd in each entry: the pull of -z must be minus that of z; "
            f"@ngo.coupling(…, whole=True) takes any step of all workers."
        )


def fast_power(X: Tensor, W: MixingMatrix, gamma: float, run: Run, **how: Any) -> Tensor | None:
    """The step of the coupling ``power`` by the implementation that suits the state.

    For p = 1 a row's step is a weighted sum of its neighbours' rows; with many edges, a dense
    product. In float32, rounding then moves the mean by up to 1e-7 of the rows. Otherwise φ is
    computed once for each undirected edge. A thread needs memory for a few blocks of columns, in
    addition to the new state.
    """
    if run.p == 1:
        return linear_step(X, W, gamma, **how)
    return power_of_differences(X, W, gamma, run, **how)


def power_of_differences(
    X: Tensor, W: MixingMatrix, gamma: float, run: Run, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor | None:
    """The same by one Triton kernel on a GPU, or by compiled code; None where there is neither."""
    if X.is_cuda:
        from ngo.native import triton_kernels  # imports Triton

        if triton_kernels.available(X.device):
            return triton_kernels.gossip_step(X, W.on(X, "rows"), gamma, run.p, at, out)
    if not fits(X, at, out):
        return None
    compiled.gossip(at, X, out, W.pairs, gamma, 2 * run.p - 1, spread=spread)
    return out

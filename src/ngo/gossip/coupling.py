"""Couplings: the pull along an edge, as a function of the difference between its ends.

φ_p is the paper's. The last ones are for Byzantine workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from ngo.common.fields import Names, Options, above, at_least, number, registers, whole, within
from ngo.common.lazy import Run, Tensor, torch
from ngo.common.registries import COUPLINGS
from ngo.gossip.gossip_step import (
    Coupling,
    fast_power,
    in_blocks,
    linear_step,
    phi,
    power_,
    power_of_differences,
    step_along_edges,
)
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native.gossip_step import CAPPED, CELL_BITS, IMPLICIT, Limit, gossip
from ngo.native.threads import Map, fits

F = TypeVar("F", bound=Callable[..., Any])


def coupling(
    name: str,
    *,
    fields: Names = (),
    options: Options | None = None,
    version: int = 1,
    whole: bool = False,
    **facts: Any,
) -> Callable[[F], F]:
    """Register an elementwise pull under the name that configs and commands use.

    It must be odd in z: then the pulls at the two ends of an edge are opposite, and the mean of all
    workers is conserved. ``fields`` are the fields of a run that it reads; ``options`` are new
    fields, which it adds. With ``whole=True`` the function is the whole step, as ``Coupling.fast``
    is, which moves each worker by all that it receives; it need not conserve the mean. ``version``
    is raised when its results change.

    ``facts`` are those of ``Coupling``: ``fast`` is a faster form of the whole step, and ``exact``
    the same by differences of rows, for a ``fast`` that takes weighted sums of them. With
    ``matching=True``, which an implicit step needs, graphs other than matchings are refused.
    """

    def entry(function: Any, declared: tuple[str, ...]) -> Coupling:
        return Coupling((*fields, *declared), **{"fast" if whole else "pull": function}, **facts)

    return registers(COUPLINGS, name, entry, options, version)


def compiled(how: Callable[[Run], tuple[float, Limit]]) -> Callable[..., Tensor | None]:
    """The whole step in compiled code: ``how`` returns the exponent of its pulls and their limit.

    It returns None where there is no compiled code.
    """

    def fast(
        X: Tensor, W: MixingMatrix, gamma: float, run: Run, *, at: Tensor, out: Tensor, spread: Map
    ) -> Tensor | None:
        if not fits(X, at, out):
            return None
        gossip(at, X, out, W.pairs, gamma, *how(run), spread=spread)
        return out

    return fast


@coupling("power", fields=("p",), fast=fast_power, exact=power_of_differences)
def power(z: Tensor, weights: Tensor, gamma: float, run: Run) -> Tensor:
    """The paper's pull: γ W_ij φ_p(z).

    φ_p(z) = sign(z)|z|^(2p−1): z at p = 1, sign(z) at 1/2 (Algorithm 1).
    """
    return z.sign().mul_(gamma * weights).mul_(power_(z, 2 * run.p - 1))


CAP = {"cap": number("longest pull along an edge, in units of W_ij z", 1.0, above(0))}
fast_capped = compiled(lambda run: (2 * run.p - 1, Limit(CAPPED, run.cap)))


@coupling("capped", fields=("p",), options=CAP, fast=fast_capped)
def capped(z: Tensor, weights: Tensor, gamma: float, run: Run) -> Tensor:
    """The paper's pull with an upper limit: W_ij z · min(cap, γ|z|^(2p−2)).

    Near the consensus, where |z|^(2p−2) is large, this is linear gossip with γ = cap instead of
    NGO's chatter. V never rises if the cap is 1 or less.
    """
    most = run.cap * z
    pull = gamma * phi(z, run.p)
    return torch.where(pull.abs() < most.abs(), pull, most).mul_(weights)


#: Newton's steps. After the last, only the rounding error of float64 remains.
ITERATIONS = 10

#: |y| from which ``corner`` is 1.
FAR = 64.0


def solved(a: Tensor, c: Tensor, q: float) -> Tensor:
    """Elementwise v = u^q for the u ≥ 0 with u + c u^q = a, for a ≥ 0, c > 0 and 0 ≤ q ≤ 1.

    v^(1/q) + c v is convex in v, so that Newton's method falls to the root from above.
    """
    v = torch.minimum(a**q, a / c)
    if q == 0:
        return v
    for _ in range(ITERATIONS):
        power = v ** (1 / q - 1)
        v = v - (power * v + c * v - a) / (power / q + c)
    return v.clamp_(min=0)


def corner(y: Tensor, q: float) -> Tensor:
    """The pull at y = log₂(c a^(q−1)), in units of the smaller of c/2 · a^q and a/2; float64.

    At a = 1 these are c v/2, c/2 and 1/2 with v = ``solved``. The pull depends on y alone: with
    s = u/a, s + 2^y s^q = 1.
    """
    c = torch.exp2(y)
    return c * solved(torch.ones_like(c), c, q) / c.clamp(max=1)


@lru_cache(maxsize=8)
def _implicit(q: float) -> tuple[float, Limit]:
    """``corner`` in chords: a table for the compiled step, which takes q from 0 to 1."""
    if q == 0:  # soft thresholding: no corner is rounded
        return q, Limit(IMPLICIT)
    offset = 2.0 ** math.floor(math.log2(q / 4))
    lowest, highest = (
        int(torch.tensor(x).view(torch.int32)) >> CELL_BITS for x in (offset, FAR + offset)
    )
    bits = torch.arange(lowest, highest + 1, dtype=torch.int32) << CELL_BITS
    ends = bits.view(torch.float32).double() - offset
    middles = (ends[1:] + ends[:-1]) / 2
    sides = []
    for sign in (1, -1):
        at_ends, at_middles = corner(sign * ends, q), corner(sign * middles, q)
        slope = at_ends.diff() / ends.diff()
        chord = (at_ends[1:] + at_ends[:-1]) / 2
        first = chord + (at_middles - chord) / 2 - slope * middles  # half of the error on each side
        first[-1], slope[-1] = 1, 0
        sides.append(torch.stack([first, slope]))
    return q, Limit(IMPLICIT, table=torch.stack(sides, 1).float().contiguous(), offset=offset)


fast_implicit = compiled(lambda run: _implicit(2 * run.p - 1))


@coupling("implicit", fields=("p",), matching=True, fast=fast_implicit)
def implicit(z: Tensor, weights: Tensor, gamma: float, run: Run) -> Tensor:
    """The paper's pull at the difference z⁺ after the step, for matchings: γ W_ij φ_p(z⁺).

    z⁺ + 2γ W_ij φ_p(z⁺) = z. A backward Euler step of two workers. p = 1/2 is soft thresholding: a
    difference of 2γ W_ij or less becomes 0.
    """
    v = solved(z.abs(), 2 * gamma * weights, 2 * run.p - 1)
    return v.mul_(z.sign()).mul_(gamma * weights)


OPTIONS = {
    "near_factor": number("factor a of the smaller exponent", 1.0, above(0)),
    "near_exponent": number(
        "smaller exponent α, which decides near the consensus", 0.8, within(0, 1)
    ),
    "far_factor": number("factor b of the larger exponent", 1.0, above(0)),
    "far_exponent": number("larger exponent β, which decides far from it", 1.2, above(0)),
}


@coupling("fixed_time", options=OPTIONS)
def fixed_time(z: Tensor, weights: Tensor, gamma: float, run: Run) -> Tensor:
    """Fixed-time consensus (Zuo and Tie 2016): γ W_ij sign(z)(a|z|^α + b|z|^β).

    The fields are, in this order, a, α, b and β. In continuous time with α < 1 < β, the time to
    consensus has a bound that holds for all initial states.
    """
    near = power_(z.clone(), run.near_exponent).mul_(run.near_factor)
    far = power_(z.clone(), run.far_exponent).mul_(run.far_factor)
    return near.add_(far).mul_(z.sign()).mul_(weights).mul_(gamma)


# Couplings for Byzantine workers: clipped differences, the median and the trimmed mean.

DELTA = {
    "delta_max": number("largest weight of all Byzantine neighbours, δ_max", 1 / 3, above(0, 1))
}
CLIP = {"clip": number("largest length of a difference that counts in full, τ", 1.0, above(0))}


@coupling("clipped", options=CLIP, whole=True)
def clipped(
    X: Tensor, W: MixingMatrix, gamma: float, run: Run, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor:
    """ClippedGossip (He, Karimireddy and Jaggi 2022): γ W_ij z, for the whole difference z of two
    models, shortened to the length τ = ``clip`` at most.

    This is Algorithm 1 with one τ for all workers and steps.
    """
    i, j, _ = W.on(at, "pairs")
    lengths = _lengths(at, i, j, spread)
    factors = (gamma * run.clip / lengths.clamp_min(run.clip))[:, None]

    def pull(z: Tensor, weights: Tensor) -> Tensor:
        return z.mul_(factors * weights)

    return step_along_edges(X, W, pull, at=at, out=out, spread=spread)


@coupling("clipped_adaptive", options=DELTA, whole=True)
def clipped_adaptive(
    X: Tensor, W: MixingMatrix, gamma: float, run: Run, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor:
    """ClippedGossip (He, Karimireddy and Jaggi 2022) with a radius τ_i for each worker and step.

    τ_i² = Σ_j W_ij ‖x_j − x_i‖² / δ_max. In the theory the sum is over the honest neighbours, which
    no worker knows. Here it is over the closest ones: those furthest away, with a weight of at
    least ``delta_max``, are left out, as in the practical rule of the paper. A worker whose
    neighbours may all be Byzantine does not move. The mean is not conserved.
    """
    i, j = W.receivers.to(at.device), W.senders.to(at.device)
    lengths = _lengths(at, i, j, spread).double().cpu()
    order = lengths.argsort(stable=True)
    order = order[W.receivers[order].argsort(stable=True)]  # by the receiver, then by the length
    far = W.starts[1:][W.receivers] - 1
    weight = W.weights[order].cumsum(0)
    beyond = torch.empty_like(weight)
    beyond[order] = weight[far] - weight  # the weight of the neighbours that are further away
    near = beyond >= run.delta_max - 1e-9
    squares = torch.where(near, W.weights * lengths.square(), 0) / run.delta_max
    radius = torch.bincount(W.receivers, squares, W.n).sqrt()[W.receivers]
    kept = torch.where(lengths <= radius, 1, radius / lengths)
    shorter = MixingMatrix(W.n, W.receivers, W.senders, W.weights * kept, W.diagonal)
    return linear_step(X, shorter, gamma, at=at, out=out, spread=spread)


def _lengths(at: Tensor, i: Tensor, j: Tensor, spread: Map) -> Tensor:
    """‖y_j − y_i‖ of rows y of ``at``, for each pair (i, j), which needs whole rows."""

    def squares(part: slice) -> Tensor:
        return (at[:, part][j] - at[:, part][i]).square_().sum(1)

    return torch.stack(in_blocks(at, len(i), squares, spread)).sum(0).sqrt_()


@coupling("median", whole=True)
def median(X: Tensor, W: MixingMatrix, gamma: float, run: Run, **how: Any) -> Tensor:
    """The median of a worker and its neighbours in each entry (Yin et al. 2018).

    x_i ← x_i + γ (m_i − x_i), where m_i of an even number of values is the mean of the two in the
    middle. At γ = 1 this is BRIDGE-M (Fang, Yang and Bajwa 2022). Edges count alike, and the mean
    is not conserved.
    """
    return trimmed_step(X, W, gamma, W.n, **how)


TRIM = {"trim": whole("values left out at each end of a trimmed mean, b", 1, at_least(0))}


@coupling("trimmed_mean", options=TRIM, whole=True)
def trimmed_mean(X: Tensor, W: MixingMatrix, gamma: float, run: Run, **how: Any) -> Tensor:
    """The trimmed mean of a worker and its neighbours in each entry (Yin et al. 2018).

    x_i ← x_i + γ (m_i − x_i), where m_i leaves out the b = ``trim`` largest and the b smallest
    values, or as many as leave one or two. Edges count alike, as in the experiments of He,
    Karimireddy and Jaggi (2022). The mean is not conserved. BRIDGE-T (Fang, Yang and Bajwa 2022)
    trims the neighbours' values alone, and always keeps the worker's own.
    """
    return trimmed_step(X, W, gamma, run.trim, **how)


def trimmed_step(
    X: Tensor, W: MixingMatrix, gamma: float, trim: int, *, at: Tensor, out: Tensor, spread: Map
) -> Tensor:
    """x_i + γ (m_i − y_i), with m_i the mean of y_i and its neighbours' y_j, trimmed by entry.

    y are the rows of ``at``. Of c values, the ``trim`` largest and the ``trim`` smallest are left
    out, or as many as leave one value (for odd c) or two. The weights of edges do not count.
    """
    n = len(X)
    counts = W.starts.diff() + 1
    slots = torch.arange(int(counts.max()))
    # The worker of each slot of a neighbourhood; n is that of a row of infinity, which sorts last.
    members = torch.full((n, len(slots)), n)
    members[:, 0] = torch.arange(n)
    members[W.receivers, 1 + torch.arange(W.edges) - W.starts[W.receivers]] = W.senders
    low = (counts - 1).div(2, rounding_mode="floor").clamp_max(trim)[:, None]
    dropped = (slots < low) | (slots >= counts[:, None] - low)
    kept = (~dropped).sum(1, keepdim=True).to(X)
    members, dropped = members.to(X.device), dropped.to(X.device)[:, :, None]

    def step(part: slice) -> None:
        rows = at[:, part]
        values = torch.cat([rows, rows.new_full((1, rows.shape[1]), torch.inf)])[members]
        mean = values.sort(1).values.masked_fill_(dropped, 0).sum(1).div_(kept)
        out[:, part] = X[:, part] + gamma * (mean - rows)

    in_blocks(X, members.numel(), step, spread)
    return out

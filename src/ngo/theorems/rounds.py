"""Consensus in rounds: linear gossip, the chatter floor, graphs that change or fail, delays."""

from __future__ import annotations

import math
from itertools import islice, product

import torch

from ngo.common.lazy import Tensor
from ngo.common.seeding import torch_stream
from ngo.gossip import bounds
from ngo.gossip.consensus_dynamics import simulate, synchronization_index
from ngo.gossip.mixing_matrix import algebraic_connectivity, laplacian, mixing_of
from ngo.theorems.graphs import Rows, draws, residual, states, unit_spread
from ngo.theorems.table import TheoryOptions
from verdicts.registry import check

# Section 2.1: a step of linear gossip shrinks the distance to the mean by 1 − γλ₂ or less.

# Steps of gossip, and the share of the spread below which rounding would decide a ratio.
STEPS = 50
LEAST_SHARE = 1e-6


def decays(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """The largest factor by which ‖x − x̄‖ changes in a step, and 1 − γλ₂(L(W)).

    One row for each graph and γ of ``floor_gamma``. The starts are Gaussian states and the
    eigenvectors of λ₂ and λ_n.
    """
    generator = torch_stream(s.seed, "theory decays", n)
    _, vectors = torch.linalg.eigh(laplacian(W))
    drawn = torch.randn(n, s.draws, generator=generator, dtype=torch.float64)
    starts = torch.cat([drawn, vectors[:, [1, -1]]], dim=1)
    connectivity = algebraic_connectivity(W)
    for gamma in s.floor_gamma:
        states = simulate(starts, W, 1.0, gamma, STEPS).states
        spread = (states - states.mean(1, keepdim=True)).norm(dim=1)
        share = spread / spread[0]
        ratio = (share[1:] / share[:-1])[share[:-1] > LEAST_SHARE]
        yield gamma, float(ratio.max()), 1 - gamma * connectivity


# Supplement A: discrete linear consensus is reached for every γ below 1/Δ.


def degrees(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """What is left of V after ``delay_rounds`` rounds with γ = ``degree_share`` / Δ.

    Δ is the largest weighted degree, max_i Σ_{j≠i} W_ij, with two kinds of weights: Metropolis
    (doubly stochastic, as the theorem asks) and 1 on every edge, for which Δ counts neighbours. The
    start is the sum of the eigenvectors of λ₂ and λ_n. ``limit`` is 2/λ_n: linear gossip converges
    for all smaller γ.
    """
    between = W - torch.diag(W.diagonal())
    for weights, A in (("metropolis", between), ("unit", (between > 0).double())):
        degree = float(A.sum(1).max())
        values, vectors = torch.linalg.eigh(laplacian(A))
        X0 = vectors[:, [1, -1]].sum(1, keepdim=True) if n > 2 else vectors[:, -1:]
        for share in s.degree_share:
            gamma = share / degree
            left = residual(X0, A, 1.0, gamma, s.delay_rounds)
            yield weights, share, gamma, 2 / float(values[-1]), left


# V of rounds of NGO ends near that of the largest two-cycle, the chatter floor.
# The paper does not say so: its Theorem 3.1 is about continuous time.

# Rounds over which a floor is averaged.
FLOOR_ROUNDS = 100

# The most numbers in all states of one trajectory.
MAX_NUMBERS = 10**9


def chatter_floors(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """V at the end of rounds of NGO from a Gaussian state, and V of the largest two-cycle.

    Each run lasts for twice the sharp T* of the continuous system, in rounds; ``measured`` is the
    mean over the next ``FLOOR_ROUNDS``. p = 1/2 is left out: no floor is predicted there.
    """
    dimension = s.floor_dimension
    generator = torch_stream(s.seed, "theory states", n)
    X0 = torch.randn(n, dimension, generator=generator, dtype=torch.float64)
    V0 = float(synchronization_index(X0))
    for p, gamma in product([p for p in s.p if p != 0.5], s.floor_gamma):
        bound = bounds.finite_time_bound(V0, W, p, gamma, "sharp")
        told = f"it must be larger: p = {p!r} on {n} workers takes {2 * bound:,.0f} rounds"
        check(2 * bound * X0.numel() <= MAX_NUMBERS, "floor_gamma", gamma, told)
        run = simulate(X0, W, p, gamma, math.ceil(2 * bound) + FLOOR_ROUNDS)
        measured = float(run.V[-FLOOR_ROUNDS:].mean())
        predicted = bounds.chatter_V(gamma, W, p, dimension)
        yield p, gamma, dimension, measured, predicted


# Section 3.3: consensus is reached, with probability 1, on graphs that are drawn in each round.


def random_graphs(s: TheoryOptions) -> Rows:
    """What is left of V after ``random_rounds`` rounds on draws of G(n, u).

    ``form`` printed: weights of 0 or 1 and no γ, as in the paper's equations (aijp) and (random);
    amended: Metropolis weights and γ = ``sgd_gamma``. Both see the same draws, with the exponents
    ``sgd_p`` and 1.
    """
    for n in s.workers:
        for seed in range(s.seed, s.seed + s.draws):
            X0 = unit_spread(n, torch_stream(seed, "theory random states", n))
            stream = draws("random", n, s.u, seed, "theory random graphs")
            drawn = list(islice(stream, s.random_rounds))
            unit = [(W.dense().fill_diagonal_(0) > 0).double() for W in drawn]
            for form, matrices, gamma in (("printed", unit, 1.0), ("amended", drawn, s.sgd_gamma)):
                for p in (s.sgd_p, 1.0):
                    left = residual(X0, matrices, p, gamma, s.random_rounds)
                    yield form, n, p, gamma, seed, left


# Section 3.3: consensus is reached though links fail at random.

# Linear consensus has this many times the rounds.
LONGER = 4


def failures(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """What is left of V after rounds in which each link fails with probability ``link_loss``.

    Links fail independently in each round; the rest has Metropolis weights, and γ is ``sgd_gamma``.
    ``without`` is the residual of as many rounds without failures. One row for each graph and
    exponent: ``sgd_p`` with ``delay_rounds`` rounds; 1, which is slower, with ``LONGER`` as many.
    """
    generator = torch_stream(s.seed, "theory failures", n)
    X0 = unit_spread(n, generator)
    edges = W.triu(1).nonzero()
    failing = []
    for _ in range(LONGER * s.delay_rounds):
        kept = torch.rand(len(edges), generator=generator) >= s.link_loss
        failing.append(mixing_of(n, edges[kept].numpy()))
    for p, rounds in ((s.sgd_p, s.delay_rounds), (1.0, LONGER * s.delay_rounds)):
        left = residual(X0, failing, p, s.sgd_gamma, rounds)
        without = residual(X0, W, p, s.sgd_gamma, rounds)
        yield p, s.link_loss, left, without


# The delay theorem (Section 3.3, Supplement A): consensus is reached for τ up to π/(2λ_n).
# The main text includes the limit (≤) and the supplement does not (<).

# Continuous time: the length of a round is ``delay_step`` divided by each of these.
DIVISORS = (1, 2, 4)

# At the limit: delays as shares of it, and the length of a run in delays.
SHARES = (0.9, 1.0)
LENGTH = 200


def delays(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """The largest delay under which consensus in rounds is reached, and its limits, for p = 1 too.

    - ``tolerated``, for p = 1: the largest delay under which V decays, since it then vanishes. A
      sublinear coupling may keep oscillating at a smaller V; for p < 1 it is the largest delay
      under which V falls below ``delay_share`` of its initial value.
    - ``limit``: π/(2λ_n); ``limit_of_rounds``: the same for rounds. Delays are in units of time.
    - ``residual``: the remaining share of V(0) at half the limit; ``floor``: that without a delay.

    The initial state is the eigenvector of λ_n, the first to become unstable, with unit spread. For
    p ≠ 1 the results depend on the spread.
    """
    gamma, rounds = s.delay_step, s.delay_rounds
    X0 = _eigen(W)[1] * math.sqrt(n)
    limit, limit_of_rounds = bounds.delay_limit(W), bounds.delay_limit(W, gamma)
    for p in (*s.p, 1.0):
        share = 1.0 if p == 1 else s.delay_share
        tolerated = delayed_tolerance(X0, W, p, gamma, rounds, share)
        left = residual(X0, W, p, gamma, rounds, round(limit / 2 / gamma))
        floor = residual(X0, W, p, gamma, rounds)
        yield p, gamma, tolerated, limit, limit_of_rounds, left, floor


def limits(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """The largest delay of linear consensus in rounds of length ``step``, and π/(2λ_n).

    Delays are in units of time; a run lasts equally long for each length of a round.
    """
    X0 = _eigen(W)[1] * math.sqrt(n)
    for divisor in DIVISORS:
        step, rounds = s.delay_step / divisor, s.delay_rounds * divisor
        tolerated = delayed_tolerance(X0, W, 1.0, step, rounds)
        yield step, tolerated, bounds.delay_limit(W)


def delayed_tolerance(
    X0: Tensor, W: Tensor, p: float, gamma: float, rounds: int, share: float = 1.0
) -> float:
    """The largest delay, in units of time, under which V decays.

    A round is a step of length ``gamma`` of the delayed continuous system (for p = 1, dx/dt =
    −L x(t − τ)), so a delay of k rounds is a time kγ. V decays if its maximum over the last tenth
    of the ``rounds`` is below ``share`` times its maximum over the first tenth. A bisection finds
    the delay, in whole rounds from 0 to a tenth of the run. The result is −γ if V does not decay
    without a delay either.
    """
    tenth = max(1, rounds // 10)

    def decays(delay: int) -> bool:
        V = simulate(X0, W, p, gamma, rounds, delay).V
        return bool(V[-tenth:].max() < share * V[:tenth].max())  # NaN does not decay

    held, broken = -1, tenth
    while broken - held > 1:
        middle = (held + broken) // 2
        held, broken = (middle, broken) if decays(middle) else (held, middle)
    return held * gamma


def unit_steps(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """What is left of V after ``delay_rounds`` rounds of the delay equation with p = 1.

    The equation has no γ: its steps have length 1. One row for each graph and delay τ of 0 and 1
    rounds; ``limit`` is π/(2λ_n), up to which the theorem allows τ.
    """
    (X0,) = states(n, 1, s.seed, "theory unit steps", n)
    for delay in (0, 1):
        left = residual(X0, W, 1.0, 1.0, s.delay_rounds, delay)
        yield delay, bounds.delay_limit(W), left


def marginal(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """What is left of V with a delay at the limit, and at 0.9 of it, for each ``marginal_delay``.

    A delay of k rounds is the limit of linear consensus in rounds of length γ =
    2 sin(π/(2(2k + 1)))/λ_n. For large k, kγ tends to π/(2λ_n), the limit in continuous time. The
    start is the eigenvector of λ_n.
    """
    largest, X0 = _eigen(W)
    for delay in s.marginal_delay:
        at_limit = 2 * math.sin(math.pi / (2 * (2 * delay + 1))) / largest
        for share in SHARES:
            left = residual(X0, W, 1.0, share * at_limit, LENGTH * delay, delay)
            yield delay, share, left


def _eigen(W: Tensor) -> tuple[float, Tensor]:
    """λ_n of the Laplacian of W, and its eigenvector ``[n, 1]``."""
    values, vectors = torch.linalg.eigh(laplacian(W))
    return float(values[-1]), vectors[:, -1:]

"""What the paper's theorems say, as numbers: bounds, limits and floors to set measurements against.

``W`` is a mixing matrix ``[n, n]``; λ₂ and λ_n are the second smallest and the largest eigenvalue
of a Laplacian L(·) = D − ·.
"""

from __future__ import annotations

import math

import torch

from ngo.graphs import algebraic_connectivity, laplacian

# Starts and steps of the search for the largest two-cycle; it gains nothing from more of them.
CYCLE_STARTS = 64
CYCLE_STEPS = 200

# The constant c in dV/dt ≤ −c γ λ₂(L(B))^p V^p, by form of the bound.
_RATES = {"paper": lambda p: 4.0, "corrected": lambda p: 2.0**p, "sharp": lambda p: 2.0}


def finite_time_bound(
    V0: float,
    W: torch.Tensor,
    p: float,
    gamma: float = 1.0,
    form: str = "corrected",
    *,
    V_end: float = 0.0,
) -> float:
    """T*: by when the continuous system of Theorem 3.1 has V ≤ ``V_end``, from V(0) = ``V0``.

    T* = (V(0)^(1−p) − V_end^(1−p)) / ((1−p) c γ λ₂(L(B))^p), B = [W_ij^(1/p)] off the diagonal, for
    p in [1/2, 1). ``form`` sets c:

    - ``paper``: c = 4, as printed. The proof loses a factor 1/2 where it symmetrises the double
      sum over i and j, and consensus can come later than this.
    - ``corrected``: c = 2^p, the same proof with that factor kept.
    - ``sharp``: c = 2, from the sum over undirected edges,
      dV/dt = −2γ Σ_{i<j} W_ij |x_i − x_j|^(2p) ≤ −2γ (λ₂ V)^p. Two workers meet it exactly; it is
      twice the printed time for every p.

    All hold for states in d dimensions, V summed over them: each coordinate moves by itself, and
    Σ_k V_k^p ≥ (Σ_k V_k)^p. A graph in pieces has no such time: infinity.
    """
    if not 0.5 <= p < 1:
        raise ValueError(f"p is {p!r}; consensus in finite time is stated for p in [1/2, 1)")
    B = (W - torch.diag(W.diagonal())).double() ** (1 / p)
    connectivity = algebraic_connectivity(B)
    if connectivity < 1e-12:
        return math.inf
    span = V0 ** (1 - p) - V_end ** (1 - p)
    return span / ((1 - p) * _RATES[form](p) * gamma * connectivity**p)


def delay_limit(W: torch.Tensor, gamma: float = 0.0) -> float:
    """The largest delay, in units of time, that linear consensus bears: π/(2λ_n(L(W))).

    In continuous time, dx/dt = −L x(t − τ), by default (the delay theorem of Section 3.3). With a
    step length ``gamma``, for x ← x − γ L x(t − k): kγ with k = (π / (2 arcsin(γλ_n/2)) − 1)/2, not
    rounded to whole steps, which tends to the former less γ/2 (Levin and May 1976).
    """
    largest = float(torch.linalg.eigvalsh(laplacian(W.double()))[-1])
    if gamma == 0:
        return math.pi / (2 * largest)
    return gamma * (math.pi / (2 * math.asin(min(1.0, gamma * largest / 2))) - 1) / 2


def chatter_floor(gamma: float, w: float, p: float) -> float:
    """|x₁ − x₂| = (γw)^(1/(2−2p)) of the cycle in which two workers on an edge of weight w end.

    Near 0 φ_p is infinitely steep for p < 1, and rounds of length γ step over it, back and forth:
    z − 2γw φ_p(z) = −z. V is half the square of this, for each coordinate.
    """
    return (gamma * w) ** (1 / (2 - 2 * p))


def chatter_V(gamma: float, W: torch.Tensor, p: float, d: int = 1) -> float:
    """The V at which rounds of NGO on ``W`` end: that of the largest two-cycle, in d coordinates.

    A cycle x ↦ −x has 2x_i = γ Σ_j W_ij φ_p(x_i − x_j). In each coordinate the largest has ‖x‖² =
    (γΛ_p/2)^(1/(1−p)), where Λ_p is the maximum of Σ_{i<j} W_ij |y_i − y_j|^(2p) over Σy_i = 0,
    ‖y‖ = 1 (λ_n of the Laplacian for p = 1), and V = d‖x‖². Two workers: d/2 · (γw)^(1/(1−p)); an
    even ring, whose neighbours alternate: nd/4 · (2γw)^(1/(1−p)).

    The sum is convex in y for p ≥ 1/2, so that y ← its gradient, normalised, climbs to a maximum;
    the greatest from ``CYCLE_STARTS`` starts is taken. Coordinates that end in a smaller cycle make
    V less: 0.6 to 1 times this on rings, complete and random graphs for p > 1/2. At p = 1/2 a trace
    of the initial state stays, and V may be twice this.
    """
    if not 0.5 <= p < 1:
        raise ValueError(f"p is {p!r}; the two-cycle is that of p in [1/2, 1)")
    n = len(W)
    i, j = torch.nonzero(W.triu(1), as_tuple=True)
    w = W[i, j].double()
    starts = torch.randn(
        n, CYCLE_STARTS, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    _, vectors = torch.linalg.eigh(laplacian(W.double()))
    y = torch.cat([vectors[:, 1:], starts - starts.mean(0)], dim=1)
    for _ in range(CYCLE_STEPS):
        z = y[i] - y[j]
        pull = w[:, None] * z.sign() * z.abs() ** (2 * p - 1)
        gradient = torch.zeros_like(y).index_add_(0, i, pull).index_add_(0, j, -pull)
        y = gradient / gradient.norm(dim=0).clamp_min(1e-300)
    largest = float((w[:, None] * (y[i] - y[j]).abs() ** (2 * p)).sum(0).max())
    return d * (gamma * largest / 2) ** (1 / (1 - p))


def step_offset(mu: float, L: float, gamma: float = 0.0, W: torch.Tensor | None = None) -> float:
    """The smallest a that both theorems allow in η_t = 4/(μ(a + t)).

    16 L/μ (Theorem 2.1), or the larger of this and 5/β, β = 1 − γλ₂(L(W)), where ``W`` is given
    (Theorem 3.2 asks for max(5/β, 15 L/μ)).
    """
    a = 16 * L / mu
    return a if W is None else max(a, 5 / (1 - gamma * algebraic_connectivity(W)))


def sgd_bound(
    T: int,
    *,
    mu: float,
    L: float,
    a: float,
    sigma2: float,
    n: int,
    distance2: float,
    weighted_V: float = 0.0,
) -> float:
    """The right-hand side of Theorems 2.1 and 3.2: a bound on f(x_avg^T) − f* after T ≥ 1 steps.

    μa³/(8 S_T) ‖x̄⁰ − x*‖² + 4σ̄² T(T + 2a)/(μ n S_T) + (2L + μ)/(n S_T) Σ_t w_t V^(t), where w_t =
    (a + t)², S_T = Σ_{t<T} w_t and ``sigma2`` is σ̄² = (1/n) Σσ_i². ``distance2`` is ‖x̄⁰ − x*‖², a
    factor that Theorem 3.2 has and Theorem 2.1, as printed, omits. ``weighted_V`` is Σ w_t V^(t): 0
    for centralized SGD, over all t < T for gossip (Theorem 2.1), and only up to T* for NGO (Theorem
    3.2, which takes V to stay 0 from there on).
    """
    S = weight_sum(T, a)
    return (
        mu * a**3 * distance2 / 8
        + 4 * sigma2 * T * (T + 2 * a) / (mu * n)
        + (2 * L + mu) * weighted_V / n
    ) / S


def weight_sum(T: int, a: float) -> float:
    """S_T = Σ_{t<T} (a + t)² = T/6 · (2T² + 6aT − 3T + 6a² − 6a + 1)."""
    return T / 6 * (2 * T**2 + 6 * a * T - 3 * T + 6 * a**2 - 6 * a + 1)

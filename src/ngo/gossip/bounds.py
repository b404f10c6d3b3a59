"""Bounds, limits and floors of the paper's theorems, as numbers.

``W`` is a mixing matrix, dense ``[n, n]`` or as edges. λ₂ and λ_n are the second smallest and the
largest eigenvalue of a Laplacian L(·) = D − ·.
"""

from __future__ import annotations

import math

from ngo.common.lazy import np, torch
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix, laplacian_range

# Starts and steps of the search for the largest two-cycle. On random graphs with p near 1/2, more
# starts find one that is some percent larger.
CYCLE_STARTS = 64
CYCLE_STEPS = 200


def finite_time_bound(
    V0: float, W: Matrix, p: float, gamma: float = 1.0, form: str = "corrected"
) -> float:
    """T*: the time by which the system of Theorem 3.1 has V = 0, from V(0) = ``V0``.

    T* = V(0)^(1−p) / ((1−p) c γ λ₂(L(B))^p), B = [W_ij^(1/p)] off the diagonal, for p in [1/2, 1).
    ``form`` sets c:

    - ``paper``: c = 4, as printed. The proof loses a factor 1/2 when it symmetrises the double
      sum over i and j, so consensus can come later.
    - ``corrected``: c = 2^p, from the same proof with that factor.
    - ``sharp``: c = 2, from the sum over undirected edges,
      dV/dt = −2γ Σ_{i<j} W_ij |x_i − x_j|^(2p) ≤ −2γ (λ₂ V)^p. Two workers take exactly this time.
      It is twice the printed time for every p.

    All forms hold for states in d dimensions, with V summed over the dimensions: coordinates are
    independent, and Σ_k V_k^p ≥ (Σ_k V_k)^p. The time is infinite for a disconnected graph.
    """
    if not 0.5 <= p < 1:
        raise ValueError(f"p is {p!r}; finite-time consensus needs p in [1/2, 1)")
    W = MixingMatrix.of(W)
    B = MixingMatrix(W.n, W.receivers, W.senders, W.weights ** (1 / p), W.diagonal)
    connectivity, _ = laplacian_range(B)
    if connectivity < 1e-12:
        return math.inf
    # dV/dt ≤ −c γ λ₂(L(B))^p V^p
    c = {"paper": 4.0, "corrected": 2.0**p, "sharp": 2.0}[form]
    return V0 ** (1 - p) / ((1 - p) * c * gamma * connectivity**p)


def delay_limit(W: Matrix, gamma: float = 0.0) -> float:
    """The largest delay, in units of time, at which linear consensus is stable: π/(2λ_n(L(W))).

    By default this is the limit of continuous time, dx/dt = −L x(t − τ) (the delay theorem of
    Section 3.3). With a step length ``gamma`` it is the limit of x ← x − γ L x(t − k): the time kγ
    with k = (π / (2 arcsin(γλ_n/2)) − 1)/2, which is not rounded to whole steps. For small γ this
    tends to the continuous limit minus γ/2 (Levin and May 1976).
    """
    _, largest = laplacian_range(W)
    if gamma == 0:
        return math.pi / (2 * largest)
    return gamma * (math.pi / (2 * math.asin(min(1.0, gamma * largest / 2))) - 1) / 2


def chatter_V(gamma: float, W: Matrix, p: float, d: int = 1) -> float:
    """The chatter floor: V of the largest two-cycle of NGO on ``W``, in ``d`` coordinates.

    For p < 1, φ_p is infinitely steep at 0, so that rounds of length γ overshoot 0 in both
    directions.

    A cycle x ↦ −x satisfies 2x_i = γ Σ_j W_ij φ_p(x_i − x_j). In each coordinate the largest cycle
    has ‖x‖² = (γΛ_p/2)^(1/(1−p)), where Λ_p is the maximum of Σ_{i<j} W_ij |y_i − y_j|^(2p) over
    Σy_i = 0, ‖y‖ = 1 (λ_n of the Laplacian for p = 1), and V = d‖x‖². For two workers this is
    d/2 · (γw)^(1/(1−p)); for an even ring, where neighbours alternate, nd/4 · (2γw)^(1/(1−p)).

    For p ≥ 1/2 the sum is convex in y, so the iteration y ← normalised gradient converges to a
    local maximum. The result is the largest maximum from ``CYCLE_STARTS`` random starts, and from
    the Laplacian's eigenvectors. In some coordinates, gossip may end in a smaller cycle: on rings,
    complete and random graphs with p > 1/2, V is 0.6 to 1 times this floor. At p = 1/2, V depends
    on the initial state, and may be twice the floor.
    """
    full = MixingMatrix.of(W).dense().numpy()
    i, j = np.nonzero(np.triu(full, 1))
    w = full[i, j, None]
    first = torch.Generator().manual_seed(0)
    starts = torch.randn(len(full), CYCLE_STARTS, generator=first, dtype=torch.float64).numpy()
    modes = np.linalg.eigh(np.diag(full.sum(1)) - full)[1][:, 1:]
    y = np.concatenate([modes, starts - starts.mean(0)], 1)
    for _ in range(CYCLE_STEPS):
        z = y[i] - y[j]
        pull = w * np.sign(z) * np.abs(z) ** (2 * p - 1)
        gradient = np.zeros_like(y)
        np.add.at(gradient, i, pull)
        np.subtract.at(gradient, j, pull)
        y = gradient / np.maximum(np.linalg.norm(gradient, axis=0), 1e-300)
    largest = float((w * np.abs(y[i] - y[j]) ** (2 * p)).sum(0).max())
    return d * (gamma * largest / 2) ** (1 / (1 - p))


def step_offset(mu: float, L: float, gamma: float = 0.0, W: Matrix | None = None) -> float:
    """The smallest offset a in η_t = 4/(μ(a + t)) that both theorems allow.

    It is 16 L/μ (Theorem 2.1). With ``W`` it is at least 5/β, β = 1 − γλ₂(L(W)): Theorem 3.2
    requires max(5/β, 15 L/μ).
    """
    a = 16 * L / mu
    return a if W is None else max(a, 5 / (1 - gamma * laplacian_range(W)[0]))


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
    """The bound of Theorems 2.1 and 3.2 on f(x_avg^T) − f* after T ≥ 1 steps.

    It is μa³/(8 S_T) ‖x̄⁰ − x*‖² + 4σ̄² T(T + 2a)/(μ n S_T) + (2L + μ)/(n S_T) Σ_t w_t V^(t), with
    w_t = (a + t)² and S_T = Σ_{t<T} w_t.

    - ``sigma2``: σ̄² = (1/n) Σσ_i².
    - ``distance2``: ‖x̄⁰ − x*‖². Theorem 2.1, as printed, omits this factor; Theorem 3.2 has it.
    - ``weighted_V``: Σ w_t V^(t). It is 0 for centralized SGD. For gossip the sum is over all t < T
      (Theorem 2.1). For NGO it ends at T*, after which Theorem 3.2 assumes V = 0.
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

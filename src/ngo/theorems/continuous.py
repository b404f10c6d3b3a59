"""Consensus in continuous time: Theorem 3.1, Figure 3, and the first lemmas of Supplement A."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from scipy.integrate import solve_ivp

from ngo.common.lazy import Tensor
from ngo.common.seeding import torch_stream
from ngo.gossip.bounds import finite_time_bound
from ngo.gossip.consensus_dynamics import integrate, synchronization_index
from ngo.gossip.mixing_matrix import algebraic_connectivity, laplacian
from ngo.theorems.graphs import Rows, graph, graphs, sgd_graph, states
from ngo.theorems.table import TIMES, TheoryOptions

# Much longer than any coupling takes.
T_END = 1e12


# Theorem 3.1: NGO in continuous time, p in [1/2, 1), has V = 0 from T* on.

# The synchronization rate only sets the unit of time.
GAMMA = 1.0


def consensus_times(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """The time at which the continuous system reaches V ≤ ``tol`` · V(0), and T* in each form.

    One row for each graph, p and Gaussian initial state. V reaches 0 slightly later than
    ``measured``, so a T* below ``measured`` is refuted.
    """
    starts = states(n, s.draws, s.seed, "theory states", n)
    for p in s.p:
        for draw, X0 in enumerate(starts):
            V0 = float(synchronization_index(X0))
            bounds = {form: finite_time_bound(V0, W, p, GAMMA, form) for form in TIMES}
            flow = integrate(X0, W, p, t_end=4 * bounds["sharp"], tol=s.tol)
            yield p, GAMMA, draw, V0, flow.consensus_time, *bounds.values()


# Figure 3: linear coupling in continuous time reaches consensus exponentially.

SAMPLES = 100


def exponential_decay(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """How far log V is from a straight line in t, for each graph and Gaussian initial state.

    ``measured`` is the largest distance of log V from its line of least squares, over the second
    half of the fall of log V to ``tol``, as a share of that half. The coupling is linear.
    """
    for draw, X0 in enumerate(states(n, s.draws, s.seed, "theory logs", n)):
        flow = integrate(X0, W, 1.0, t_end=T_END, tol=s.tol, samples=SAMPLES)
        measured = distance_from_line(flow.times.numpy(), flow.V.log().numpy())
        yield 1.0, draw, measured


def distance_from_line(times: np.ndarray, log_V: np.ndarray) -> float:
    """The largest distance of the second half of ``log_V`` from its line, as a share of its fall.

    The second half is where ``log_V`` has fallen by more than half of its whole fall.
    """
    half = log_V <= (log_V[0] + log_V[-1]) / 2
    t, y = times[half], log_V[half]
    scaled = (t - t[0]) / (t[-1] - t[0])
    slope, level = np.polyfit(scaled, y, 1)
    return float(np.abs(y - slope * scaled - level).max() / (y[0] - y[-1]))


# Figure 3: the smaller p, the sooner consensus.


def consensus_order(s: TheoryOptions) -> Rows:
    """The time at which V ≤ ``order_share`` · V(0) in continuous time, for each start and p.

    The ``starts`` are Gaussian states of ``sgd_workers`` workers on ``sgd_topology``; each has its
    own stream, (seed + start, "theory orders").
    """
    W, n = sgd_graph(s), s.sgd_workers
    for seed in range(s.seed, s.seed + s.starts):
        (X0,) = states(n, 1, seed, "theory orders", None)
        for p in s.order_p:
            flow = integrate(X0, W, p, t_end=T_END, tol=s.order_share)
            yield seed, n, p, flow.consensus_time


# Supplement A, first lemma: continuous linear consensus ends at the mean of the initial states.

# The solution ends when the slowest mode has decayed by e to this power, to 1e-13.
DECAYS = 30
# Relative and absolute error of a step of the solver.
RELATIVE, ABSOLUTE = 1e-12, 1e-14


def means(s: TheoryOptions, n: int, W: Tensor) -> Rows:
    """The distance of the last state of dx_i/dt = Σ_j W_ij (x_j − x_i) from the initial mean.

    ``measured`` is the largest |x_i − x̄(0)| as a share of its initial value, for each graph and
    Gaussian initial state. The equation is solved as it is printed, by an explicit method.
    """
    weights = W.numpy()
    t_end = DECAYS / algebraic_connectivity(W)

    def velocity(t: float, x: np.ndarray) -> np.ndarray:
        return (weights * (x[None, :] - x[:, None])).sum(1)

    for draw, X0 in enumerate(states(n, s.draws, s.seed, "theory means", n)):
        x0 = X0[:, 0].numpy()
        error = {"rtol": RELATIVE, "atol": ABSOLUTE}
        solved = solve_ivp(velocity, (0, t_end), x0, method="DOP853", **error)
        off = np.abs(solved.y[:, -1] - x0.mean()).max() / np.abs(x0 - x0.mean()).max()
        yield draw, float(off)


# Supplement A: on switching graphs, linear consensus is at least as fast as exp(−λ₂* t).

# Random graphs of the family, in addition to one of each topology.
MORE_GRAPHS = 3
# Intervals between switches, and their mean length.
SWITCHES, MEAN_DWELL = 50, 1.0


def switches(s: TheoryOptions) -> Rows:
    """The rate of decay of ‖x − x̄‖ in continuous time, dx/dt = −L(W_s(t)) x, and λ₂*.

    The family has a connected graph of each topology, and further random ones, on ``sgd_workers``
    workers; λ₂* is its smallest λ₂. ``signal`` random switches between them at random, once for
    each of ``trials`` seeds. ``signal`` slowest never leaves the graph of λ₂*, and starts at its
    eigenvector: this is the equality.
    """
    n = s.sgd_workers
    family = [W for _, _, W in graphs(s, [n])]
    family += [graph("random", n, s.u, s.seed + 1 + k) for k in range(MORE_GRAPHS)]
    slowest = min(family, key=algebraic_connectivity)
    limit = algebraic_connectivity(slowest)
    _, vectors = torch.linalg.eigh(laplacian(slowest))
    always = rate([slowest] * SWITCHES, [MEAN_DWELL] * SWITCHES, vectors[:, 1])
    yield "slowest", s.seed, always, n, limit
    for seed in range(s.seed, s.seed + s.trials):
        generator = torch_stream(seed, "theory switches")
        x = torch.randn(n, generator=generator, dtype=torch.float64)
        picks = torch.randint(len(family), (SWITCHES,), generator=generator).tolist()
        dwells = torch.rand(SWITCHES, generator=generator, dtype=torch.float64)
        dwells = (-MEAN_DWELL * (1 - dwells).log()).tolist()
        measured = rate([family[k] for k in picks], dwells, x)
        yield "random", seed, measured, n, limit


def rate(matrices: Sequence[Tensor], dwells: Sequence[float], x: Tensor) -> float:
    """The mean rate of decay of ‖x − x̄‖ over these graphs and times, from the state ``[n]``."""
    x = (x - x.mean()) / (x - x.mean()).norm()
    decay = 0.0
    for W, dwell in zip(matrices, dwells, strict=True):
        x = torch.linalg.matrix_exp(-laplacian(W) * dwell) @ x
        x = x - x.mean()
        decay -= math.log(float(x.norm()))
        x = x / x.norm()
    return decay / sum(dwells)

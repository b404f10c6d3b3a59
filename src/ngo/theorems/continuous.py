"""Consensus in continuous time: Theorem 3.1, Figure 3, and the first lemmas of Supplement A."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ngo.common.seeding import torch_stream
from ngo.common.types import Table, Tensor
from ngo.theorems.theorem import (
    Options,
    Rows,
    checked_form,
    graph,
    graphs,
    part,
    rows_of,
    sgd_graph,
    states,
)
from verdicts.quantity_registry import quantity
from verdicts.statistics.cases import cases

# Much longer than any coupling takes.
T_END = 1e12


# Theorem 3.1: NGO in continuous time, p in [1/2, 1), has V = 0 from T* on.

# The synchronization rate only sets the unit of time.
GAMMA = 1.0

# Of ``bounds.finite_time_bound``.
FORMS = ("paper", "corrected", "sharp")

# The error of the solver's times.
SOLVER = 1e-5


@part("bounds", "topology", "n", "p", "gamma", "draw", "V0", "measured", *FORMS)
def consensus_times(s: Options) -> Rows:
    """The time at which the continuous system reaches V ≤ ``tol`` · V(0), and T* in each form.

    One row for each graph, p and Gaussian initial state. V reaches 0 slightly later than
    ``measured``, so a T* below ``measured`` is refuted.
    """
    from ngo.gossip import consensus
    from ngo.gossip.bounds import finite_time_bound

    for topology, n, W in graphs(s):
        starts = states(n, s.draws, s.seed, "theory states", n)
        for p in s.p:
            for draw, X0 in enumerate(starts):
                V0 = float(consensus.synchronization_index(X0))
                bounds = {form: finite_time_bound(V0, W, p, GAMMA, form) for form in FORMS}
                flow = consensus.integrate(X0, W, p, GAMMA, t_end=4 * bounds["sharp"], tol=s.tol)
                measured = math.inf if flow.consensus_time is None else flow.consensus_time
                yield topology, n, p, GAMMA, draw, V0, measured, *bounds.values()


@quantity("theory_consensus_time", example="{form: paper}", cases=True)
def consensus_time(table: Table, form: str) -> Table:
    """V is 0 from T* on (Theorem 3.1), with T* in a form of ``bounds.finite_time_bound``.

    Two workers meet the sharp time exactly, up to the solver's accuracy.
    """
    rows = rows_of(table, "bounds")
    limit = rows[checked_form(form, FORMS)]
    met = rows["measured"] <= limit * (1 + SOLVER)
    return cases(rows, ("topology", "n", "p", "draw"), rows["measured"], limit, met)


@quantity("theory_finite_time", cases=True)
def finite_time(table: Table) -> Table:
    """Sublinear coupling: V has fallen to ``tol`` · V(0) by the sharp T* (Figure 3, p = 1/2)."""
    rows = rows_of(table, "bounds")
    rows = rows[rows["p"] == 0.5]
    met = rows["measured"] <= rows["sharp"] * (1 + SOLVER)
    return cases(rows, ("topology", "n", "draw"), rows["measured"], rows["sharp"], met)


# Figure 3: linear coupling in continuous time reaches consensus exponentially.

SAMPLES = 100

# The largest distance of log V from a straight line, as a share of its fall. A sum of two
# exponentials with close rates bends by some 1 %; V that vanishes in finite time, by 10 to 35 %.
LINE = 0.05


@part("logs", "topology", "n", "p", "draw", "measured")
def exponential_decay(s: Options) -> Rows:
    """How far log V is from a straight line in t, for each graph and Gaussian initial state.

    ``measured`` is the largest distance of log V from its line of least squares, over the second
    half of the fall of log V to ``tol``, as a share of that half. The coupling is linear.
    """
    from ngo.gossip import consensus

    for topology, n, W in graphs(s):
        for draw, X0 in enumerate(states(n, s.draws, s.seed, "theory logs", n)):
            flow = consensus.integrate(X0, W, 1.0, t_end=T_END, tol=s.tol, samples=SAMPLES)
            measured = distance_from_line(flow.times.numpy(), flow.V.log().numpy())
            yield topology, n, 1.0, draw, measured


def distance_from_line(times: np.ndarray, log_V: np.ndarray) -> float:
    """The largest distance of the second half of ``log_V`` from its line, as a share of its fall.

    The second half is where ``log_V`` has fallen by more than half of its whole fall.
    """
    half = log_V <= (log_V[0] + log_V[-1]) / 2
    t, y = times[half], log_V[half]
    scaled = (t - t[0]) / (t[-1] - t[0])
    slope, level = np.polyfit(scaled, y, 1)
    return float(np.abs(y - slope * scaled - level).max() / (y[0] - y[-1]))


@quantity("theory_log_linear", cases=True)
def log_linear(table: Table) -> Table:
    """Linear coupling: log V is a straight line in time (Figure 3, p = 1)."""
    rows = rows_of(table, "logs")
    met = rows["measured"] <= LINE
    return cases(rows, ("topology", "n", "draw"), rows["measured"], LINE, met)


# Figure 3: the smaller p, the sooner consensus.


@part("orders", "seed", "n", "p", "time")
def consensus_order(s: Options) -> Rows:
    """The time at which V ≤ ``order_share`` · V(0) in continuous time, for each start and p.

    The ``starts`` are Gaussian states of ``sgd_workers`` workers on ``sgd_topology``; each has its
    own stream, (seed + start, "theory orders").
    """
    from ngo.gossip import consensus

    W, n = sgd_graph(s), s.sgd_workers
    for seed in range(s.seed, s.seed + s.starts):
        (X0,) = states(n, 1, seed, "theory orders", None)
        for p in s.order_p:
            flow = consensus.integrate(X0, W, p, t_end=T_END, tol=s.order_share)
            time = math.inf if flow.consensus_time is None else flow.consensus_time
            yield seed, n, p, time


@quantity("theory_order", cases=True)
def order(table: Table) -> Table:
    """The smaller p, the sooner consensus (Figure 3): each start is a case.

    ``measured`` is the largest ratio of a time to that of the next larger p.
    """
    times = rows_of(table, "orders").pivot(index="seed", columns="p", values="time")
    times = times.sort_index(axis=1)
    ratios = times / times.shift(-1, axis=1)  # NaN for the last p
    rows = ratios.iloc[:, :-1].max(axis=1).rename("ratio").reset_index()
    return cases(rows, ("seed",), rows["ratio"], 1.0, rows["ratio"] < 1)


# Supplement A, first lemma: continuous linear consensus ends at the mean of the initial states.

# The solution ends when the slowest mode has decayed by e to this power, to 1e-13.
DECAYS = 30
# Relative and absolute error of a step of the solver.
RELATIVE, ABSOLUTE = 1e-12, 1e-14
# The error of the limit.
MEAN_ERROR = 1e-10


@part("means", "topology", "n", "draw", "measured")
def means(s: Options) -> Rows:
    """The distance of the last state of dx_i/dt = Σ_j W_ij (x_j − x_i) from the initial mean.

    ``measured`` is the largest |x_i − x̄(0)| as a share of its initial value, for each graph and
    Gaussian initial state. The equation is solved as it is printed, by an explicit method.
    """
    from scipy.integrate import solve_ivp

    from ngo.gossip.spectrum import algebraic_connectivity

    for topology, n, W in graphs(s):
        weights = W.numpy()
        t_end = DECAYS / algebraic_connectivity(W)

        def velocity(t: float, x: np.ndarray, weights: np.ndarray = weights) -> np.ndarray:
            return (weights * (x[None, :] - x[:, None])).sum(1)

        for draw, X0 in enumerate(states(n, s.draws, s.seed, "theory means", n)):
            x0 = X0[:, 0].numpy()
            error = {"rtol": RELATIVE, "atol": ABSOLUTE}
            solved = solve_ivp(velocity, (0, t_end), x0, method="DOP853", **error)
            off = np.abs(solved.y[:, -1] - x0.mean()).max() / np.abs(x0 - x0.mean()).max()
            yield topology, n, draw, float(off)


@quantity("theory_continuous_mean", cases=True)
def continuous_mean(table: Table) -> Table:
    """Continuous linear consensus ends at the initial mean (first lemma of Supplement A)."""
    rows = rows_of(table, "means")
    met = rows["measured"] <= MEAN_ERROR
    return cases(rows, ("topology", "n", "draw"), rows["measured"], MEAN_ERROR, met)


# Supplement A: on switching graphs, linear consensus is at least as fast as exp(−λ₂* t).

# Random graphs of the family, in addition to one of each topology.
MORE_GRAPHS = 3
# Intervals between switches, and their mean length.
SWITCHES, MEAN_DWELL = 50, 1.0


@part("switches", "signal", "seed", "rate", "n", "limit")
def switches(s: Options) -> Rows:
    """The rate of decay of ‖x − x̄‖ in continuous time, dx/dt = −L(W_s(t)) x, and λ₂*.

    The family has a connected graph of each topology, and further random ones, on ``sgd_workers``
    workers; λ₂* is its smallest λ₂. ``signal`` random switches between them at random, once for
    each of ``trials`` seeds. ``signal`` slowest never leaves the graph of λ₂*, and starts at its
    eigenvector: this is the equality.
    """
    import torch

    from ngo.gossip.spectrum import algebraic_connectivity, laplacian

    n = s.sgd_workers
    family = [W for _, _, W in graphs(s, workers=[n])]
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
    import torch

    from ngo.gossip.spectrum import laplacian

    x = (x - x.mean()) / (x - x.mean()).norm()
    decay = 0.0
    for W, dwell in zip(matrices, dwells, strict=True):
        x = torch.linalg.matrix_exp(-laplacian(W) * dwell) @ x
        x = x - x.mean()
        decay -= math.log(float(x.norm()))
        x = x / x.norm()
    return decay / sum(dwells)


@quantity("theory_switching", cases=True)
def switching(table: Table) -> Table:
    """On switching graphs consensus is at least as fast as λ₂* (Supplement A)."""
    rows = rows_of(table, "switches")
    met = rows["rate"] >= rows["limit"] * (1 - 1e-9)
    return cases(rows, ("signal", "seed"), rows["rate"], rows["limit"], met)

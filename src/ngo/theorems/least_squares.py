"""SGD with gossip and with NGO, on least squares: Theorems 2.1 and 3.2, and their lemmas.

Worker i has f_i(x) = (1/2m) ‖A_i x − b_i‖², and f is the mean of all f_i. All constants of the
bounds are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import repeat

import numpy as np
import torch

from ngo.common.lazy import Tensor
from ngo.common.seeding import numpy_stream, torch_stream
from ngo.gossip import bounds
from ngo.gossip.consensus_dynamics import synchronization_index
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix, algebraic_connectivity
from ngo.theorems.graphs import Rows, draws, graph, sgd_graph
from ngo.theorems.table import DRAWN, TheoryOptions


@dataclass(frozen=True)
class LeastSquares:
    """The samples of n workers, in float64."""

    #: ``[n, m, d]``
    A: Tensor
    #: ``[n, m]``
    b: Tensor

    @cached_property
    def _curvatures(self) -> Tensor:
        """Eigenvalues of each worker's Hessian A_iᵀA_i/m, ascending, ``[n, d]``."""
        return torch.linalg.eigvalsh(self.A.mT @ self.A / self.A.shape[1])

    @property
    def L(self) -> float:
        """The smallest L for which every f_i is L-smooth."""
        return float(self._curvatures[:, -1].max())

    @property
    def mu(self) -> float:
        """The largest μ for which every f_i is μ-strongly convex, or 0."""
        return max(0.0, float(self._curvatures[:, 0].min()))

    @cached_property
    def optimum(self) -> Tensor:
        """The minimizer x* of f, ``[d]``."""
        return torch.linalg.lstsq(self.A.flatten(0, 1), self.b.flatten()[:, None]).solution[:, 0]

    def gap(self, x: Tensor) -> Tensor:
        """The gap f − f* at the points ``x`` ``[…, d]``, without cancellation near x*."""
        A = self.A.flatten(0, 1)
        return ((x - self.optimum) @ A.T).square().mean(-1) / 2

    def gradient(self, X: Tensor, batches: Tensor) -> Tensor:
        """The workers' gradients at ``X`` ``[n, r, d]`` on samples ``batches`` ``[n, r, B]``."""
        workers = torch.arange(len(X))[:, None, None]
        a = self.A[workers, batches]
        residuals = (a @ X[..., None])[..., 0] - self.b[workers, batches]
        return (residuals[..., None] * a).mean(-2)

    def full_gradient(self, X: Tensor) -> Tensor:
        """The workers' gradients at ``X`` ``[n, r, d]`` on all of their samples."""
        return (X @ self.A.mT - self.b[:, None]) @ self.A / self.A.shape[1]

    def noise(self, X: Tensor, batch: int) -> Tensor:
        """E‖∇F_i(x_i, ξ) − ∇f_i(x_i)‖² at ``X`` ``[n, r, d]``, as ``[n, r]``.

        The variance is that of a ``batch`` drawn with replacement. It grows without bound with the
        distance from x*.
        """
        residuals = X @ self.A.mT - self.b[:, None]
        squares = residuals.square() @ self.A.square().sum(-1)[..., None] / self.A.shape[1]
        return (squares[..., 0] - self.full_gradient(X).square().sum(-1)).clamp_min(0) / batch


def gaussian_problem(
    n: int, samples: int, dimension: int, noise: float, heterogeneity: float, seed: int
) -> LeastSquares:
    """A problem b = A(x° + ``heterogeneity`` · x_i°) + ``noise`` · ε with Gaussian A, x°, x_i°, ε.

    The draws come from the streams (seed, "least squares", worker); all workers share x°. With a
    heterogeneity of 0 the workers' data are iid.
    """
    common = numpy_stream(seed, "least squares").standard_normal(dimension)
    A, b = [], []
    for worker in range(n):
        stream = numpy_stream(seed, "least squares", worker)
        solution = torch.from_numpy(common + heterogeneity * stream.standard_normal(dimension))
        A.append(torch.from_numpy(stream.standard_normal((samples, dimension))))
        b.append(A[-1] @ solution + noise * torch.from_numpy(stream.standard_normal(samples)))
    return LeastSquares(torch.stack(A), torch.stack(b))


def at_distance(problem: LeastSquares, distance: float) -> LeastSquares:
    """The problem moved along x* so that ‖x*‖, the distance from the start of ``sgd``, is this."""
    shift = (distance / float(problem.optimum.norm()) - 1) * problem.optimum
    return LeastSquares(problem.A, problem.b + problem.A @ shift)


@dataclass(frozen=True)
class Descent:
    """The measured values of ``repeats`` runs of SGD, as means, and the constants of their bounds.

    No least-squares problem satisfies the assumptions on σ̄² and G² at every x. Their values here
    are maxima over the first and the recorded steps.
    """

    #: The recorded numbers of steps, ``[k]``.
    T: Sequence[int]
    #: f(x_avg^T) − f* at each T.
    gap: Sequence[float]
    #: V^(t), ``[steps]``.
    V: Tensor
    #: Σ_{s≤t} w_s V^(s), ``[steps]``.
    weighted_V: Tensor
    #: σ̄²: the mean over workers of their largest gradient noise σ_i².
    sigma2: float
    #: G²: the largest E‖∇F_i‖².
    G2: float


def sgd(
    s: TheoryOptions,
    problem: LeastSquares,
    record: Sequence[int],
    *,
    a: float,
    W: Matrix | Iterable[Matrix] | None = None,
    gamma: float | None = None,
    p: float = 1.0,
    trial: int | None = None,
) -> Descent:
    """SGD from x = 0 with η_t = 4/(μ(a + t)): Algorithm 1 on ``W``, or centralized SGD without it.

    ``W`` is one mixing matrix or an iterable of one per step. The batches come from the stream
    (seed, "batches"), the same for every method. The average x_avg^T = (1/S_T) Σ_{t<T} w_t x̄^(t),
    w_t = (a + t)², is evaluated at each T in ``record``, ascending; the last one ends the run. The
    size of a batch, and γ if it is not given, are those of the options; so are the seed and
    ``repeats``, but for a ``trial``, which has its own seed and ``trial_repeats``.
    """
    gamma, batch = gamma or s.sgd_gamma, s.batch_size
    seed, repeats = (s.seed, s.repeats) if trial is None else (trial, s.trial_repeats)
    n, samples, d = problem.A.shape
    stream = numpy_stream(seed, "batches")
    X = torch.zeros(n, repeats, d, dtype=torch.float64)
    total, weights = torch.zeros(repeats, d, dtype=torch.float64), 0.0
    V, gaps, noise, squares = [], [], [], []
    matrices = repeat(W) if W is None or isinstance(W, torch.Tensor | MixingMatrix) else W
    for t, matrix in zip(range(record[-1]), matrices, strict=False):
        w = (a + t) ** 2
        total, weights = total + w * X.mean(0), weights + w
        V.append(synchronization_index(X.transpose(0, 1)))
        if t == 0 or t + 1 in record:
            noise.append(problem.noise(X, batch))
            squares.append(noise[-1] + problem.full_gradient(X).square().sum(-1))
        if t + 1 in record:
            gaps.append(float(problem.gap(total / weights).mean()))
        batches = torch.from_numpy(stream.integers(samples, size=(n, repeats, batch)))
        X = X - 4 / (problem.mu * (a + t)) * problem.gradient(X, batches)
        if matrix is None:
            X = X.mean(0, keepdim=True).expand_as(X)
        else:
            X = gossip_step(X.flatten(1), matrix, gamma, p).view(n, repeats, d)
    sigma2, G2 = float(torch.stack(noise).amax((0, 2)).mean()), float(torch.stack(squares).max())
    mean_V = torch.stack(V).mean(1)
    weighted_V = ((a + torch.arange(record[-1], dtype=torch.float64)) ** 2 * mean_V).cumsum(0)
    return Descent(record, gaps, mean_V, weighted_V, sigma2, G2)


def problem(s: TheoryOptions, seed: int) -> LeastSquares:
    """The problem of ``sgd_workers`` workers that the options describe."""
    return gaussian_problem(s.sgd_workers, s.samples, s.dimension, s.noise, s.heterogeneity, seed)


def spaced(first: int, last: int, points: int) -> list[int]:
    """About ``points`` numbers of steps from first to last, equally spaced in their logarithm."""
    return sorted({round(T) for T in np.geomspace(first, last, points)})


# Theorems 2.1 and 3.2: the gap f(x_avg^T) − f* of SGD, with gossip and with NGO, is below a bound.
# Theorem 2.1, as printed, lacks a factor ‖x⁰ − x*‖². Theorem 3.2 sums V only up to T*, after which
# V under SGD is 0 (Supplement A). SGD with gossip or NGO converges (second lemma of Section 3.3).


def gaps(s: TheoryOptions) -> Rows:
    """The gap f(x_avg^T) − f* of SGD, mean over ``repeats``, and its bounds.

    Centralized SGD, linear gossip and NGO on ``sgd_topology``, and both of these on a random graph
    drawn in each step; from a start at each ``sgd_distance`` from x*; at about ``points`` numbers
    of steps T from 1 to ``steps``, equally spaced in log T.

    ``bound`` has the factor ‖x⁰ − x*‖² and sums w_t V^(t) over all steps. ``printed`` is the bound
    as the paper prints it: Theorem 2.1 lacks the factor; for NGO the sum ends at T*, which is 0
    rounds because all workers start at the same point. ``V`` is the index of the last step, which
    should then be 0.
    """
    W, n, near = sgd_graph(s), s.sgd_workers, problem(s, s.seed)
    drawn = partial(draws, "random", n, s.u, s.seed, "theory gap graphs")
    runs = [
        ("centralized", "", lambda: None, 1.0),
        ("gossip", s.sgd_topology, lambda: W, 1.0),
        ("gossip", DRAWN, drawn, 1.0),
        ("ngo", s.sgd_topology, lambda: W, s.sgd_p),
        ("ngo", DRAWN, drawn, s.sgd_p),
    ]
    for distance in s.sgd_distance:
        moved = at_distance(near, distance)
        # On random graphs, too, the fixed graph decides a and T*.
        a = bounds.step_offset(moved.mu, moved.L, s.sgd_gamma, W)
        distance2 = float(moved.optimum.square().sum())  # of the start from x*
        for method, topology, matrices, p in runs:
            run = sgd(s, moved, spaced(1, s.steps, s.points), a=a, W=matrices(), p=p)
            last, printed_distance2 = s.steps - 1, 1.0
            if method == "ngo":
                last = int(bounds.finite_time_bound(float(run.V[0]), W, p, s.sgd_gamma, "paper"))
                printed_distance2 = distance2
            bound = partial(bounds.sgd_bound, mu=moved.mu, L=moved.L, a=a, sigma2=run.sigma2, n=n)
            for T, gap in zip(run.T, run.gap, strict=True):
                V, sums = float(run.V[T - 1]), run.weighted_V[[T - 1, min(T - 1, last)]].tolist()
                amended = bound(T, distance2=distance2, weighted_V=sums[0])
                printed = bound(T, distance2=printed_distance2, weighted_V=sums[1])
                yield method, n, T, gap, amended, printed, V, topology, distance


# Sections 2.2 and 6: with a small V, gossip is as good as centralized SGD; NGO beats gossip.
# Section 2.2 says that the third term of Theorem 2.1's bound, with V, then is below the second.


def races(s: TheoryOptions) -> Rows:
    """The gap f(x_avg^T) − f* of each method, on a problem for each of ``trials`` seeds.

    - ``centralized``; ``gossip`` and ``ngo`` on ``sgd_topology`` with γ = ``sgd_gamma``;
    - ``synchronized``: gossip on the complete graph with γ = ``sync_gamma``, which keeps V small.

    T goes to ``trial_steps``, and of ``gossip`` on to ``leading_steps``, since its term III falls
    below the term II only after thousands of steps. ``gap`` is a mean over ``trial_repeats`` runs.
    ``noise_term`` and ``sync_term`` are the terms II and III of Theorem 2.1 at T, with σ̄² and V as
    measured.
    """
    W, n = sgd_graph(s), s.sgd_workers
    complete = graph("complete", n, s.u, s.seed)
    methods = {
        "centralized": {},
        "synchronized": {"W": complete, "gamma": s.sync_gamma},
        "gossip": {"W": W},
        "ngo": {"W": W, "p": s.sgd_p},
    }
    for seed in range(s.seed, s.seed + s.trials):
        raced = problem(s, seed)
        a = bounds.step_offset(raced.mu, raced.L, s.sgd_gamma, W)
        facts = {"mu": raced.mu, "L": raced.L, "a": a, "n": n, "distance2": 0.0}
        for method, consensus in methods.items():
            end = max(s.trial_steps, s.leading_steps if method == "gossip" else 0)
            record = sorted({*spaced(1, s.trial_steps, s.points), end})
            run = sgd(s, raced, record, a=a, trial=seed, **consensus)
            for T, gap in zip(run.T, run.gap, strict=True):
                weighted_V = float(run.weighted_V[T - 1])
                noise_term = bounds.sgd_bound(T, sigma2=run.sigma2, **facts)
                sync_term = bounds.sgd_bound(T, sigma2=0.0, weighted_V=weighted_V, **facts)
                yield method, seed, n, T, gap, noise_term, sync_term


# Section 2.1: the gap of gossip falls as 1/n with the number of workers, a linear speed-up.


def gaps_by_workers(s: TheoryOptions) -> Rows:
    """The gap f(x_avg^T) − f* of gossip after ``trial_steps`` steps, for each n and seed.

    All workers draw from the same samples, so that f, its constants and the learning rates do not
    depend on n: iid data in the sense of Section 2. ``gap`` is a mean over ``trial_repeats`` runs.
    """
    for seed in range(s.seed, s.seed + s.trials):
        one = gaussian_problem(1, s.samples, s.dimension, s.noise, 0.0, seed)
        for n in s.speedup_workers:
            shared = LeastSquares(one.A.repeat(n, 1, 1), one.b.repeat(n, 1))
            a = bounds.step_offset(shared.mu, shared.L)
            run = sgd(s, shared, [s.trial_steps], a=a, W=sgd_graph(s, n), trial=seed)
            yield seed, n, s.trial_steps, run.gap[-1]


# Section 3.3, first lemma: a step of SGD brings x̄ nearer to x*, up to terms of noise and V.
# The main text and the supplement print different coefficients of V.

# Learning rates, times L. The theorems have 1/4 or less.
RATES = (0.01, 0.05, 0.25)
# States: log10 of the distance of x̄ from x*, and of the spread of the workers, range from −s to s.
DECADES = 1.5
# The error of the two sides of an inequality.
EQUAL = 1e-9


def descents(s: TheoryOptions) -> Rows:
    """E‖x̄^(t+1) − x*‖² after a step of SGD, and the lemma's bound, at the hardest random state.

    The expectation is exact: a step's noise has the variance (η²/n²) Σσ_i². There is a row for each
    number of workers (2 and ``sgd_workers``), rate η and form of the bound. The last coefficient is

    - ``printed``: η(2ηL² + Lη + μ)/n, in the main text;
    - ``supplement``: η(2ηL² + L + μ)/n.

    The workers' curvatures differ by a factor ``curvature``; of ``lemma_states`` random states, the
    one with the largest ratio of left and right is recorded.
    """
    for n in sorted({2, s.sgd_workers}):
        problem = curved_problem(s, n)
        X = _states(s, problem, n)
        for rate in RATES:
            left, right = sides(problem, X, rate / problem.L, s.batch_size)
            for form, bound in right.items():
                worst = int((left / bound).argmax())
                broken = float((left > bound * (1 + EQUAL)).double().mean())
                yield form, n, rate, float(left[worst]), float(bound[worst]), broken


def curved_problem(s: TheoryOptions, n: int) -> LeastSquares:
    """One-dimensional least squares on n workers, with curvatures of a ratio ``curvature``."""
    flat = gaussian_problem(n, s.samples, 1, s.noise, s.heterogeneity, s.seed)
    curvature = s.curvature ** torch.linspace(0, 1, n, dtype=torch.float64)
    scale = (curvature / flat.A.square().mean((1, 2))).sqrt()
    return LeastSquares(flat.A * scale[:, None, None], flat.b * scale[:, None])


def sides(
    problem: LeastSquares, X: Tensor, eta: float, batch: int
) -> tuple[Tensor, dict[str, Tensor]]:
    """Both sides of the lemma at states ``[n, r, d]``: left ``[r]``, and right ``[r]`` by form."""
    n, mu, L = len(X), problem.mu, problem.L
    mean, variance = X.mean(0), problem.noise(X, batch).mean(0)
    moved = mean - eta * problem.full_gradient(X).mean(0) - problem.optimum
    noise = eta**2 * variance / n
    left = moved.square().sum(-1) + noise
    distance2 = (mean - problem.optimum).square().sum(-1)
    V = synchronization_index(X.transpose(0, 1))
    shared = (1 - mu * eta / 2) * distance2 + noise
    shared = shared - 2 * eta * (1 - 2 * L * eta) * problem.gap(mean)
    shared = shared + eta * (2 * eta * L**2 + mu) / n * V
    right = {"printed": shared + eta * L * eta / n * V, "supplement": shared + eta * L / n * V}
    return left, right


def _states(s: TheoryOptions, problem: LeastSquares, n: int) -> Tensor:
    generator = torch_stream(s.seed, "theory lemma", n)
    count = s.lemma_states

    def scale() -> Tensor:
        drawn = torch.rand(count, 1, generator=generator, dtype=torch.float64)
        return 10 ** (DECADES * (2 * drawn - 1))

    mean = scale() * torch.randn(count, 1, generator=generator, dtype=torch.float64)
    apart = torch.randn(n, count, 1, generator=generator, dtype=torch.float64)
    return problem.optimum + mean + scale() * (apart - apart.mean(0))


# Supplement A: under SGD with gossip, E V^(t+1) ≤ 40 η_t² n G²/β², with β = 1 − γλ₂ as printed.
# The amended form has β = γλ₂, the spectral gap of a step.


def spreads(s: TheoryOptions) -> Rows:
    """E V^(t+1) of SGD with gossip, and 40 η_t² n G²/β², for each γ of ``floor_gamma``.

    ``form`` is printed, β = 1 − γλ₂(L(W)), or amended, β = γλ₂(L(W)). Each has the offset
    a = max(5/β, 16 L/μ) with that β. Rows are steps t + 1 = T from 2 to ``trial_steps``. The
    workers start at x*, so that G², the largest E‖∇F_i‖² of the run, is not that of a distant
    start.
    """
    at_optimum = at_distance(problem(s, s.seed), 0.0)
    W, n = sgd_graph(s), s.sgd_workers
    for gamma in s.floor_gamma:
        gap = gamma * algebraic_connectivity(W)
        for form, beta in (("printed", 1 - gap), ("amended", gap)):
            a = max(16 * at_optimum.L / at_optimum.mu, 5 / beta)
            record = spaced(2, s.trial_steps, s.points)
            run = sgd(s, at_optimum, record, a=a, W=W, gamma=gamma)
            for T in run.T:
                eta = 4 / (at_optimum.mu * (a + T - 2))
                limit = 40 * eta**2 * n * run.G2 / beta**2
                yield form, s.sgd_topology, n, gamma, T, float(run.V[T - 1]), limit


# Supplement A: S_T of Theorems 2.1 and 3.2 has a closed form, and is at least T³/3.

# The offset a of both theorems is at least 16 L/μ.
OFFSETS = (16.0, 50.0, 400.0)


def sums(s: TheoryOptions) -> Rows:
    """Σ_{t<T} (a + t)² added up, its closed form and T³/3, for ``points`` values of T."""
    for a in OFFSETS:
        for T in spaced(1, s.steps, s.points):
            summed = float(((a + np.arange(T)) ** 2).sum())
            closed = bounds.weight_sum(T, a)
            yield T, a, summed, closed, T**3 / 3

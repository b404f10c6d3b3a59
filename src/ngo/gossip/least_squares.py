"""Decentralized SGD on least squares, a problem with known constants in the convergence bounds.

Worker i has f_i(x) = (1/2m) ‖A_i x − b_i‖², and f is the mean of all f_i.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

from ngo.common.lazy import Tensor, torch
from ngo.common.seeding import numpy_stream
from ngo.gossip.consensus import synchronization_index
from ngo.gossip.gossip_step import gossip_step
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix


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

    def loss(self, x: Tensor) -> Tensor:
        """The loss f at the points ``x`` ``[…, d]``."""
        residuals = x @ self.A.flatten(0, 1).T - self.b.flatten()
        return residuals.square().mean(-1) / 2

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
    """The measured values of ``repeats`` runs of SGD, and the constants of their bounds.

    No least-squares problem satisfies the assumptions on σ̄² and G² at every x. Their values here
    are maxima over the first and the recorded steps.
    """

    #: The recorded numbers of steps, ``[k]``.
    T: list[int]
    #: f(x_avg^T) − f*, ``[k, repeats]``.
    gap: Tensor
    #: V^(t), ``[steps, repeats]``.
    V: Tensor
    #: σ̄²: the mean over workers of their largest gradient noise σ_i².
    sigma2: float
    #: G²: the largest E‖∇F_i‖².
    G2: float
    #: ‖x̄⁰ − x*‖².
    distance2: float


def sgd(
    problem: LeastSquares,
    steps: int,
    *,
    a: float,
    batch: int,
    repeats: int,
    seed: int,
    record: Sequence[int],
    W: Matrix | Iterable[Matrix] | None = None,
    gamma: float = 1.0,
    p: float = 1.0,
) -> Descent:
    """SGD from x = 0 with η_t = 4/(μ(a + t)): Algorithm 1 on ``W``, or centralized SGD without it.

    ``W`` is one mixing matrix or an iterable of one per step. The batches come from the stream
    (seed, "batches"), the same for every method. The average x_avg^T = (1/S_T) Σ_{t<T} w_t x̄^(t),
    w_t = (a + t)², is evaluated at each T in ``record``, from 1 to ``steps``.
    """
    n, samples, d = problem.A.shape
    stream = numpy_stream(seed, "batches")
    X = torch.zeros(n, repeats, d, dtype=torch.float64)
    total, weights = torch.zeros(repeats, d, dtype=torch.float64), 0.0
    points = sorted(set(record))
    V, gaps, noise, squares = [], [], [], []
    matrices = iter(repeat(W) if W is None or isinstance(W, torch.Tensor | MixingMatrix) else W)
    for t in range(steps):
        w = (a + t) ** 2
        total, weights = total + w * X.mean(0), weights + w
        V.append(synchronization_index(X.transpose(0, 1)))
        if t == 0 or t + 1 in points:
            noise.append(problem.noise(X, batch))
            squares.append(noise[-1] + problem.full_gradient(X).square().sum(-1))
        if t + 1 in points:
            gaps.append(problem.gap(total / weights))
        batches = torch.from_numpy(stream.integers(samples, size=(n, repeats, batch)))
        X = X - 4 / (problem.mu * (a + t)) * problem.gradient(X, batches)
        matrix = next(matrices)
        if matrix is None:
            X = X.mean(0, keepdim=True).expand_as(X)
        else:
            X = gossip_step(X.flatten(1), matrix, gamma, p).view(n, repeats, d)
    worst = torch.stack(noise).amax((0, 2))
    return Descent(
        points,
        torch.stack(gaps),
        torch.stack(V),
        float(worst.mean()),
        float(torch.stack(squares).max()),
        float(problem.optimum.square().sum()),
    )

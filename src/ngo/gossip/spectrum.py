"""Spectra of mixing matrices and graph Laplacians. Matrices are dense or edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngo.common.lazy import Tensor, np, torch
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix

# The most workers for which all eigenvalues are computed, from a dense matrix. For more, the
# extreme ones are computed by Lanczos' method.
DENSE = 1024

# The size of the Krylov spaces, and the restarts after which a matrix is factored instead.
KRYLOV, RESTARTS = 64, 10

# How far sums of weights may be from 1, and entries below which a power of a matrix is 0.
STOCHASTIC, SMALLEST = 1e-9, 1e-10


def spectral_gap(W: Matrix) -> float:
    """1 − the second largest modulus of the eigenvalues of a mixing matrix (Table S1).

    For a symmetric matrix with eigenvalues 1 = λ₁ ≥ … ≥ λ_n it is 1 − max(|λ₂|, |λ_n|).
    """
    W = MixingMatrix.of(W)
    if W.n == 1:
        return 1.0
    symmetric = _symmetric(W)
    if W.n > DENSE and symmetric:
        return 1 - max(abs(1 - value) for value in _extremes(W))
    if W.n > DENSE:
        return 1 - _second_modulus(W)
    values = (torch.linalg.eigvalsh if symmetric else torch.linalg.eigvals)(W.dense())
    return float(1 - values.abs().sort().values[-2])


def effective_neighbours(matrices: Sequence[Matrix], decay: float) -> float:
    """The effective number of neighbours n_W(γ) at the ``decay`` γ in [0, 1).

    All workers walk at random, x ← W(√γ x + ξ) with ξ ~ N(0, I). n_W(γ) is how many times smaller
    their variance is in the limit than that of a worker alone, 1/(1 − γ) (Vogels et al. 2022,
    Section 3). For a symmetric W with the eigenvalues λᵢ, it is 1/(1 − γ) / mean(λᵢ²/(1 − γλᵢ²)):
    n for the complete graph, 1 without edges; on a connected graph it grows with γ, from the number
    of neighbours of a step to n.

    ``matrices`` are those of one period, used in turn; the variance is the mean over the period.
    NaN if they do not conserve the mean both ways (not doubly stochastic), as the walk needs.
    """
    every = [MixingMatrix.of(W) for W in matrices]
    if len(every) == 1 and _symmetric(every[0]):
        squares = torch.linalg.eigvalsh(every[0].dense()).square()
        return float(1 / (1 - decay) / (squares / (1 - decay * squares)).mean())
    dense = [W.dense() for W in every]
    if any((W.sum(k) - 1).abs().max() > STOCHASTIC for W in dense for k in (0, 1)):
        return float("nan")
    one = torch.eye(every[0].n, dtype=torch.float64)

    def step(S: Tensor, W: Tensor) -> Tensor:
        return W @ (decay * S + one) @ W.T

    # Over one period, S ← A S Aᵀ + C. The limit is the sum of all Aᵏ C Aᵏᵀ, by doubling.
    A, S = one, torch.zeros_like(one)
    for W in dense:
        A, S = decay**0.5 * W @ A, step(S, W)
    while A.abs().max() > SMALLEST:
        A, S = A @ A, S + A @ S @ A.T
    traces = [(S := step(S, W)).trace() for W in dense]
    return float(1 / (1 - decay) / (torch.stack(traces).mean() / every[0].n))


def _symmetric(W: MixingMatrix) -> bool:
    flipped = W.transposed
    return torch.equal(W.senders, flipped.senders) and torch.equal(W.weights, flipped.weights)


def laplacian(W: Matrix) -> Tensor:
    """L = D − W of a symmetric weight matrix, dense ``[n, n]``; D holds its row sums."""
    if isinstance(W, MixingMatrix):
        W = W.dense()
    return torch.diag(W.sum(1)) - W


def algebraic_connectivity(W: Matrix) -> float:
    """λ₂ of the Laplacian of ``W``: its second smallest eigenvalue, 0 on a disconnected graph."""
    return laplacian_range(W)[0]


def laplacian_range(W: Matrix) -> tuple[float, float]:
    """λ₂ and λ_n of the Laplacian of a symmetric ``W``: the second smallest, and the largest."""
    W = MixingMatrix.of(W)
    if W.n > DENSE:
        return _extremes(W)
    values = torch.linalg.eigvalsh(laplacian(W))
    return float(values[1]), float(values[-1])


def _extremes(W: MixingMatrix) -> tuple[float, float]:
    """λ₂ and λ_n of the Laplacian, by Lanczos' method.

    Where many eigenvalues are close together, as on a long ring, it needs the inverse of a shifted
    Laplacian: there few edges leave a set of workers, so that the factors are sparse.
    """
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    off = _sparse(W)
    L = (diags_array(off.sum(1)) - off).tocsc()
    bound = float(2 * off.sum(1).max()) or 1.0  # of all eigenvalues
    how = {"return_eigenvectors": False, "ncv": min(KRYLOV, W.n - 1), "v0": _start(W.n)}

    def above(x: np.ndarray) -> np.ndarray:  # bound − L, and 0 for the constant vector
        return bound * (x - x.mean()) - L @ x

    try:
        top = LinearOperator(L.shape, matvec=above, dtype=float)
        small = bound - eigsh(top, k=1, which="LA", maxiter=RESTARTS, **how)[0]
        large = eigsh(L, k=1, which="LA", maxiter=RESTARTS, **how)[0]
    except ArpackNoConvergence:
        small = max(eigsh(L, k=2, sigma=-1e-6 * bound, **how))
        large = eigsh(L, k=1, sigma=(1 + 1e-6) * bound, **how)[0]
    return float(small), float(large)


def _second_modulus(W: MixingMatrix) -> float:
    """Of all eigenvalues of a matrix that is not symmetric, by Arnoldi's method if it converges."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    A = _sparse(W) + diags_array(W.diagonal.numpy())
    try:
        values = eigs(
            A, k=2, ncv=KRYLOV, maxiter=RESTARTS, v0=_start(W.n), return_eigenvectors=False
        )
    except ArpackNoConvergence:
        return float(torch.linalg.eigvals(W.dense()).abs().sort().values[-2])
    return float(sorted(abs(values))[-2])


def _sparse(W: MixingMatrix) -> Any:
    """The edges of ``W`` in SciPy's format CSR."""
    from scipy.sparse import csr_array

    entries = (W.weights.numpy(), W.senders.numpy(), W.starts.numpy())
    return csr_array(entries, shape=(W.n, W.n))


def _start(n: int) -> np.ndarray:
    """The first vector of a Krylov space, the same in each call."""
    return np.random.default_rng(0).standard_normal(n)

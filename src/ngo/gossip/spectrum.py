"""Spectra of mixing matrices and graph Laplacians, dense: O(n³) time and O(n²) memory."""

from __future__ import annotations

from collections.abc import Sequence

from ngo.common.lazy import Tensor, torch
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix

# How far sums of weights may be from 1, and entries below which a power of a matrix is 0.
STOCHASTIC, SMALLEST = 1e-9, 1e-10


def spectral_gap(W: Matrix) -> float:
    """1 − the second largest modulus of the eigenvalues of a mixing matrix (Table S1).

    For a symmetric matrix with eigenvalues 1 = λ₁ ≥ … ≥ λ_n it is 1 − max(|λ₂|, |λ_n|).
    """
    W = MixingMatrix.of(W)
    if W.n == 1:
        return 1.0
    values = (torch.linalg.eigvalsh if _symmetric(W) else torch.linalg.eigvals)(W.dense())
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
    values = torch.linalg.eigvalsh(laplacian(W))
    return float(values[1]), float(values[-1])

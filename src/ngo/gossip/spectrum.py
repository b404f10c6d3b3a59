"""Spectra of mixing matrices and graph Laplacians, dense: O(n³) time and O(n²) memory."""

from __future__ import annotations

from ngo.common.lazy import Tensor, torch
from ngo.gossip.mixing_matrix import Matrix, MixingMatrix


def spectral_gap(W: Matrix) -> float:
    """1 − the second largest modulus of the eigenvalues of a mixing matrix (Table S1).

    For a symmetric matrix with eigenvalues 1 = λ₁ ≥ … ≥ λ_n it is 1 − max(|λ₂|, |λ_n|).
    """
    W = MixingMatrix.of(W)
    if W.n == 1:
        return 1.0
    values = (torch.linalg.eigvalsh if _symmetric(W) else torch.linalg.eigvals)(W.dense())
    return float(1 - values.abs().sort().values[-2])


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

"""Spectra of mixing matrices and graph Laplacians."""

import torch


def spectral_gap(W: torch.Tensor) -> float:
    """1 − the second largest modulus of the eigenvalues of a mixing matrix (Table S1).

    For a symmetric matrix with eigenvalues 1 = λ₁ ≥ … ≥ λ_n it is 1 − max(|λ₂|, |λ_n|).
    """
    if len(W) == 1:
        return 1.0
    symmetric = torch.equal(W, W.T)
    sizes = (torch.linalg.eigvalsh if symmetric else torch.linalg.eigvals)(W.double()).abs()
    return float(1 - sizes.sort().values[-2])


def laplacian(W: torch.Tensor) -> torch.Tensor:
    """L = D − W of a symmetric weight matrix ``[n, n]``, where D holds its row sums."""
    return torch.diag(W.sum(1)) - W


def algebraic_connectivity(W: torch.Tensor) -> float:
    """λ₂ of the Laplacian of ``W``: its second smallest eigenvalue, 0 on a disconnected graph."""
    return float(torch.linalg.eigvalsh(laplacian(W.double()))[1])

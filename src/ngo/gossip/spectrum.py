"""Spectra of mixing matrices and graph Laplacians. Matrices are dense or edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ngo.gossip.mixing_matrix import Matrix, MixingMatrix

if TYPE_CHECKING:
    import numpy as np

# The most workers for which all eigenvalues are computed, from a dense matrix. For more, the
# extreme ones are computed by Lanczos' method.
DENSE = 1024

# The size of the Krylov spaces, and the restarts after which a matrix is factored instead.
KRYLOV, RESTARTS = 64, 10


def spectral_gap(W: Matrix) -> float:
    """1 − the second largest modulus of the eigenvalues of a mixing matrix (Table S1).

    For a symmetric matrix with eigenvalues 1 = λ₁ ≥ … ≥ λ_n it is 1 − max(|λ₂|, |λ_n|).
    """
    W = MixingMatrix.of(W)
    if W.n == 1:
        return 1.0
    flipped = W.transposed
    symmetric = torch.equal(W.senders, flipped.senders) and torch.equal(W.weights, flipped.weights)
    if W.n > DENSE and symmetric:
        return 1 - max(abs(1 - each) for each in _extremes(W))
    if W.n > DENSE:
        return 1 - _second_modulus(W)
    values = (torch.linalg.eigvalsh if symmetric else torch.linalg.eigvals)(W.dense())
    return float(1 - values.abs().sort().values[-2])


def laplacian(W: Matrix) -> torch.Tensor:
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
        found = eigs(
            A, k=2, ncv=KRYLOV, maxiter=RESTARTS, v0=_start(W.n), return_eigenvectors=False
        )
    except ArpackNoConvergence:
        return float(torch.linalg.eigvals(W.dense()).abs().sort().values[-2])
    return float(sorted(abs(found))[-2])


def _sparse(W: MixingMatrix) -> Any:
    """The edges of ``W`` in SciPy's format CSR."""
    from scipy.sparse import csr_array

    parts = (W.weights.numpy(), W.senders.numpy(), W.starts.numpy())
    return csr_array(parts, shape=(W.n, W.n))


def _start(n: int) -> np.ndarray:
    """The first vector of a Krylov space, the same in each call."""
    import numpy as np

    return np.random.default_rng(0).standard_normal(n)

"""The algorithm on one page; ``python -m ngo.reference`` runs it.

n workers hold models x_1, …, x_n, the rows of X ``[n, d]``. In each step a worker takes an SGD step
on its own data, and is then pulled towards its neighbours. Letters and equations are the paper's,
*Finite-Time Consensus Learning for Decentralized Optimization with Nonlinear Gossiping*.

This page imports nothing of the package. Tests hold the package's engine equal to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

#: Models ``[n, d]`` to the gradients ``[n, d]``, of each worker on its own data.
Gradients = Callable[[np.ndarray], np.ndarray]

#: The step t to the mixing matrix ``[n, n]`` of that step.
Matrices = Callable[[int], np.ndarray]

# --- Who talks to whom


def ring(n: int) -> list[tuple[int, int]]:
    """The edges of a ring."""
    return [(i, (i + 1) % n) for i in range(n)]


def complete(n: int) -> list[tuple[int, int]]:
    """All edges."""
    return [(i, j) for i in range(n) for j in range(i)]


def random_graph(n: int, u: float, random: np.random.Generator) -> list[tuple[int, int]]:
    """Each edge with the probability u; drawn anew for each step (Section 5.3)."""
    return [edge for edge in complete(n) if random.random() < u]


def mixing_matrix(n: int, edges: Iterable[tuple[int, int]]) -> np.ndarray:
    """W ``[n, n]`` by Metropolis and Hastings: W_ij = 1/(1 + max(deg i, deg j)) on an edge.

    It is symmetric, and its rows sum to 1. A worker without an edge keeps its model.
    """
    edge = np.zeros((n, n), dtype=bool)
    for i, j in edges:
        edge[i, j] = edge[j, i] = True
    degree = edge.sum(1)
    W = np.where(edge, 1 / (1 + np.maximum(degree[:, None], degree)), 0)
    return W + np.diag(1 - W.sum(1))


# --- The pull


def phi(z: np.ndarray, p: float) -> np.ndarray:
    """φ_p(z) = sign(z) |z|^(2p−1): z for p = 1, which is linear gossip; the sign for p = 1/2."""
    return np.sign(z) * np.abs(z) ** (2 * p - 1)


def pulls(X: np.ndarray, W: np.ndarray, p: float) -> np.ndarray:
    """Σ_j W_ij φ_p(x_j − x_i) for each worker i, ``[n, d]``."""
    return np.stack([W[i] @ phi(X - X[i], p) for i in range(len(X))])


def V(X: np.ndarray) -> float:
    """The synchronization index V = Σ_i ‖x_i − x̄‖²: 0 at consensus."""
    return float(((X - X.mean(0)) ** 2).sum())


# --- Methods. Each starts at X, and returns the models after so many steps.


def centralized(X: np.ndarray, grad: Gradients, steps: int, lr: float) -> np.ndarray:
    """Centralized SGD: one model, and the mean of the workers' gradients."""
    for _ in range(steps):
        X = X - lr * grad(X).mean(0)
    return X


def ngo(
    X: np.ndarray,
    grad: Gradients,
    W: Matrices,
    steps: int,
    lr: float,
    gamma: float,
    p: float,
    *,
    mu: float = 0,
    H: int = 1,
    delay: int = 0,
) -> np.ndarray:
    """Algorithm 1, and linear gossip for p = 1.

    x_i^(t+1/2) = x_i − η g_i,  x_i^(t+1) = x_i^(t+1/2) + γ Σ_j W_ij φ_p(x_j − x_i)^(t+1/2).

    The local rule is SGD, with momentum ``mu``. With ``H`` it is local SGD: a pull after every H-th
    step only. With a ``delay`` τ the differences are those of τ steps ago, and the first τ steps
    pull nothing (Section 3.3).
    """
    M, sent = np.zeros_like(X), []
    for t in range(steps):
        M = mu * M + grad(X)
        X = X - lr * M
        sent.append(X)
        if t >= delay and (t + 1) % H == 0:
            X = X + gamma * pulls(sent[t - delay], W(t), p)
    return X


def d2(
    X: np.ndarray, grad: Gradients, W: Matrices, steps: int, lr: float, gamma: float, p: float
) -> np.ndarray:
    """D² (Tang et al. 2018): what the last pull moved is added to the next step, too."""
    before = X  # where the last half step ended
    for t in range(steps):
        half = X - lr * grad(X)
        Y = half + X - before if t else half
        X, before = Y + gamma * pulls(Y, W(t), p), half
    return X


def gradient_tracking(
    X: np.ndarray, grad: Gradients, W: Matrices, steps: int, lr: float, gamma: float, p: float
) -> np.ndarray:
    """Gradient tracking (Pu and Nedić 2021): y_i follows the mean gradient, mixed linearly."""
    Y = G = grad(X)
    for t in range(steps):
        if t:
            Y, G = Y + gamma * pulls(Y, W(t), 1) + grad(X) - G, grad(X)
        half = X - lr * Y
        X = half + gamma * pulls(half, W(t), p)
    return X


def main(n: int = 10, d: int = 5, steps: int = 300, lr: float = 0.05, gamma: float = 0.2) -> None:
    """Three methods on least squares on a ring, whose workers have different solutions."""
    random = np.random.default_rng(0)
    A, b = random.normal(size=(n, 20, d)), random.normal(size=(n, 20)) + random.normal(size=(n, 1))

    def grad(X: np.ndarray) -> np.ndarray:
        return np.einsum("nmd,nm->nd", A, np.einsum("nmd,nd->nm", A, X) - b) / 20

    W = mixing_matrix(n, ring(n))
    how = (np.zeros((n, d)), grad, lambda t: W, steps, lr, gamma)
    reached = {
        "centralized": centralized(np.zeros((n, d)), grad, steps, lr),
        "gossip, p = 1": ngo(*how, 1),
        "NGO, p = 0.8": ngo(*how, 0.8),
    }
    print(f"{'method':15} {'V':>10} {'loss of the mean model':>25}")
    for name, X in reached.items():
        print(f"{name:15} {V(X):10.2e} {((A @ X.mean(0) - b) ** 2).mean() / 2:25.6f}")


if __name__ == "__main__":
    main()

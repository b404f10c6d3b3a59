"""Slow references: methods as in their papers, worker by worker, on heterogeneous least squares.

Worker i minimizes ½‖A_i x − b_i‖². All of it in float64 NumPy, with a dictionary of vectors for
each variable of the pseudocode, and no code of the package.
"""

import numpy as np

N, D = 6, 4


def problem(seed=0):
    """Matrices A ``[n, 8, d]`` and vectors b ``[n, 8]``; each worker has a different solution."""
    random = np.random.default_rng(seed)
    A, b = random.normal(size=(N, 8, D)), random.normal(size=(N, 8))
    return A, b + 3 * random.normal(size=(N, 1))


def gradient(A, b, i, x):
    return A[i].T @ (A[i] @ x - b[i]) / 8


def solution(A, b):
    """The minimum of the sum."""
    return np.linalg.solve(sum(a.T @ a for a in A), sum(a.T @ c for a, c in zip(A, b, strict=True)))


def phi(z, p):
    return np.sign(z) * np.abs(z) ** (2 * p - 1)


def power(z, w, gamma, p):
    return gamma * w * phi(z, p)


def capped(z, w, gamma, p, cap=0.5):
    """``power``, but cap · W_ij z where that is shorter."""
    return np.sign(z) * w * np.minimum(cap * np.abs(z), gamma * np.abs(z) ** (2 * p - 1))


def pulled(W, x, gamma, p, pull=power):
    """x_i + Σ_j pull(x_j − x_i) for each worker; by ``power``, x_i + γ Σ_j W_ij φ_p(x_j − x_i)."""
    return {
        i: x[i] + sum(pull(x[j] - x[i], W[i][j], gamma, p) for j in x if j != i and W[i][j] > 0)
        for i in x
    }


def start():
    return {i: np.zeros(D) for i in range(N)}


def d2(W, grad, steps, lr, gamma, p, pull=power):
    x, psi = start(), None
    for _ in range(steps):
        now = {i: x[i] - lr * grad(i, x[i]) for i in x}
        half = now if psi is None else {i: now[i] + x[i] - psi[i] for i in x}
        x, psi = pulled(W, half, gamma, p, pull), now
    return x


def exact_diffusion(W, grad, steps, lr, gamma, p, pull=power):
    """Adapt, correct, combine: the combination is half of W's and half the worker's own."""
    x = start()
    psi = x
    for _ in range(steps):
        adapted = {i: x[i] - lr * grad(i, x[i]) for i in x}
        corrected = {i: adapted[i] + x[i] - psi[i] for i in x}
        combined = pulled(W, corrected, gamma, p, pull)
        x, psi = {i: (corrected[i] + combined[i]) / 2 for i in x}, adapted
    return x


def extra(W, grad, steps, lr, gamma, p, pull=power):
    """Algorithm 1, with pull(x) in the place of W x and W̃ = (I + W)/2."""
    before = start()
    g = {i: grad(i, before[i]) for i in before}
    mixed = pulled(W, before, gamma, p, pull)
    x = {i: mixed[i] - lr * g[i] for i in before}
    for _ in range(steps - 1):
        new = {i: grad(i, x[i]) for i in x}
        moved = pulled(W, x, gamma, p, pull)
        half = {i: x[i] + moved[i] - (before[i] + mixed[i]) / 2 for i in x}
        before, mixed = x, moved
        x, g = {i: half[i] - lr * (new[i] - g[i]) for i in x}, new
    return x


def gradient_tracking(W, grad, steps, lr, gamma, p, pull=power):
    x = start()
    g = {i: grad(i, x[i]) for i in x}
    y = dict(g)
    for _ in range(steps):
        x = pulled(W, {i: x[i] - lr * y[i] for i in x}, gamma, p, pull)
        new = {i: grad(i, x[i]) for i in x}
        mixed = pulled(W, y, gamma, 1)
        y = {i: mixed[i] + new[i] - g[i] for i in x}
        g = new
    return x


def quasi_global(W, grad, steps, lr, gamma, p, pull=power, mu=0.9, beta=0.9):
    x, m = start(), start()
    for _ in range(steps):
        half = {i: x[i] - lr * (grad(i, x[i]) + beta * m[i]) for i in x}
        new = pulled(W, half, gamma, p, pull)
        m = {i: mu * m[i] + (1 - mu) * (x[i] - new[i]) / lr for i in x}
        x = new
    return x


def push_sum(W, grad, steps, lr):
    x, w = start(), dict.fromkeys(range(N), 1.0)
    for _ in range(steps):
        half = {i: x[i] - lr * grad(i, x[i] / w[i]) for i in x}
        x = {i: sum(W[i][j] * half[j] for j in half) for i in half}
        w = {i: sum(W[i][j] * w[j] for j in w) for i in w}
    return {i: x[i] / w[i] for i in x}


def top(z, k):
    """The k entries with the largest |z|."""
    kept = np.argsort(-np.abs(z))[:k]
    return np.array([each if c in kept else 0.0 for c, each in enumerate(z)])


def signs(z):
    return np.abs(z).mean() * np.where(z < 0, -1.0, 1.0)


def choco(W, grad, steps, lr, gamma, p, compress):
    """CHOCO-SGD, Algorithm 2: worker i has a copy of x̂_j for each neighbour j, and its x̂_i.

    ``compress`` is C(i, z).
    """
    x = start()
    near = {i: [j for j in x if j != i and W[i][j] > 0] for i in x}
    known = {i: {j: np.zeros(D) for j in [i, *near[i]]} for i in x}
    for _ in range(steps):
        half = {i: x[i] - lr * grad(i, x[i]) for i in x}
        q = {i: compress(i, half[i] - known[i][i]) for i in x}
        for i in x:
            for j in known[i]:
                known[i][j] = known[i][j] + q[j]
        x = {
            i: half[i] + gamma * sum(W[i][j] * phi(known[i][j] - known[i][i], p) for j in near[i])
            for i in x
        }
    return x


def relay_sum(edges, grad, steps, lr, mu=0.0, nesterov=False):
    """RelaySGD, Algorithm 1, with ``edges`` (i, j) of a tree, and with momentum μ in half steps."""
    x = start()
    near = {i: [j for edge in edges for j in edge if i in edge and j != i] for i in x}
    m = {(i, j): np.zeros(D) for i in x for j in near[i]}
    c = dict.fromkeys(m, 0)
    v = start()
    for _ in range(steps):
        g = {i: grad(i, x[i]) for i in x}
        v = {i: mu * v[i] + g[i] for i in x}
        half = {i: x[i] - lr * (g[i] + mu * v[i] if nesterov else v[i]) for i in x}
        m = {(i, j): half[i] + sum(m[k, i] for k in near[i] if k != j) for i, j in m}
        c = {(i, j): 1 + sum(c[k, i] for k in near[i] if k != j) for i, j in c}
        count = {i: 1 + sum(c[j, i] for j in near[i]) for i in x}
        x = {i: (half[i] + sum(m[j, i] for j in near[i])) / count[i] for i in x}
    return x

"""Slow references: gossip SGD with workers that lie, worker by worker, with several defences.

In float64 NumPy, on the least squares of ``by_worker``, without code of the package: each worker
has a dictionary of what it has received.
"""

import by_worker
import networkx as nx
import numpy as np
import torch
from by_worker import D, N
from stepping import Stepping, mixing_matrix

from ngo.common.registries import ATTACKS
from ngo.common.seeding import torch_stream
from ngo.gossip.attack import Byzantine

#: A ring with two chords: degrees 3, 3, 2, 3, 3, 2. The last two workers lie to 0, 1 and 3.
W = mixing_matrix(nx.Graph([*((i, (i + 1) % N) for i in range(N)), (0, 3), (1, 4)]))
HONEST = N - 2
STEPS, LR, GAMMA = 20, 0.05, 0.7
A, B = by_worker.problem()


def near(i):
    return [j for j in range(N) if j != i and W[i, j] > 0]


def sign_flip(x, i, j, t):
    return -x[j]


def noise(x, i, j, t, deviation=3.0):
    liars = [k for k in near(i) if k >= HONEST]
    stream = torch_stream(0, f"lies {t}", i)
    drawn = torch.empty(len(liars), D).double().normal_(generator=stream).numpy()
    return x[j] + deviation * drawn[sorted(liars).index(j)]


def alie(x, i, j, t, z=1.5):
    honest = np.stack([x[k] for k in [i, *near(i)] if k < HONEST])
    mean = honest.sum(0) / len(honest)
    return mean - z * np.sqrt(((honest - mean) ** 2).sum(0) / len(honest))


def dissensus(x, i, j, t, epsilon=1.5):
    w = W.numpy()
    against = sum(w[i, k] * (x[k] - x[i]) for k in near(i) if k < HONEST)
    return x[i] - epsilon * against / sum(w[i, k] for k in near(i) if k >= HONEST)


#: The fields of the package's run that have the values above.
FIELDS = {"lie_noise": 3.0, "lie_deviations": 1.5, "lie_push": 1.5}


def power(i, x, received, p=0.8):
    w = W.numpy()
    return x + GAMMA * sum(w[i, j] * by_worker.phi(y - x, p) for j, y in received.items())


def clip(z, radius):
    length = np.linalg.norm(z)
    return z if length <= radius else z * radius / length


def clipped(i, x, received, radius=0.4):
    w = W.numpy()
    return x + GAMMA * sum(w[i, j] * clip(y - x, radius) for j, y in received.items())


def clipped_adaptive(i, x, received, delta=0.25):
    """The furthest neighbours are left out until their weight is δ or more."""
    w = W.numpy()
    closest = sorted(received, key=lambda j: np.linalg.norm(received[j] - x))
    left = 0.0
    while closest and left < delta - 1e-9:
        left += w[i, closest.pop()]
    total = sum(w[i, j] * np.linalg.norm(received[j] - x) ** 2 for j in closest)
    return clipped(i, x, received, np.sqrt(total / delta))


def trimmed_mean(i, x, received, trim=1):
    values = np.sort(np.stack([x, *received.values()]), axis=0)
    most = (len(values) - 1) // 2
    b = min(trim, most)
    kept = values[b : len(values) - b]
    return x + GAMMA * (kept.sum(0) / len(kept) - x)


def median(i, x, received):
    return x + GAMMA * (np.median(np.stack([x, *received.values()]), axis=0) - x)


FIELDS |= {"p": 0.8, "clip": 0.4, "delta_max": 0.25, "trim": 1}


def reference(lie, pull, start):
    """States ``[n, d]`` after ``STEPS``. Workers that lie learn, and hear the truth of all."""
    x = {i: start[i].copy() for i in range(N)}
    for t in range(STEPS):
        half = {i: x[i] - LR * by_worker.gradient(A, B, i, x[i]) for i in x}
        heard = {
            i: {j: lie(half, i, j, t + 1) if i < HONEST <= j else half[j] for j in near(i)}
            for i in x
        }
        x = {i: pull(i, half[i], heard[i]) for i in x}
    return np.stack(list(x.values()))


def found(attack, coupling, start):
    """The same, by the package."""
    fields = {"lr": LR, "gamma": GAMMA, **FIELDS}
    stepping = Stepping("ngo", torch.tensor(start), W, coupling=coupling, **fields)
    stepping.network.byzantine = Byzantine(ATTACKS[attack], stepping.run, 0, HONEST)
    for _ in range(STEPS):
        residuals = np.einsum("nij,nj->ni", A, stepping.X.numpy()) - B
        stepping.advance(torch.tensor(np.einsum("nij,ni->nj", A, residuals) / 8))
    return stepping.X.numpy()


def start():
    return np.random.default_rng(1).normal(size=(N, D))

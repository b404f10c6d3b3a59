"""Mixing matrices, and the gossip step as its equation."""

from ngo.common.seeding import torch_stream
from ngo.gossip.mixing_matrix import mixing_matrix
from ngo.gossip.topologies.varying import random_graph


def naive_step(X, W, gamma, p):
    """The equation, term by term."""
    new = X.clone()
    for i in range(len(X)):
        for j in range(len(X)):
            if i != j:
                z = X[j] - X[i]
                new[i] += gamma * W[i, j].item() * z.sign() * z.abs() ** (2 * p - 1)
    return new


def random_weights(n, u, seed):
    return mixing_matrix(random_graph(n, u, torch_stream(seed, "weights")))

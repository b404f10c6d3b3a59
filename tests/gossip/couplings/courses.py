"""The course of V under a coupling, without gradients."""

import numpy as np
import torch
from stepping import Stepping, states

from ngo.gossip.consensus import synchronization_index
from ngo.gossip.topology import Mixing


def course(coupling, topology, steps, *, n=5, **values):
    """The states ``[n, 7]`` before and after, and V before and after each step."""
    X, _ = states(n=n)
    X *= 3
    mixing = Mixing(topology, n, None, torch.Generator().manual_seed(0))
    stepping = Stepping("ngo", X, coupling=coupling, **values)
    V = [float(synchronization_index(X))]
    for t in range(steps):
        stepping.W = mixing.at(t)
        stepping.advance()
        V.append(float(synchronization_index(stepping.X)))
    return X, stepping.X, np.array(V)


def check_course(before, after, V):
    """V never rises, the mean stays, and V reaches rounding."""
    assert (np.diff(V) <= 1e-14 * V[0]).all()
    assert torch.allclose(before.mean(0), after.mean(0), rtol=0, atol=1e-13)
    assert V[-1] < 1e-27

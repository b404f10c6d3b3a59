"""Consensus dynamics with no learning, and the synchronization index V."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, repeat

import torch

from ngo.coupling import gossip_step


@dataclass(frozen=True)
class Trajectory:
    """``states`` is ``[rounds + 1, n, d]`` (the initial state first), ``V`` is ``[rounds + 1]``."""

    states: torch.Tensor
    V: torch.Tensor


def synchronization_index(X: torch.Tensor) -> torch.Tensor:
    """V = Σᵢ‖xᵢ − x̄‖² in float64, for a state ``[n, d]`` or a stack of states ``[…, n, d]``.

    Source: the definition of the synchronization index in Section 2 of the paper.
    """
    X = X.double()
    return (X - X.mean(-2, keepdim=True)).square().sum((-2, -1))


def simulate(
    X0: torch.Tensor,
    W: torch.Tensor | Iterable[torch.Tensor],
    p: float,
    gamma: float,
    rounds: int,
) -> Trajectory:
    """``rounds`` gossip steps from ``X0`` ``[n, d]``, with one ``W`` or one for each round.

    Each round is a step of length ``gamma`` of the coupled system of Theorem 3.1. ``W`` may be a
    stream (see :func:`ngo.graphs.mixing_stream`); one that ends before the rounds do is an error.
    """
    matrices = repeat(W) if isinstance(W, torch.Tensor) else W
    states = [X0]
    for matrix in islice(matrices, rounds):
        states.append(gossip_step(states[-1], matrix, gamma, p))
    if len(states) != rounds + 1:
        raise ValueError(f"the graph stream ended after {len(states) - 1} of {rounds} rounds")
    stacked = torch.stack(states)
    return Trajectory(stacked, synchronization_index(stacked))

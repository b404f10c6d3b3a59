"""A step of relayed sums (RelaySGD; Vogels et al. 2021)."""

from __future__ import annotations

from collections.abc import Callable

from ngo.common.lazy import torch
from ngo.common.transfers import sent
from ngo.gossip.mixing_matrix import MixingMatrix
from ngo.native.pool import Map
from ngo.native.relayed_sums import relayed_sums


def relay(
    X: torch.Tensor,
    received: torch.Tensor,
    i: torch.Tensor,
    swap: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Relay the rows of ``X`` with what was ``received``, in place (``Network.relay``).

    ``i`` ``[e]`` are the rows of ``X`` from which edges begin, in order; ``swap`` is the network's.
    Returns the numbers of models in the new sums, ``[n, 1]``.
    """
    counted = torch.cat([X, X.new_ones(len(X), 1)], 1)
    places = sent(i, X.device)
    degrees = sent(torch.bincount(i, minlength=len(X)), X.device)

    def relayed() -> torch.Tensor:  # the sums of what each worker has received
        return counted + torch.segment_reduce(received, "sum", lengths=degrees, axis=0)

    messages = relayed()[places] - received
    received.copy_(swap(messages))
    total = relayed()
    X.copy_(total[:, :-1]).div_(total[:, -1:])
    return total[:, -1:]


def compiled_relay(
    X: torch.Tensor, received: torch.Tensor, W: MixingMatrix, turned: torch.Tensor, spread: Map
) -> None:
    """The same for all workers of the graph of ``W``, by compiled code, in one pass over memory.

    ``turned`` ``[e]`` are the places of the edges in the other direction.
    """
    numbers = received[:, -1:].clone()
    counts = relay(X[:, :0], numbers, W.receivers, lambda rows: rows[turned])
    received[:, -1:] = numbers
    relayed_sums(X, received, W.starts, W.senders, turned, counts, spread=spread)
